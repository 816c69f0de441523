"""Whole programs as a space: steps compute the same, and searches and trainings take it."""

from __future__ import annotations

import math

import pytest

from polygym.errors import InputError
from polygym.search.planning import PlanningLimits, search
from polygym.terms.cost import StaticCost
from polygym.terms.generated_programs import generated_programs
from polygym.terms.library import programs
from polygym.terms.whole_programs.code_motion import bind_invariants
from polygym.terms.whole_programs.program_checks import find_difference
from polygym.terms.whole_programs.program_system import SCALE, ProgramSystem, start_in, system_named

SYSTEM = system_named("programs", "all")


def test_steps_compute_the_same() -> None:
    for program in (*generated_programs(3, 6), *programs("twenty")[:2]):
        for state in SYSTEM.successors(start_in("programs", program.body))[:8]:
            assert find_difference(program, state, tries=8) is None
            assert find_difference(program, bind_invariants(state), tries=8) is None


def test_the_cost_is_that_after_code_motion() -> None:
    program = programs("twenty")[0]
    state = start_in("programs", program.body)
    bound = StaticCost()(bind_invariants(program.body))
    assert math.exp(SYSTEM.cost(state) / SCALE) == pytest.approx(bound)


@pytest.mark.parametrize(
    ("name", "most"), [("softmax", 163.2), ("outer_times_vector", 147.0), ("layer_norm", 188.0)]
)
def test_searches_without_a_value(name: str, most: float) -> None:
    [program] = [program for program in programs("twenty") if program.name == name]
    found = search(
        "greedy", SYSTEM, start_in("programs", program.body), PlanningLimits(10, 500, 16)
    )
    assert StaticCost()(bind_invariants(found.best)) <= most
    assert find_difference(program, bind_invariants(found.best)) is None


def test_rules_of_let_are_left_out() -> None:
    assert isinstance(SYSTEM, ProgramSystem)
    names = {rule.name for rule in SYSTEM.rewriter.rules}
    assert names & {"bind", "lift", "inline", "fission-of-build", "let-of-build"} == set()
    assert {"exchange-sumbuilds", "mul-of-exps", "select-of-tuple"} <= names


def test_a_training_learns_in_the_space() -> None:
    pytest.importorskip("torch")
    from polygym.terms.learning.training import NetworkShape, TrainingConfig, ValueTrainer

    config = TrainingConfig(
        expressions=2, search_plan=PlanningLimits(4, 40, 16), rules=("all",), space="programs",
        shape=NetworkShape(4, 48, 1), updates=2, examples_per_search=20,
    )  # fmt: skip
    trainer = ValueTrainer(generated_programs(4, 4), config)
    epoch = trainer.epoch()
    assert epoch.cost <= epoch.initial_cost
    assert len(trainer.examples) > 0
    with pytest.raises(InputError, match="space: expected one of terms, programs"):
        TrainingConfig(space="loops")
