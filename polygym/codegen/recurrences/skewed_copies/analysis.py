"""Diagonals that may run in vectors: where copies of arrays can have a diagonal as a row.

Along the diagonals of ``A[i][j] = f(A[i - 1][j], A[i][j - 1], A[i][j + 1], ...)`` points are
independent, and when a loop goes from one to the next, every access to A moves by the same vector,
(1, -1) here, (1, -2) where a point needs A[i - 1][j + 1]. No two are neighbours in memory. In a
copy B[j + 2i][i] they are: (1, -2) becomes (0, 1).

It can be where all accesses to an array move by one vector, some entry of which is 1 or -1, or, to
read, stand still; and some array is not contiguous anyway. Whether there is room for the copies,
and whether they pay, is seen when there are loops
(:mod:`polygym.codegen.recurrences.skewed_copies.plan`).

Whether skewed copies pay: the cycles of points with them and without.

It pays where the cycles of a point are fewer. With w lanes, of which diagonals fill a part f, they
are ::

    one by one:  max(O / 2, A / 2, 5 D)
    in lanes:    max(O / 2, 3 A / 4, 5 D) / (f w)  +  3 E

for O operations, A accesses, D divisions (as in
:mod:`polygym.codegen.recurrences.recurrence_lanes.analysis`; but vectors are of 256 bits, and every
second one of those that are loaded crosses a line of a cache) and E elements that are copied, there
or back. Example, seidel-2d in tiles of 16 by 64 by 256:
O = 8, A = 10, D = 1 and 262144 points, for which 29970 elements come and go, make 5 cycles against
1.9 + 0.7. (As measured on one thread: 6.2 and 3.1.)
"""

from collections.abc import Iterable, Iterator, Sequence

from polygym.codegen.common.loop_annotation import DiagonalLoop
from polygym.codegen.loopir.ir import Instance, Loop, Node, children_of
from polygym.codegen.loopir.nests import only_instances
from polygym.codegen.recurrences.recurrence_lanes.analysis import is_division
from polygym.codegen.transforms.tile_packing_plan import max_trip_count
from polygym.codegen.transforms.vectorization import element_size, statements_in
from polygym.codegen.tree.analysis.access_strides import displacements
from polygym.codegen.tree.analysis.loop_roles import StatementGroup
from polygym.codegen.tree.analysis.planner_context import PlannerContext
from polygym.ir.expressions import Binary, walk
from polygym.ir.scop import Scop
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.integer_vectors import Vector


def skewed_arrays(group: StatementGroup, context: PlannerContext) -> frozenset[str]:
    """Return the arrays of which copies have a group's diagonals as rows, if there are any.

    That is for known sizes: without, nobody would prove that accesses stay inside the copies.
    """
    place, mapping = group.roles.jammed, context.mapping
    nothing = frozenset[str]()
    if not group.is_diagonal or place is None or not (context.has_vectors and mapping.pack):
        return nothing
    if context.sizes is None:
        return nothing
    lanes = skewed_vector_bits(context) // (8 * context.scop.widest_element(group.statements))
    return (
        _skewable_arrays(group, place, context) if lanes >= TUNING.min_diagonal_lanes else nothing
    )


def _skewable_arrays(group: StatementGroup, place: int, context: PlannerContext) -> frozenset[str]:
    """Return the same where it is a question of how accesses move alone."""
    steps: dict[str, Vector] = {}
    for number, name in enumerate(group.statements):
        statement = context.scop.statement(name)
        rows = [member.rows[number] for member in group.members]
        moved = displacements(statement, group.loop_context.rows[name], rows, place)
        if not moved or not any(moved[statement.write] or ()):
            return frozenset()
        for access in (statement.write, *statement.reads):
            step = moved[access]
            if step is None or access.gathered:
                return frozenset()
            if any(step) and steps.setdefault(access.array, step) != step:
                return frozenset()
    if not is_skewable(steps.values()):
        return frozenset()
    return frozenset(name for name, step in steps.items() if is_skewable([step]))


def skewed_vector_bits(context: PlannerContext) -> int:
    """Return the width of vectors along rows of copies.

    A point's neighbours are in other columns, and vectors are where they may be in a row. Of those
    of 512 bits nearly all cross a line of a cache, which takes as long as two loads: seidel-2d is
    8 % faster with half as many lanes.
    """
    return min(context.vector_bits, TUNING.max_diagonal_bits)


def is_skewable(steps: Iterable[Sequence[int]]) -> bool:
    """Whether some arrays are not contiguous along these steps, and copies of them would be.

    >>> is_skewable([(1, -2), (0, 1)]), is_skewable([(0, 1)]), is_skewable([(2, -2)])
    (True, False, False)
    """
    others = [step for step in steps if any(step[:-1]) or step[-1] != 1]
    return bool(others) and all(1 in map(abs, step) for step in others)


def is_profitable(region: Node, scop: Scop, copied: int) -> bool:
    """Whether the cycles of all points of a region are fewer where so many elements are copied."""
    alone = lanes = 0.0
    for count, loop in _diagonal_loops(region, 1):
        length = max_trip_count(loop)
        if count is None or length is None:
            return False
        scalar, vector = _cycles(scop, only_instances(loop.body) or ())
        alone += count * length * scalar
        lanes += count * -(-length // _lane_count(scop, loop)) * vector
    return alone > TUNING.min_diagonal_gain * (lanes + TUNING.skewed_copy_cycles * copied)


def _diagonal_loops(node: Node, count: int | None) -> Iterator[tuple[int | None, Loop]]:
    """Yield diagonals, and how often they run at most; None where that is not known."""
    if isinstance(node, Loop):
        if isinstance(node.annotation, DiagonalLoop):
            yield count, node
            return
        own = max_trip_count(node)
        count = None if count is None or own is None else count * -(-own // node.step)
    for part in children_of(node):
        yield from _diagonal_loops(part, count)


def _lane_count(scop: Scop, diagonal: Loop) -> int:
    """Return how many lanes a diagonal's vectors have."""
    assert isinstance(diagonal.annotation, DiagonalLoop)
    size = max(element_size(scop, name) for name in statements_in(diagonal))
    return max(1, diagonal.annotation.bits // (8 * size))


def _cycles(scop: Scop, instances: Sequence[Instance]) -> tuple[float, float]:
    """Return the cycles of a point, and of a vector of them."""
    operations = accesses = divisions = 0
    for instance in instances:
        statement = scop.statement(instance.statement)
        nodes = list(walk(statement.body))
        divisions += sum(map(is_division, nodes))
        operations += sum(isinstance(node, Binary) and not is_division(node) for node in nodes)
        accesses += 1 + len(set(instance.reads))
    alone = max(operations / 2, accesses / 2, TUNING.diagonal_division_cycles * divisions)
    return alone, max(operations / 2, 3 * accesses / 4, TUNING.diagonal_division_cycles * divisions)
