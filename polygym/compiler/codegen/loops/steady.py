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
(:mod:`polygym.compiler.codegen.loops.extremes`).

The *hull* of loops is a box around their iterations: bounds that depend on each other are taken at
their widest. With j <= min(64b + 63, i - 1) and i <= 64a + 63 it is j <= min(64b + 63, 64a + 62).
It may be larger than the smallest one, so that nothing is copied unless all of it is inside of the
array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polygym.compiler.codegen.loops.check_bounds import counter_of
from polygym.compiler.codegen.loops.extremes import (
    Bounds,
    Context,
    Effort,
    Form,
    TooHardError,
    number_form,
)
from polygym.compiler.codegen.loops.index import (
    coefficient,
    maximum,
    mentions,
    minimum,
    pieces,
    replaced,
)
from polygym.compiler.codegen.loops.ir import Index, IndexOperator, Loop

_MOST_STEPS = 2_000


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that ``holds``, or does not, inside of so many ``loops``."""

    loops: int
    index: Index
    holds: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A place inside of some ``outer`` loops, and what is known there.

    The ``conditions`` hold around; ``sizes`` are the values of the ``parameters``, if known.
    """

    outer: tuple[Loop, ...]
    conditions: tuple[Condition, ...]
    parameters: tuple[str, ...]
    sizes: Mapping[str, int] | None

    def are_others(
        self,
        written: Sequence[Sequence[Index]],
        read: Sequence[Index],
        inner: Sequence[Loop],
    ) -> bool:
        """Whether no element that is written in the ``inner`` loops is one that is read in them.

        All of them are of one array, given by their subscripts.
        """
        try:
            here = _inside(self._known(), inner)
            forms = [[here.form(subscript) for subscript in one] for one in written]
            # The names of counters mean another iteration from here on.
            there = _inside(here, inner)
            own = [there.form(subscript) for subscript in read]
            return all(_is_apart(there, one, own) for one in forms)
        except TooHardError:
            return False

    def are_in(
        self, extents: Sequence[Index], subscripts: Sequence[Index], inner: Sequence[Loop]
    ) -> bool:
        """Whether all elements in the ``inner`` loops are inside of an array."""
        try:
            here = _inside(self._known(), inner)
            for subscript, extent in zip(subscripts, extents, strict=True):
                form = here.form(subscript)
                room = here.form(extent).plus(form, -1)
                if not (here.is_at_least(form, 0) and here.is_at_least(room, 1)):
                    return False
            return True
        except TooHardError:
            return False

    def _known(self) -> Context:
        """Return what is known here."""
        context = Context({}, {}, Effort(left=_MOST_STEPS))
        context.names = {
            name: context.variable(Bounds())
            if self.sizes is None
            else number_form(self.sizes[name])
            for name in self.parameters
        }
        for place in range(len(self.outer) + 1):
            for one in self.conditions:
                if one.loops == place:
                    context.assume(one.index, holds=one.holds)
            context = _inside(context, self.outer[place : place + 1])
        return context


def _is_apart(context: Context, written: Sequence[Form], read: Sequence[Form]) -> bool:
    """Whether two elements differ in a subscript."""
    return any(
        context.is_at_least(one.plus(other, -1), 1) or context.is_at_least(other.plus(one, -1), 1)
        for one, other in zip(written, read, strict=True)
    )


def _inside(context: Context, loops: Sequence[Loop]) -> Context:
    """Return what is known inside of some loops."""
    for loop in loops:
        context = context.inside({})
        context = context.inside({loop.variable: counter_of(context, loop)})
    return context


def hull(inner: Sequence[Loop], wanted: Sequence[Loop]) -> tuple[Loop, ...] | None:
    """Return the ``wanted`` of the ``inner`` loops with bounds that depend on none of these.

    None where the widest bounds are not known.
    """
    found = []
    for loop in wanted:
        lower = _widest(loop.lower, inner, IndexOperator.MAXIMUM)
        upper = _widest(loop.upper, inner, IndexOperator.MINIMUM)
        if lower is None or upper is None or loop.step != 1:
            return None
        found.append(replace(loop, lower=lower, upper=upper))
    return tuple(found)


def _widest(bound: Index, inner: Sequence[Loop], operator: IndexOperator) -> Index | None:
    """Return what is no greater than any lower bound over some loops, or no less than any upper.

    Counters are replaced by the ends of their loops, the innermost first, in each piece.
    """
    found = []
    for piece in pieces(bound, operator):
        for loop in reversed(inner):
            if not mentions(piece, loop.variable):
                continue
            step = coefficient(piece, loop.variable)
            if step is None:
                return None
            is_low = (step > 0) == (operator is IndexOperator.MAXIMUM)
            piece = replaced(piece, {loop.variable: loop.lower if is_low else loop.upper})
        found.append(piece)
    return maximum(*found) if operator is IndexOperator.MAXIMUM else minimum(*found)
