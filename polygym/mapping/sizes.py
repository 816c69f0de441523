"""Sizes: what code knows of a program's parameters when it is made.

Code may be made for any sizes, or for those of one program that is about to run. The second is a
kindness to everyone who comes after: where isl need not ask whether ``n`` exceeds ``m``, it makes
one loop nest of what were four cases, and LLVM sees how many bytes lie between two rows of an
array. Example: the domain ``[n] -> { S[i] : 0 <= i < n }`` at ``n`` = 40 is ``{ S[i] : 0 <= i < 40
}``; the row ``i + 2n`` is ``i + 80``.

What is decided about a schedule (its legality, its bands) holds for all sizes all the same.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import TypeAlias, TypeVar

import islpy as isl

from polygym.ir.scop import Array, Scop
from polygym.poly.evaluation import evaluate_extent, fix_parameters
from polygym.poly.schedule import ScheduleRow

Sizes: TypeAlias = Mapping[str, int]
"""A value for every parameter of a Scop."""

SetOrMap = TypeVar("SetOrMap", isl.Set, isl.Map)


def scop_sizes(scop: Scop, sizes: Sizes) -> dict[str, int]:
    """Return the values of the Scop's own parameters among those of a program."""
    return {parameter.name: sizes[parameter.name] for parameter in scop.parameters}


def known_sizes(scop: Scop, sizes: Sizes | None) -> Sizes | None:
    """Return the values of the Scop's own parameters; None where nothing is known of them."""
    if sizes is None and scop.parameters:
        return None
    return scop_sizes(scop, sizes or {})


def element_count(array: Array, sizes: Sizes) -> int:
    """Return how many elements an array has."""
    return _product_at(array.extents, tuple(sizes.items()))


@lru_cache(maxsize=1024)
def _product_at(extents: tuple[str, ...], sizes: tuple[tuple[str, int], ...]) -> int:
    return prod(evaluate_extent(extent, dict(sizes)) for extent in extents)


def at_sizes(points: SetOrMap, sizes: Sizes | None) -> SetOrMap:
    """Return a set or a map at some sizes, without parameters; as it is where there are none."""
    if sizes is None:
        return points
    return fix_parameters(points, sizes).project_out_all_params()


def row_at_sizes(row: ScheduleRow, parameters: Sequence[str], sizes: Sizes | None) -> ScheduleRow:
    """Return a row with its parameters counted into its constant.

    >>> row_at_sizes(ScheduleRow((1,), (2,), -1), ["n"], {"n": 40})
    ScheduleRow(iterators=(1,), parameters=(0,), constant=79)
    """
    if sizes is None:
        return row
    return ScheduleRow(
        row.iterators, (0,) * len(row.parameters), constant_at(row, parameters, sizes)
    )


def constant_at(row: ScheduleRow, parameters: Sequence[str], sizes: Sizes) -> int:
    """Return the constant of a row with its parameters counted in.

    >>> constant_at(ScheduleRow((1,), (2,), -1), ["n"], {"n": 40})
    79
    """
    result = row.constant
    if not any(row.parameters):
        return result
    for factor, name in zip(row.parameters, parameters, strict=True):
        if factor:
            result += factor * sizes[name]
    return result
