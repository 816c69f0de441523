"""Affine expressions of a comprehension, and affine conditions, as isl reads them.

``2 * i + kw - 1`` is the sum of 2·i, 1·kw and -1: coefficients and a constant. A product is affine
if one of its factors is a constant. In subscripts there are quotients too, by positive constants,
as further terms of the sum: ``i / 2`` is 1·⌊i/2⌋ where i is not negative, ``i % 2`` is i - 2·⌊i/2⌋.

A condition is affine if it compares affine expressions, or combines such comparisons:
``i >= 1 && i <= N`` is the isl text ``((1i + (0)) >= (1) and ...)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from polygym.compiler.frontend.tc.syntax import (
    Expression,
    Infix,
    Name,
    Number,
    Operator,
    Prefix,
    Prefixed,
)

# Coefficients and constants of subscripts are small; isl would take any, and printed C would not.
LARGEST = 1 << 31


class Rounding(Enum):
    """How a quotient is rounded; where no dividend is negative it is all one."""

    DOWN = "down"
    TOWARDS_ZERO = "towards zero"


@dataclass(frozen=True, slots=True)
class Quotient:
    """An affine expression divided by a positive number, and rounded to an integer."""

    dividend: Affine
    divisor: int

    def text(self, names: Mapping[str, str], rounding: Rounding) -> str:
        """Return the text that isl reads."""
        dividend = self.dividend.text(names, rounding)
        if rounding is Rounding.DOWN:
            return f"floor({dividend}/{self.divisor})"
        above, below = (f"floor(max({sign}{dividend}, 0)/{self.divisor})" for sign in ("", "-"))
        return f"({above} - {below})"


@dataclass(frozen=True, slots=True)
class Affine:
    """Coefficients of names and of quotients, zeros left out, and a constant."""

    coefficients: tuple[tuple[str | Quotient, int], ...]
    constant: int = 0

    @staticmethod
    def of(coefficients: Mapping[str | Quotient, int], constant: int) -> Affine:
        """Return the expression; zeros are dropped, terms sorted, quotients last."""
        kept = {term: value for term, value in coefficients.items() if value}

        def place(one: tuple[str | Quotient, int]) -> tuple[bool, str]:
            return isinstance(one[0], Quotient), str(one[0])

        return Affine(tuple(sorted(kept.items(), key=place)), constant)

    @property
    def names(self) -> frozenset[str]:
        """The names that it depends on."""
        found: set[str] = set()
        for term, _ in self.coefficients:
            found |= {term} if isinstance(term, str) else term.dividend.names
        return frozenset(found)

    @property
    def quotients(self) -> tuple[Quotient, ...]:
        """The quotients in it, and in their dividends."""
        own = [term for term, _ in self.coefficients if isinstance(term, Quotient)]
        found = (one for outer in own for one in (*outer.dividend.quotients, outer))
        return tuple(dict.fromkeys(found))

    @property
    def is_small(self) -> bool:
        """Whether all of its numbers are of a size that a subscript may have."""
        return all(
            abs(value) < LARGEST
            for value in (self.constant, *(value for _, value in self.coefficients))
        ) and all(one.dividend.is_small and one.divisor < LARGEST for one in self.quotients)

    def plus(self, other: Affine, factor: int = 1) -> Affine:
        """Return this plus a multiple of another."""
        found = dict(self.coefficients)
        for name, value in other.coefficients:
            found[name] = found.get(name, 0) + factor * value
        return Affine.of(found, self.constant + factor * other.constant)

    def times(self, factor: int) -> Affine:
        """Return a multiple."""
        return Affine.of({n: factor * v for n, v in self.coefficients}, factor * self.constant)

    def text(self, names: Mapping[str, str], rounding: Rounding = Rounding.DOWN) -> str:
        """Return the text that isl reads, with each name as ``names`` has it.

        >>> Affine.of({"i": 2, "k": 1}, -1).text({"i": "i0", "k": "i1"})
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


def affine(expression: Expression, known: frozenset[str]) -> Affine | None:
    """Return an expression as an affine one without quotients, or None if it is none.

    ``known`` are the names that may stand in it: indices and sizes.
    """
    found = quasi_affine(expression, known)
    return None if found is None or found.quotients else found


