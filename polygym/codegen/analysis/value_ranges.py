"""The greatest and the least value of an index at a place, from the bounds of loops and guards.

A linear form is bounded by replacing its variables, the innermost first, by pieces of their
bounds::

    for i = 0 .. n - 1:  for j = max(0, i - 3) .. i:   i - j

    i - j  <=  i - (i - 3)  =  3          and          i - j  >=  i - i  =  0

Each upper piece of a counter's bound gives a valid upper end of the form, so the smallest counts.
A guard bounds a variable too: where i <= j, and i = j does not hold, i is at most j - 1.
What is no linear form becomes a variable with bounds of its own: ⌊e/d⌋ lies between (e - d + 1)/d
and e/d; min(a, b) is at most a and at most b, and at least the smaller one of what a and b give.
Of c ? a : b the values are those of a where c holds, and those of b elsewhere.
Ends are rationals, and a subscript is an integer: 3.5 as greatest value is 3.

On the way it is seen which divisions leave no remainder, whatever guards say: with i = 1 + 2k, from
a loop in steps of 2, (3i + 1)/2 is 3k + 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from typing import NamedTuple, TypeAlias, assert_never

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import min_max_operands

Rational: TypeAlias = int | Fraction
LinearTerms: TypeAlias = tuple[tuple[int, int], ...]
"""Coefficients of variables, which are numbers in the order in which they come into being."""


class LinearForm(NamedTuple):
    """A linear form: coefficients, none of them 0, by falling number of the variable.

    All of it is divided by ``denominator``, which has no factor in common with all the rest:
    integers are much faster than fractions are. It is a tuple because proofs make and compare
    thousands.
    """

    terms: LinearTerms
    constant: int
    denominator: int = 1

    def plus(self, other: LinearForm, factor: int = 1) -> LinearForm:
        """Return this form plus a multiple of another one."""
        terms, constant, over = self
        if over == other.denominator:
            theirs = factor
        else:
            whole = lcm(over, other.denominator)
            ours, theirs, over = whole // over, factor * (whole // other.denominator), whole
            if ours > 1:
                terms = tuple([(variable, ours * part) for variable, part in terms])
                constant *= ours
        constant += theirs * other.constant
        if other.terms:
            terms = _add_terms(terms, other.terms, theirs)
        return LinearForm(terms, constant) if over == 1 else _reduced(terms, constant, over)

    def times(self, factor: Rational) -> LinearForm:
        """Return a multiple of this form."""
        if factor == 0:
            return constant_form(0)
        up, down = factor.numerator, factor.denominator
        terms = self.terms if up == 1 else tuple([(v, c * up) for v, c in self.terms])
        if down == 1 and self.denominator == 1:
            return LinearForm(terms, self.constant * up)
        return _reduced(terms, self.constant * up, self.denominator * down)

    def shifted(self, amount: Rational) -> LinearForm:
        """Return this form plus a number."""
        return self.plus(LinearForm((), amount.numerator, amount.denominator))

    @property
    def constant_term(self) -> Rational:
        """The constant term."""
        return _exact_quotient(self.constant, self.denominator)


def _add_terms(some: LinearTerms, others: LinearTerms, factor: int) -> LinearTerms:
    """Return terms plus a multiple of others, by falling number of the variable."""
    result = dict(some)
    for variable, part in others:
        total = result.get(variable, 0) + factor * part
        if total:
            result[variable] = total
        else:
            result.pop(variable, None)
    return tuple(sorted(result.items(), reverse=True))


def _exact_quotient(up: int, down: int) -> Rational:
    """Return a quotient, as an integer where it is one."""
    if down == 1:
        return up
    result = Fraction(up, down)
    return result.numerator if result.denominator == 1 else result


def _reduced(terms: LinearTerms, constant: int, over: int) -> LinearForm:
    common = gcd(over, constant)
    for _, part in terms:
        if common == 1:
            return LinearForm(terms, constant, over)
        common = gcd(common, part)
    fewer = tuple([(variable, part // common) for variable, part in terms])
    return LinearForm(fewer, constant // common, over // common)


def constant_form(value: int) -> LinearForm:
    """Return a number as a form."""
    return LinearForm((), value)


def _divides(dividend: LinearForm, divisor: LinearForm) -> bool:
    """Whether a number divides a form, whatever its variables are."""
    if divisor.terms or divisor.constant <= 0:
        return False
    if (dividend.denominator, divisor.denominator) != (1, 1):
        return False
    parts = (dividend.constant, *(factor for _, factor in dividend.terms))
    return all(part % divisor.constant == 0 for part in parts)


@dataclass(frozen=True, slots=True)
class VariableBounds:
    """Bounds of a variable: each piece, or (``is_low_alternative``, ...) at least one.

    min(a, b) has the pieces a and b on either side: it is below both, and above one of the two.
    """

    lows: tuple[LinearForm, ...] = ()
    highs: tuple[LinearForm, ...] = ()
    is_low_alternative: bool = False
    is_high_alternative: bool = False


class ProofBudgetError(Exception):
    """More steps than a proof may take."""


@dataclass(slots=True)
class ProofBudget:
    """What all proofs of a program have in common: the next variable, and the steps left.

    ``combinations_left`` is how many bounds may still be made of two others; there may be very
    many. ``exact_divisions`` says of every division that isl calls exact whether that is so
    wherever it stands.
    """

    steps_left: int
    combinations_left: int = 0
    next_variable: int = 0
    exact_divisions: dict[ir.Index, bool] = field(default_factory=dict)


@dataclass(slots=True)
class BoundContext:
    """What is known at a place: names, and bounds of variables. Guards and loops make new ones.

    ``operation_variables`` are the variables of what is no linear form, so that min(a, b) is the
    same one wherever it stands; ``greatest_memo`` are greatest values. Places share these for as
    long as what bounds their variables is the same; a variable that only one of them has is in no
    form of the others.
    """

    forms_by_name: Mapping[str, LinearForm]
    bounds: dict[int, VariableBounds]
    budget: ProofBudget
    operation_variables: dict[tuple[ir.IndexOperator, tuple[LinearForm, ...]], LinearForm] = field(
        default_factory=dict
    )
    greatest_memo: dict[LinearTerms, Rational | None] = field(default_factory=dict)

    @staticmethod
    def outermost(
        parameters: Iterable[str], sizes: Mapping[str, int] | None, budget: ProofBudget
    ) -> BoundContext:
        """Return the context outside of all loops, where parameters may have known sizes."""
        top = BoundContext({}, {}, budget)
        top.forms_by_name = {
            name: top.new_variable(VariableBounds())
            if sizes is None
            else constant_form(sizes[name])
            for name in parameters
        }
        return top

    def with_names(self, names: Mapping[str, LinearForm]) -> BoundContext:
        """Return the context of a place inside, in which some names mean something else."""
        names = {**self.forms_by_name, **names}
        made, memo = dict(self.operation_variables), self.greatest_memo
        return BoundContext(names, dict(self.bounds), self.budget, made, memo)

    def new_variable(self, bounds: VariableBounds) -> LinearForm:
        """Return a new variable."""
        self.budget.next_variable += 1
        self.bounds[self.budget.next_variable] = bounds
        return LinearForm(((self.budget.next_variable, 1),), 0)

    def form(self, index: ir.Index) -> LinearForm:
        """Return an index as a form; variables that are made for it are in this context."""
        match index:
            case ir.IndexConstant(value):
                return constant_form(value)
            case ir.IndexVariable(name):
                return self.forms_by_name[name]
            case ir.IndexOperation(operator, operands):
                if operator is ir.IndexOperator.DIVIDE_EXACT:
                    divides = _divides(*map(self.form, operands))
                    exact = self.budget.exact_divisions
                    exact[index] = divides and exact.get(index, True)
                return self._operation(operator, operands)
            case _:
                assert_never(index)

    def _operation(self, operator: ir.IndexOperator, operands: tuple[ir.Index, ...]) -> LinearForm:
        parts = tuple(map(self.form, operands))
        match operator:
            case ir.IndexOperator.NEGATE:
                return parts[0].times(-1)
            case ir.IndexOperator.ADD:
                return parts[0].plus(parts[1])
            case ir.IndexOperator.SUBTRACT:
                return parts[0].plus(parts[1], -1)
            case ir.IndexOperator.MULTIPLY if not parts[0].terms:
                return parts[1].times(parts[0].constant_term)
            case ir.IndexOperator.MULTIPLY if not parts[1].terms:
                return parts[0].times(parts[1].constant_term)
            case _ if operator in ir.QUOTIENTS:
                return self._quotient(*parts)
            case ir.IndexOperator.REMAINDER_NONNEGATIVE | ir.IndexOperator.REMAINDER_ZERO_TEST:
                return parts[0].plus(self._quotient(*parts).times(-parts[1].constant_term))
            case ir.IndexOperator.SELECT:
                return self._selection(operands[0], parts)
            case _:
                return self._operation_variable(operator, parts)

    def _quotient(self, dividend: LinearForm, divisor: LinearForm) -> LinearForm:
        """Return ⌊e/d⌋, without what d divides: ⌊(7x - 3)/4⌋ is x - 1 + ⌊(3x + 1)/4⌋.

        So quotients of forms that differ by multiples of d are the same but for a form.
        """
        number = divisor.constant
        if divisor.terms or number <= 0 or (dividend.denominator, divisor.denominator) != (1, 1):
            return self.new_variable(VariableBounds())
        whole = LinearForm(
            tuple((v, c // number) for v, c in dividend.terms if c // number),
            dividend.constant // number,
        )
        rest = dividend.plus(whole, -number)
        if not rest.terms:
            return whole
        return whole.plus(self._operation_variable(ir.IndexOperator.DIVIDE_FLOOR, (rest, divisor)))

    def _selection(self, condition: ir.Index, parts: tuple[LinearForm, ...]) -> LinearForm:
        """Return ``c ? a : b``: a number is known of a where c holds, and of b where it does not.

        Of ``k <= -1 ? -k : k`` with -2 <= k <= 2 the first one is 1 to 2, the second one 0 to 2.
        """
        key = (ir.IndexOperator.SELECT, parts)
        if key in self.operation_variables:
            return self.operation_variables[key]
        either = self._operation_variable(*key)
        ends: list[tuple[Rational, Rational]] = []
        for part, holds in zip(parts[1:], (True, False), strict=True):
            inside = self.with_names({})
            inside.assume(condition, holds=holds)
            low, high = inside.greatest(part.times(-1)), inside.greatest(part)
            if low is None or high is None:
                return either
            ends.append((-low, high))
        lows = (either, constant_form(ceil(min(low for low, _ in ends))))
        highs = (either, constant_form(floor(max(high for _, high in ends))))
        self.operation_variables[key] = self.new_variable(VariableBounds(lows, highs))
        return self.operation_variables[key]

    def _operation_variable(
        self, operator: ir.IndexOperator, parts: tuple[LinearForm, ...]
    ) -> LinearForm:
        """Return the variable of what is no linear form, a new one where it is new."""
        key = (operator, parts)
        if key not in self.operation_variables:
            self.operation_variables[key] = self.new_variable(self._bounds(operator, parts))
        return self.operation_variables[key]

    def _bounds(self, operator: ir.IndexOperator, parts: tuple[LinearForm, ...]) -> VariableBounds:
        match operator:
            case ir.IndexOperator.DIVIDE_FLOOR:
                return self._quotient_bounds(*parts)
            case ir.IndexOperator.MINIMUM:
                return VariableBounds(parts, parts, is_low_alternative=True)
            case ir.IndexOperator.MAXIMUM:
                return VariableBounds(parts, parts, is_high_alternative=True)
            case ir.IndexOperator.SELECT:
                return VariableBounds(parts[1:], parts[1:], True, True)
            case ir.IndexOperator.MULTIPLY:
                return VariableBounds()  # of two variables: nothing is known
            case _:
                return VariableBounds((constant_form(0),), (constant_form(1),))  # a truth value

    def _quotient_bounds(self, dividend: LinearForm, divisor: LinearForm) -> VariableBounds:
        part = Fraction(1, divisor.constant)
        exact = dividend.times(part)
        lows, highs = [exact.shifted(part - 1)], [exact]
        # It is an integer, and no smaller than that of the least dividend.
        if (least := self.greatest(exact.times(-1))) is not None:
            lows.append(constant_form(floor(-least)))
        if (greatest := self.greatest(exact)) is not None:
            highs.append(constant_form(floor(greatest)))
        return VariableBounds(tuple(lows), tuple(highs))

    def assume(self, condition: ir.Index, *, holds: bool) -> None:
        """Learn from a condition, as far as it bounds a variable."""
        match condition:
            case ir.IndexOperation(ir.IndexOperator.AND, operands) if holds:
                for operand in operands:
                    self.assume(operand, holds=True)
            case ir.IndexOperation(ir.IndexOperator.OR, operands) if not holds:
                for operand in operands:
                    self.assume(operand, holds=False)
            case ir.IndexOperation(operator, (left, right)) if operator in _ORDERS:
                difference = self.form(left).plus(self.form(right), -1)
                is_tie = operator is ir.IndexOperator.EQUAL and holds
                for sign, least in _ORDERS[operator][holds]:
                    self._add_bound(difference.times(sign).shifted(-least), combines=is_tie)
                if operator is ir.IndexOperator.EQUAL and not holds:
                    self._add_unequal(difference)
            case _:
                return

    def assume_not_empty(self, lower: ir.Index, upper: ir.Index) -> None:
        """Learn from a loop whose body runs: none of its lower bounds is beyond an upper one."""
        if self.budget.combinations_left <= 0:
            return
        for low in min_max_operands(lower, ir.IndexOperator.MAXIMUM):
            for high in min_max_operands(upper, ir.IndexOperator.MINIMUM):
                self._add_bound(self.form(high).plus(self.form(low), -1), combines=True)

    def _add_unequal(self, form: LinearForm) -> None:
        """Note that an integer form is not 0: at least 1, if it is known not to be negative."""
        for sign in (1, -1):
            if self.is_at_least(form.times(sign), 0):
                self._add_bound(form.times(sign).shifted(-1))

    def _add_bound(self, form: LinearForm, *, combines: bool = False) -> None:
        """Note that a form is not negative: a bound of its innermost variable.

        With ``combines`` what bounds that on the other side is not beyond it, which is a bound of
        the variables around (Fourier and Motzkin): where k <= j - 1, and i - j = k by a guard,
        i - j <= j - 1, so that j >= (i + 1)/2.
        """
        if not form.terms:
            return
        (variable, coefficient), *rest = form.terms
        bound = LinearForm(tuple(rest), form.constant).times(Fraction(-1, coefficient))
        before = self.bounds[variable]
        if bound in (before.lows if coefficient > 0 else before.highs):
            return
        if coefficient > 0:
            others = () if before.is_high_alternative else before.highs
            if not before.is_low_alternative:
                self.bounds[variable] = replace(before, lows=(*before.lows, bound))
        else:
            others = () if before.is_low_alternative else before.lows
            if not before.is_high_alternative:
                self.bounds[variable] = replace(before, highs=(*before.highs, bound))
        self.greatest_memo = {}
        for other in others if combines else ():
            if self.budget.combinations_left <= 0:
                return
            self.budget.combinations_left -= 1
            between = other.plus(bound, -1).times(1 if coefficient > 0 else -1)
            self._add_bound(between, combines=True)

    def greatest(self, form: LinearForm) -> Rational | None:
        """Return a number that the form does not exceed, None if none is found."""
        if not form.terms:
            return form.constant_term
        if form.terms not in self.greatest_memo:
            self.greatest_memo[form.terms] = self._greatest(form.terms)
        rational = self.greatest_memo[form.terms]
        if rational is None:
            return None
        # (u/d + constant) / over
        down = rational.denominator
        return _exact_quotient(rational.numerator + down * form.constant, down * form.denominator)

    def _greatest(self, terms: LinearTerms) -> Rational | None:
        """Replace one variable by pieces of its bounds.

        The innermost one, but before all others those that are one of their pieces, and nobody
        knows which: what replaces the rest may depend on that.
        """
        self.budget.steps_left -= 1
        if self.budget.steps_left < 0:
            raise ProofBudgetError
        alternatives = (term for term in terms if self._bounding_forms(*term)[1])
        variable, coefficient = next(alternatives, terms[0])
        pieces, is_any = self._bounding_forms(variable, coefficient)
        without = LinearForm(tuple(term for term in terms if term[0] != variable), 0)
        rationals = [self.greatest(without.plus(piece, coefficient)) for piece in pieces]
        known = [end for end in rationals if end is not None]
        if is_any:
            return max(known) if rationals and len(known) == len(rationals) else None
        return min(known, default=None)

    def _bounding_forms(
        self, variable: int, coefficient: int
    ) -> tuple[tuple[LinearForm, ...], bool]:
        """Return the pieces that bound a multiple of a variable from above."""
        bounds = self.bounds[variable]
        if coefficient > 0:
            return bounds.highs, bounds.is_high_alternative
        return bounds.lows, bounds.is_low_alternative

    def is_at_least(self, form: LinearForm, least: int) -> bool:
        """Whether an integer form is known to be so large, at least."""
        end = self.greatest(form.times(-1))
        return end is not None and end < 1 - least


# What is not negative where a comparison of left and right holds, or does not: the sign of
# left - right in it, and what is taken from that.
_ORDERS: dict[ir.IndexOperator, dict[bool, tuple[tuple[int, int], ...]]] = {
    ir.IndexOperator.EQUAL: {True: ((1, 0), (-1, 0)), False: ()},
    ir.IndexOperator.GREATER_EQUAL: {True: ((1, 0),), False: ((-1, 1),)},
    ir.IndexOperator.GREATER: {True: ((1, 1),), False: ((-1, 0),)},
    ir.IndexOperator.LESS_EQUAL: {True: ((-1, 0),), False: ((1, 1),)},
    ir.IndexOperator.LESS: {True: ((-1, 1),), False: ((1, 0),)},
}
