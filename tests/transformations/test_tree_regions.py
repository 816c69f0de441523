"""Regions of change: pairs outside of them have the same order in both trees."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.transformations.candidates import order_steps
from polygym.transformations.edge_rows import EdgeRows
from polygym.transformations.loop_tree import LoopTree
from polygym.transformations.state import TransformProgram
from polygym.transformations.tree_regions import changed_region, is_same_order, whole_tree
from polygym.transformations.tree_steps import UnavailableStepError, apply_tree_step
from tests.transformations.by_force import (
    in_one_line,
    instances_of,
    is_tree_step,
    run_tree,
    scop_named,
    walk_states,
)

NAMES = ("gemm", "jacobi-1d", "correlation", "lu", "random:3", "scalars:5")


def trees_near(name: str) -> list[tuple[LoopTree, LoopTree]]:
    """Return trees before and after steps, legal or not."""
    scop = scop_named(name)
    start = TransformProgram(scop).start()
    found = []
    for state in walk_states(start, np.random.default_rng(5), 4, is_tree_step)[::2]:
        for step in order_steps(state.tree):
            try:
                found.append((state.tree, apply_tree_step(state.tree, step, EdgeRows(scop))))
            except UnavailableStepError:
                continue
    return found


@pytest.mark.parametrize("name", NAMES)
def test_pairs_outside_of_a_region_keep_their_order(name: str) -> None:
    every, sizes = instances_of(scop_named(name))
    some = np.random.default_rng(1).permutation(len(every))[:40]
    smaller = 0
    for before, after in trees_near(name)[::9]:
        inside = {n for node in changed_region(after, before).nodes for n in node.statements}
        smaller += len(inside) < len(before.iterators)
        orders = [
            {instance: k for k, instance in enumerate(in_one_line(run_tree(tree, every, sizes)))}
            for tree in (before, after)
        ]
        for first in some:
            for second in some:
                one, other = every[first], every[second]
                if one[0] in inside and other[0] in inside:
                    continue
                assert (orders[0][one] < orders[0][other]) == (orders[1][one] < orders[1][other])
    assert smaller or len(scop_named(name).statements) < 3


@pytest.mark.parametrize("name", NAMES)
def test_the_same_order_is_that_of_the_shape(name: str) -> None:
    found = trees_near(name)
    for before, after in found:
        assert is_same_order(after, before) == (after.shape == before.shape)
    tree = found[0][0]
    assert is_same_order(tree, tree)
    assert changed_region(tree, tree).nodes == ()
    assert whole_tree(tree).nodes == tree.body
