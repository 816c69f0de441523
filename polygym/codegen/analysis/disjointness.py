"""Does a nest write what it reads of an array elsewhere? And which box holds what it reads?

A tile of an array may be copied before some loops if nothing in them writes it. That is so of every
array that no statement of the nest writes; and where one does, of the elements that are read if
they are others than those that are written::

    for b: for c < b: for i: for j in 64b .. 64b + 63: for k in 64c .. 64c + 63:
      A[i][j] -= A[i][k] * A[j][k]

From the loop i on inwards, b and c stand still. A[j][k] is of a column up to 64c + 63, which is
less than the 64b from which on columns are written. So the difference of two subscripts in the same
place, at any two iterations of the loops inside, is at least 1: the elements are others. It is
bounded as subscripts are that have to stay in their array
(:mod:`polygym.codegen.analysis.value_ranges`).

The *hull* of loops is a box around their iterations: bounds that depend on each other are taken at
their widest. With j <= min(64b + 63, i - 1) and i <= 64a + 63 it is j <= min(64b + 63, 64a + 62).
It may be larger than the smallest one, so that nothing is copied unless all of it is inside of the
array.

Values of a loop's counter as a linear form, for proofs about ranges.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from polygym.codegen.analysis.value_ranges import (
    BoundContext,
    LinearForm,
    ProofBudget,
    ProofBudgetError,
    VariableBounds,
    constant_form,
)
from polygym.codegen.loopir.index_arithmetic import (
    coefficient,
    depends_on,
    maximum,
    min_max_operands,
    minimum,
    substitute,
)
from polygym.codegen.loopir.ir import Index, IndexOperator, Loop
from polygym.codegen.loopir.linear_sums import constant_difference
from polygym.mapping.tuning_parameters import TUNING


@dataclass(frozen=True, slots=True)
class PathCondition:
    """A condition that ``holds``, or does not, inside of so many ``loops``."""

    loops: int
    index: Index
    holds: bool


@dataclass(frozen=True, slots=True)
class ProgramPoint:
    """A place inside of some ``outer`` loops, and what is known there.

    The ``conditions`` hold around; ``sizes`` are the values of the ``parameters``, if known.
    """

    outer: tuple[Loop, ...]
    conditions: tuple[PathCondition, ...]
    parameters: tuple[str, ...]
    sizes: Mapping[str, int] | None

    def are_disjoint(
        self, written: Sequence[Sequence[Index]], read: Sequence[Index], inner: Sequence[Loop]
    ) -> bool:
        """Whether no element that is written in the ``inner`` loops is one that is read in them.

        All of them are of one array, given by their subscripts.
        """
        try:
            here = _context_inside(self._context(), inner)
            forms = [[here.form(subscript) for subscript in indices] for indices in written]
            # The names of counters mean another iteration from here on.
            there = _context_inside(here, inner)
            own = [there.form(subscript) for subscript in read]
            return all(_is_disjoint(there, linear_forms, own) for linear_forms in forms)
        except ProofBudgetError:
            return False

    def are_in_bounds(
        self, extents: Sequence[Index], subscripts: Sequence[Index], inner: Sequence[Loop]
    ) -> bool:
        """Whether all elements in the ``inner`` loops are inside of an array."""
        try:
            here = _context_inside(self._context(), inner)
            for subscript, extent in zip(subscripts, extents, strict=True):
                form = here.form(subscript)
                room = here.form(extent).plus(form, -1)
                if not (here.is_at_least(form, 0) and here.is_at_least(room, 1)):
                    return False
            return True
        except ProofBudgetError:
            return False

    def _context(self) -> BoundContext:
        """Return what is known here."""
        budget = ProofBudget(steps_left=TUNING.disjointness_steps)
        context = BoundContext.outermost(self.parameters, self.sizes, budget)
        for place in range(len(self.outer) + 1):
            for condition in self.conditions:
                if condition.loops == place:
                    context.assume(condition.index, holds=condition.holds)
            context = _context_inside(context, self.outer[place : place + 1])
        return context


def _is_disjoint(
    context: BoundContext, written: Sequence[LinearForm], read: Sequence[LinearForm]
) -> bool:
    """Whether two elements differ in a subscript."""
    return any(
        context.is_at_least(linear_form.plus(other, -1), 1)
        or context.is_at_least(other.plus(linear_form, -1), 1)
        for linear_form, other in zip(written, read, strict=True)
    )


def _context_inside(context: BoundContext, loops: Sequence[Loop]) -> BoundContext:
    """Return what is known inside of some loops."""
    for loop in loops:
        context = context.with_names({})
        context = context.with_names({loop.variable: counter_form(context, loop)})
    return context


def box_hull(inner: Sequence[Loop], wanted: Sequence[Loop]) -> tuple[Loop, ...] | None:
    """Return the ``wanted`` of the ``inner`` loops with bounds that depend on none of these.

    None where the widest bounds are not known.
    """
    result = []
    for loop in wanted:
        lower = _widest_bound(loop.lower, inner, IndexOperator.MAXIMUM)
        upper = _widest_bound(loop.upper, inner, IndexOperator.MINIMUM)
        if lower is None or upper is None or loop.step != 1:
            return None
        result.append(replace(loop, lower=lower, upper=upper))
    return tuple(result)


def _widest_bound(bound: Index, inner: Sequence[Loop], operator: IndexOperator) -> Index | None:
    """Return what is no greater than any lower bound over some loops, or no less than any upper.

    Counters are replaced by the ends of their loops, the innermost first, in each piece.
    """
    result = []
    for piece in min_max_operands(bound, operator):
        for loop in reversed(inner):
            if not depends_on(piece, loop.variable):
                continue
            step = coefficient(piece, loop.variable)
            if step is None:
                return None
            is_low = (step > 0) == (operator is IndexOperator.MAXIMUM)
            piece = substitute(piece, {loop.variable: loop.lower if is_low else loop.upper})
        result.append(piece)
    return maximum(*result) if operator is IndexOperator.MAXIMUM else minimum(*result)


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
