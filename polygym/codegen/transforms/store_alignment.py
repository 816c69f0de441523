"""Alignment of vector loops: the iteration from which on stores begin at multiples of a vector.

A vector that crosses a line of a cache takes as long as two, and a store longer still. In a skewed
tile rows begin anywhere: ``B[i - 2t][j - 2t]`` from j = 256 on is aligned in every second step. So
the iterations before the first multiple of the width run in a masked vector of their own::

    for j in 3 .. n by 4:    →    j = 3 under a mask;  for j in 4 .. n by 4:

That pays in loops that are known to be long, where several rows run together and most of their
stores have the same place in a vector. A single row gains less than it waits: what reads the
masked vector next waits until it is in the cache (jacobi-1d takes a fifth longer). Arrays are taken
to begin at a multiple of a vector; where they do not, results are the same.

Example: with rows of 1300 elements and vectors of 4, B[c4 - 2·c3][v - 2·c3] is the element
v - 2602·c3 + 1300·c4, which is v + 2·c3 up to multiples of 4. The first aligned v from L on is
4·⌈(L + 2·c3) / 4⌉ - 2·c3.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import (
    add_constant,
    maximum,
    strides_along,
    substitute,
)
from polygym.codegen.loopir.linear_sums import (
    LinearSum,
    add_indices,
    from_linear_sum,
    linearized_offset,
    subtract_indices,
)
from polygym.codegen.loopir.nests import constant_spans
from polygym.ir.scop import Scop
from polygym.mapping.tuning_parameters import TUNING

RowSizes = Mapping[str, tuple[int, ...]]
"""The inner sizes of arrays, by name, where they are known."""
NO_ROWS: RowSizes = MappingProxyType({})


def known_row_sizes(program: ir.LoopProgram) -> RowSizes:
    """Return the inner sizes of the arrays of a program of which they are known."""
    values = {name: ir.IndexConstant(value) for name, value in program.sizes or ()}
    result: dict[str, tuple[int, ...]] = {}
    for array, extents in zip(program.scop.arrays, program.extents, strict=True):
        inner = [substitute(extent, values) for extent in extents[1:]]
        sizes = tuple(size.value for size in inner if isinstance(size, ir.IndexConstant))
        if len(sizes) == len(inner):
            result[array.name] = sizes
    return result


def aligned_start(
    loop: ir.Loop, instances: Sequence[ir.Instance], scop: Scop, rows: RowSizes, width: int
) -> ir.Index | None:
    """Return the first iteration from which on most stores are aligned; None to begin as it is.

    It is the smallest s >= lower with s + r a multiple of the width, where v + r is the number of
    the element that iteration v writes.
    """
    longest = min((length for _, _, length in constant_spans(loop)), default=0)
    if len(instances) < 2 or longest < TUNING.min_aligned_vectors * width:
        return None
    rest = _common_place(instances, scop, rows, loop.variable, width)
    if rest is None:
        return None
    begin = add_indices(loop.lower, rest)
    if isinstance(begin, ir.IndexConstant):
        missing = -begin.value % width
        return add_constant(loop.lower, missing) if missing else None
    lanes = ir.IndexConstant(width)
    vectors = ir.IndexOperator.DIVIDE_FLOOR(add_constant(begin, width - 1), lanes)
    start = subtract_indices(ir.IndexOperator.MULTIPLY(lanes, vectors), rest)
    return maximum(loop.lower, start)  # the start, but it is simpler to prove what is in range


def _common_place(
    instances: Sequence[ir.Instance], scop: Scop, rows: RowSizes, variable: str, width: int
) -> ir.Index | None:
    """Return r of most instances, None where no r is that of more than half of them."""
    counts: Counter[Hashable] = Counter()
    sums: dict[Hashable, LinearSum] = {}
    for instance in instances:
        place = _place_in_vector(instance, scop, rows, variable, width)
        if place is not None:
            key = (frozenset(place[0].items()), place[1])
            counts[key] += 1
            sums[key] = place
    for common, count in counts.most_common(1):
        if 2 * count > len(instances):
            return from_linear_sum(sums[common])
    return None


def _place_in_vector(
    instance: ir.Instance, scop: Scop, rows: RowSizes, variable: str, width: int
) -> LinearSum | None:
    """Return r of an instance that writes the element v + r, up to multiples of the width.

    None where it does not write neighbours, or sizes are not known.
    """
    array = scop.statement(instance.statement).write.array
    steps = strides_along(instance.write, variable)
    if array not in rows or not steps or any(steps[:-1]) or steps[-1] != 1:
        return None
    terms, constant = linearized_offset(instance.write, rows[array])
    counter = ir.IndexVariable(variable)
    kept = {
        term: factor % width for term, factor in terms.items() if term != counter and factor % width
    }
    return kept, constant % width
