"""Types of terms: numbers, truth values, vectors, tuples, functions; vectors may know their size.

Their text is what the language has: ``Float``, ``Integer``, ``Bool``, ``(Vec n Float)``,
``(Tuple Float (Vec 3 Integer))``, ``(-> Integer Float)``. The size of a vector is a number, a name,
or nothing that is known (``_``). Within terms types have no sizes (:func:`erase_sizes`): what a
variable is must not depend on how much is known of it. Sizes are looked at where a text is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias, assert_never

from polygym.errors import InputError

VectorSize: TypeAlias = int | str | None


@dataclass(frozen=True, slots=True)
class BaseType:
    """A number or a truth value."""

    name: str

    def __str__(self) -> str:
        """Return the text."""
        return self.name


FLOAT: Final = BaseType("Float")
INTEGER: Final = BaseType("Integer")
BOOL: Final = BaseType("Bool")


@dataclass(frozen=True, slots=True)
class VectorType:
    """So many of something; ``size`` None if that is not known."""

    element: Type
    size: VectorSize = None

    def __str__(self) -> str:
        """Return the text."""
        return f"(Vec {'_' if self.size is None else self.size} {self.element})"


@dataclass(frozen=True, slots=True)
class TupleType:
    """A tuple: things of different types."""

    parts: tuple[Type, ...]

    def __str__(self) -> str:
        """Return the text."""
        return " ".join(["(Tuple", *map(str, self.parts)]) + ")"


@dataclass(frozen=True, slots=True)
class FunctionType:
    """What takes one thing and returns another."""

    argument: Type
    result: Type

    def __str__(self) -> str:
        """Return the text."""
        return f"(-> {self.argument} {self.result})"


Type: TypeAlias = BaseType | VectorType | TupleType | FunctionType

_LONGEST = 200

_BASES = {base_type.name: base_type for base_type in (FLOAT, INTEGER, BOOL)}


def with_sizes(kind: Type, change: Callable[[VectorSize], VectorSize]) -> Type:
    """Return a type with other sizes of vectors."""
    match kind:
        case BaseType():
            return kind
        case VectorType(element, size):
            return VectorType(with_sizes(element, change), change(size))
        case TupleType(parts):
            return TupleType(tuple(with_sizes(part, change) for part in parts))
        case FunctionType(argument, result):
            return FunctionType(with_sizes(argument, change), with_sizes(result, change))
        case _:
            assert_never(kind)


def erase_sizes(kind: Type) -> Type:
    """Return a type without sizes.

    >>> print(erase_sizes(type_from_text("(Vec n (Vec 3 Float))")))
    (Vec _ (Vec _ Float))
    """
    return kind if isinstance(kind, BaseType) else with_sizes(kind, lambda size: None)


def sizes_of(kind: Type) -> list[VectorSize]:
    """Return the sizes of all vectors in a type, from the left."""
    match kind:
        case VectorType(element, size):
            return [size, *sizes_of(element)]
        case TupleType(parts):
            return [size for part in parts for size in sizes_of(part)]
        case FunctionType(argument, result):
            return [*sizes_of(argument), *sizes_of(result)]
        case _:
            return []


@lru_cache(maxsize=4096)
def leaf_types(kind: Type) -> frozenset[Type]:
    """Return the types that vectors and tuples in a type are made of in the end."""
    match kind:
        case VectorType(element):
            return leaf_types(element)
        case TupleType(parts):
            return frozenset[Type]().union(*map(leaf_types, parts))
        case _:
            return frozenset({kind})


def is_data(kind: Type) -> bool:
    """Whether it is made of numbers and truth values, without functions."""
    return isinstance(kind, BaseType) or leaf_types(kind) <= {FLOAT, INTEGER, BOOL}


def contains_vector(kind: Type) -> bool:
    """Whether a vector is in a value of a type."""
    if isinstance(kind, TupleType):
        return any(map(contains_vector, kind.parts))
    return isinstance(kind, VectorType)


def count_numbers(kind: Type, size: int) -> int:
    """Return how many numbers there are, in vectors so many.

    >>> count_numbers(type_from_text("(Tuple Float (Vec n Float))"), 16)
    17
    """
    match kind:
        case VectorType(element):
            return size * count_numbers(element, size)
        case TupleType(parts):
            return sum(count_numbers(part, size) for part in parts)
        case _:
            return 1


def meet_types(one: Type, other: Type) -> Type | None:
    """Return what is known of something that has both types; None if nothing can have both.

    Of two sizes that are known but written differently neither is wrong: only two numbers, or two
    names, contradict each other.

    >>> print(meet_types(type_from_text("(Vec n Float)"), type_from_text("(Vec _ Float)")))
    (Vec n Float)
    >>> meet_types(type_from_text("(Vec 2 Float)"), type_from_text("(Vec 3 Float)")) is None
    True
    """
    return _combined(one, other, meets=True)


def join_types(one: Type, other: Type) -> Type | None:
    """Return what is known of something that has one of two types; None if they are no one type.

    >>> print(join_types(type_from_text("(Vec n Float)"), type_from_text("(Vec _ Float)")))
    (Vec _ Float)
    """
    return _combined(one, other, meets=False)


def _combined(one: Type, other: Type, *, meets: bool) -> Type | None:
    match one, other:
        case VectorType(mine, size), VectorType(its, more):
            element = _combined(mine, its, meets=meets)
            if size != more:
                if (
                    meets
                    and None not in (size, more)
                    and isinstance(size, int) == isinstance(more, int)
                ):
                    return None
                size = (more if size is None else size) if meets else None
            return None if element is None else VectorType(element, size)
        case TupleType(mine_of), TupleType(its_of) if len(mine_of) == len(its_of):
            pairs = zip(mine_of, its_of, strict=True)
            parts = [_combined(left, right, meets=meets) for left, right in pairs]
            known = tuple(part for part in parts if part is not None)
            return TupleType(known) if len(known) == len(parts) else None
        case FunctionType(argument, result), FunctionType(its_argument, its_result):
            takes, returns = (
                meet_types(argument, its_argument),
                _combined(result, its_result, meets=meets),
            )
            return None if takes is None or returns is None else FunctionType(takes, returns)
        case _:
            return one if one == other else None


@lru_cache(maxsize=4096)
def type_from_text(text: str) -> Type:
    """Return the type of a text.

    Raises:
        InputError: it is none.
    """
    words = text.replace("(", " ( ").replace(")", " ) ").split()
    if len(words) > _LONGEST:
        raise InputError(f"a type: expected at most {_LONGEST} words, found {len(words)}")
    try:
        result, rest = _type(words)
    except IndexError:
        raise InputError(f"a type: expected more after {text!r}, found the end") from None
    if rest:
        raise InputError(f"a type: expected the end, found {' '.join(rest)!r} in {text!r}")
    return result


def _type(words: list[str]) -> tuple[Type, list[str]]:
    word, rest = words[0], words[1:]
    if word in _BASES:
        return _BASES[word], rest
    if word == "Vec":
        size = rest[0]
        element, rest = _type(rest[1:])
        return VectorType(element, _size(size)), rest
    if word != "(":
        raise InputError(
            f"a type: expected Float, Integer, Bool, (Vec SIZE TYPE), (Tuple TYPE …) or "
            f"(-> TYPE TYPE), found {word!r}"
        )
    if rest[0] not in ("Tuple", "->", "Lam"):
        result, rest = _type(rest)
        if rest[0] != ")":
            raise InputError(f"a type: expected ')', found {rest[0]!r}")
        return result, rest[1:]
    kind, rest = rest[0], rest[1:]
    parts: list[Type] = []
    while rest[0] != ")":
        part, rest = _type(rest)
        parts.append(part)
    if kind == "Tuple":
        if len(parts) < 2:
            raise InputError(f"a tuple's type: expected two parts or more, found {len(parts)}")
        return TupleType(tuple(parts)), rest[1:]
    if len(parts) != 2:
        raise InputError(f"a function's type: expected (-> TYPE TYPE), found {len(parts)} types")
    return FunctionType(parts[0], parts[1]), rest[1:]


def _size(word: str) -> VectorSize:
    if word in "()":
        raise InputError(f"a vector's size: expected a number or a name, found {word!r}")
    if word == "_":
        return None
    if word.lstrip("+-").isdigit():
        if int(word) < 0:
            raise InputError(f"a vector's size: expected 0 or more, found {word}")
        return int(word)
    return word
