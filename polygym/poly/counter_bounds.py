"""First and last value of a loop's counter, for fixed loops around it, and its stride.

Statements with rows o(s) of the loops around and a row v(s) of the loop itself have, for each value
of the outer rows, a smallest and a largest value of v::

    f(o, p) = min { v(s) : s an instance whose outer rows are o }

Example, the loop k of ``for i { for (k = i + 1; k < n; k++) T(i, k) }``: the first value is i + 1,
the last one n - 1. None is returned where f is not one affine function with integer coefficients.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import islpy as isl

from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.poly.isl_budget import attempt_bounded, bounded_operations
from polygym.poly.isl_values import coefficient, coefficients, constant_term, to_int
from polygym.poly.schedule import ScheduleRow, parameter_names

LoopRows: TypeAlias = Sequence[tuple[str, tuple[ScheduleRow, ...], ScheduleRow]]
"""Statements of a loop, each with the rows of the loops around it and that of the loop."""

_OPERATIONS = 200_000


@dataclass(frozen=True, slots=True)
class CounterBound:
    """An affine function of the outer counters, outermost first, and the parameters."""

    outer: tuple[int, ...]
    parameters: tuple[int, ...]
    constant: int


def counter_bound(
    scop: Scop,
    rows: LoopRows,
    *,
    is_first: bool,
) -> CounterBound | None:
    """Return the first or last value of a loop's counter."""
    try:
        with attempt_bounded(_OPERATIONS), bounded_operations("the bounds of a loop"):
            return _bound(scop, rows, is_first)
    except LimitError:
        return None


def _bound(
    scop: Scop,
    rows: LoopRows,
    is_first: bool,
) -> CounterBound | None:
    names = parameter_names(scop)
    relation = _counters(scop, rows)
    extreme = relation.lexmin_pw_multi_aff() if is_first else relation.lexmax_pw_multi_aff()
    pieces: list[isl.MultiAff] = []
    extreme.gist(relation.domain()).coalesce().foreach_piece(
        lambda _, affine: pieces.append(affine)
    )
    if len(pieces) != 1:
        return None
    affine = pieces[0].get_aff(0)
    if affine.dim(isl.dim_type.div) or not affine.get_denominator_val().is_one():
        return None
    places = {
        affine.get_dim_name(isl.dim_type.param, position): position
        for position in range(affine.dim(isl.dim_type.param))
    }
    sizes = tuple(
        coefficient(affine, isl.dim_type.param, places[name]) if name in places else 0
        for name in names
    )
    return CounterBound(coefficients(affine, isl.dim_type.in_), sizes, constant_term(affine))


def counter_stride(scop: Scop, rows: LoopRows) -> int:
    """Return the distance of neighbouring values of a counter, for fixed counters around it.

    Example, the counter i + j inside of one with the value i - j: 2.

    Raises:
        LimitError: it would take too long.
    """
    with bounded_operations("the stride of a loop"):
        values = _counters(scop, rows)
        return max(1, to_int(values.wrap().flatten().get_stride(values.dim(isl.dim_type.in_))))


def _counters(scop: Scop, rows: LoopRows) -> isl.Map:
    """Return the relation from counters around a loop to its own, for the sizes of a program."""
    names = parameter_names(scop)
    start = f"[{', '.join(names)}] -> "
    values = isl.UnionMap(f"{start}{{ }}")
    for name, around, own in rows:
        statement = scop.statement(name)
        iterators = statement.iterators
        outer = ", ".join(row.text(iterators, names) for row in around)
        instance = f"{name}[{', '.join(iterators)}]"
        both = isl.Map(f"{start}{{ {instance} -> [[{outer}] -> [{own.text(iterators, names)}]] }}")
        pairs = both.intersect_domain(isl.Set(statement.domain)).range().unwrap()
        values = values.union(isl.UnionMap.from_map(pairs))
    return isl.Map.from_union_map(values).intersect_params(isl.Set(scop.context))
