"""Results in records of terms: the term that was found is read again, stated costs are checked."""

from collections.abc import Iterable

from polygym.errors import InputError
from polygym.rewrite.term import Term
from polygym.terms.cost import StaticCost
from polygym.terms.language.parser import parse_program
from polygym.terms.language.program import TermProgram

_CLOSE = 1e-9


def read_result(program: TermProgram, text: str, where: str) -> TermProgram:
    """Return a program with the body that a record states.

    Raises:
        InputError: it is none of the program's type, or uses other names.
    """
    names = " ".join(f"({name} : {kind})" for name, kind in program.parameters)
    header = f"(def it {program.result} ({names})"
    return program.with_body(parse_program(f"{header} {text})", f"{where}: term").body)


def check_costs(stated: Iterable[float], bodies: Iterable[Term], where: str) -> None:
    """Compare the costs that a record states with those of its terms.

    Raises:
        InputError: one differs.
    """
    cost = StaticCost()
    for expected, body in zip(stated, bodies, strict=True):
        if abs(cost(body) - expected) > _CLOSE * max(1.0, expected):
            raise InputError(f"{where}: expected the cost {expected}, found {cost(body)}")
