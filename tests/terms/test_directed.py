"""What rules with a direction lead to: the same value, and as many steps as are said."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.search.planning import Plan
from polygym.terms.cost import StaticCost
from polygym.terms.directed import Directed
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.program import Program, sizes_in
from polygym.terms.language.values import close
from polygym.terms.library import programs
from polygym.terms.optimize import optimized
from polygym.terms.rules.sets import joined, rules_named

RULES = joined(rules_named(name) for name in ("vectors", "simplification", "gradients", "binding"))
SIZES = {"k": 2, "l": 2, "kn": 2, "n": 4, "o": 2, "m": 2}


@pytest.mark.parametrize(
    "program",
    [one for one in programs("gradients") if one.name != "rev$maxpool"],
    ids=lambda one: one.name,
)
def test_the_value_stays_and_the_cost_falls(program: Program) -> None:
    made, steps = Directed(RULES)(program.body)
    assert steps > 0
    assert StaticCost()(made) < StaticCost()(program.body)
    dice = np.random.default_rng(1)
    values = {
        name: dice.random([SIZES[size] for size in sizes_in(kind)]).tolist()
        for name, kind in program.parameters
    }
    found = evaluate(program.with_body(made), values)
    assert close(found, evaluate(program, values))


def test_a_search_finds_what_is_expected() -> None:
    program = next(one for one in programs("gradients") if one.name == "rev$rectifier")
    made, _ = Directed(RULES)(program.body)
    found = optimized(program, [RULES], "astar", Plan(horizon=30, states=600))
    assert found.costs[-1] <= StaticCost()(made) < found.costs[0] / 10


def test_other_rules_are_not_used() -> None:
    assert Directed(rules_named("simple")).is_empty
