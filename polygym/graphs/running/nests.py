"""Loop nests as values: what a kernel computes, before it is the text of a comprehension.

A nest is a few statements over indices with known extents. Subscripts are sums of indices times
numbers; so a transposed, sliced or expanded array is read where it lies, by other subscripts. A
subscript may also be an element of an array of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

__all__ = [
    "Access",
    "Affine",
    "Apply",
    "Array",
    "Expression",
    "Nest",
    "Select",
    "Statement",
    "Subscript",
    "accesses_of",
    "conditions_of",
    "constant",
    "index",
    "indices_of",
    "mapped",
    "operations",
    "size_of",
]


@dataclass(frozen=True, slots=True)
class Affine:
    """A sum of indices times numbers, and a number.

    >>> (index("h") * 2 + index("k") + (-1)).text()
    '2 * h + k - 1'
    """

    terms: tuple[tuple[str, int], ...] = ()
    offset: int = 0

    def __add__(self, other: Affine | int) -> Affine:
        """Return a sum."""
        if isinstance(other, int):
            return Affine(self.terms, self.offset + other)
        found = dict(self.terms)
        for name, factor in other.terms:
            found[name] = found.get(name, 0) + factor
        kept = tuple((name, factor) for name, factor in found.items() if factor)
        return Affine(kept, self.offset + other.offset)

    def __mul__(self, factor: int) -> Affine:
        """Return a multiple."""
        if factor == 0:
            return Affine()
        return Affine(tuple((name, one * factor) for name, one in self.terms), self.offset * factor)

    @property
    def plain(self) -> str | None:
        """The index that this is and nothing else, if it is one."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and self.offset == 0:
            return self.terms[0][0]
        return None

    def text(self) -> str:
        """Return the text in a comprehension."""
        words = [name if factor == 1 else f"{factor} * {name}" for name, factor in self.terms]
        if self.offset or not words:
            words.append(str(self.offset))
        return " + ".join(words).replace("+ -", "- ")


def index(name: str) -> Affine:
    """Return an index."""
    return Affine(((name, 1),))


def constant(value: int) -> Affine:
    """Return a number."""
    return Affine((), value)


@dataclass(frozen=True, slots=True)
class Access:
    """An element of an array."""

    array: str
    at: tuple[Subscript, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """A text with ``{0}``, ``{1}`` … in the places of expressions."""

    text: str
    parts: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Select:
    """One expression where all subscripts are within their ranges, another elsewhere."""

    ranges: tuple[tuple[Affine, int, int], ...]
    inside: Expression
    outside: Expression


Expression: TypeAlias = Access | Apply | Select
Subscript: TypeAlias = Affine | Access


@dataclass(frozen=True, slots=True)
class Array:
    """A name, a shape and the type of the elements."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Statement:
    """``target(at) operator value``."""

    target: str
    at: tuple[str, ...]
    operator: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Nest:
    """Statements over indices; ``result`` is the array that comes out.

    ``arrays`` has the parameters first, as many as ``count`` says; the rest is temporary but for
    the result, which may be the first parameter: then that is updated.
    """

    extents: tuple[tuple[str, int], ...]
    arrays: tuple[Array, ...]
    count: int
    statements: tuple[Statement, ...]
    result: str

    @property
    def parameters(self) -> tuple[Array, ...]:
        """The arrays that a call gives."""
        return self.arrays[: self.count]

    def array(self, name: str) -> Array:
        """Return an array."""
        return next(one for one in self.arrays if one.name == name)


def accesses_of(expression: Expression) -> Iterator[Access]:
    """Yield all accesses, those in subscripts too."""
    match expression:
        case Access(_, at):
            yield expression
            for one in at:
                if isinstance(one, Access):
                    yield from accesses_of(one)
        case Apply(_, parts):
            for part in parts:
                yield from accesses_of(part)
        case Select(_, inside, outside):
            yield from accesses_of(inside)
            yield from accesses_of(outside)


def conditions_of(expression: Expression) -> Iterator[Affine]:
    """Yield what conditions ask about."""
    match expression:
        case Access():
            return
        case Apply(_, parts):
            for part in parts:
                yield from conditions_of(part)
        case Select(ranges, inside, outside):
            yield from (one for one, _, _ in ranges)
            yield from conditions_of(inside)
            yield from conditions_of(outside)


def indices_of(statement: Statement) -> list[str]:
    """Return the indices of a statement: of its left side, then of its right one."""
    found = dict.fromkeys(statement.at)
    for access in accesses_of(statement.value):
        for one in access.at:
            if isinstance(one, Affine):
                found.update(dict.fromkeys(name for name, _ in one.terms))
    for condition in conditions_of(statement.value):
        found.update(dict.fromkeys(name for name, _ in condition.terms))
    return list(found)


def mapped(
    expression: Expression,
    access: Callable[[Access], Expression],
    affine: Callable[[Affine], Affine] = lambda one: one,
) -> Expression:
    """Return an expression with accesses, and subscripts in conditions, replaced.

    ``access`` gets accesses whose subscripts that are accesses have been replaced already.
    """
    match expression:
        case Access(array, at):
            inner: list[Subscript] = []
            for one in at:
                if isinstance(one, Access):
                    changed = mapped(one, access, affine)
                    assert isinstance(changed, Access)
                    inner.append(changed)
                else:
                    inner.append(one)
            return access(Access(array, tuple(inner)))
        case Apply(text, parts):
            return Apply(text, tuple(mapped(part, access, affine) for part in parts))
        case Select(ranges, inside, outside):
            return Select(
                tuple((affine(one), low, high) for one, low, high in ranges),
                mapped(inside, access, affine),
                mapped(outside, access, affine),
            )


def size_of(expression: Expression) -> int:
    """Return how many parts the text of an expression has, about."""
    match expression:
        case Access(_, at):
            return 1 + len(at)
        case Apply(text, parts):
            used = (text.count(f"{{{place}}}") * size_of(one) for place, one in enumerate(parts))
            return text.count(" ") // 2 + 1 + sum(used)
        case Select(ranges, inside, outside):
            return 4 * len(ranges) + size_of(inside) + size_of(outside)


def operations(nest: Nest) -> int:
    """Return how many operations a nest does, one for every function and every term of a sum."""
    extents: Mapping[str, int] = dict(nest.extents)
    total = 0
    for statement in nest.statements:
        each = _applied(statement.value) + (statement.operator != "=")
        total += each * prod(extents[name] for name in indices_of(statement))
    return total


def _applied(expression: Expression) -> int:
    match expression:
        case Access():
            return 0
        case Apply(_, parts):
            return (1 if parts else 0) + sum(map(_applied, parts))
        case Select(_, inside, outside):
            return max(_applied(inside), _applied(outside))
