"""Where what loops touch of an array begins, and how far it reaches: small memory for part of it.

In ``for c0: for i = 4 * c0 .. 4 * c0 + 3: w[i] = …`` an iteration of c0 touches w from 4 * c0 on,
four elements, whatever c0 is. Both are found by isl for the loops as they are: of the subscripts
where the loops inside begin, and of 0, each may be the first place, plus a number; the one is taken
from which the greatest subscript is not far in any iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polygym.codegen.analysis.footprint import (
    LoopAccess,
    isl_index_text,
    min_max_parts,
    parameter_prefix,
)
from polygym.codegen.loopir.index_arithmetic import min_max_operands, substitute
from polygym.codegen.loopir.ir import Index, IndexConstant, IndexOperator, LoopProgram
from polygym.codegen.loopir.linear_sums import add_indices, from_linear_sum, to_linear_sum
from polygym.poly.isl_values import to_int

_MAX_ORIGIN_CANDIDATES = 6  # first places of a dimension that are tried


def at_depth(relation: isl.Map, depth: int) -> isl.Map:
    """Return a relation from the outermost counters alone."""
    inner = relation.dim(isl.dim_type.in_) - depth
    return relation.project_out(isl.dim_type.in_, depth, inner)


def origin_and_length(
    program: LoopProgram,
    touches: Sequence[LoopAccess],
    together: isl.Map,
    dimension: int,
    depth: int,
) -> tuple[Index, int] | None:
    """Return the first place of a dimension that needs the fewest, and how many that are."""
    rank = together.dim(isl.dim_type.out)
    own = together.project_out(isl.dim_type.out, dimension + 1, rank - dimension - 1)
    own = own.project_out(isl.dim_type.out, 0, dimension)
    best: tuple[Index, int] | None = None
    for begin in _origin_candidates(touches, dimension, depth):
        span = _offset_range(program, touches[0], own, begin, depth)
        if span is None:
            continue
        low, high = span
        if best is None or high - low + 1 < best[1]:
            shifted = add_indices(begin, IndexConstant(low))
            best = shifted, high - low + 1
        if best[1] == 1:
            break
    return best


def _origin_candidates(touches: Sequence[LoopAccess], dimension: int, depth: int) -> list[Index]:
    """Return what may be the first place: subscripts where the loops inside begin, and 0."""
    result: dict[Index, None] = {}
    for touch in touches:
        for index in _at_lower_bounds(touch.subscripts[dimension], touch, depth):
            if not any(min_max_parts(index)):
                result[from_linear_sum(to_linear_sum(index))] = None
    return [*list(result)[:_MAX_ORIGIN_CANDIDATES], IndexConstant(0)]


def _at_lower_bounds(index: Index, touch: LoopAccess, depth: int) -> Iterator[Index]:
    """Yield an index with the counters of the loops inside at the pieces of their lower bounds."""
    choices: list[Index] = [index]
    if touch.lanes is not None:
        choices = [substitute(index, {touch.lanes.variable: touch.lanes.base})]
    for loop in reversed(touch.path.loops[depth:]):
        lows = min_max_operands(loop.lower, IndexOperator.MAXIMUM)
        choices = [substitute(choice, {loop.variable: low}) for choice in choices for low in lows]
        choices = choices[:_MAX_ORIGIN_CANDIDATES]
    yield from choices


def _offset_range(
    program: LoopProgram, touch: LoopAccess, subscripts: isl.Map, begin: Index, depth: int
) -> tuple[int, int] | None:
    """Return how far subscripts are from a place, at least and at most; None without bounds."""
    sizes = dict(program.sizes or ())
    names = ", ".join(loop.variable for loop in touch.path.loops[:depth])
    start = isl.Map(
        f"{parameter_prefix(program)}{{ [{names}] -> [{isl_index_text(begin, sizes)}] }}"
    )
    both = subscripts.flat_range_product(start).range()
    far = both.apply(isl.Map("{ [s, b] -> [s - b] }"))
    if far.is_empty():
        return 0, 0
    low, high = far.dim_min_val(0), far.dim_max_val(0)
    return (to_int(low), to_int(high)) if low.is_int() and high.is_int() else None
