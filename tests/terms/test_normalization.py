"""What rules with a direction lead to: the same value, and as many steps as are said."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.search.planning import PlanningLimits
from polygym.terms.cost import StaticCost
from polygym.terms.fusion_value import Normalizer
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.program import TermProgram, sizes_in
from polygym.terms.language.values import is_close
from polygym.terms.library import programs
from polygym.terms.optimization import optimize_term
from polygym.terms.rules.rule_table import merge_rules, rules_named

RULES = merge_rules(
    rules_named(name) for name in ("vectors", "simplification", "gradients", "binding")
)
SIZES = {"k": 2, "l": 2, "kn": 2, "n": 4, "o": 2, "m": 2}


@pytest.mark.parametrize(
    "program",
    [term_program for term_program in programs("gradients") if term_program.name != "rev$maxpool"],
    ids=lambda program: program.name,
)
def test_the_value_stays_and_the_cost_falls(program: TermProgram) -> None:
    made, steps = Normalizer(RULES)(program.body)
    assert steps > 0
    assert StaticCost()(made) < StaticCost()(program.body)
    rng = np.random.default_rng(1)
    values = {
        name: rng.random([SIZES[size] for size in sizes_in(kind)]).tolist()
        for name, kind in program.parameters
    }
    value = evaluate(program.with_body(made), values)
    assert is_close(value, evaluate(program, values))


def test_a_search_finds_what_is_expected() -> None:
    program = next(
        term_program
        for term_program in programs("gradients")
        if term_program.name == "rev$rectifier"
    )
    made, _ = Normalizer(RULES)(program.body)
    derivation = optimize_term(
        program, [RULES], "astar", PlanningLimits(horizon=30, max_states=600)
    )
    assert derivation.costs[-1] <= StaticCost()(made) < derivation.costs[0] / 10


def test_other_rules_are_not_used() -> None:
    assert Normalizer(rules_named("simple")).is_empty
