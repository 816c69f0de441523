"""Record of the saturation of a whole program: the program, the rules, the term, the costs.

There are no steps in it. A replay tries the rules again, checks both costs, and evaluates the
term beside the program for random inputs (:func:`replay_program`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygym.errors import InputError
from polygym.pickling import pickle_by_name
from polygym.terms.language.parser import parse_program
from polygym.terms.language.printer import text_of, text_of_program
from polygym.terms.language.program import TermProgram
from polygym.terms.record_results import check_costs, read_result
from polygym.terms.rules.rule_table import parse_rules, text_of_rules
from polygym.terms.rules.rule_types import TermRule
from polygym.terms.rules.soundness import check_unknown
from polygym.terms.whole_programs.program_checks import find_difference
from polygym.terms.whole_programs.program_saturation import ProgramLimits, saturate_loops

PROGRAM_KIND = "polygym rewrite by saturation of loops"
_VERSION = 1


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ProgramRecord:
    """A program, the rules, the program that was found, both costs, the nodes of the e-graph."""

    program: TermProgram
    rules: tuple[TermRule, ...]
    result: TermProgram
    initial_cost: float
    cost: float
    nodes: int

    def to_json(self) -> dict[str, Any]:
        """Return the record."""
        return {
            "kind": PROGRAM_KIND,
            "version": _VERSION,
            "program": text_of_program(self.program),
            "rules": text_of_rules(self.rules),
            "nodes": self.nodes,
            "initial_cost": self.initial_cost,
            "cost": self.cost,
            "term": text_of(self.result.body),
        }


def saturate_to_record(
    program: TermProgram, rules: Sequence[TermRule], nodes: int
) -> ProgramRecord:
    """Return what saturation makes of a program, with an e-graph of so many nodes at most."""
    made = saturate_loops(program, rules, ProgramLimits(nodes=nodes))
    result = program.with_body(made.term)
    return ProgramRecord(program, tuple(rules), result, made.initial_cost, made.cost, made.nodes)


def replay_program(record: Mapping[str, Any], where: str = "a record") -> ProgramRecord:
    """Return what a record says, if it is so.

    Raises:
        InputError: it is no record, its costs are wrong, or the term computes something else.
    """
    if record.get("kind") != PROGRAM_KIND or record.get("version") != _VERSION:
        raise InputError(f'{where}: expected a record with "kind": "{PROGRAM_KIND}", found another')
    try:
        texts = [str(record[name]) for name in ("program", "rules", "term")]
        costs = float(record["initial_cost"]), float(record["cost"])
        nodes = int(record["nodes"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: expected the members of a record, found {error!r}") from None
    program = parse_program(texts[0], f"{where}: program")
    rules = tuple(parse_rules(texts[1], f"{where}: rules"))
    check_unknown(rules, f"{where}: rules")
    result = read_result(program, texts[2], where)
    check_costs(costs, (program.body, result.body), where)
    if (values := find_difference(program, result.body, tries=100)) is not None:
        raise InputError(f"{where}: expected the term to compute the same; it does not: {values}")
    return ProgramRecord(program, rules, result, *costs, nodes)
