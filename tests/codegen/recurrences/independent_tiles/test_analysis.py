"""Tiles in which only sums wait: which they are, by brute force, and where there are none."""

import numpy as np
import pytest

from polygym.codegen.common.loop_annotation import ScalarReplacement, UnrollAndJam
from polygym.codegen.tree.analysis.scalar_replacement import replaceable_in_copies
from polygym.codegen.tree.ir import Band, Branch, Leaf, SequenceNode, Tree
from polygym.codegen.tree.printer import print_tree
from polygym.codegen.validate.order import timestamps_along
from polygym.mapping.mapping import parse_mapping
from polygym.poly.schedule import ScheduleRow
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.codegen.mapped_programs import scop_of
from tests.codegen.tree.mapped_tree import mapped
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.mapped_trees import Run, check_tree


def free_branches(tree: Tree) -> list[Branch]:
    match tree:
        case Leaf():
            return []
        case Band(child=child):
            return free_branches(child)
        case SequenceNode(branches):
            result = [
                branch
                for branch in branches
                if branch.predicate and not branch.predicate.is_complement
            ]
            return [*result, *(branch for part in branches for branch in free_branches(part.child))]


@pytest.mark.parametrize("name", ["lu", "cholesky", "one_side"])
@pytest.mark.parametrize("mapping", ["tile=3", "tile=2x3x4 threads=2", "tile=4 outer_tile=2"])
def test_free_tiles_of_factorisations_keep_every_dependence(name: str, mapping: str) -> None:
    legal, tree, sizes = mapped(name, mapping, 9)
    assert free_branches(tree)
    check_tree(tree, Run.of(legal.scop, sizes), legal.schedule.parameters)


def test_most_of_a_factorisation_is_in_free_tiles() -> None:
    legal, tree, sizes = mapped("lu", "tile=2", 24)
    (branch,) = free_branches(tree)
    assert "where" in print_tree(tree, legal.scop, legal.schedule)
    name = branch.statements[0]
    times = timestamps_along(tree, legal, name)
    inside = [(i, j, k) for i in range(24) for j in range(24) for k in range(min(i, j))]
    inside = [point for point in inside if (point[1] < point[0]) == (name == "S0")]
    # What is in the branch, the second one, has its number behind those of three tiles.
    free = sum(times(*point, *sizes.values())[3] for point in inside)
    assert free > 0.7 * len(inside)


def test_two_loops_of_a_sum_have_free_tiles_in_which_rows_run_together() -> None:
    _, tree, _ = mapped("one_side", "threads=2", 2000)
    (branch,) = free_branches(tree)
    assert branch.statements == ("S1",)
    assert isinstance(branch.child, Band)
    rows, terms = branch.child.members
    assert isinstance(rows.annotation, UnrollAndJam)
    assert rows.coincident
    assert isinstance(terms.annotation, ScalarReplacement)
    assert branch.predicate is not None
    assert {part.size for part in branch.predicate.tile_coordinates} == {128}


@pytest.mark.parametrize("name", ["seidel", "jacobi", "product", "triangle_solved", "recurrence"])
def test_other_programs_have_none(name: str) -> None:
    assert free_branches(mapped(name, "tile=4", 9)[1]) == []


@pytest.mark.parametrize("mapping", ["vector_bits=off", "scalar_replacement=off"])
def test_without_vectors_or_registers_there_are_none(mapping: str) -> None:
    assert free_branches(mapped("lu", f"tile=3 {mapping}", 9)[1]) == []


@pytest.mark.parametrize(
    "name", ["lu", "cholesky", "triangle_times", "triangle_solved", "triangle_solve"]
)
def test_results_are_the_same_bits_at_sizes_with_many_tiles(name: str) -> None:
    scop = scop_of(name)
    sizes = {parameter.name: 70 for parameter in scop.parameters}
    arrays = random_arrays(scop, sizes, np.random.default_rng(3))
    expected = {key: array.copy() for key, array in arrays.items()}
    run_in_order(scop, sizes, expected)
    run_natively(scop, isl_schedule(scop), sizes, arrays, parse_mapping("threads=2"), is_known=True)
    for array, values in expected.items():
        assert arrays[array].tobytes() == values.tobytes()


def test_copies_hold_what_is_read_before_it_is_written_and_not_after() -> None:
    """B[i][j] += A[k][i] * B[k][j]: k > i is read before, k < i after row k was written."""
    i, j = (ScheduleRow(tuple(int(p == q) for p in range(3)), (0, 0), 0) for q in range(2))
    times = scop_of("triangle_times")
    assert replaceable_in_copies(times, "S0", [j], i)
    solved = scop_of("triangle_solved")  # its loops are i, k, j
    last = ScheduleRow((0, 0, 1), (0, 0), 0)
    assert original_schedule(solved).rows("S0")
    assert not replaceable_in_copies(solved, "S0", [last], i)
