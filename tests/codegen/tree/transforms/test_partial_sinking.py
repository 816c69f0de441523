"""Bands of which some loops stay above a sequence: where, and that they are right."""

import numpy as np
import pytest

from polygym.codegen.common.loop_annotation import ParallelLoop, VectorLoop
from polygym.codegen.tree.ir import Band, BandMember, Leaf, SequenceNode, Tree, loop_paths
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from tests.codegen.mapped_programs import scop_of
from tests.codegen.tree.mapped_tree import mapped
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.mapped_trees import Run, check_tree


def loops_around(legal: LegalSchedule, tree: Tree, name: str) -> tuple[BandMember, ...]:
    names = tuple(part.statement for part in legal.schedule.statements)
    return dict(loop_paths(tree, names))[name]


def parallel_loops(tree: Tree) -> list[ParallelLoop]:
    match tree:
        case Leaf():
            return []
        case Band(_, members, child):
            own = [
                band_member.annotation
                for band_member in members
                if isinstance(band_member.annotation, ParallelLoop)
            ]
            return [*own, *parallel_loops(child)]
        case SequenceNode(branches):
            return [loop for branch in branches for loop in parallel_loops(branch.child)]


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
        assert any(isinstance(band_member.annotation, VectorLoop) for band_member in members)
        assert {part.size for member in members for part in member.terms} == {1, 64}


def test_without_vectors_or_sinking_nothing_changes_places() -> None:
    for mapping in ("vector_bits=off", "sink=off"):
        legal, tree, _ = mapped("orthogonal", f"threads=2 {mapping}", 300)
        members = loops_around(legal, tree, "S6")
        assert not any(isinstance(band_member.annotation, VectorLoop) for band_member in members)


def test_tiles_that_share_rows_are_dealt_out_in_turn() -> None:
    _, tree, _ = mapped("orthogonal", "threads=2", 300)
    kinds = {loop.is_dynamic for loop in parallel_loops(tree)}
    assert kinds == {True, False}  # what sets R apart is dealt out in small pieces, as ever
    assert parallel_loops(mapped("orthogonal", "threads=2 parallel=off", 300)[1]) == []


def test_nothing_sinks_that_leads_back_within_an_iteration() -> None:
    """A maximum over k below i and j needs what the iteration j before has left, for every i."""
    legal, tree, sizes = mapped("pairing", "tile=3 threads=2", 8)
    check_tree(tree, Run.of(legal.scop, sizes), legal.schedule.parameters)
    names = tuple(part.statement for part in legal.schedule.statements)
    annotations = [
        band_member.annotation for _, members in loop_paths(tree, names) for band_member in members
    ]
    assert not any(isinstance(annotation, VectorLoop) for annotation in annotations)


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
