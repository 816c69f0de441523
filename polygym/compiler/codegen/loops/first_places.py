"""Where what loops touch of an array begins, and how far it reaches: small memory for part of it.

In ``for c0: for i = 4 * c0 .. 4 * c0 + 3: w[i] = …`` an iteration of c0 touches w from 4 * c0 on,
four elements, whatever c0 is. Both are found by isl for the loops as they are: of the subscripts
where the loops inside begin, and of 0, each may be the first place, plus a number; the one is taken
from which the greatest subscript is not far in any iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polygym.compiler.codegen.loops.index import pieces, replaced
from polygym.compiler.codegen.loops.ir import Index, IndexOperator, LoopProgram, Number
from polygym.compiler.codegen.loops.linear import as_sum, from_sum, total
from polygym.compiler.codegen.loops.touched import Touch, index_text, prefix_of, selections
from polygym.compiler.poly.isl_numbers import integer

_MOST_BEGINNINGS = 6  # first places of a dimension that are tried


def outside(relation: isl.Map, depth: int) -> isl.Map:
    """Return a relation from the outermost counters alone."""
    inner = relation.dim(isl.dim_type.in_) - depth
    return relation.project_out(isl.dim_type.in_, depth, inner)


def first_place(
    program: LoopProgram, touches: Sequence[Touch], together: isl.Map, dimension: int, depth: int
) -> tuple[Index, int] | None:
    """Return the first place of a dimension that needs the fewest, and how many that are."""
    rank = together.dim(isl.dim_type.out)
    own = together.project_out(isl.dim_type.out, dimension + 1, rank - dimension - 1)
    own = own.project_out(isl.dim_type.out, 0, dimension)
    best: tuple[Index, int] | None = None
    for begin in _beginnings(touches, dimension, depth):
        span = _span(program, touches[0], own, begin, depth)
        if span is None:
            continue
        low, high = span
        if best is None or high - low + 1 < best[1]:
            shifted = total(begin, Number(low))
            best = shifted, high - low + 1
        if best[1] == 1:
            break
    return best


def _beginnings(touches: Sequence[Touch], dimension: int, depth: int) -> list[Index]:
    """Return what may be the first place: subscripts where the loops inside begin, and 0."""
    found: dict[Index, None] = {}
    for touch in touches:
        for one in _at_the_beginning(touch.subscripts[dimension], touch, depth):
            if not any(selections(one)):
                found[from_sum(as_sum(one))] = None
    return [*list(found)[:_MOST_BEGINNINGS], Number(0)]


def _at_the_beginning(index: Index, touch: Touch, depth: int) -> Iterator[Index]:
    """Yield an index with the counters of the loops inside at the pieces of their lower bounds."""
    choices: list[Index] = [index]
    if touch.lanes is not None:
        choices = [replaced(index, {touch.lanes.variable: touch.lanes.base})]
    for loop in reversed(touch.way.loops[depth:]):
        lows = pieces(loop.lower, IndexOperator.MAXIMUM)
        choices = [replaced(one, {loop.variable: low}) for one in choices for low in lows]
        choices = choices[:_MOST_BEGINNINGS]
    yield from choices


def _span(
    program: LoopProgram, touch: Touch, subscripts: isl.Map, begin: Index, depth: int
) -> tuple[int, int] | None:
    """Return how far subscripts are from a place, at least and at most; None without bounds."""
    sizes = dict(program.sizes or ())
    names = ", ".join(loop.variable for loop in touch.way.loops[:depth])
    start = isl.Map(f"{prefix_of(program)}{{ [{names}] -> [{index_text(begin, sizes)}] }}")
    both = subscripts.flat_range_product(start).range()
    far = both.apply(isl.Map("{ [s, b] -> [s - b] }"))
    if far.is_empty():
        return 0, 0
    low, high = far.dim_min_val(0), far.dim_max_val(0)
    return (integer(low), integer(high)) if low.is_int() and high.is_int() else None
