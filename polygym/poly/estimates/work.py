"""Work of a program at given sizes, estimated: how many operations all of its instances do.

An instance does the arithmetic of its body and its memory accesses, each counted as one operation,
a function of math.h as twelve. The number of instances of a domain is estimated as::

    points at given sizes ≈ points of the box around it · share of points in the box at small sizes

Example: { S[i, j] : 0 <= j < i < 1000 } lies in a box of 999 · 999 points. At n = 8 the box has 49
points and 28 are of the domain, a share of 4/7, so 570,286 are estimated; 499,500 it is.
"""

from collections.abc import Mapping
from math import prod

import islpy as isl

from polygym.ir.expressions import Binary, Call, Unary, walk
from polygym.ir.scop import Scop, Statement
from polygym.poly.data_bounds import running_share
from polygym.poly.evaluation import fix_parameters, nearest_admissible
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import count_points, range_length

_CALL_OPERATIONS = 12
_SMALL = 8
_MOST_SMALL_POINTS = 10_000

# With one size for everything, a nest d deep has size^d instances and an array of rank r size^r
# elements; these are the bounds of both, as powers of 2.
_INSTANCE_BITS, _ELEMENT_BITS = 30, 25


def moderate_size(scop: Scop, size: int) -> int:
    """Reduce a size until a nest of loops and an array of it stay moderate.

    Six loops deep, 1024 becomes 32.
    """
    rank = max((array.rank for array in scop.arrays), default=0)
    # Powers of 2 have exact roots where 2 ** (30 / 6) is computed, not (2 ** 30) ** (1 / 6).
    deep = int(2 ** (_INSTANCE_BITS / max(scop.depth, 1)))
    return min(size, deep, int(2 ** (_ELEMENT_BITS / max(rank, 1))))


def sizes_near(scop: Scop, size: int, given: Mapping[str, int]) -> dict[str, int]:
    """Return values of all parameters: those given, and one size or the next possible for others.

    Raises:
        LimitError: isl would take too long.
    """
    names = [parameter.name for parameter in scop.parameters]
    known = {name: value for name, value in given.items() if name in names}
    wanted = {name: moderate_size(scop, size) for name in names if name not in known}
    with bounded_operations("choosing the sizes of a region"):
        return {**known, **nearest_admissible(scop.context, known, wanted)}


def estimated_work(scop: Scop, sizes: Mapping[str, int]) -> float:
    """Return about how many operations a program does.

    Raises:
        LimitError: isl would take too long.
    """
    return sum(statement_work(scop, statement, sizes) for statement in scop.statements)


def statement_work(scop: Scop, statement: Statement, sizes: Mapping[str, int]) -> float:
    """Return about how many operations the instances of a statement do."""
    with bounded_operations("counting the work of a region"):
        small = nearest_admissible(scop.context, {}, dict.fromkeys(sizes, _SMALL))
        domain = isl.Set(statement.domain)
        share = running_share(statement, fix_parameters(domain, sizes).project_out_all_params())
        return share * _instances(domain, sizes, small) * operations(statement)


def operations(statement: Statement) -> int:
    """Return how many operations an instance does."""
    return arithmetic_operations(statement) + len(statement.reads) + 1


def arithmetic_operations(statement: Statement) -> int:
    """Return how many operations an instance computes, a function call as several."""
    return sum(_operation_count(node) for node in walk(statement.body))


def _operation_count(node: object) -> int:
    match node:
        case Binary() | Unary():
            return 1
        case Call():
            return _CALL_OPERATIONS
        case _:
            return 0


def _instances(domain: isl.Set, sizes: Mapping[str, int], small: Mapping[str, int]) -> float:
    points = fix_parameters(domain, sizes).project_out_all_params()
    if points.is_empty():
        return 0.0
    if not points.is_bounded():
        return 1.0
    few = fix_parameters(domain, small).project_out_all_params()
    box = _box(points)
    share = 1.0
    if few.is_bounded() and not few.is_empty() and (small_box := _box(few)) <= _MOST_SMALL_POINTS:
        share = count_points(few) / small_box
    return box * share


def _box(points: isl.Set) -> int:
    return prod(range_length(points, place) for place in range(points.dim(isl.dim_type.set)))
