"""Orders of groups against all orders; what forms alone say of pairs against the pairs."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.codegen.tree.loop_context import LoopContext, order_groups
from polygym.frontend.c import parse_text
from polygym.poly.dependences import Dependence, DependenceKind
from polygym.poly.distance import DependencePairs, all_pairs
from polygym.poly.schedule import ScheduleRow, parameter_names
from tests.c_programs import SMALL_PROGRAMS

GROUPS = (("A",), ("B", "C"), ("D",), ("E",))
NAMES = ("A", "B", "C", "D", "E", "elsewhere")


def pairs_of(ends: list[tuple[str, str]]) -> list[DependencePairs]:
    nothing = isl.Set("{ [] }")
    return [
        DependencePairs(Dependence(source, other, DependenceKind.FLOW, ("x",), ""), nothing, ())
        for source, other in ends
    ]


@given(st.lists(st.sampled_from(sorted(product(NAMES, NAMES))), max_size=7))
@settings(deadline=None, max_examples=300)
def test_an_order_is_the_first_in_which_no_pair_leads_back(ends: list[tuple[str, str]]) -> None:
    def is_right(order: tuple[tuple[str, ...], ...]) -> bool:
        place = {name: number for number, group in enumerate(order) for name in group}
        known = [(place[a], place[b]) for a, b in ends if a in place and b in place]
        return all(before <= after for before, after in known)

    # In the order in which permutations come: groups as far in front as they stood.
    expected = next(filter(is_right, permutations(GROUPS)), None)
    assert order_groups(GROUPS, pairs_of(ends)) == expected


@pytest.mark.parametrize("name", sorted(SMALL_PROGRAMS))
def test_answers_from_the_form_alone_are_those_of_the_pairs(name: str) -> None:
    scop = parse_text(SMALL_PROGRAMS[name])
    parameters, rng = parameter_names(scop), np.random.default_rng(1)
    statements = tuple(statement.name for statement in scop.statements)
    pairs = [pair for pair in all_pairs(scop) if not pair.is_empty]
    nowhere = [replace(pair, points=isl.Set.empty(pair.points.get_space())) for pair in pairs]
    seen = 0
    for _ in range(30):
        rows = tuple(
            ScheduleRow(
                tuple(int(x) for x in rng.choice([0, 0, 0, 1, -1], size=statement.depth)),
                tuple(int(x) for x in rng.choice([0, 0, 0, 1], size=len(parameters))),
                int(rng.integers(-1, 2)),
            )
            for statement in scop.statements
        )
        row_of = dict(zip(statements, rows, strict=True))
        for dependence_pairs in [*pairs, *nowhere]:
            source, sink = (
                row_of[dependence_pairs.dependence.source],
                row_of[dependence_pairs.dependence.sink],
            )
            distance = dependence_pairs.distance(source, sink, parameters)
            seen += distance.is_constant
            outside = dict.fromkeys(statements, ())
            around = LoopContext((dependence_pairs,), outside, tuple(parameters))
            is_reversed = not dependence_pairs.reversed_by(distance).is_empty
            assert around.allows(rows, statements) == (not is_reversed)
            is_carried = not dependence_pairs.carried_by(distance).is_empty
            assert around.carries_none(rows, statements) == (not is_carried)
            left = dependence_pairs.unordered_by(distance)
            inside = around.inside_loop(rows, statements).pairs
            assert bool(inside) == (not left.is_empty)
            assert all(pair.points.is_equal(left.points) for pair in inside)
    assert seen
