"""Whether skewed copies pay: the cycles of points with them and without.

It pays where the cycles of a point are fewer. With w lanes, of which diagonals fill a part f, they
are ::

    one by one:  max(O / 2, A / 2, 5 D)
    in lanes:    max(O / 2, 3 A / 4, 5 D) / (f w)  +  3 E

for O operations, A accesses, D divisions (as in :mod:`polygym.compiler.codegen.trees.across`; but
vectors are of 256 bits, and every second one of those that are loaded crosses a line of a cache)
and E elements that are copied, there or back. Example, seidel-2d in tiles of 16 by 64 by 256:
O = 8, A = 10, D = 1 and 262144 points, for which 29970 elements come and go, make 5 cycles against
1.9 + 0.7. (As measured on one thread: 6.2 and 3.1.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygym.compiler.codegen.common.loop_annotation import Diagonal
from polygym.compiler.codegen.loops.ir import Instance, Loop, Node, directly_in
from polygym.compiler.codegen.loops.lanes import element_size, statements_in
from polygym.compiler.codegen.loops.nests import instances_alone
from polygym.compiler.codegen.loops.tile_plan import iterations
from polygym.compiler.codegen.trees.across import divides
from polygym.compiler.ir.expr import Binary, walk
from polygym.compiler.ir.scop import Scop

_GAIN, _COPIED = 1.25, 3
_DIVISION = 5  # of a number, and of a vector


def pays(region: Node, scop: Scop, copied: int) -> bool:
    """Whether the cycles of all points of a region are fewer where so many elements are copied."""
    alone = lanes = 0.0
    for count, loop in _diagonals(region, 1):
        length = iterations(loop)
        if count is None or length is None:
            return False
        one, vector = _cycles(scop, instances_alone(loop.body) or ())
        alone += count * length * one
        lanes += count * -(-length // _width(scop, loop)) * vector
    return alone > _GAIN * (lanes + _COPIED * copied)


def _diagonals(node: Node, count: int | None) -> Iterator[tuple[int | None, Loop]]:
    """Yield diagonals, and how often they run at most; None where that is not known."""
    if isinstance(node, Loop):
        if isinstance(node.annotation, Diagonal):
            yield count, node
            return
        own = iterations(node)
        count = None if count is None or own is None else count * -(-own // node.step)
    for part in directly_in(node):
        yield from _diagonals(part, count)


def _width(scop: Scop, diagonal: Loop) -> int:
    """Return how many lanes a diagonal's vectors have."""
    assert isinstance(diagonal.annotation, Diagonal)
    size = max(element_size(scop, name) for name in statements_in(diagonal))
    return max(1, diagonal.annotation.bits // (8 * size))


def _cycles(scop: Scop, instances: Sequence[Instance]) -> tuple[float, float]:
    """Return the cycles of a point, and of a vector of them."""
    operations = accesses = divisions = 0
    for instance in instances:
        statement = scop.statement(instance.statement)
        nodes = list(walk(statement.body))
        divisions += sum(map(divides, nodes))
        operations += sum(isinstance(node, Binary) and not divides(node) for node in nodes)
        accesses += 1 + len(set(instance.reads))
    alone = max(operations / 2, accesses / 2, _DIVISION * divisions)
    return alone, max(operations / 2, 3 * accesses / 4, _DIVISION * divisions)
