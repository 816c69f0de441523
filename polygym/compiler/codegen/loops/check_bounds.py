"""Does every access stay inside its array? Proved for the sizes, or left to a check as code runs.

isl writes the loops and the subscripts, and passes over loops rewrite both; code that is made of
them takes them at their word. Here they are not: every subscript of every instance gets a greatest
and a least value, from the loops' bounds and the guards around it alone. A linear form is bounded
by replacing its variables, the innermost first, by pieces of their bounds::

    for i = 0 .. n - 1:  for j = max(0, i - 3) .. i:   A[i - j]

    i - j  <=  i - (i - 3)  =  3          and          i - j  >=  i - i  =  0

Each upper piece of a counter's bound gives a valid upper end of the form, so the smallest counts.
What is no linear form becomes a variable with bounds of its own: ⌊e/d⌋ lies between (e - d + 1)/d
and e/d; min(a, b) is at most a and at most b, and at least the smaller one of what a and b give.
Ends are rationals, and a subscript is an integer: 3.5 as greatest value is 3.

On the way it is seen which divisions leave no remainder, whatever guards say: with i = 1 + 2k, from
a loop in steps of 2, (3i + 1)/2 is 3k + 2. LLVM is told of these, and of no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor
from typing import TypeAlias, assert_never

from polygym.compiler.codegen.loops.index import pieces
from polygym.compiler.codegen.loops.ir import (
    Block,
    Guard,
    Index,
    IndexOperator,
    Instance,
    Lanes,
    Loop,
    LoopProgram,
    Node,
    Number,
    Operation,
    Variable,
)
from polygym.compiler.codegen.loops.linear import difference

_MOST_STEPS = 10_000

Access: TypeAlias = tuple[str, int]
"""A statement, and the number of one of its reads, or ``WRITE``."""
WRITE = -1

Rational: TypeAlias = int | Fraction
"""Nearly all are integers, with which Python is much faster."""
Terms: TypeAlias = tuple[tuple[int, Rational], ...]
"""Coefficients of variables, which are numbers in the order in which they come into being."""


@dataclass(frozen=True, slots=True)
class Form:
    """A linear form: coefficients, none of them 0, by falling number of the variable."""

    terms: Terms
    constant: Rational

    def plus(self, other: Form, factor: Rational = 1) -> Form:
        """Return this form plus a multiple of another one."""
        if not other.terms:
            return Form(self.terms, self.constant + factor * other.constant)
        found = dict(self.terms)
        for variable, coefficient in other.terms:
            found[variable] = found.get(variable, 0) + factor * coefficient
        kept = sorted(((v, c) for v, c in found.items() if c), reverse=True)
        return Form(tuple(kept), self.constant + factor * other.constant)

    def times(self, factor: Rational) -> Form:
        """Return a multiple of this form."""
        if factor == 0:
            return _number(0)
        return Form(tuple((v, c * factor) for v, c in self.terms), self.constant * factor)

    def shifted(self, amount: Rational) -> Form:
        """Return this form plus a number."""
        return Form(self.terms, self.constant + amount)


def _number(value: int) -> Form:
    return Form((), value)


def _divides(dividend: Form, divisor: Form) -> bool:
    """Whether a number divides a form, whatever its variables are."""
    if divisor.terms or divisor.constant <= 0:
        return False
    parts = (dividend.constant, *(factor for _, factor in dividend.terms))
    return all(part % divisor.constant == 0 for part in parts)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What bounds a variable: each of its pieces, or (``any_low``, ...) only one of them at least.

    min(a, b) has the pieces a and b on either side: it is below both, and above one of the two.
    """

    lows: tuple[Form, ...] = ()
    highs: tuple[Form, ...] = ()
    any_low: bool = False
    any_high: bool = False


class _TooHardError(Exception):
    """More steps than a proof may take."""


@dataclass(slots=True)
class Effort:
    """What all proofs of a program have in common: the next variable, and the steps left.

    ``exact`` says of every division that isl calls exact whether that is so wherever it stands.
    """

    left: int
    variables: int = 0
    exact: dict[Index, bool] = field(default_factory=dict)


