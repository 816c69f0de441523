"""Orders of points: where dependences let loops change places, and nowhere else; by brute force."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.codegen.common.loop_annotation import ScalarReplacement, UnrollAndJam, VectorLoop
from polygym.codegen.tree.analysis.loop_order import OriginalLoops, loop_numbers, loops_of
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Band, Leaf, SequenceNode, Tree, loop_path
from polygym.codegen.tree.loop_context import LoopContext
from polygym.codegen.tree.planning.permutability import permutable_groups
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.codegen.tree.planning_memo import PlanningMemo
from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, parse_mapping
from polygym.poly.distance import all_pairs
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.codegen.mapped_programs import PROGRAMS, random_mapping, scop_of, with_orders
from tests.codegen.tree.planning.test_plan import (
    LARGE,
    SMALL,
    planned,
    small_run,
    some_schedule,
)
from tests.oracles.mapped_trees import check_tree

SUM = """
void sum(int n, int m, double C[n], double A[n][m][m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int k = 0; k < m; k++)
      for (int l = 0; l < m; l++)
        C[i] += A[i][k][l];
#pragma endscop
}
"""


def names_of(schedule: Schedule) -> tuple[str, ...]:
    return tuple(part.statement for part in schedule.statements)


def points_of(tree: Tree) -> Iterator[Band]:
    """Yield the bands whose members all are points."""
    match tree:
        case Leaf():
            return
        case SequenceNode(branches):
            for branch in branches:
                yield from points_of(branch.child)
        case Band(_, members, child):
            if all(
                len(band_member.terms) == 1 and band_member.terms[0].size == 1
                for band_member in members
            ):
                yield tree
            yield from points_of(child)


def order_of(tree: Tree, name: str, loops: OriginalLoops) -> tuple[int, ...]:
    """Return the numbers of the points around a statement, outermost first."""
    members = [
        band_member
        for band_member in loop_path(tree, name)
        if band_member.terms[0].size == 1 and len(band_member.terms) == 1
    ]
    return loop_numbers((name,), members, loops)


def groups_of(scop: Scop, schedule: Schedule, *, moving: bool) -> tuple[tuple[int, ...], ...]:
    tree, names = build_tree(LegalSchedule(scop, schedule)), names_of(schedule)
    around = LoopContext(all_pairs(scop), dict.fromkeys(names, ()), schedule.parameters)
    return permutable_groups(tree, around, loops_of(tree, names), with_moved_points=moving)


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(sorted(PROGRAMS)), st.integers(0, 2**32), st.booleans())
def test_whatever_the_order_no_dependence_is_broken(name: str, seed: int, large: bool) -> None:
    scop, generator = scop_of(name), np.random.default_rng(seed)
    run, schedule = small_run(scop), some_schedule(scop, generator)
    mapping = with_orders(random_mapping(generator, scop), scop, generator)
    sizes = run.sizes if generator.random() < 0.5 else None
    mapping = replace(mapping, threads=2)
    tree = planned(scop, schedule, mapping, LARGE if large else SMALL, sizes)
    check_tree(tree, run, schedule.parameters)


@pytest.mark.rotates
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_every_order_that_is_offered_is_legal_and_comes_about(name: str) -> None:
    """All permutations of up to four loops: no dependence breaks, and the loops do stand so."""
    scop = scop_of(name)
    run = small_run(scop)
    for schedule in (original_schedule(scop), isl_schedule(scop)):
        for group in groups_of(scop, schedule, moving=False):
            seen = set()
            for order in list(permutations(group[:4]))[:8]:
                mapping = replace(SEQUENTIAL_MAPPING, order=order)
                tree = planned(scop, schedule, mapping)
                check_tree(tree, run, schedule.parameters)
                seen.add(tree)
                loops = loops_of(build_tree(LegalSchedule(scop, schedule)), names_of(schedule))
                orders = [order_of(tree, loop, loops) for loop in loops]
                assert any(
                    [number for number in each if number in order] == list(order) for each in orders
                )
            assert len(seen) == min(8, len(list(permutations(group[:4]))))


@pytest.mark.parametrize("name", ["product", "contraction", "lu", "jacobi", "convolution"])
def test_in_every_band_what_is_named_runs_innermost(name: str) -> None:
    scop = scop_of(name)
    run, generator = small_run(scop), np.random.default_rng(len(name))
    for schedule in (original_schedule(scop), isl_schedule(scop)):
        loops = loops_of(build_tree(LegalSchedule(scop, schedule)), names_of(schedule))
        for sizes in (None, run.sizes):
            mapping = with_orders(DEFAULT_MAPPING, scop, generator)
            mapping = replace(mapping, nests=())
            for band in points_of(planned(scop, schedule, mapping, sizes=sizes)):
                numbers = [
                    number
                    for number in loop_numbers(band.statements, band.members, loops)
                    if number
                ]
                named = [loop for loop in mapping.order if loop in numbers]
                assert numbers[len(numbers) - len(named) :] == named


def test_a_sum_over_two_loops_keeps_the_order_of_its_terms() -> None:
    scop = parse_text(SUM)
    schedule = original_schedule(scop)
    assert groups_of(scop, schedule, moving=False) == ((1, 2),)
    assert groups_of(scop, schedule, moving=True) == ((1, 2), (1, 3))
    (name,) = names_of(schedule)
    loops = loops_of(build_tree(LegalSchedule(scop, schedule)), (name,))
    for order in permutations((1, 2, 3)):
        for text in ("sequential", "tile=off", "tile=2"):
            mapping = replace(parse_mapping(text), order=order)
            numbers = order_of(planned(scop, schedule, mapping), name, loops)
            assert numbers.index(2) < numbers.index(3)


def test_the_order_that_the_model_has_changes_nothing() -> None:
    scop = scop_of("product")
    for schedule in (original_schedule(scop), isl_schedule(scop)):
        loops = loops_of(build_tree(LegalSchedule(scop, schedule)), names_of(schedule))
        for text in ("default", "threads=2 tile=16x8x8", "sequential", "vector_bits=off"):
            mapping = parse_mapping(text)
            usual = planned(scop, schedule, mapping, LARGE)
            same = replace(mapping, order=order_of(usual, "S1", loops))
            assert loop_path(planned(scop, schedule, same, LARGE), "S1") == loop_path(usual, "S1")
            assert planned(scop, schedule, replace(mapping, order=(9,)), LARGE) == usual


def test_roles_follow_the_loop_that_runs_innermost() -> None:
    """A sum of products: its element in a register, or terms together, or rows without either."""
    scop = scop_of("product")
    schedule = isl_schedule(scop)
    roles = {}
    for order in ("off", "3", "2", "1"):
        tree = planned(scop, schedule, parse_mapping(f"order={order}"), LARGE)
        members = loop_path(tree, "S1")[-3:]
        roles[order] = [type(band_member.annotation).__name__ for band_member in members]
    usual = [UnrollAndJam.__name__, VectorLoop.__name__, ScalarReplacement.__name__]
    assert roles["off"] == roles["3"] == usual
    assert roles["2"] == ["SequentialLoop", UnrollAndJam.__name__, VectorLoop.__name__]
    assert ScalarReplacement.__name__ not in roles["1"]
    assert VectorLoop.__name__ in roles["1"]


def test_orders_of_single_nests() -> None:
    scop = scop_of("jacobi")
    schedule = original_schedule(scop)
    loops = loops_of(build_tree(LegalSchedule(scop, schedule)), names_of(schedule))
    mapping = parse_mapping("sequential S0:order=2")
    assert order_of(planned(scop, schedule, mapping), "S0", loops) == (1, 3, 2)
    # Both statements are one nest, and of what is said of both the last name counts.
    mapping = parse_mapping("sequential S0:order=2 S1:order=off")
    assert order_of(planned(scop, schedule, mapping), "S0", loops) == (1, 2, 3)


def test_with_a_memory_plans_are_the_same() -> None:
    """Schedules that number the same loops differently share a memory."""
    for name in ("product", "contraction", "convolution", "statistics"):
        scop, memory = scop_of(name), PlanningMemo()
        generator = np.random.default_rng(len(name))
        for _ in range(12):
            schedule = some_schedule(scop, generator)
            mapping = with_orders(random_mapping(generator, scop), scop, generator)
            legal = LegalSchedule(scop, schedule)
            tree = build_tree(legal)
            sizes = small_run(scop).sizes
            known = plan_tree(tree, legal, mapping, LARGE, sizes, memory)
            assert known == plan_tree(tree, legal, mapping, LARGE, sizes)


@pytest.mark.parametrize("text", ["order=2x2", "order=0", "order=x", "order=on", "S0:order=1x1"])
def test_what_is_no_order_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="order"):
        parse_mapping(text)


def test_orders_are_written_and_read() -> None:
    assert str(parse_mapping("order=3x1 S0:order=off")) == "order=3x1 S0:order=off"
    assert parse_mapping("order=3x1").order == (3, 1)
    assert str(parse_mapping("order=off")) == "default"
