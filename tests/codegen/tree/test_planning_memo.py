"""Plans with a memory are the plans without one, and an answer is worked out once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.codegen.tree.planning_memo import NO_MEMO, PlanningMemo
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import DEFAULT_MAPPING, nests_of
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.scheduling.strategy import ISL
from polygym.programs import load_program
from polygym.search.strategies.candidates import SearchSpace
from polygym.search.strategies.neighborhood import mutate_mapping
from polygym.search.strategies.schedule_edits import edit_schedule
from tests.oracles.random_schedules import random_legal_schedule


@pytest.mark.parametrize(
    "name", ["gemm", "2mm", "jacobi-2d", "lu", "correlation", "random:4", "tc:mlp1"]
)
def test_a_memory_changes_no_plan(name: str) -> None:
    program = load_program(name)
    scop = program.scop
    sizes = {parameter.name: program.value(parameter.name) for parameter in scop.parameters}
    start = replace(DEFAULT_MAPPING, threads=2)
    genes = SearchSpace.for_program(scop, (ISL,), sizes, start)
    rng = np.random.default_rng(0)
    memory = PlanningMemo()
    mappings = [start, *(genes.sample(rng).mapping for _ in range(7))]
    # Small steps: most of what a plan asks is what the one before it has asked.
    for _ in range(12):
        mappings.append(mutate_mapping(mappings[-1 if rng.random() < 0.7 else 0], rng))
    names = [statement.name for statement in scop.statements]
    for mapping in mappings[1:8]:
        own = {"tile": mapping.outer_tile, "sink": mapping.sink, "vector_bits": 128}
        mappings.append(replace(mapping, nests=nests_of({str(rng.choice(names)): own})))
    orders = [LegalSchedule(scop, wrapper(scop)) for wrapper in (original_schedule, isl_schedule)]
    for mapping in mappings:
        for legal in orders:
            tree = build_tree(legal)
            with_memory = plan_tree(tree, legal, mapping, Machine(), sizes, memory)
            assert with_memory == plan_tree(tree, legal, mapping, Machine(), sizes)


@pytest.mark.parametrize("name", ["gemm", "jacobi-2d", "lu", "correlation", "nussinov", "random:4"])
def test_a_memory_of_other_schedules_changes_no_tree(name: str) -> None:
    program = load_program(name)
    scop = program.scop
    sizes = {parameter.name: program.value(parameter.name) for parameter in scop.parameters}
    rng = np.random.default_rng(2)
    memory = PlanningMemo()
    schedules = [original_schedule(scop), isl_schedule(scop)]
    schedules += [
        edited for _ in range(8) if (edited := edit_schedule(schedules[-1], scop, rng)) is not None
    ]
    schedules += [random_legal_schedule(scop, rng) for _ in range(3)]
    for schedule in schedules:
        legal = LegalSchedule(scop, schedule)
        tree = build_tree(legal, memory)
        assert tree == build_tree(legal)
        for mapping in (DEFAULT_MAPPING, replace(DEFAULT_MAPPING, threads=2)):
            plan = plan_tree(tree, legal, mapping, Machine(), sizes, memory)
            assert plan == plan_tree(tree, legal, mapping, Machine(), sizes)


def test_a_question_is_answered_once() -> None:
    asked: list[int] = []

    def answer() -> int:
        asked.append(1)
        return 7

    memory = PlanningMemo()
    assert [memory.get_or_compute("q", answer) for _ in range(3)] == [7, 7, 7]
    assert len(asked) == 1
    assert [NO_MEMO.get_or_compute("q", answer) for _ in range(3)] == [7, 7, 7]
    assert len(asked) == 4