def quasi_affine(expression: Expression, known: frozenset[str]) -> Affine | None:
    """Return an expression as an affine one, perhaps with quotients, or None if it is none.

    >>> from polygym.errors import Place
    >>> i = Name("i", Place("a.tc", 1, 1))
    >>> four = Number(4, "4", i.place)
    >>> rest = quasi_affine(Infix(Operator.REMAINDER, i, four, i.place), frozenset("i"))
    >>> rest.text({"i": "i"})
    '(1i - 4*floor((1i)/4))'
    """
    found = _affine(expression, known)
    return found if found is not None and found.is_small else None


def _affine(expression: Expression, known: frozenset[str]) -> Affine | None:
    match expression:
        case Number(value):
            return Affine((), value) if isinstance(value, int) else None
        case Name(name):
            return Affine(((name, 1),)) if name in known else None
        case Prefixed(Prefix.NEGATE, operand):
            inner = _affine(operand, known)
            return None if inner is None else inner.times(-1)
        case Infix(Operator.ADD | Operator.SUBTRACT as operator, left, right):
            first, second = _affine(left, known), _affine(right, known)
            if first is None or second is None:
                return None
            return first.plus(second, 1 if operator is Operator.ADD else -1)
        case Infix(Operator.MULTIPLY, left, right):
            first, second = _affine(left, known), _affine(right, known)
            if first is None or second is None:
                return None
            if not first.coefficients:
                return second.times(first.constant)
            return None if second.coefficients else first.times(second.constant)
        case Infix(Operator.DIVIDE | Operator.REMAINDER as operator, left, right):
            first, second = _affine(left, known), _affine(right, known)
            if first is None or second is None or second.coefficients or second.constant <= 0:
                return None
            quotient = Affine(((Quotient(first, second.constant), 1),))
            if operator is Operator.DIVIDE:
                return quotient
            return first.plus(quotient, -second.constant)
        case _:
            return None


_COMPARISONS = {
    Operator.LESS: "<",
    Operator.LESS_EQUAL: "<=",
    Operator.GREATER: ">",
    Operator.GREATER_EQUAL: ">=",
    Operator.EQUAL: "=",
    Operator.NOT_EQUAL: "!=",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """What is known to hold where an expression is evaluated, as isl text.

    ``names`` are those that it mentions. It may be weaker than what the source says, where that is
    not affine; then it is not ``exact``, and its negation says nothing.
    """

    text: str
    names: frozenset[str]
    exact: bool

    @property
    def negation(self) -> Condition:
        """What is known to hold where this does not."""
        return Condition(f"(not {self.text})", self.names, True) if self.exact else ANYTHING

    def also(self, other: Condition) -> Condition:
        """Return the condition that both hold."""
        if self.text == ANYTHING.text:
            return Condition(other.text, other.names, self.exact and other.exact)
        if other.text == ANYTHING.text:
            return Condition(self.text, self.names, self.exact and other.exact)
        return Condition(
            f"({self.text} and {other.text})", self.names | other.names, self.exact and other.exact
        )


ANYTHING = Condition("(1 = 1)", frozenset(), exact=False)
"""What is known of a condition that is not affine."""

ALWAYS = Condition(ANYTHING.text, frozenset(), exact=True)


def condition_of(
    expression: Expression, known: frozenset[str], names: Mapping[str, str]
) -> Condition:
    """Return what an expression says of indices and sizes when it is true."""
    match expression:
        case Infix(operator, left, right) if operator in _COMPARISONS:
            first, second = affine(left, known), affine(right, known)
            if first is None or second is None:
                return ANYTHING
            text = f"({first.text(names)} {_COMPARISONS[operator]} {second.text(names)})"
            return Condition(text, first.names | second.names, exact=True)
        case Infix(Operator.AND, left, right):
            return condition_of(left, known, names).also(condition_of(right, known, names))
        case Infix(Operator.OR, left, right):
            one, two = condition_of(left, known, names), condition_of(right, known, names)
            if not (one.exact and two.exact):
                return ANYTHING
            return Condition(f"({one.text} or {two.text})", one.names | two.names, exact=True)
        case Prefixed(Prefix.NOT, operand):
            return condition_of(operand, known, names).negation
        case _:
            return ANYTHING
