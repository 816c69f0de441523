"""Meaning of names where an expression is evaluated, and the elements that it reads.

The right side of ``&&`` and ``||`` and the arms of ``?:`` are evaluated only where they count: what
is known of indices and sizes there goes with every element that they read.

Affine expressions of a comprehension, and affine conditions, as isl reads them.

``2 * i + kw - 1`` is the sum of 2·i, 1·kw and -1: coefficients and a constant. A product is affine
if one of its factors is a constant. In subscripts there are quotients too, by positive constants,
as further terms of the sum: ``i / 2`` is 1·⌊i/2⌋ where i is not negative, ``i % 2`` is i - 2·⌊i/2⌋.

A condition is affine if it compares affine expressions, or combines such comparisons:
``i >= 1 && i <= N`` is the isl text ``((1i + (0)) >= (1) and ...)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

import islpy as isl

from polygym.frontend.tc.syntax import tree
from polygym.ir import expressions as ir
from polygym.ir.types import ScalarType

# Coefficients and constants of subscripts are small; isl would take any, and printed C would not.
LARGEST_COEFFICIENT = 1 << 31


class Rounding(Enum):
    """How a quotient is rounded; where no dividend is negative it is all one."""

    DOWN = "down"
    TOWARDS_ZERO = "towards zero"


@dataclass(frozen=True, slots=True)
class Quotient:
    """An affine expression divided by a positive number, and rounded to an integer."""

    dividend: AffineExpression
    divisor: int

    def text(self, names: Mapping[str, str], rounding: Rounding) -> str:
        """Return the text that isl reads."""
        dividend = self.dividend.text(names, rounding)
        if rounding is Rounding.DOWN:
            return f"floor({dividend}/{self.divisor})"
        above, below = (f"floor(max({sign}{dividend}, 0)/{self.divisor})" for sign in ("", "-"))
        return f"({above} - {below})"


@dataclass(frozen=True, slots=True)
class AffineExpression:
    """Coefficients of names and of quotients, zeros left out, and a constant."""

    coefficients: tuple[tuple[str | Quotient, int], ...]
    constant: int = 0

    @staticmethod
    def of(coefficients: Mapping[str | Quotient, int], constant: int) -> AffineExpression:
        """Return the expression; zeros are dropped, terms sorted, quotients last."""
        kept = {term: value for term, value in coefficients.items() if value}

        def place(item: tuple[str | Quotient, int]) -> tuple[bool, str]:
            return isinstance(item[0], Quotient), str(item[0])

        return AffineExpression(tuple(sorted(kept.items(), key=place)), constant)

    @property
    def names(self) -> frozenset[str]:
        """The names that it depends on."""
        result: set[str] = set()
        for term, _ in self.coefficients:
            result |= {term} if isinstance(term, str) else term.dividend.names
        return frozenset(result)

    @property
    def quotients(self) -> tuple[Quotient, ...]:
        """The quotients in it, and in their dividends."""
        own = [term for term, _ in self.coefficients if isinstance(term, Quotient)]
        result = (quotient for outer in own for quotient in (*outer.dividend.quotients, outer))
        return tuple(dict.fromkeys(result))

    @property
    def is_small(self) -> bool:
        """Whether all of its numbers are of a size that a subscript may have."""
        return all(
            abs(value) < LARGEST_COEFFICIENT
            for value in (self.constant, *(value for _, value in self.coefficients))
        ) and all(
            quotient.dividend.is_small and quotient.divisor < LARGEST_COEFFICIENT
            for quotient in self.quotients
        )

    def plus(self, other: AffineExpression, factor: int = 1) -> AffineExpression:
        """Return this plus a multiple of another."""
        result = dict(self.coefficients)
        for name, value in other.coefficients:
            result[name] = result.get(name, 0) + factor * value
        return AffineExpression.of(result, self.constant + factor * other.constant)

    def times(self, factor: int) -> AffineExpression:
        """Return a multiple."""
        return AffineExpression.of(
            {n: factor * v for n, v in self.coefficients}, factor * self.constant
        )

    def text(self, names: Mapping[str, str], rounding: Rounding = Rounding.DOWN) -> str:
        """Return the text that isl reads, with each name as ``names`` has it.

        >>> AffineExpression.of({"i": 2, "k": 1}, -1).text({"i": "i0", "k": "i1"})
        '(2i0 + 1i1 - 1)'
        """
        terms = [
            f"{value}{names[term]}"
            if isinstance(term, str)
            else f"{value}*{term.text(names, rounding)}"
            for term, value in self.coefficients
        ]
        if self.constant or not terms:
            terms.append(str(self.constant))
        return f"({' + '.join(terms)})".replace("+ -", "- ")


def affine_of(expression: tree.Expression, known: frozenset[str]) -> AffineExpression | None:
    """Return an expression as an affine one without quotients, or None if it is none.

    ``known`` are the names that may stand in it: indices and sizes.
    """
    affine_expression = quasi_affine_of(expression, known)
    return None if affine_expression is None or affine_expression.quotients else affine_expression


def quasi_affine_of(expression: tree.Expression, known: frozenset[str]) -> AffineExpression | None:
    """Return an expression as an affine one, perhaps with quotients, or None if it is none.

    >>> from polygym.errors import SourceLocation
    >>> i = tree.NameUse("i", SourceLocation("a.tc", 1, 1))
    >>> four = tree.NumberLiteral(4, "4", i.location)
    >>> rest = tree.InfixExpression(tree.InfixOperator.REMAINDER, i, four, i.location)
    >>> quasi_affine_of(rest, frozenset("i")).text({"i": "i"})
    '(1i - 4*floor((1i)/4))'
    """
    result = _affine(expression, known)
    return result if result is not None and result.is_small else None


def _affine(expression: tree.Expression, known: frozenset[str]) -> AffineExpression | None:
    match expression:
        case tree.NumberLiteral(value):
            return AffineExpression((), value) if isinstance(value, int) else None
        case tree.NameUse(name):
            return AffineExpression(((name, 1),)) if name in known else None
        case tree.PrefixExpression(tree.PrefixOperator.NEGATE, operand):
            inner = _affine(operand, known)
            return None if inner is None else inner.times(-1)
        case tree.InfixExpression(
            tree.InfixOperator.ADD | tree.InfixOperator.SUBTRACT as operator, left, right
        ):
            first, second = _affine(left, known), _affine(right, known)
            if first is None or second is None:
                return None
            return first.plus(second, 1 if operator is tree.InfixOperator.ADD else -1)
        case tree.InfixExpression(tree.InfixOperator.MULTIPLY, left, right):
            first, second = _affine(left, known), _affine(right, known)
            if first is None or second is None:
                return None
            if not first.coefficients:
                return second.times(first.constant)
            return None if second.coefficients else first.times(second.constant)
        case tree.InfixExpression(
            tree.InfixOperator.DIVIDE | tree.InfixOperator.REMAINDER as operator, left, right
        ):
            first, second = _affine(left, known), _affine(right, known)
            if first is None or second is None or second.coefficients or second.constant <= 0:
                return None
            quotient = AffineExpression(((Quotient(first, second.constant), 1),))
            if operator is tree.InfixOperator.DIVIDE:
                return quotient
            return first.plus(quotient, -second.constant)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class IslCondition:
    """What is known to hold where an expression is evaluated, as isl text.

    ``names`` are those that it mentions. It may be weaker than what the source says, where that is
    not affine; then it is not ``is_exact``, and its negation says nothing.
    """

    text: str
    names: frozenset[str]
    is_exact: bool

    @property
    def negation(self) -> IslCondition:
        """What is known to hold where this does not."""
        return (
            IslCondition(f"(not {self.text})", self.names, True)
            if self.is_exact
            else UNKNOWN_CONDITION
        )

    def conjunction(self, other: IslCondition) -> IslCondition:
        """Return the condition that both hold."""
        sides = [side.text for side in (self, other) if side.text != UNKNOWN_CONDITION.text]
        text = f"({' and '.join(sides)})" if len(sides) == 2 else (sides or [other.text])[0]
        return IslCondition(text, self.names | other.names, self.is_exact and other.is_exact)


UNKNOWN_CONDITION = IslCondition("(1 = 1)", frozenset(), is_exact=False)
"""What is known of a condition that is not affine."""

TRUE_CONDITION = IslCondition(UNKNOWN_CONDITION.text, frozenset(), is_exact=True)


def condition_of(
    expression: tree.Expression, known: frozenset[str], names: Mapping[str, str]
) -> IslCondition:
    """Return what an expression says of indices and sizes when it is true."""
    match expression:
        case tree.InfixExpression(operator, left, right) if operator in tree.COMPARISONS:
            first, second = quasi_affine_of(left, known), quasi_affine_of(right, known)
            if first is None or second is None:
                return UNKNOWN_CONDITION
            sign = "=" if operator is tree.InfixOperator.EQUAL else operator.value
            sides = [side.text(names, Rounding.TOWARDS_ZERO) for side in (first, second)]
            text = f"({sides[0]} {sign} {sides[1]})"
            return IslCondition(text, first.names | second.names, is_exact=True)
        case tree.InfixExpression(tree.InfixOperator.AND, left, right):
            return condition_of(left, known, names).conjunction(condition_of(right, known, names))
        case tree.InfixExpression(tree.InfixOperator.OR, left, right):
            condition, two = condition_of(left, known, names), condition_of(right, known, names)
            if not (condition.is_exact and two.is_exact):
                return UNKNOWN_CONDITION
            return IslCondition(
                f"({condition.text} or {two.text})", condition.names | two.names, is_exact=True
            )
        case tree.PrefixExpression(tree.PrefixOperator.NOT, operand):
            return condition_of(operand, known, names).negation
        case _:
            return UNKNOWN_CONDITION


class TensorRole(Enum):
    """What a tensor is to the caller."""

    INPUT = "an input"
    UPDATED = "an input that is returned"
    OUTPUT = "an output"
    TEMPORARY = "a temporary"


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor, as far as it is known when a statement is read.

    ``name`` is its name in the Scop. ``valid`` holds the values that each subscript may have, a set
    of one dimension each. A tensor that is known has values.
    """

    name: str
    type: ScalarType
    valid: tuple[isl.Set, ...]
    role: TensorRole

    @property
    def rank(self) -> int:
        """The number of subscripts."""
        return len(self.valid)


