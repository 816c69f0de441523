"""Plans with a memory are the plans without one, and an answer is worked out once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polygym.compiler.codegen.common.machine import Machine
from polygym.compiler.codegen.common.mapping import DEFAULT
from polygym.compiler.codegen.common.nest_entries import nests_of
from polygym.compiler.codegen.trees.build import build_tree
from polygym.compiler.codegen.trees.memory import NOTHING, Memory
from polygym.compiler.codegen.trees.plan import plan
from polygym.compiler.poly.baselines import isl_schedule, original
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.strategy import ISL
from polygym.programs import load_program
from polygym.search.explore.neighbourhood import changed
from polygym.search.tune.candidates import Genes
from polygym.search.tune.edits import edited
from tests.oracles.random_schedules import random_legal_schedule


@pytest.mark.parametrize(
    "name", ["gemm", "2mm", "jacobi-2d", "lu", "correlation", "random:4", "tc:mlp1"]
)
def test_a_memory_changes_no_plan(name: str) -> None:
    program = load_program(name)
    scop = program.scop
    sizes = {one.name: program.value(one.name) for one in scop.parameters}
    start = replace(DEFAULT, threads=2)
    genes = Genes.of(scop, (ISL,), sizes, start)
    dice = np.random.default_rng(0)
    memory = Memory()
    mappings = [start, *(genes.random(dice).mapping for _ in range(7))]
    # Small steps: most of what a plan asks is what the one before it has asked.
    for _ in range(12):
        mappings.append(changed(mappings[-1 if dice.random() < 0.7 else 0], dice))
    names = [one.name for one in scop.statements]
    for mapping in mappings[1:8]:
        own = {"tile": mapping.outer_tile, "sink": mapping.sink, "vector_bits": 128}
        mappings.append(replace(mapping, nests=nests_of({str(dice.choice(names)): own})))
    orders = [LegalSchedule(scop, found(scop)) for found in (original, isl_schedule)]
    for mapping in mappings:
        for legal in orders:
            tree = build_tree(legal)
            with_memory = plan(tree, legal, mapping, Machine(), sizes, memory)
            assert with_memory == plan(tree, legal, mapping, Machine(), sizes)


@pytest.mark.parametrize("name", ["gemm", "jacobi-2d", "lu", "correlation", "nussinov", "random:4"])
def test_a_memory_of_other_schedules_changes_no_tree(name: str) -> None:
    program = load_program(name)
    scop = program.scop
    sizes = {one.name: program.value(one.name) for one in scop.parameters}
    dice = np.random.default_rng(2)
    memory = Memory()
    schedules = [original(scop), isl_schedule(scop)]
    schedules += [one for _ in range(8) if (one := edited(schedules[-1], scop, dice)) is not None]
    schedules += [random_legal_schedule(scop, dice) for _ in range(3)]
    for schedule in schedules:
        legal = LegalSchedule(scop, schedule)
        tree = build_tree(legal, memory)
        assert tree == build_tree(legal)
        for mapping in (DEFAULT, replace(DEFAULT, threads=2)):
            found = plan(tree, legal, mapping, Machine(), sizes, memory)
            assert found == plan(tree, legal, mapping, Machine(), sizes)


def test_a_question_is_answered_once() -> None:
    asked: list[int] = []

    def answer() -> int:
        asked.append(1)
        return 7

    memory = Memory()
    assert [memory.of("q", answer) for _ in range(3)] == [7, 7, 7]
    assert len(asked) == 1
    assert [NOTHING.of("q", answer) for _ in range(3)] == [7, 7, 7]
    assert len(asked) == 4
