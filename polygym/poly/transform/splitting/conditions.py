"""Split conditions: the cuts of statements as a value with a text.

A *cut* compares two affine forms of a statement's iterators and the program's parameters. With
``=`` it makes three pieces, of the instances with a smaller, an equal and a greater left side; with
``<`` two, of those for which it holds and of the others. A splitting lists the cuts of statements;
those of one statement are made one after the other, in every piece that there is::

    S0: i = k                    i < k, i = k and i > k
    S0: i = k, j = k             these three, and each of them cut by j = k: up to nine
    S1: 2*i < n; S2: 2*i < n     each of two statements in two halves

The other comparisons are read as well: ``i >= k`` is ``k <= i``, which is ``k < i + 1``. A cut is
kept as a form f and one of ``f = 0`` and ``f < 0``, with what all coefficients of f have in common
divided out, so that cuts with the same pieces in the same order nearly always are equal: those of
``2*i < n + 1`` and ``n >= 2*i`` are (``n >= 2*i`` is ``2*i <= n``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from math import gcd

from polygym.errors import InputError
from polygym.pickling import pickle_by_name

MAX_COEFFICIENT = 2**31
_LONGEST_TEXT = 10_000
_MAX_CONDITIONS = 8
_MAX_TOKEN_LENGTH = 100

_TOKEN = re.compile(r"\s*(?:(?P<number>[0-9]+)|(?P<name>[A-Za-z_]\w*)|(?P<sign>[-+*]))", re.ASCII)
_COMPARISON = re.compile(r"<=|>=|==|<|>|=")


class SplitRelation(Enum):
    """What a cut asks of its form f."""

    EQUAL = "="  # f < 0, f = 0 and f > 0 are pieces
    BELOW = "<"  # f < 0 and f >= 0 are


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SplitCondition:
    """A form and what is asked of it.

    ``terms`` are names with their coefficients: those with positive ones first, each in the order
    of the alphabet. :func:`split_condition` makes one of any terms.
    """

    terms: tuple[tuple[str, int], ...]
    constant: int
    relation: SplitRelation

    def __post_init__(self) -> None:
        """Refuse what no text stands for."""
        own = (self.terms, self.constant, self.relation)
        if own != _normal(dict(self.terms), self.constant, self.relation):
            raise InputError(f"a cut: expected its normal form, found {own!r}")
        numbers = [abs(factor) for _, factor in self.terms]
        if not numbers or max(*numbers, abs(self.constant)) > MAX_COEFFICIENT:
            raise InputError(
                f"a cut: expected names, and numbers up to {MAX_COEFFICIENT:,}, found "
                f"{self.form()} "
                f"{self.relation.value} 0"
            )

    @property
    def variables(self) -> tuple[str, ...]:
        """The iterators and parameters that it speaks of."""
        return tuple(name for name, _ in self.terms)

    def form(self) -> str:
        """Return f as isl and C read it.

        >>> parse_splitting("S: 2*i <= n").conditions("S")[0].form()
        '2*i - n - 1'
        """
        return _sum([*self.terms, ("", self.constant)])

    def __str__(self) -> str:
        """Return the text: what is positive on the left, what is negative on the right."""
        constant, sign = self.constant, self.relation.value
        if self.relation is SplitRelation.BELOW and constant == -1:
            constant, sign = 0, "<="
        left = [(name, factor) for name, factor in self.terms if factor > 0]
        right = [(name, -factor) for name, factor in self.terms if factor < 0]
        (right if left else left).append(("", -constant if left else constant))
        return f"{_sum(left)} {sign} {_sum(right)}"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Splitting:
    """The cuts of statements, in the order of their names; each statement has at least one."""

    statements: tuple[tuple[str, tuple[SplitCondition, ...]], ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no text stands for."""
        names = [name for name, _ in self.statements]
        if names != sorted(set(names)):
            raise InputError(f"a splitting: expected statements in order, once, found {names}")
        for name, cuts in self.statements:
            if not 1 <= len(cuts) <= _MAX_CONDITIONS or len(set(cuts)) < len(cuts):
                raise InputError(
                    f"a splitting: expected 1 to {_MAX_CONDITIONS} different cuts of {name}, found "
                    f"{', '.join(map(str, cuts)) or 'none'}"
                )

    def conditions(self, statement: str) -> tuple[SplitCondition, ...]:
        """Return the cuts of a statement, none if it stays whole."""
        return dict(self.statements).get(statement, ())

    def with_conditions(self, statement: str, cuts: Iterable[SplitCondition]) -> Splitting:
        """Return the splitting with more cuts of a statement, which come after those it has."""
        conditions = dict(self.statements)
        conditions[statement] = tuple(dict.fromkeys([*self.conditions(statement), *cuts]))
        return Splitting(tuple(sorted(conditions.items())))

    def with_first_conditions(self, statement: str, cuts: Iterable[SplitCondition]) -> Splitting:
        """Return the splitting with as many of these cuts as a statement may have."""
        own = self.conditions(statement)
        more = tuple(condition for condition in dict.fromkeys(cuts) if condition not in own)
        more = more[: _MAX_CONDITIONS - len(own)]
        return self.with_conditions(statement, more) if more else self

    def __str__(self) -> str:
        """Return the text; :func:`parse_splitting` reads it back to an equal value."""
        return "; ".join(f"{name}: {', '.join(map(str, cuts))}" for name, cuts in self.statements)


NO_SPLITTING = Splitting()
"""Nothing is cut."""


