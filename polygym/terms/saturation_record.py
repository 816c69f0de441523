"""Record of a saturation, which can be replayed.

There are no steps in it. It has the program, the rules, how far the e-graph grew, and the term: who
has these grows the e-graph again, and sees whether the term is there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygym.errors import InputError
from polygym.pickling import pickle_by_name
from polygym.rewrite.egraph import SaturationLimits
from polygym.terms.cost import StaticCost
from polygym.terms.language.parser import parse_program
from polygym.terms.language.printer import text_of, text_of_program
from polygym.terms.language.program import TermProgram
from polygym.terms.rules.rule_table import parse_rules, text_of_rules
from polygym.terms.rules.rule_types import TermRule
from polygym.terms.rules.soundness import check_unknown
from polygym.terms.saturation import (
    LIMITS,
    SaturatedTerm,
    arithmetic_rules,
    is_reached,
    saturate_term,
)

KIND = "polygym rewrite by saturation"
VERSION = 2
_CLOSE = 1e-9


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SaturationRecord:
    """A program, the rules that were used, and what was found."""

    program: TermProgram
    rules: tuple[TermRule, ...]
    limits: SaturationLimits
    result_term: SaturatedTerm

    @property
    def result(self) -> TermProgram:
        """The program with the term that was found."""
        return self.program.with_body(self.result_term.term)

    @property
    def initial_cost(self) -> float:
        """What the program costs."""
        return StaticCost()(self.program.body)

    def to_json(self) -> dict[str, Any]:
        """Return the record."""
        return {
            "kind": KIND,
            "version": VERSION,
            "program": text_of_program(self.program),
            "rules": text_of_rules(self.rules),
            "limits": {"nodes": self.limits.nodes, "iterations": self.limits.iterations},
            "nodes": self.result_term.nodes,
            "is_complete": self.result_term.is_complete,
            "lower_bound": self.result_term.lower_bound,
            "initial_cost": self.initial_cost,
            "cost": self.result_term.cost,
            "term": text_of(self.result_term.term),
        }


def saturate_program(
    program: TermProgram,
    rules: Sequence[TermRule],
    nodes: int = LIMITS.nodes,
    seconds: float = 30.0,
) -> SaturationRecord:
    """Return the cheapest term that an e-graph of at most so many nodes has.

    Raises:
        InputError: the program is not of arithmetic alone, or no rule is.
    """
    used = arithmetic_rules(rules)
    if not used:
        raise InputError("saturation: expected rules of Floats without binders, found none")
    limits = SaturationLimits(nodes=nodes, iterations=LIMITS.iterations)
    term = saturate_term(program.body, used, limits, seconds)
    return SaturationRecord(program, used, limits, term)


def replay_saturation(record: Mapping[str, Any], where: str = "a record") -> SaturationRecord:
    """Grow a record's e-graph again, and return what it says.

    Raises:
        InputError: it is no record, or the term is not there, or costs something else.
    """
    if record.get("kind") != KIND or record.get("version") != VERSION:
        raise InputError(f'{where}: expected a record with "kind": "{KIND}", found another')
    try:
        texts = [str(record[name]) for name in ("program", "rules", "term")]
        numbers = record["limits"]
        limits = SaturationLimits(
            nodes=int(numbers["nodes"]), iterations=int(numbers["iterations"])
        )
        costs = float(record["initial_cost"]), float(record["cost"])
        rest = float(record["lower_bound"]), int(record["nodes"]), bool(record["is_complete"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: expected the members of a record, found {error!r}") from None
    program = parse_program(texts[0], f"{where}: program")
    rules = arithmetic_rules(parse_rules(texts[1], f"{where}: rules"))
    check_unknown(rules, f"{where}: rules")
    names = " ".join(f"({name} : {kind})" for name, kind in program.parameters)
    last = parse_program(f"(def it {program.result} ({names}) {texts[2]})", f"{where}: term").body
    if not is_reached(program.body, last, rules, limits):
        raise InputError(f"{where}: expected the rules to lead to its term; they do not")
    cost = StaticCost()
    for said, one in zip(costs, (program.body, last), strict=True):
        if abs(cost(one) - said) > _CLOSE * max(1.0, said):
            raise InputError(f"{where}: expected the cost {said}, found {cost(one)}")
    term = SaturatedTerm(last, cost(last), *rest)
    return SaturationRecord(program, rules, limits, term)
