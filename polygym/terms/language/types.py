"""Types of terms: numbers, truth values, vectors, tuples, functions; vectors may know their size.

Their text is what the language has: ``Float``, ``Integer``, ``Bool``, ``(Vec n Float)``,
``(Tuple Float (Vec 3 Integer))``, ``(-> Integer Float)``. The size of a vector is a number, a name,
or nothing that is known (``_``). Within terms types have no sizes (:func:`erased`): what a variable
is must not depend on how much is known of it. Sizes are looked at where a text is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias, assert_never

from polygym.errors import InputError

__all__ = [
    "BOOL",
    "FLOAT",
    "INTEGER",
    "Base",
    "Function",
    "Pair",
    "Size",
    "Type",
    "Vector",
    "common",
    "elements",
    "erased",
    "is_data",
    "merged",
    "type_named",
]

Size: TypeAlias = int | str | None


@dataclass(frozen=True, slots=True)
class Base:
    """A number or a truth value."""

    name: str

    def __str__(self) -> str:
        """Return the text."""
        return self.name


FLOAT: Final = Base("Float")
INTEGER: Final = Base("Integer")
BOOL: Final = Base("Bool")


@dataclass(frozen=True, slots=True)
class Vector:
    """So many of something; ``size`` None if that is not known."""

    element: Type
    size: Size = None

    def __str__(self) -> str:
        """Return the text."""
        return f"(Vec {'_' if self.size is None else self.size} {self.element})"


@dataclass(frozen=True, slots=True)
class Pair:
    """A tuple: things of different types."""

    parts: tuple[Type, ...]

    def __str__(self) -> str:
        """Return the text."""
        return " ".join(["(Tuple", *map(str, self.parts)]) + ")"


@dataclass(frozen=True, slots=True)
class Function:
    """What takes one thing and returns another."""

    argument: Type
    result: Type

    def __str__(self) -> str:
        """Return the text."""
        return f"(-> {self.argument} {self.result})"


Type: TypeAlias = Base | Vector | Pair | Function

_LONGEST = 200

_BASES = {one.name: one for one in (FLOAT, INTEGER, BOOL)}


def erased(one: Type) -> Type:
    """Return a type without sizes.

    >>> print(erased(type_named("(Vec n (Vec 3 Float))")))
    (Vec _ (Vec _ Float))
    """
    match one:
        case Base():
            return one
        case Vector(element):
            return Vector(erased(element))
        case Pair(parts):
            return Pair(tuple(map(erased, parts)))
        case Function(argument, result):
            return Function(erased(argument), erased(result))
        case _:
            assert_never(one)


def is_data(one: Type) -> bool:
    """Whether it is made of numbers and truth values, without functions."""
    match one:
        case Base():
            return True
        case Vector(element):
            return is_data(element)
        case Pair(parts):
            return all(map(is_data, parts))
        case _:
            return False


def elements(one: Type, size: int) -> int:
    """Return how many numbers there are, in vectors so many.

    >>> elements(type_named("(Tuple Float (Vec n Float))"), 16)
    17
    """
    match one:
        case Vector(element):
            return size * elements(element, size)
        case Pair(parts):
            return sum(elements(part, size) for part in parts)
        case _:
            return 1


def merged(one: Type, other: Type) -> Type | None:
    """Return what is known of something that has both types; None if nothing can have both.

    Of two sizes that are known but written differently neither is wrong: only two numbers, or two
    names, contradict each other.

    >>> print(merged(type_named("(Vec n Float)"), type_named("(Vec _ Float)")))
    (Vec n Float)
    >>> merged(type_named("(Vec 2 Float)"), type_named("(Vec 3 Float)")) is None
    True
    """
    match one, other:
        case Base(), Base():
            return one if one == other else None
        case Vector(mine, size), Vector(its, more):
            element = merged(mine, its)
            if element is None:
                return None
            if size is None or more is None:
                return Vector(element, more if size is None else size)
            if size != more and isinstance(size, int) == isinstance(more, int):
                return None
            return Vector(element, size)
        case Pair(mine_of), Pair(its_of):
            if len(mine_of) != len(its_of):
                return None
            parts = [merged(left, right) for left, right in zip(mine_of, its_of, strict=True)]
            known = tuple(part for part in parts if part is not None)
            return Pair(known) if len(known) == len(parts) else None
        case Function(argument, result), Function(its_argument, its_result):
            takes, returns = merged(argument, its_argument), merged(result, its_result)
            return None if takes is None or returns is None else Function(takes, returns)
        case _:
            return None


def common(one: Type, other: Type) -> Type | None:
    """Return what is known of something that has one of two types; None if they are no one type.

    >>> print(common(type_named("(Vec n Float)"), type_named("(Vec _ Float)")))
    (Vec _ Float)
    """
    match one, other:
        case Vector(mine, size), Vector(its, more):
            element = common(mine, its)
            return None if element is None else Vector(element, size if size == more else None)
        case Pair(mine_of), Pair(its_of) if len(mine_of) == len(its_of):
            parts = [common(left, right) for left, right in zip(mine_of, its_of, strict=True)]
            known = tuple(part for part in parts if part is not None)
            return Pair(known) if len(known) == len(parts) else None
        case Function(argument, result), Function(its_argument, its_result):
            takes, returns = merged(argument, its_argument), common(result, its_result)
            return None if takes is None or returns is None else Function(takes, returns)
        case _:
            return one if one == other else None


@lru_cache(maxsize=4096)
def type_named(text: str) -> Type:
    """Return the type of a text.

    Raises:
        InputError: it is none.
    """
    words = text.replace("(", " ( ").replace(")", " ) ").split()
    if len(words) > _LONGEST:
        raise InputError(f"a type: expected at most {_LONGEST} words, found {len(words)}")
    try:
        found, rest = _type(words)
    except IndexError:
        raise InputError(f"a type: expected more after {text!r}, found the end") from None
    if rest:
        raise InputError(f"a type: expected the end, found {' '.join(rest)!r} in {text!r}")
    return found


def _type(words: list[str]) -> tuple[Type, list[str]]:
    word, rest = words[0], words[1:]
    if word in _BASES:
        return _BASES[word], rest
    if word == "Vec":
        size = rest[0]
        element, rest = _type(rest[1:])
        return Vector(element, _size(size)), rest
    if word != "(":
        raise InputError(
            f"a type: expected Float, Integer, Bool, (Vec SIZE TYPE), (Tuple TYPE …) or "
            f"(-> TYPE TYPE), found {word!r}"
        )
    if rest[0] not in ("Tuple", "->", "Lam"):
        found, rest = _type(rest)
        return found, _closed(rest)
    kind, rest = rest[0], rest[1:]
    parts: list[Type] = []
    while rest[0] != ")":
        part, rest = _type(rest)
        parts.append(part)
    if kind == "Tuple":
        if len(parts) < 2:
            raise InputError(f"a tuple's type: expected two parts or more, found {len(parts)}")
        return Pair(tuple(parts)), rest[1:]
    if len(parts) != 2:
        raise InputError(f"a function's type: expected (-> TYPE TYPE), found {len(parts)} types")
    return Function(parts[0], parts[1]), rest[1:]


def _closed(rest: list[str]) -> list[str]:
    if rest[0] != ")":
        raise InputError(f"a type: expected ')', found {rest[0]!r}")
    return rest[1:]


def _size(word: str) -> Size:
    if word in "()":
        raise InputError(f"a vector's size: expected a number or a name, found {word!r}")
    if word == "_":
        return None
    if word.lstrip("+-").isdigit():
        if int(word) < 0:
            raise InputError(f"a vector's size: expected 0 or more, found {word}")
        return int(word)
    return word
