"""Derivations: a program, rules, and the steps by which one term became another, to be read again.

A *record* is JSON that another reader can follow: the program's text, the rules as a table, and for
each step the rule's name, the place, the term after it and what that costs.
:func:`replay_derivation` follows it with nothing but the rules that stand in it, and says where
something else comes out. Rules that do not come with polygym are tried again before steps follow
them: a record may come from anywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygym.errors import InputError, PolygymError
from polygym.pickling import pickle_by_name
from polygym.rewrite.term import Term
from polygym.terms.cost import StaticCost, TermCost
from polygym.terms.language.parser import parse_program
from polygym.terms.language.printer import text_of, text_of_program
from polygym.terms.language.program import TermProgram
from polygym.terms.rewriter import Rewriter, RewriteStep
from polygym.terms.rules.rule_table import parse_rules, text_of_rules
from polygym.terms.rules.rule_types import TermRule
from polygym.terms.rules.soundness import check_unknown

KIND = "polygym rewrite"
VERSION = 2
_CLOSE = 1e-9


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Derivation:
    """A program, and the terms that steps made of its own; ``terms`` begins with that."""

    program: TermProgram
    rules: tuple[TermRule, ...]
    steps: tuple[RewriteStep, ...]
    terms: tuple[Term, ...]
    costs: tuple[float, ...]

    @property
    def result(self) -> TermProgram:
        """The program with the last term."""
        return self.program.with_body(self.terms[-1])

    def to_json(self) -> dict[str, Any]:
        """Return the record."""
        rows = zip(self.steps, self.terms[1:], self.costs[1:], strict=True)
        return {
            "kind": KIND,
            "version": VERSION,
            "program": text_of_program(self.program),
            "rules": text_of_rules(self.rules),
            "initial_cost": self.costs[0],
            "cost": self.costs[-1],
            "derivation": [
                {
                    "rule": step.rule.name,
                    "position": list(step.position),
                    "term": text_of(term),
                    "cost": cost,
                }
                for step, term, cost in rows
            ],
            "term": text_of(self.terms[-1]),
        }


def derive(
    program: TermProgram,
    rules: Sequence[TermRule],
    steps: Sequence[RewriteStep],
    cost: TermCost | None = None,
) -> Derivation:
    """Return what steps make of a program.

    Raises:
        InputError: a rule does not apply where a step says.
    """
    rewriter, counted = Rewriter(rules), StaticCost() if cost is None else cost
    terms = [program.body]
    for step in steps:
        terms.append(rewriter.after(terms[-1], step))
    return Derivation(
        program, tuple(rules), tuple(steps), tuple(terms), tuple(counted(term) for term in terms)
    )


def replay_derivation(record: Any, where: str = "a record") -> Derivation:
    """Follow a record step by step, and return what it leads to.

    Raises:
        InputError: it is no record, or leads elsewhere; says at which step.
    """
    if not isinstance(record, Mapping) or record.get("kind") != KIND:
        raise InputError(f'{where}: expected a record with "kind": "{KIND}", found another')
    if record.get("version") != VERSION:
        raise InputError(
            f"{where}: expected version {VERSION} of records, found {record.get('version')!r}"
        )
    try:
        rows = [
            (
                str(row["rule"]),
                tuple(int(at) for at in row["position"]),
                str(row["term"]),
                row["cost"],
            )
            for row in record["derivation"]
        ]
        texts = str(record["program"]), str(record["rules"])
        first, last = float(record["initial_cost"]), float(record["cost"])
        costs = [float(cost) for *_, cost in rows]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: expected the members of a record, found {error!r}") from None
    program = parse_program(texts[0], f"{where}: program")
    rules = parse_rules(texts[1], f"{where}: rules")
    by_name = {rule.name: rule for rule in rules}
    steps: list[RewriteStep] = []
    for number, (name, place, *_) in enumerate(rows, 1):
        if name not in by_name:
            raise InputError(f"{where}: step {number}: expected one of its rules, found {name!r}")
        steps.append(RewriteStep(by_name[name], place))
    check_unknown(dict.fromkeys(step.rule for step in steps), f"{where}: rules")
    try:
        derivation = derive(program, rules, steps)
    except PolygymError as error:
        raise InputError(f"{where}: {error}") from None
    for number, (term, (_, _, text, _)) in enumerate(
        zip(derivation.terms[1:], rows, strict=True), 1
    ):
        if text_of(term) != text:
            raise InputError(
                f"{where}: step {number}: expected {text}, found that it leads to {text_of(term)}"
            )
    for number, (cost, wanted) in enumerate(
        zip((*derivation.costs, derivation.costs[-1]), (first, *costs, last), strict=True)
    ):
        if abs(cost - wanted) > _CLOSE * max(1.0, abs(cost)):
            raise InputError(
                f"{where}: step {min(number, len(steps))}: expected the cost {wanted}, found {cost}"
            )
    if str(record.get("term")) != text_of(derivation.terms[-1]):
        raise InputError(f"{where}: expected the last term to be that of the last step, it is not")
    return derivation