@dataclass(slots=True)
class Context:
    """What is known at a place: names, and bounds of variables. Guards and loops make new ones.

    ``made`` are the variables of what is no linear form, so that min(a, b) is the same one wherever
    it stands; ``known`` are greatest values.
    """

    names: Mapping[str, Form]
    bounds: dict[int, Bounds]
    effort: Effort
    made: dict[tuple[IndexOperator, tuple[Form, ...]], Form] = field(default_factory=dict)
    known: dict[Terms, Rational | None] = field(default_factory=dict)

    def inside(self, names: Mapping[str, Form]) -> Context:
        """Return the context of a place inside, in which some names mean something else."""
        return Context({**self.names, **names}, dict(self.bounds), self.effort, dict(self.made))

    def variable(self, bounds: Bounds) -> Form:
        """Return a new variable."""
        self.effort.variables += 1
        self.bounds[self.effort.variables] = bounds
        return Form(((self.effort.variables, 1),), 0)

    def form(self, index: Index) -> Form:
        """Return an index as a form; variables that are made for it are in this context."""
        match index:
            case Number(value):
                return _number(value)
            case Variable(name):
                return self.names[name]
            case Operation(operator, operands):
                if operator is IndexOperator.DIVIDE_EXACT:
                    divides = _divides(*map(self.form, operands))
                    exact = self.effort.exact
                    exact[index] = divides and exact.get(index, True)
                return self._operation(operator, operands)
            case _:
                assert_never(index)

    def _operation(self, operator: IndexOperator, operands: tuple[Index, ...]) -> Form:
        parts = tuple(map(self.form, operands))
        match operator:
            case IndexOperator.NEGATE:
                return parts[0].times(-1)
            case IndexOperator.ADD:
                return parts[0].plus(parts[1])
            case IndexOperator.SUBTRACT:
                return parts[0].plus(parts[1], -1)
            case IndexOperator.MULTIPLY if not parts[0].terms:
                return parts[1].times(parts[0].constant)
            case IndexOperator.MULTIPLY if not parts[1].terms:
                return parts[0].times(parts[1].constant)
            case (
                IndexOperator.DIVIDE_EXACT
                | IndexOperator.DIVIDE_FLOOR
                | IndexOperator.DIVIDE_NONNEGATIVE
            ):
                return self._quotient(*parts)
            case IndexOperator.REMAINDER_NONNEGATIVE | IndexOperator.REMAINDER_ZERO_TEST:
                return parts[0].plus(self._quotient(*parts), -parts[1].constant)
            case _:
                return self._made(operator, parts)

    def _quotient(self, dividend: Form, divisor: Form) -> Form:
        """Return ⌊e/d⌋, without what d divides: ⌊(7x - 3)/4⌋ is x - 1 + ⌊(3x + 1)/4⌋.

        So quotients of forms that differ by multiples of d are the same but for a form.
        """
        number = divisor.constant
        parts = [*(factor for _, factor in dividend.terms), dividend.constant, number]
        if divisor.terms or number <= 0 or not all(isinstance(part, int) for part in parts):
            return self.variable(Bounds())
        whole = Form(
            tuple((v, c // number) for v, c in dividend.terms if c // number),
            dividend.constant // number,
        )
        rest = dividend.plus(whole, -number)
        if not rest.terms:
            return whole
        return whole.plus(self._made(IndexOperator.DIVIDE_FLOOR, (rest, divisor)))

    def _made(self, operator: IndexOperator, parts: tuple[Form, ...]) -> Form:
        """Return the variable of what is no linear form, a new one where it is new."""
        key = (operator, parts)
        if key not in self.made:
            self.made[key] = self.variable(self._bounds(operator, parts))
        return self.made[key]

    def _bounds(self, operator: IndexOperator, parts: tuple[Form, ...]) -> Bounds:
        match operator:
            case IndexOperator.DIVIDE_FLOOR:
                return self._of_quotient(*parts)
            case IndexOperator.MINIMUM:
                return Bounds(parts, parts, any_low=True)
            case IndexOperator.MAXIMUM:
                return Bounds(parts, parts, any_high=True)
            case IndexOperator.SELECT:
                return Bounds(parts[1:], parts[1:], any_low=True, any_high=True)
            case IndexOperator.MULTIPLY:
                return Bounds()  # of two variables: nothing is known
            case _:
                return Bounds((_number(0),), (_number(1),))  # a truth value

    def _of_quotient(self, dividend: Form, divisor: Form) -> Bounds:
        number = Fraction(divisor.constant)
        exact = dividend.times(1 / number)
        lows, highs = [exact.shifted(1 / number - 1)], [exact]
        # It is an integer, and no smaller than that of the least dividend.
        if (least := self.greatest(exact.times(-1))) is not None:
            lows.append(_number(floor(-least)))
        if (greatest := self.greatest(exact)) is not None:
            highs.append(_number(floor(greatest)))
        return Bounds(tuple(lows), tuple(highs))

    def assume(self, condition: Index, *, holds: bool) -> None:
        """Learn from a condition, as far as it bounds a variable."""
        match condition:
            case Operation(IndexOperator.AND, operands) if holds:
                for operand in operands:
                    self.assume(operand, holds=True)
            case Operation(IndexOperator.OR, operands) if not holds:
                for operand in operands:
                    self.assume(operand, holds=False)
            case Operation(operator, (left, right)) if operator in _ORDERS:
                difference = self.form(left).plus(self.form(right), -1)
                for sign, least in _ORDERS[operator][holds]:
                    self._learn(difference.times(sign).shifted(-least))
            case _:
                return

    def _learn(self, form: Form) -> None:
        """Note that a form is not negative: a bound of its innermost variable."""
        if not form.terms:
            return
        (variable, coefficient), *rest = form.terms
        bound = Form(tuple(rest), form.constant).times(
            -coefficient if abs(coefficient) == 1 else -1 / Fraction(coefficient)
        )
        before = self.bounds[variable]
        if coefficient > 0 and not before.any_low:
            self.bounds[variable] = Bounds(
                (*before.lows, bound), before.highs, before.any_low, before.any_high
            )
        elif coefficient < 0 and not before.any_high:
            self.bounds[variable] = Bounds(
                before.lows, (*before.highs, bound), before.any_low, before.any_high
            )
        self.known.clear()

    def greatest(self, form: Form) -> Rational | None:
        """Return a number that the form does not exceed, None if none is found."""
        if not form.terms:
            return form.constant
        if form.terms not in self.known:
            self.known[form.terms] = self._greatest(Form(form.terms, 0))
        found = self.known[form.terms]
        return None if found is None else found + form.constant

    def _greatest(self, form: Form) -> Rational | None:
        """Replace one variable by pieces of its bounds.

        The innermost one, but before all others those that are one of their pieces, and nobody
        knows which: what replaces the rest may depend on that.
        """
        self.effort.left -= 1
        if self.effort.left < 0:
            raise _TooHardError
        variable, coefficient = next(
            (term for term in form.terms if self._side(*term)[1]), form.terms[0]
        )
        pieces, is_any = self._side(variable, coefficient)
        without = Form(tuple(t for t in form.terms if t[0] != variable), form.constant)
        found = [self.greatest(without.plus(piece, coefficient)) for piece in pieces]
        known = [end for end in found if end is not None]
        if is_any:
            return max(known) if found and len(known) == len(found) else None
        return min(known, default=None)

    def _side(self, variable: int, coefficient: Rational) -> tuple[tuple[Form, ...], bool]:
        """Return the pieces that bound a multiple of a variable from above."""
        bounds = self.bounds[variable]
        if coefficient > 0:
            return bounds.highs, bounds.any_high
        return bounds.lows, bounds.any_low

    def is_at_least(self, form: Form, least: int) -> bool:
        """Whether an integer form is known to be so large, at least."""
        end = self.greatest(form.times(-1))
        return end is not None and end < 1 - least


# What is not negative where a comparison of left and right holds, or does not: the sign of
# left - right in it, and what is taken from that.
_ORDERS: dict[IndexOperator, dict[bool, tuple[tuple[int, int], ...]]] = {
    IndexOperator.EQUAL: {True: ((1, 0), (-1, 0)), False: ()},
    IndexOperator.GREATER_EQUAL: {True: ((1, 0),), False: ((-1, 1),)},
    IndexOperator.GREATER: {True: ((1, 1),), False: ((-1, 0),)},
    IndexOperator.LESS_EQUAL: {True: ((-1, 0),), False: ((1, 1),)},
    IndexOperator.LESS: {True: ((-1, 1),), False: ((1, 0),)},
}


def with_proofs(program: LoopProgram, sizes: Mapping[str, int] | None) -> LoopProgram:
    """Return the program with what is known of it, and what is not, at the sizes or at all."""
    effort = Effort(left=_MOST_STEPS)
    unproved = _unproved(program, sizes, effort)
    exact = frozenset(index for index, is_exact in effort.exact.items() if is_exact)
    if effort.left < 0:  # not all places were looked at
        exact = frozenset()
    return replace(program, unproved=unproved, exact=exact)


def unproved_accesses(program: LoopProgram, sizes: Mapping[str, int] | None) -> frozenset[Access]:
    """Return the accesses that are not known to stay inside, at the sizes or at all of them."""
    return with_proofs(program, sizes).unproved


def _unproved(
    program: LoopProgram, sizes: Mapping[str, int] | None, effort: Effort
) -> frozenset[Access]:
    top = Context({}, {}, effort)
    top.names = {
        parameter.name: top.variable(Bounds()) if sizes is None else _number(sizes[parameter.name])
        for parameter in program.scop.parameters
    }
    walk = _Walk(program)
    try:
        walk.node(program.body, top)
    except _TooHardError:
        return frozenset(
            (statement.name, access)
            for statement in program.scop.statements
            for access in (WRITE, *range(len(statement.reads)))
        )
    return frozenset(walk.unproved)


class _Walk:
    """Goes through a program and collects what cannot be proved."""

    def __init__(self, program: LoopProgram) -> None:
        arrays = (array.name for array in program.scop.arrays)
        self.extents = dict(zip(arrays, program.extents, strict=True))
        self.statements = {statement.name: statement for statement in program.scop.statements}
        self.unproved: set[Access] = set()

    def node(self, node: Node, context: Context) -> None:
        match node:
            case Block(children):
                for child in children:
                    self.node(child, context)
            case Loop(variable, body=body):
                inside = context.inside({})
                self.node(body, inside.inside({variable: _counter(inside, node)}))
            case Guard(condition, then, otherwise):
                inside = context.inside({})
                inside.assume(condition, holds=True)
                self.node(then, inside)
                if otherwise is not None:
                    inside = context.inside({})
                    inside.assume(condition, holds=False)
                    self.node(otherwise, inside)
            case Instance():
                self.instance(node, context)
            case _:
                assert_never(node)

    def instance(self, instance: Instance, context: Context) -> None:
        statement = self.statements[instance.statement]
        some = True
        if instance.lanes is not None:
            some = _has_lanes(instance.lanes, context)
            context = self._in_lanes(instance.lanes, context)
        accesses = (
            (statement.write, instance.write),
            *zip(statement.reads, instance.reads, strict=True),
        )
        for number, (access, subscripts) in enumerate(accesses, WRITE):
            extents = self.extents[access.array]
            for subscript, extent in zip(subscripts, extents, strict=True):
                form = context.form(subscript)
                room = context.form(extent).plus(form, -1)
                if not (some and context.is_at_least(form, 0) and context.is_at_least(room, 1)):
                    self.unproved.add((statement.name, number))

    def _in_lanes(self, lanes: Lanes, context: Context) -> Context:
        """Return the context in which the lanes' variable is that of any lane."""
        inside = context.inside({})
        base = inside.form(lanes.base)
        highs = [base.shifted(lanes.width - 1)]
        if lanes.active is not None:
            highs.append(base.plus(inside.form(lanes.active)).shifted(-1))
        lane = inside.variable(Bounds((base,), tuple(highs)))
        return inside.inside({lanes.variable: lane})


def _has_lanes(lanes: Lanes, context: Context) -> bool:
    """Whether lane 0 is known to exist: what is the same in all of them is read there."""
    if lanes.active is None:
        return True
    inside = context.inside({})
    return inside.is_at_least(inside.form(lanes.active), 1)


def _counter(context: Context, loop: Loop) -> Form:
    """Return a loop's counter: a variable, or in steps the lower bound and a multiple of one.

    In steps it may end before the upper bound: from 3 to 9 by 4 it is 3 + 4k with k <= 6/4, or 7.
    """
    lows = _pieces(context, loop.lower, IndexOperator.MAXIMUM)
    highs = _pieces(context, loop.upper, IndexOperator.MINIMUM)
    if loop.step == 1:
        return context.variable(Bounds(lows, highs))
    start, part = context.form(loop.lower), Fraction(1, loop.step)
    most = [high.plus(start, -1).times(part) for high in highs]
    last = difference(loop.upper, loop.lower)
    if last is not None and last >= 0:
        most.append(_number(last // loop.step))
    number = context.variable(Bounds((_number(0),), tuple(most)))
    return start.plus(number, loop.step)


def _pieces(context: Context, bound: Index, operator: IndexOperator) -> tuple[Form, ...]:
    """Return what bounds a counter: the bound, and what it is the minimum or maximum of."""
    every = dict.fromkeys((*pieces(bound, operator), bound))
    return tuple(context.form(piece) for piece in every)
