"""Orders of groups against all orders; what forms alone say of pairs against the pairs."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.compiler.codegen.trees.pairs import (
    in_order,
    still_unordered,
    untouched,
    weakly_ordered,
)
from polygym.compiler.frontend.c import parse_text
from polygym.compiler.poly.dependences import Dependence, Kind
from polygym.compiler.poly.distance import Pairs, all_pairs
from polygym.compiler.poly.schedule import Row, parameter_names
from tests.sources import SMALL_PROGRAMS

GROUPS = (("A",), ("B", "C"), ("D",), ("E",))
NAMES = ("A", "B", "C", "D", "E", "elsewhere")


def pairs_of(ends: list[tuple[str, str]]) -> list[Pairs]:
    nothing = isl.Set("{ [] }")
    return [
        Pairs(Dependence(one, other, Kind.FLOW, ("x",), ""), nothing, ()) for one, other in ends
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
    assert in_order(GROUPS, pairs_of(ends)) == expected


@pytest.mark.parametrize("name", sorted(SMALL_PROGRAMS))
def test_answers_from_the_form_alone_are_those_of_the_pairs(name: str) -> None:
    scop = parse_text(SMALL_PROGRAMS[name])
    parameters, dice = parameter_names(scop), np.random.default_rng(1)
    statements = tuple(one.name for one in scop.statements)
    pairs = [one for one in all_pairs(scop) if not one.is_empty]
    nowhere = [replace(one, points=isl.Set.empty(one.points.get_space())) for one in pairs]
    seen = 0
    for _ in range(30):
        rows = tuple(
            Row(
                tuple(int(x) for x in dice.choice([0, 0, 0, 1, -1], size=statement.depth)),
                tuple(int(x) for x in dice.choice([0, 0, 0, 1], size=len(parameters))),
                int(dice.integers(-1, 2)),
            )
            for statement in scop.statements
        )
        row_of = dict(zip(statements, rows, strict=True))
        for one in [*pairs, *nowhere]:
            source, sink = row_of[one.dependence.source], row_of[one.dependence.sink]
            distance = one.distance(source, sink, parameters)
            seen += distance.is_constant
            given = ([one], statements, rows, parameters)
            assert weakly_ordered(*given) == one.reversed_by(distance).is_empty
            assert untouched(*given) == one.carried_by(distance).is_empty
            left = one.untouched_by(distance)
            found = still_unordered(*given)
            assert bool(found) == (not left.is_empty)
            assert all(pair.points.is_equal(left.points) for pair in found)
    assert seen
