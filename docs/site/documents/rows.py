"""Rows of a document's members: nested ones by their path, with type and meaning."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from docs.site.documents.kinds import kind_of
from docs.site.documents.values import Member, Value

_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class SharedPart:
    """A document that is part of others: its title, and the names of its members."""

    title: str
    names: Collection[str]

    def is_in(self, value: Value) -> bool:
        """Whether a document has all of its members."""
        return value.members is not None and set(self.names) <= set(value.members)


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member by its path, such as ``ranking[].index``; of some documents only if optional.

    ``shared`` has the members that are left out here.
    """

    path: str
    kind: str
    meaning: str
    is_optional: bool = False
    shared: SharedPart | None = None


def member_rows(
    document: Value, parts: Sequence[SharedPart] = (), path: str = "", depth: int = 0
) -> Iterator[MemberRow]:
    """Yield the members of a document, those inside of members behind them."""
    if document.items is not None and document.members is None:
        inside = "[]" if document.hint is not dict else ".NAME"
        yield from member_rows(document.items, parts, f"{path}{inside}", depth)
        return
    own_part = shared_part(document, parts)
    for name, member in (document.members or {}).items():
        if own_part is not None and name in own_part.names:
            continue
        own = f"{path}.{name}".removeprefix(".")
        part = shared_part(member.value, parts)
        kind, meaning = kind_of(member.value), _meaning(member)
        yield MemberRow(own, kind, meaning, member.is_optional, part)
        if depth < _DEEPEST:
            yield from member_rows(member.value, parts, own, depth + 1)


def shared_part(value: Value, parts: Sequence[SharedPart]) -> SharedPart | None:
    """Return the part that a document, or each in an array, has."""
    while value.items is not None and value.members is None:
        value = value.items
    return next((part for part in parts if part.is_in(value)), None)


def _meaning(member: Member) -> str:
    value = member.value
    is_constant = isinstance(value.known, str | int) and not isinstance(value.known, bool)
    if is_constant and not value.is_nullable:
        return f"`{value.known}`." if member.is_optional else f"Always `{value.known}`."
    return value.meaning
