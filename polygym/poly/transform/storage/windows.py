"""Windows: how much of an array is alive at a time, in an order that may leave some things open.

Two elements may share memory if the one is never written while the value of the other is still to
be read. Let a ≺ b say that a runs before b for certain (in a parallel loop it is certain of no two
iterations). For a flow w → r of element x, a write w_y to another element y *disturbs* x when it
may run between the two, ::

    not w_y ≺ w   and   not r ≺ w_y         w_y none of the two

(r itself may write y: a statement reads before it writes). Along one dimension of the array let d
be the greatest distance between two elements of which one disturbs the other, equal in all other
dimensions. Then d + 1 elements that are used in turn, subscripts modulo d + 1, are enough: what is
nearer does not share memory, and what is farther does not disturb. Without any such pair d = 0, and
the dimension is not needed at all.

Example: Fibonacci's numbers f[i] = f[i - 1] + f[i - 2] in the order of i. The flow from i to i + 2
is disturbed by the write to i + 1, at the distance 1; that to i + 2 is made by the reader itself.
So d = 1, and two elements are enough.

Dimensions are taken one after the other: once one has a window, elements that share memory in it
count as equal in it.
"""

from __future__ import annotations

import islpy as isl

from polygym.ir.scop import Scop
from polygym.poly.dependences import access_relation
from polygym.poly.isl_values import to_int
from polygym.poly.transform.storage.webs import reads_of

_MAX_WINDOW = 64


def liveness_windows(scop: Scop, order: isl.UnionMap, array: str) -> tuple[int, ...]:
    """Return the window of every dimension of an array in an order; 0 where all of it is needed.

    ``order`` has the pairs of instances of which the first runs before the second whatever is
    left open. The array is one that the program makes for itself: nothing sees it before or after.
    """
    distances = _conflict_distances(scop, order, array)
    windows = [0] * scop.array(array).rank
    for place in reversed(range(len(windows))):
        windows[place] = _window(distances, place, windows)
    return tuple(windows)


def _conflict_distances(scop: Scop, certain: isl.UnionMap, array: str) -> isl.Set:
    """Return the distances between any two elements of which one disturbs the other."""
    context = isl.Set(scop.context)
    writes = access_relation(scop, array, is_write=True)
    assert writes is not None
    writes = writes.intersect_params(context)
    writers = writes.domain()
    union_map = isl.UnionMap.empty(writes.get_space())
    for read in reads_of(scop, array):
        flow = read.sources
        # w -> w_y that is not certainly before w, and not w itself; the same of w_y and r.
        behind = _all_pairs(flow.domain(), writers).subtract(certain.reverse())
        ahead = _all_pairs(writers, flow.range()).subtract(certain.reverse())
        between = behind.intersect(flow.apply_range(ahead.reverse()))
        union_map = union_map.union(between.apply_domain(writes).apply_range(writes))
    rank = scop.array(array).rank
    if union_map.is_empty():
        zeros = ", ".join("0" for _ in range(rank))
        return isl.Set(f"{{ {array}[{zeros}] : 1 = 0 }}")
    return isl.Map.from_union_map(union_map).deltas().coalesce()


def _all_pairs(first: isl.UnionSet, second: isl.UnionSet) -> isl.UnionMap:
    """Return all pairs of two different instances."""
    pairs = isl.UnionMap.from_domain_and_range(first, second)
    return pairs.subtract(first.union(second).identity())


def _window(distances: isl.Set, place: int, windows: list[int]) -> int:
    """Return the window of a dimension, given those that other dimensions have."""
    here = distances
    for other in range(len(windows)):
        if other != place:
            here = here.intersect(_sharing(distances, other, windows[other]))
    values = here.project_out(isl.dim_type.set, place + 1, len(windows) - place - 1)
    values = values.project_out(isl.dim_type.set, 0, place)
    values = values.reset_tuple_id().subtract(isl.Set("{ [0] }"))
    if values.is_empty():
        return 1
    span = [values.dim_max_val(0), values.dim_min_val(0)]
    if not all(value.is_int() for value in span):
        return 0
    result = max(abs(to_int(value)) for value in span) + 1
    return result if result <= _MAX_WINDOW else 0


def _sharing(distances: isl.Set, place: int, window: int) -> isl.Set:
    """Return the distances at which two subscripts of a dimension are the same memory."""
    universe = isl.Set.universe(distances.get_space())
    if window == 1:
        return universe
    name = distances.get_tuple_name()
    names = [f"d{number}" for number in range(distances.dim(isl.dim_type.set))]
    condition = f"{names[place]} mod {window} = 0" if window else f"{names[place]} = 0"
    return universe.intersect(isl.Set(f"{{ {name}[{', '.join(names)}] : {condition} }}"))
