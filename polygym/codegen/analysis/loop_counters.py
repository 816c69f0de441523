"""Values of a loop's counter as a linear form, for proofs about ranges."""

from __future__ import annotations

from fractions import Fraction

from polygym.codegen.analysis.value_ranges import (
    BoundContext,
    LinearForm,
    VariableBounds,
    constant_form,
)
from polygym.codegen.loopir.index_arithmetic import min_max_operands
from polygym.codegen.loopir.ir import Index, IndexOperator, Loop
from polygym.codegen.loopir.linear_sums import constant_difference


def counter_form(context: BoundContext, loop: Loop) -> LinearForm:
    """Return a loop's counter: a variable, or in steps the lower bound and a multiple of one.

    In steps it may end before the upper bound: from 3 to 9 by 4 it is 3 + 4k with k <= 6/4, or 7.
    """
    lows = _bound_forms(context, loop.lower, IndexOperator.MAXIMUM)
    highs = _bound_forms(context, loop.upper, IndexOperator.MINIMUM)
    if loop.step == 1:
        return context.new_variable(VariableBounds(lows, highs))
    start, part = context.form(loop.lower), Fraction(1, loop.step)
    most = [high.plus(start, -1).times(part) for high in highs]
    last = constant_difference(loop.upper, loop.lower)
    if last is not None and last >= 0:
        most.append(constant_form(last // loop.step))
    number = context.new_variable(VariableBounds((constant_form(0),), tuple(most)))
    return start.plus(number, loop.step)


def _bound_forms(
    context: BoundContext, bound: Index, operator: IndexOperator
) -> tuple[LinearForm, ...]:
    """Return what bounds a counter: the bound, and what it is the minimum or maximum of."""
    every = dict.fromkeys((*min_max_operands(bound, operator), bound))
    return tuple(context.form(piece) for piece in every)