def split_condition(
    terms: Mapping[str, int], constant: int, relation: SplitRelation
) -> SplitCondition:
    """Return the cut at a form, in its normal form.

    >>> str(split_condition({"i": 4, "n": -2}, 1, SplitRelation.BELOW))
    '2*i < n'
    >>> str(split_condition({"k": -1, "i": 1}, 0, SplitRelation.EQUAL))
    'i = k'
    """
    return SplitCondition(*_normal(terms, constant, relation))


def parse_splitting(text: str) -> Splitting:
    """Return the splitting of a text; "" is none at all.

    Raises:
        InputError: it is not supported.
    """
    if len(text) > _LONGEST_TEXT:
        raise InputError(
            f"a splitting: expected at most {_LONGEST_TEXT:,} characters, found {len(text):,}"
        )
    conditions: dict[str, tuple[SplitCondition, ...]] = {}
    for part in filter(str.strip, text.split(";")):
        name, colon, cuts = part.partition(":")
        name = name.strip()
        if not colon or not name.isidentifier() or not name.isascii():
            raise InputError(
                "a splitting: expected a statement, a colon and cuts, such as S0: i = k, 2*j < n; "
                f"found {part.strip()[:100]!r}"
            )
        if name in conditions:
            raise InputError(f"a splitting: expected the cuts of {name} once, found them twice")
        conditions[name] = tuple(dict.fromkeys(_parse_condition(cut) for cut in cuts.split(",")))
    return Splitting(tuple(sorted(conditions.items())))


def _normal(
    terms: Mapping[str, int], constant: int, relation: SplitRelation
) -> tuple[tuple[tuple[str, int], ...], int, SplitRelation]:
    """Return what a cut in normal form is made of.

    f < 0 says f <= -1, so with g in every coefficient, f = g·h + c, it says h <= floor((-1 - c)/g).
    Where g is in the coefficients of a form with = but not in its constant, no instance is equal,
    and g stays.
    """
    factors = {name: factor for name, factor in terms.items() if factor}
    common = gcd(*factors.values())
    if common > 1 and relation is SplitRelation.BELOW:
        factors = {name: factor // common for name, factor in factors.items()}
        constant = -((-1 - constant) // common) - 1
    elif common > 1 and constant % common == 0:
        factors = {name: factor // common for name, factor in factors.items()}
        constant //= common
    ordered = sorted(factors.items(), key=lambda term: (term[1] < 0, term[0]))
    return tuple(ordered), constant, relation


def _parse_condition(text: str) -> SplitCondition:
    """Read a comparison of two affine forms."""
    sides, signs = _COMPARISON.split(text), _COMPARISON.findall(text)
    if len(sides) != 2:
        raise _parse_error("a comparison such as i = k or 2*j < n", text)
    left, right = (_parse_form(side, text) for side in sides)
    sign = signs[0]
    if sign in (">", ">="):
        left, right, sign = right, left, sign.replace(">", "<")
    terms = {name: left.get(name, 0) - right.get(name, 0) for name in {**left, **right}}
    constant = terms.pop("", 0) - (sign == "<=")
    if not any(terms.values()):
        raise _parse_error("an iterator or a parameter that both sides do not have alike", text)
    return split_condition(
        terms, constant, SplitRelation.BELOW if sign.startswith("<") else SplitRelation.EQUAL
    )


def _parse_form(side: str, text: str) -> dict[str, int]:
    """Read a sum of terms: names and numbers, or products of both; "" is the name of numbers."""
    tokens = _tokens(side, text)
    result: dict[str, int] = {}
    place = 0
    while place < len(tokens) or place == 0:
        factor = 1
        if place < len(tokens) and tokens[place] in ("+", "-"):
            factor = -1 if tokens[place] == "-" else 1
            place += 1
        elif place:
            raise _parse_error(f"+ or - before {tokens[place]!r}", text)
        parts = tokens[place : place + 1]
        place += 1
        if tokens[place : place + 1] == ["*"]:
            parts += tokens[place + 1 : place + 2] or ["*"]
            place += 2
        elif parts and parts[0].isdecimal() and tokens[place : place + 1] not in ([], ["+"], ["-"]):
            parts += tokens[place : place + 1]  # 2i, as isl writes it
            place += 1
        names = [part for part in parts if not part.isdecimal()]
        if not parts or len(names) > 1 or any(name in "+-*" for name in names):
            raise _parse_error("sums of iterators, parameters and numbers, or 2*i", text)
        for part in parts:
            factor *= int(part) if part.isdecimal() else 1
        name = names[0] if names else ""
        result[name] = result.get(name, 0) + factor
    return result


def _tokens(side: str, text: str) -> list[str]:
    """Return the words of a side."""
    result: list[str] = []
    place = 0
    side = side.rstrip()
    while place < len(side):
        match = _TOKEN.match(side, place)
        if match is None or len(match[0].strip()) > _MAX_TOKEN_LENGTH:
            raise _parse_error("names, numbers, +, - and *", text)
        result.append(match[0].strip())
        place = match.end()
    return result


def _parse_error(expected: str, text: str) -> InputError:
    return InputError(f"a cut: expected {expected}, found {text.strip()[:100]!r}")


def _sum(terms: Iterable[tuple[str, int]]) -> str:
    """Return a sum as text; the name of numbers is "".

    >>> _sum([("i", 2), ("k", -1), ("", 3)]), _sum([("", 0)])
    ('2*i - k + 3', '0')
    """
    text = ""
    for name, factor in terms:
        if not factor:
            continue
        size = (
            str(abs(factor)) if not name else f"{abs(factor)}*{name}" if abs(factor) > 1 else name
        )
        text += f" {'-' if factor < 0 else '+'} {size}" if text else f"{'-' * (factor < 0)}{size}"
    return text or "0"
