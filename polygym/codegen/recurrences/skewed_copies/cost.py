"""Whether skewed copies pay: the cycles of points with them and without.

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

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygym.codegen.common.loop_annotation import DiagonalLoop
from polygym.codegen.loopir.ir import Instance, Loop, Node, children_of
from polygym.codegen.loopir.nests import only_instances
from polygym.codegen.recurrences.recurrence_lanes.analysis import is_division
from polygym.codegen.transforms.tile_packing_plan import max_trip_count
from polygym.codegen.transforms.vectorization import element_size, statements_in
from polygym.ir.expressions import Binary, walk
from polygym.ir.scop import Scop

_MIN_GAIN, _CYCLES_PER_COPY = 1.25, 3
_DIVISION_CYCLES = 5  # of a number, and of a vector


def is_profitable(region: Node, scop: Scop, copied: int) -> bool:
    """Whether the cycles of all points of a region are fewer where so many elements are copied."""
    alone = lanes = 0.0
    for count, loop in _diagonal_loops(region, 1):
        length = max_trip_count(loop)
        if count is None or length is None:
            return False
        one, vector = _cycles(scop, only_instances(loop.body) or ())
        alone += count * length * one
        lanes += count * -(-length // _lane_count(scop, loop)) * vector
    return alone > _MIN_GAIN * (lanes + _CYCLES_PER_COPY * copied)


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
    alone = max(operations / 2, accesses / 2, _DIVISION_CYCLES * divisions)
    return alone, max(operations / 2, 3 * accesses / 4, _DIVISION_CYCLES * divisions)