def _no_access(element: tree.ElementOrCall, _: IslCondition) -> ir.Access:
    raise AssertionError(element)


@dataclass(frozen=True, slots=True)
class NameEnvironment:
    """What the names in a statement mean, and what is known where an expression is evaluated.

    ``iterators`` and ``sizes`` have the names of indices and sizes in the program. ``access`` makes
    the access of an element that is read under a condition.
    """

    tensors: Mapping[str, TensorInfo]
    iterators: Mapping[str, str]
    sizes: Mapping[str, str]
    access: Callable[[tree.ElementOrCall, IslCondition], ir.Access] = _no_access
    condition: IslCondition = TRUE_CONDITION

    @property
    def names(self) -> dict[str, str]:
        """The names that subscripts and affine conditions are made of."""
        return {**self.sizes, **self.iterators}

    def under_condition(self, expression: tree.Expression, *, is_true: bool) -> NameEnvironment:
        """Return the environment of what is evaluated only where a condition holds, or does not."""
        names = self.names
        known = condition_of(expression, frozenset(names), names)
        known = known if is_true else known.negation
        return replace(self, condition=self.condition.conjunction(known))


def elements_read(
    expression: tree.Expression, environment: NameEnvironment
) -> Iterator[tuple[tree.ElementOrCall, IslCondition]]:
    """Yield every element that an expression reads, with what is known where it does.

    A scalar that is read by its name counts as an element without subscripts.
    """
    match expression:
        case tree.NameUse(name, place) if name in environment.tensors:
            yield tree.ElementOrCall(name, (), place), environment.condition
        case tree.ElementOrCall(name) if name in environment.tensors:
            yield expression, environment.condition
        case _:
            pass  # only what stands inside of it reads anything
    match expression:
        case tree.InfixExpression(operator, left, right):
            yield from elements_read(left, environment)
            yield from elements_read(right, right_operand_environment(operator, left, environment))
        case tree.ConditionalExpression(chosen, then, otherwise):
            yield from elements_read(chosen, environment)
            yield from elements_read(then, environment.under_condition(chosen, is_true=True))
            yield from elements_read(otherwise, environment.under_condition(chosen, is_true=False))
        case _:
            for part in tree.operands_of(expression):
                yield from elements_read(part, environment)


def right_operand_environment(
    operator: tree.InfixOperator, left: tree.Expression, environment: NameEnvironment
) -> NameEnvironment:
    """Return the environment of an operator's right side: what ``a && b`` says where it needs b."""
    match operator:
        case tree.InfixOperator.AND:
            return environment.under_condition(left, is_true=True)
        case tree.InfixOperator.OR:
            return environment.under_condition(left, is_true=False)
        case _:
            return environment
