"""Sizes as linear forms of parameters and counters, and proofs that they are large enough.

The size of a vector is a number, or a form such as n + 2·m - i: of the names of a function's
arguments, and of the counters of the loops around it. Two sizes are the same if their forms are.

A counter i of a loop with c rounds has 0 ≤ i ≤ c - 1, and a size that is an argument is 1 or more.
:meth:`Ranges.at_least` puts the end of its range in for each counter, the innermost first, which
gives the least value that a form can have. What conditions around a place say is known as well:
where p holds, a form f is at least k if f - p is, p being 0 or more.

    >>> ranges = Ranges(["n"])
    >>> n, i = linear_form("n"), linear_form("i")
    >>> with ranges.counter("i", n):
    ...     ranges.at_least(subtract(n, i), 1), ranges.at_least(subtract(i, 1), 0)
    (True, False)
    >>> size_text(subtract(add(n, scale(i, 2)), 1))
    '2 * i + n - 1'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

_LARGEST = 2**31


@dataclass(frozen=True, slots=True)
class LinearForm:
    """A sum of multiples of names, and a constant; there is a name at least."""

    terms: tuple[tuple[str, int], ...]
    constant: int = 0


Extent: TypeAlias = int | LinearForm
"""A size: a number, or a form that is none."""


def linear_form(name: str) -> LinearForm:
    """Return the form of a name alone."""
    return LinearForm(((name, 1),))


def terms_of(size: Extent) -> dict[str, int]:
    """Return the factors of a size's names."""
    return {} if isinstance(size, int) else dict(size.terms)


def constant_of(size: Extent) -> int:
    """Return what is added to the names of a size."""
    return size if isinstance(size, int) else size.constant


def add(one: Extent, other: Extent) -> Extent:
    """Return a sum."""
    factors = terms_of(one)
    for name, factor in terms_of(other).items():
        factors[name] = factors.get(name, 0) + factor
    return _extent(factors, constant_of(one) + constant_of(other))


def scale(size: Extent, factor: int) -> Extent:
    """Return a multiple."""
    factors = {name: factor * its for name, its in terms_of(size).items()}
    return _extent(factors, factor * constant_of(size))


def subtract(one: Extent, other: Extent) -> Extent:
    """Return a difference."""
    return add(one, scale(other, -1))


def _extent(factors: dict[str, int], constant: int) -> Extent:
    terms = tuple(sorted((name, factor) for name, factor in factors.items() if factor))
    return LinearForm(terms, constant) if terms else constant


def is_moderate(size: Extent) -> bool:
    """Whether no number in a size is so large that 64 bits could be too few."""
    return all(abs(number) < _LARGEST for number in (constant_of(size), *terms_of(size).values()))


def size_text(size: Extent) -> str:
    """Return a size as a C expression."""
    if isinstance(size, int):
        return str(size)
    texts = []
    for name, factor in size.terms:
        text = name if abs(factor) == 1 else f"{abs(factor)} * {name}"
        texts.append(f"- {text}" if factor < 0 else f"+ {text}")
    if size.constant:
        texts.append(f"{'-' if size.constant < 0 else '+'} {abs(size.constant)}")
    return " ".join(texts).removeprefix("+ ")


def number_of(size: Extent) -> int:
    """Return a size that is a number."""
    assert isinstance(size, int), "sizes are numbers where nothing is a parameter"
    return size


class Ranges:
    """The ranges of counters, the sizes that are 1 or more, and what conditions say."""

    def __init__(self, sizes: Iterable[str] = ()) -> None:
        """Begin outside of all loops."""
        self._sizes = set(sizes)
        self._counters: list[tuple[str, Extent]] = []
        self._facts: list[Extent] = []

    def add_size(self, name: str) -> None:
        """Know a size that is an argument."""
        self._sizes.add(name)

    @contextmanager
    def counter(self, name: str, count: Extent) -> Iterator[None]:
        """Know the counter of a loop within it."""
        self._counters.append((name, count))
        yield
        self._counters.pop()

    @contextmanager
    def assuming(self, facts: Sequence[Extent]) -> Iterator[None]:
        """Know that sizes are 0 or more."""
        self._facts += facts
        yield
        del self._facts[len(self._facts) - len(facts) :]

    def at_least(self, size: Extent, least: int) -> bool:
        """Whether a size is so large wherever counters are in their ranges."""
        return any(
            self._lowest_is_at_least(subtract(size, fact), least) for fact in (0, *self._facts)
        )

    def decided(self, facts: tuple[Sequence[Extent], Sequence[Extent]]) -> bool | None:
        """Return whether what facts decide holds, None where the ranges do not say."""
        for side, value in zip(facts, (True, False), strict=True):
            if side and all(self.at_least(fact, 0) for fact in side):
                return value
        return None

    def _lowest_is_at_least(self, size: Extent, least: int) -> bool:
        lowest = self._without_counters(size, is_upper=False)
        terms = terms_of(lowest)
        if any(factor < 0 or name not in self._sizes for name, factor in terms.items()):
            return False
        return constant_of(lowest) + sum(terms.values()) >= least

    def upper_bound(self, size: Extent) -> Extent:
        """Return a size without counters that is as large, or larger."""
        return self._without_counters(size, is_upper=True)

    def _without_counters(self, size: Extent, *, is_upper: bool) -> Extent:
        for name, count in reversed(self._counters):
            factor = terms_of(size).get(name, 0)
            if factor:
                end = subtract(count, 1) if (factor > 0) == is_upper else 0
                rest = _extent({**terms_of(size), name: 0}, constant_of(size))
                size = add(rest, scale(end, factor))
        return size
