"""Contraction: an array shrinks to the window that is alive at a time.

::

    w_1[i][k + 1] = w_1[i][k] + A[i][k]   →   w_1[i] = w_1[i] + A[i][k]        window 1 along k
    f_1[i] = f_1[i - 1] + f_1[i - 2]      →   f_1[i % 2] = f_1[(i - 1) % 2] + f_1[i % 2]

Windows belong to a schedule: in another order more may be alive. So the result is a program whose
own order is that of the schedule (with the order of before where that leaves something open), and
what proves it right is proved in that order: every read sees the value that it saw, and the
schedule respects every dependence that the smaller arrays bring.

Windows: how much of an array is alive at a time, in an order that may leave some things open.

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

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access
from polygym.ir.printer import c_expression
from polygym.ir.scop import Array, Scop, Statement, StorageClass
from polygym.ir.verifier import verify
from polygym.poly.dependences import access_relation
from polygym.poly.isl_values import isl_text, to_int
from polygym.poly.schedule import Schedule
from polygym.poly.transform.storage.copy_statements import access_from_map, expect_same_values
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


def contract_arrays(scop: Scop, schedule: Schedule, windows: Mapping[str, tuple[int, ...]]) -> Scop:
    """Return the program with arrays of these windows, in the order of a legal schedule.

    A window of 1 leaves the dimension out, 0 leaves it as it is.

    Raises:
        InputError: under this schedule some value would be lost.
    """
    changes = {array: _contraction_map(array, own) for array, own in windows.items() if any(own)}
    if not changes:
        return scop
    arrays = tuple(
        _contracted_array(array, windows[array.name]) if array.name in changes else array
        for array in scop.arrays
    )
    order = isl.UnionMap(str(schedule)).flat_range_product(isl.UnionMap(scop.schedule))
    result = replace(
        scop,
        arrays=arrays,
        statements=tuple(_rewrite_statement(statement, changes) for statement in scop.statements),
        schedule=isl_text(order),
    )
    expect_same_values(scop, result, {array: array for array in changes})
    return verify(result)


def _contraction_map(array: str, windows: tuple[int, ...]) -> isl.Map:
    """Return which element of the smaller array stands for each element."""
    names = [f"x{place}" for place in range(len(windows))]
    left = [
        f"{name} mod {window}" if window else name
        for name, window in zip(names, windows, strict=True)
        if window != 1
    ]
    return isl.Map(f"{{ {array}[{', '.join(names)}] -> {array}[{', '.join(left)}] }}")


def _contracted_array(array: Array, windows: tuple[int, ...]) -> Array:
    extents, texts = [], []
    for extent, text, window in zip(array.extents, array.c_extents, windows, strict=True):
        if window == 1:
            continue
        extents.append(f"{{ [({window})] }}" if window else extent)
        texts.append(str(window) if window else text)
    return replace(
        array, extents=tuple(extents), c_extents=tuple(texts), storage_class=StorageClass.SCRATCH
    )


def _rewrite_statement(statement: Statement, changes: Mapping[str, isl.Map]) -> Statement:
    """Return a statement that uses the smaller arrays."""
    new = {
        access: _access(access, changes[access.array])
        for access in (statement.write, *statement.reads)
        if access.array in changes
    }
    if not new:
        return statement
    write = new.get(statement.write, statement.write)
    # What is the same element is to be the same text: sums are known by it.
    same = {before: write if now.relation == write.relation else now for before, now in new.items()}
    body = replace_accesses(statement.body, same)
    return replace(statement, write=write, body=body, text=f"{write.text} = {c_expression(body)};")


def _access(access: Access, change: isl.Map) -> Access:
    return access_from_map(isl.Map(access.relation).apply_range(change).coalesce(), access.array)
