"""The greatest and the least value of an index at a place, from the bounds of loops and guards.

A linear form is bounded by replacing its variables, the innermost first, by pieces of their
bounds::

    for i = 0 .. n - 1:  for j = max(0, i - 3) .. i:   i - j

    i - j  <=  i - (i - 3)  =  3          and          i - j  >=  i - i  =  0

Each upper piece of a counter's bound gives a valid upper end of the form, so the smallest counts.
A guard bounds a variable too: where i <= j, and i = j does not hold, i is at most j - 1.
What is no linear form becomes a variable with bounds of its own: ⌊e/d⌋ lies between (e - d + 1)/d
and e/d; min(a, b) is at most a and at most b, and at least the smaller one of what a and b give.
Ends are rationals, and a subscript is an integer: 3.5 as greatest value is 3.

On the way it is seen which divisions leave no remainder, whatever guards say: with i = 1 + 2k, from
a loop in steps of 2, (3i + 1)/2 is 3k + 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor, gcd, lcm
from typing import NamedTuple, TypeAlias, assert_never

from polygym.compiler.codegen.loops.index import pieces
from polygym.compiler.codegen.loops.ir import (
    Index,
    IndexOperator,
    Number,
    Operation,
    Variable,
)

Rational: TypeAlias = int | Fraction
Terms: TypeAlias = tuple[tuple[int, int], ...]
"""Coefficients of variables, which are numbers in the order in which they come into being."""


class Form(NamedTuple):
    """A linear form: coefficients, none of them 0, by falling number of the variable.

    All of it is divided by ``over``, which has no factor in common with all the rest: integers are
    much faster than fractions are. It is a tuple because proofs make and compare thousands.
    """

    terms: Terms
    constant: int
    over: int = 1

    def plus(self, other: Form, factor: int = 1) -> Form:
        """Return this form plus a multiple of another one."""
        terms, constant, over = self
        if over == other.over:
            theirs = factor
        else:
            whole = lcm(over, other.over)
            ours, theirs, over = whole // over, factor * (whole // other.over), whole
            if ours > 1:
                terms = tuple([(variable, ours * part) for variable, part in terms])
                constant *= ours
        constant += theirs * other.constant
        if other.terms:
            terms = _sum_of(terms, other.terms, theirs)
        return Form(terms, constant) if over == 1 else _reduced(terms, constant, over)

    def times(self, factor: Rational) -> Form:
        """Return a multiple of this form."""
        if factor == 0:
            return number_form(0)
        up, down = factor.numerator, factor.denominator
        terms = self.terms if up == 1 else tuple([(v, c * up) for v, c in self.terms])
        if down == 1 and self.over == 1:
            return Form(terms, self.constant * up)
        return _reduced(terms, self.constant * up, self.over * down)

    def shifted(self, amount: Rational) -> Form:
        """Return this form plus a number."""
        return self.plus(Form((), amount.numerator, amount.denominator))

    @property
    def number(self) -> Rational:
        """The constant term."""
        return _rational(self.constant, self.over)


def _sum_of(some: Terms, others: Terms, factor: int) -> Terms:
    """Return terms plus a multiple of others, by falling number of the variable."""
    found = dict(some)
    for variable, part in others:
        total = found.get(variable, 0) + factor * part
        if total:
            found[variable] = total
        else:
            found.pop(variable, None)
    return tuple(sorted(found.items(), reverse=True))


def _rational(up: int, down: int) -> Rational:
    """Return a quotient, as an integer where it is one."""
    if down == 1:
        return up
    found = Fraction(up, down)
    return found.numerator if found.denominator == 1 else found


def _reduced(terms: Terms, constant: int, over: int) -> Form:
    common = gcd(over, constant)
    for _, part in terms:
        if common == 1:
            return Form(terms, constant, over)
        common = gcd(common, part)
    fewer = tuple([(variable, part // common) for variable, part in terms])
    return Form(fewer, constant // common, over // common)


def number_form(value: int) -> Form:
    """Return a number as a form."""
    return Form((), value)


def _divides(dividend: Form, divisor: Form) -> bool:
    """Whether a number divides a form, whatever its variables are."""
    if divisor.terms or divisor.constant <= 0 or (dividend.over, divisor.over) != (1, 1):
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


class TooHardError(Exception):
    """More steps than a proof may take."""


@dataclass(slots=True)
class Effort:
    """What all proofs of a program have in common: the next variable, and the steps left.

    ``combinations`` is how many bounds may still be made of two others; there may be very many.
    ``exact`` says of every division that isl calls exact whether that is so wherever it stands.
    """

    left: int
    combinations: int = 0
    variables: int = 0
    exact: dict[Index, bool] = field(default_factory=dict)


@dataclass(slots=True)
class Context:
    """What is known at a place: names, and bounds of variables. Guards and loops make new ones.

    ``made`` are the variables of what is no linear form, so that min(a, b) is the same one wherever
    it stands; ``known`` are greatest values. Places share these for as long as what bounds their
    variables is the same; a variable that only one of them has is in no form of the others.
    """

    names: Mapping[str, Form]
    bounds: dict[int, Bounds]
    effort: Effort
    made: dict[tuple[IndexOperator, tuple[Form, ...]], Form] = field(default_factory=dict)
    known: dict[Terms, Rational | None] = field(default_factory=dict)

    def inside(self, names: Mapping[str, Form]) -> Context:
        """Return the context of a place inside, in which some names mean something else."""
        names = {**self.names, **names}
        return Context(names, dict(self.bounds), self.effort, dict(self.made), self.known)

    def variable(self, bounds: Bounds) -> Form:
        """Return a new variable."""
        self.effort.variables += 1
        self.bounds[self.effort.variables] = bounds
        return Form(((self.effort.variables, 1),), 0)

    def form(self, index: Index) -> Form:
        """Return an index as a form; variables that are made for it are in this context."""
        match index:
            case Number(value):
                return number_form(value)
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
                return parts[1].times(parts[0].number)
            case IndexOperator.MULTIPLY if not parts[1].terms:
                return parts[0].times(parts[1].number)
            case (
                IndexOperator.DIVIDE_EXACT
                | IndexOperator.DIVIDE_FLOOR
                | IndexOperator.DIVIDE_NONNEGATIVE
            ):
                return self._quotient(*parts)
            case IndexOperator.REMAINDER_NONNEGATIVE | IndexOperator.REMAINDER_ZERO_TEST:
                return parts[0].plus(self._quotient(*parts).times(-parts[1].number))
            case _:
                return self._made(operator, parts)

    def _quotient(self, dividend: Form, divisor: Form) -> Form:
        """Return ⌊e/d⌋, without what d divides: ⌊(7x - 3)/4⌋ is x - 1 + ⌊(3x + 1)/4⌋.

        So quotients of forms that differ by multiples of d are the same but for a form.
        """
        number = divisor.constant
        if divisor.terms or number <= 0 or (dividend.over, divisor.over) != (1, 1):
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
                return Bounds((number_form(0),), (number_form(1),))  # a truth value

    def _of_quotient(self, dividend: Form, divisor: Form) -> Bounds:
        part = Fraction(1, divisor.constant)
        exact = dividend.times(part)
        lows, highs = [exact.shifted(part - 1)], [exact]
        # It is an integer, and no smaller than that of the least dividend.
        if (least := self.greatest(exact.times(-1))) is not None:
            lows.append(number_form(floor(-least)))
        if (greatest := self.greatest(exact)) is not None:
            highs.append(number_form(floor(greatest)))
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
                is_tie = operator is IndexOperator.EQUAL and holds
                for sign, least in _ORDERS[operator][holds]:
                    self._learn(difference.times(sign).shifted(-least), combines=is_tie)
                if operator is IndexOperator.EQUAL and not holds:
                    self._learn_unequal(difference)
            case _:
                return

    def assume_not_empty(self, lower: Index, upper: Index) -> None:
        """Learn from a loop whose body runs: none of its lower bounds is beyond an upper one."""
        if self.effort.combinations <= 0:
            return
        for low in pieces(lower, IndexOperator.MAXIMUM):
            for high in pieces(upper, IndexOperator.MINIMUM):
                self._learn(self.form(high).plus(self.form(low), -1), combines=True)

    def _learn_unequal(self, form: Form) -> None:
        """Note that an integer form is not 0: at least 1, if it is known not to be negative."""
        for sign in (1, -1):
            if self.is_at_least(form.times(sign), 0):
                self._learn(form.times(sign).shifted(-1))

    def _learn(self, form: Form, *, combines: bool = False) -> None:
        """Note that a form is not negative: a bound of its innermost variable.

        With ``combines`` what bounds that on the other side is not beyond it, which is a bound of
        the variables around (Fourier and Motzkin): where k <= j - 1, and i - j = k by a guard,
        i - j <= j - 1, so that j >= (i + 1)/2.
        """
        if not form.terms:
            return
        (variable, coefficient), *rest = form.terms
        bound = Form(tuple(rest), form.constant).times(Fraction(-1, coefficient))
        before = self.bounds[variable]
        if bound in (before.lows if coefficient > 0 else before.highs):
            return
        if coefficient > 0:
            others = () if before.any_high else before.highs
            if not before.any_low:
                self.bounds[variable] = replace(before, lows=(*before.lows, bound))
        else:
            others = () if before.any_low else before.lows
            if not before.any_high:
                self.bounds[variable] = replace(before, highs=(*before.highs, bound))
        self.known = {}
        for other in others if combines else ():
            if self.effort.combinations <= 0:
                return
            self.effort.combinations -= 1
            between = other.plus(bound, -1).times(1 if coefficient > 0 else -1)
            self._learn(between, combines=True)

    def greatest(self, form: Form) -> Rational | None:
        """Return a number that the form does not exceed, None if none is found."""
        if not form.terms:
            return form.number
        if form.terms not in self.known:
            self.known[form.terms] = self._greatest(form.terms)
        found = self.known[form.terms]
        if found is None:
            return None
        # (u/d + constant) / over
        down = found.denominator
        return _rational(found.numerator + down * form.constant, down * form.over)

    def _greatest(self, terms: Terms) -> Rational | None:
        """Replace one variable by pieces of its bounds.

        The innermost one, but before all others those that are one of their pieces, and nobody
        knows which: what replaces the rest may depend on that.
        """
        self.effort.left -= 1
        if self.effort.left < 0:
            raise TooHardError
        variable, coefficient = next((term for term in terms if self._side(*term)[1]), terms[0])
        pieces, is_any = self._side(variable, coefficient)
        without = Form(tuple(term for term in terms if term[0] != variable), 0)
        found = [self.greatest(without.plus(piece, coefficient)) for piece in pieces]
        known = [end for end in found if end is not None]
        if is_any:
            return max(known) if found and len(known) == len(found) else None
        return min(known, default=None)

    def _side(self, variable: int, coefficient: int) -> tuple[tuple[Form, ...], bool]:
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
