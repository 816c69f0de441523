"""What a reader of terms has in hand: what was read, what names mean, and the sizes of both.

A size is a number, or the name of an Integer; a call finds out what the sizes of a parameter's type
are by its argument's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from polygym.rewrite.term import Term, postorder, term
from polygym.terms.language.nodes import variable
from polygym.terms.language.program import resized
from polygym.terms.language.types import FLOAT, INTEGER, Pair, Size, Type, Vector

__all__ = ["Read", "Scope", "as_float", "blank", "note_sizes", "sized", "ways"]


@dataclass(frozen=True, slots=True)
class Read:
    """A term, its type with sizes, and its value if it is the size of something."""

    term: Term
    kind: Type
    size: Size = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What names mean: those that are bound, the innermost last; those of sizes; free ones."""

    names: tuple[tuple[str, Type, Size], ...] = ()
    free: dict[str, Type] = field(default_factory=dict)
    given: Mapping[str, Read] = field(default_factory=dict)
    is_bare: bool = True

    def within(self, name: str, kind: Type, size: Size = None) -> Scope:
        """Return the scope with one more name that is bound, the innermost."""
        names = (*self.names, (name, kind, size))
        return Scope(names, self.free, self.given, self.is_bare)

    def known(self, kind: Type) -> Type:
        """Return a type as it is written in this scope, with what its sizes are called outside."""
        if not self.given:
            return kind
        return resized(kind, lambda name: self.given[name].size if name in self.given else None)


def as_float(read: Read) -> Read:
    """Return an Integer that is written out (a number, or sums and products of them) as a Float."""
    if read.kind != INTEGER:
        return read
    made: dict[Term, Term] = {}
    for one in postorder([read.term]):
        if isinstance(one.head, int) and not one.children:
            made[one] = term(float(one.head))
        elif one.head in ("add", "sub", "mul", "neg"):
            made[one] = term(one.head, *(made[child] for child in one.children))
        else:
            return read
    return Read(made[read.term], FLOAT)


def sized(name: str, read: list[Read], kind: Type) -> tuple[Type, Size]:
    """Return the type of a result with the sizes that are known, and its value if it is a size."""
    if isinstance(kind, Vector) and name in ("build", "deltaVec", "constVec"):
        return Vector(kind.element, read[0].size), None
    vector = read[0].kind
    if name == "size" and isinstance(vector, Vector):
        return kind, vector.size
    return kind, None


def blank(kind: Type) -> Type:
    """Return a parameter's type as callers see it: sizes that are names may be any."""
    return resized(kind, lambda name: None)


def note_sizes(sizes: dict[str, Read], wanted: Type, found: Type) -> None:
    """Note what the named sizes of a parameter are, where the argument's type says so."""
    match wanted, found:
        case Vector(element, size), Vector(its_element, its_size):
            if isinstance(size, str) and size not in sizes and its_size is not None:
                leaf = variable(its_size, INTEGER) if isinstance(its_size, str) else term(its_size)
                sizes[size] = Read(leaf, INTEGER, its_size)
            note_sizes(sizes, element, its_element)
        case Pair(parts), Pair(its_parts):
            for part, its_part in zip(parts, its_parts, strict=True):
                note_sizes(sizes, part, its_part)


_Way = Callable[[Term], Term]


def ways(kind: Type, way: _Way) -> Iterator[tuple[str, _Way]]:
    """Yield the named sizes of a type, and how they are found in a value of that type."""
    match kind:
        case Vector(element, size):
            if isinstance(size, str):
                yield size, lambda leaf: term("size", way(leaf))
            yield from ways(element, lambda leaf: term("index", term(0), way(leaf)))
        case Pair(parts):
            for place, part in enumerate(parts):
                yield from ways(part, _selecting(place, way))


def _selecting(place: int, way: _Way) -> _Way:
    return lambda leaf: term("select", term(place), way(leaf))
