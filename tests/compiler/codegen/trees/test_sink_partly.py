"""Bands of which some loops stay above a sequence: where, and that they are right."""

import numpy as np
import pytest

from polygym.compiler.codegen.common.loop_annotation import Parallel, Vector
from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.codegen.trees.tree import Band, Leaf, Member, Sequence, Tree, paths
from polygym.compiler.poly.baselines import isl_schedule
from polygym.compiler.poly.legality import LegalSchedule
from tests.compiler.codegen.mapped import scop_of
from tests.compiler.codegen.trees.planned import mapped
from tests.oracles.mapped_trees import Run, check_tree
from tests.oracles.native import random_arrays, run_in_order, run_natively


def loops_around(legal: LegalSchedule, tree: Tree, name: str) -> tuple[Member, ...]:
    names = tuple(part.statement for part in legal.schedule.statements)
    return dict(paths(tree, names))[name]


def parallel_loops(tree: Tree) -> list[Parallel]:
    match tree:
        case Leaf():
            return []
        case Band(_, members, child):
            own = [one.annotation for one in members if isinstance(one.annotation, Parallel)]
            return [*own, *parallel_loops(child)]
        case Sequence(branches):
            return [one for branch in branches for one in parallel_loops(branch.child)]


@pytest.mark.parametrize(
    "mapping", ["tile=3", "tile=2x3 threads=2", "tile=off", "tile=4 outer_tile=2 threads=2"]
)
def test_every_dependence_is_kept(mapping: str) -> None:
    legal, tree, sizes = mapped("orthogonal", mapping, 7)
    check_tree(tree, Run.of(legal.scop, sizes), legal.schedule.parameters)


def test_the_statements_below_run_in_vectors_inside_of_tiles() -> None:
    """The sum and the update have loops over i alone where they stand; now j is among them."""
    legal, tree, _ = mapped("orthogonal", "threads=2", 300)
    for name in ("S5", "S6"):
        members = loops_around(legal, tree, name)
        assert any(isinstance(one.annotation, Vector) for one in members)
        assert {part.size for one in members for part in one.parts} == {1, 64}


def test_without_vectors_or_sinking_nothing_changes_places() -> None:
    for mapping in ("vector_bits=off", "sink=off"):
        legal, tree, _ = mapped("orthogonal", f"threads=2 {mapping}", 300)
        members = loops_around(legal, tree, "S6")
        assert not any(isinstance(one.annotation, Vector) for one in members)


def test_tiles_that_share_rows_are_dealt_out_in_turn() -> None:
    _, tree, _ = mapped("orthogonal", "threads=2", 300)
    kinds = {one.dynamic for one in parallel_loops(tree)}
    assert kinds == {True, False}  # what sets R apart is dealt out in small pieces, as ever
    assert parallel_loops(mapped("orthogonal", "threads=2 parallel=off", 300)[1]) == []


def test_nothing_sinks_that_leads_back_within_an_iteration() -> None:
    """A maximum over k below i and j needs what the iteration j before has left, for every i."""
    legal, tree, sizes = mapped("pairing", "tile=3 threads=2", 8)
    check_tree(tree, Run.of(legal.scop, sizes), legal.schedule.parameters)
    names = tuple(part.statement for part in legal.schedule.statements)
    annotations = [one.annotation for _, members in paths(tree, names) for one in members]
    assert not any(isinstance(one, Vector) for one in annotations)


@pytest.mark.parametrize("mapping", ["threads=2", "", "tile=16 threads=2", "tile=32x8"])
@pytest.mark.parametrize("size", [70, 131])
def test_results_are_the_same_bits_at_sizes_with_many_tiles(mapping: str, size: int) -> None:
    scop = scop_of("orthogonal")
    sizes = {"n": size, "m": 37}
    arrays = random_arrays(scop, sizes, np.random.default_rng(5))
    expected = {key: array.copy() for key, array in arrays.items()}
    run_in_order(scop, sizes, expected)
    run_natively(scop, isl_schedule(scop), sizes, arrays, parse_mapping(mapping), is_known=True)
    for array, values in expected.items():
        assert arrays[array].tobytes() == values.tobytes()
