"""Static values: what the source says of an expression, and the union of two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Union, get_args, get_origin

UNKNOWN: Any = object()
"""The hint, or the object, of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a document; ``is_optional`` where some documents lack it."""

    value: Value
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of an expression.

    ``hint`` is its type, ``known`` the object itself, for constants, functions, classes and
    modules. A document has ``members``; an array, or an object with keys of data, has ``items``.
    ``parts`` are those of a tuple, ``owner`` is the value whose method ``known`` is. The result of
    a command has a ``document``.
    """

    hint: Any = UNKNOWN
    known: Any = UNKNOWN
    members: Mapping[str, Member] | None = None
    items: Value | None = None
    parts: tuple[Value, ...] = ()
    owner: Value | None = None
    document: Value | None = None
    is_nullable: bool = False
    meaning: str = ""

    @property
    def is_null(self) -> bool:
        """Whether it is None."""
        return self.known is None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known of it, or it is a list or a dictionary without entries."""
        is_blank = self.known is UNKNOWN and self.hint is UNKNOWN and not self.parts
        return self.members == {} or (is_blank and self.members is None and self.items is None)

    def with_member(self, name: str, member: Member) -> Value:
        """Return the document with one more member."""
        return replace(self, members=MappingProxyType({**(self.members or {}), name: member}))


NOTHING = Value()


def constant(known: Any) -> Value:
    """Return the value of an object."""
    return Value(hint=type(known), known=known)


@dataclass(slots=True)
class Alternatives:
    """Values of which an expression has one, joined as they come."""

    joined: Value | None = None
    count: int = field(default=0)

    def add(self, value: Value) -> None:
        """Add a value."""
        self.joined = value if self.joined is None else either(self.joined, value)
        self.count += 1

    @property
    def value(self) -> Value:
        """The value that is one of them."""
        return NOTHING if self.joined is None else self.joined


def either(one: Value, other: Value) -> Value:
    """Return the value that is one of two.

    >>> either(constant(None), constant(3)).is_nullable
    True
    """
    if one.is_null:
        return replace(other, is_nullable=True)
    if other.is_null:
        return replace(one, is_nullable=True)
    for empty, full in ((one, other), (other, one)):
        if empty.members == {} and full.members:
            return optional(full)
    if one.is_empty or other.is_empty:
        return replace(other if one.is_empty else one, known=UNKNOWN)
    is_nullable = one.is_nullable or other.is_nullable
    meaning = one.meaning or other.meaning
    if one.document is not None and other.document is not None:
        return replace(one, document=either(one.document, other.document))
    if one.document is not None or other.document is not None:
        return one if one.document is not None else other
    if one.members is not None and other.members is not None:
        members = _either_members(one.members, other.members)
        return Value(members=members, is_nullable=is_nullable, meaning=meaning)
    if one.parts and len(one.parts) == len(other.parts):
        parts = tuple(either(*pair) for pair in zip(one.parts, other.parts, strict=True))
        return Value(hint=tuple, parts=parts, is_nullable=is_nullable, meaning=meaning)
    if one.items is not None and other.items is not None:
        return replace(one, items=either(one.items, other.items), is_nullable=is_nullable)
    if one.hint is not UNKNOWN and other.hint is not UNKNOWN and one.hint != other.hint:
        return Value(hint=_union(one.hint, other.hint), is_nullable=is_nullable, meaning=meaning)
    known = one.known if one.known is other.known else UNKNOWN
    return replace(one, known=known, is_nullable=is_nullable, meaning=meaning)


def merged(one: Value, other: Value) -> Value:
    """Return the document with the members of two; those of the second one count."""
    if one.members is None or other.members is None:
        return one if other.members is None else other
    return replace(one, members=MappingProxyType({**one.members, **other.members}))


def optional(value: Value) -> Value:
    """Return a document all of whose members are optional."""
    members = {
        name: replace(member, is_optional=True) for name, member in (value.members or {}).items()
    }
    return replace(value, members=MappingProxyType(members))


def _either_members(one: Mapping[str, Member], other: Mapping[str, Member]) -> Mapping[str, Member]:
    result = {}
    for name in dict.fromkeys([*one, *other]):
        pair = [members[name] for members in (one, other) if name in members]
        value = either(pair[0].value, pair[-1].value) if len(pair) == 2 else pair[0].value
        is_optional = len(pair) == 1 or any(member.is_optional for member in pair)
        result[name] = Member(value, is_optional)
    return MappingProxyType(result)


def _union(one: Any, other: Any) -> Any:
    try:
        # Both are values here: of two texts or of None, | makes no union (UP007).
        return Union[one, other]  # noqa: UP007
    except TypeError:
        return UNKNOWN


def item_of(value: Value) -> Value:
    """Return an element of an array, or a value of an object."""
    if value.items is not None:
        return value.items
    if isinstance(value.known, tuple | list) and value.known and not value.parts:
        return Value(hint=type(value.known[0]))
    if value.parts:
        alternatives = Alternatives()
        for part in value.parts:
            alternatives.add(part)
        return alternatives.value
    arguments = get_args(value.hint)
    origin = get_origin(value.hint)
    if origin is Counter:
        return Value(hint=int)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Value(hint=arguments[-1])
    if isinstance(origin, type) and issubclass(origin, Iterable) and arguments:
        return Value(hint=arguments[0])
    return NOTHING


def part_of(value: Value, place: int) -> Value:
    """Return the part of a tuple at a place."""
    if value.parts:
        return value.parts[place] if place < len(value.parts) else NOTHING
    arguments = get_args(value.hint)
    if get_origin(value.hint) is tuple and Ellipsis not in arguments:
        return Value(hint=arguments[place]) if place < len(arguments) else NOTHING
    return item_of(value)


def known_tuple(parts: tuple[Value, ...]) -> Any:
    """Return the tuple of what is known of values; unknown where one is."""
    known = tuple(part.known for part in parts)
    return UNKNOWN if any(one is UNKNOWN for one in known) else known
