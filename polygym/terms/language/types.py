"""Types of terms: numbers, truth values, vectors, tuples, functions; vectors may know their size.

Their text is what the language has: ``Float``, ``Integer``, ``Bool``, ``(Vec n Float)``,
``(Tuple Float (Vec 3 Integer))``, ``(-> Integer Float)``. The size of a vector is a number, a name,
or nothing that is known (``_``). Within terms types have no sizes (:func:`erase_sizes`): what a
variable is must not depend on how much is known of it. Sizes are looked at where a text is read.
"""

from __future__ import annotations

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


def erase_sizes(one: Type) -> Type:
    """Return a type without sizes.

    >>> print(erase_sizes(type_from_text("(Vec n (Vec 3 Float))")))
    (Vec _ (Vec _ Float))
    """
    match one:
        case BaseType():
            return one
        case VectorType(element):
            return VectorType(erase_sizes(element))
        case TupleType(parts):
            return TupleType(tuple(map(erase_sizes, parts)))
        case FunctionType(argument, result):
            return FunctionType(erase_sizes(argument), erase_sizes(result))
        case _:
            assert_never(one)


def is_data(one: Type) -> bool:
    """Whether it is made of numbers and truth values, without functions."""
    match one:
        case BaseType():
            return True
        case VectorType(element):
            return is_data(element)
        case TupleType(parts):
            return all(map(is_data, parts))
        case _:
            return False


def count_numbers(one: Type, size: int) -> int:
    """Return how many numbers there are, in vectors so many.

    >>> count_numbers(type_from_text("(Tuple Float (Vec n Float))"), 16)
    17
    """
    match one:
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
    match one, other:
        case BaseType(), BaseType():
            return one if one == other else None
        case VectorType(mine, size), VectorType(its, more):
            element = meet_types(mine, its)
            if element is None:
                return None
            if size is None or more is None:
                return VectorType(element, more if size is None else size)
            if size != more and isinstance(size, int) == isinstance(more, int):
                return None
            return VectorType(element, size)
        case TupleType(mine_of), TupleType(its_of):
            if len(mine_of) != len(its_of):
                return None
            parts = [meet_types(left, right) for left, right in zip(mine_of, its_of, strict=True)]
            known = tuple(part for part in parts if part is not None)
            return TupleType(known) if len(known) == len(parts) else None
        case FunctionType(argument, result), FunctionType(its_argument, its_result):
            takes, returns = meet_types(argument, its_argument), meet_types(result, its_result)
            return None if takes is None or returns is None else FunctionType(takes, returns)
        case _:
            return None


def join_types(one: Type, other: Type) -> Type | None:
    """Return what is known of something that has one of two types; None if they are no one type.

    >>> print(join_types(type_from_text("(Vec n Float)"), type_from_text("(Vec _ Float)")))
    (Vec _ Float)
    """
    match one, other:
        case VectorType(mine, size), VectorType(its, more):
            element = join_types(mine, its)
            return None if element is None else VectorType(element, size if size == more else None)
        case TupleType(mine_of), TupleType(its_of) if len(mine_of) == len(its_of):
            parts = [join_types(left, right) for left, right in zip(mine_of, its_of, strict=True)]
            known = tuple(part for part in parts if part is not None)
            return TupleType(known) if len(known) == len(parts) else None
        case FunctionType(argument, result), FunctionType(its_argument, its_result):
            takes, returns = meet_types(argument, its_argument), join_types(result, its_result)
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
        return result, _closed(rest)
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


def _closed(rest: list[str]) -> list[str]:
    if rest[0] != ")":
        raise InputError(f"a type: expected ')', found {rest[0]!r}")
    return rest[1:]


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
