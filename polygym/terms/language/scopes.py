"""Scopes of a term's reader: known names, their types, and their sizes.

A size is a number, or the name of an Integer; a call finds out what the sizes of a parameter's type
are by its argument's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from polygym.errors import InputError
from polygym.rewrite.term import Term, postorder, term
from polygym.terms.language import types
from polygym.terms.language.nodes import variable
from polygym.terms.language.operators import OPERATORS
from polygym.terms.language.syntax import Syntax, TermSource


@dataclass(frozen=True, slots=True)
class TypedTerm:
    """A term, its type with sizes, and its value if it is the size of something."""

    term: Term
    type: types.Type
    size: types.VectorSize = None


@dataclass(frozen=True, slots=True)
class NameScope:
    """What names mean: those that are bound, the innermost last; those of sizes; free ones."""

    names: tuple[tuple[str, types.Type, types.VectorSize], ...] = ()
    free: dict[str, types.Type] = field(default_factory=dict)
    size_values: Mapping[str, TypedTerm] = field(default_factory=dict)
    is_bare: bool = True

    def within(self, name: str, kind: types.Type, size: types.VectorSize = None) -> NameScope:
        """Return the scope with one more name that is bound, the innermost."""
        names = (*self.names, (name, kind, size))
        return NameScope(names, self.free, self.size_values, self.is_bare)

    def known(self, kind: types.Type) -> types.Type:
        """Return a type as it is written in this scope, with what its sizes are called outside."""
        if not self.size_values:
            return kind
        outer = self.size_values
        return types.with_sizes(
            kind,
            lambda size: (
                size if not isinstance(size, str) else outer[size].size if size in outer else None
            ),
        )


def as_float(read: TypedTerm) -> TypedTerm:
    """Return an Integer that is written out (a number, or sums and products of them) as a Float."""
    if read.type != types.INTEGER:
        return read
    made: dict[Term, Term] = {}
    for node in postorder([read.term]):
        if isinstance(node.head, int) and not node.children:
            made[node] = term(float(node.head))
        elif node.head in ("add", "sub", "mul", "neg"):
            made[node] = term(node.head, *(made[child] for child in node.children))
        else:
            return read
    return TypedTerm(made[read.term], types.FLOAT)


def with_known_sizes(
    name: str, read: list[TypedTerm], kind: types.Type
) -> tuple[types.Type, types.VectorSize]:
    """Return the type of a result with the sizes that are known, and its value if it is a size."""
    if isinstance(kind, types.VectorType) and name in ("build", "deltaVec", "constVec"):
        return types.VectorType(kind.element, read[0].size), None
    vector = read[0].type
    if name == "size" and isinstance(vector, types.VectorType):
        return kind, vector.size
    return kind, None


def without_named_sizes(kind: types.Type) -> types.Type:
    """Return a parameter's type as callers see it: sizes that are names may be any."""
    return types.with_sizes(kind, lambda size: None if isinstance(size, str) else size)


def note_sizes(sizes: dict[str, TypedTerm], wanted: types.Type, actual: types.Type) -> None:
    """Note what the named sizes of a parameter are, where the argument's type says so."""
    match wanted, actual:
        case types.VectorType(element, size), types.VectorType(its_element, its_size):
            if isinstance(size, str) and size not in sizes and its_size is not None:
                leaf = (
                    variable(its_size, types.INTEGER)
                    if isinstance(its_size, str)
                    else term(its_size)
                )
                sizes[size] = TypedTerm(leaf, types.INTEGER, its_size)
            note_sizes(sizes, element, its_element)
        case types.TupleType(parts), types.TupleType(its_parts):
            for part, its_part in zip(parts, its_parts, strict=True):
                note_sizes(sizes, part, its_part)


_Accessor = Callable[[Term], Term]


def size_accessors(kind: types.Type, way: _Accessor) -> Iterator[tuple[str, _Accessor]]:
    """Yield the named sizes of a type, and how they are found in a value of that type."""
    match kind:
        case types.VectorType(element, size):
            if isinstance(size, str):
                yield size, lambda leaf: term("size", way(leaf))
            yield from size_accessors(element, lambda leaf: term("index", term(0), way(leaf)))
        case types.TupleType(parts):
            for place, part in enumerate(parts):
                yield from size_accessors(part, _selecting(place, way))


def _selecting(place: int, way: _Accessor) -> _Accessor:
    return lambda leaf: term("select", term(place), way(leaf))


_NAME = re.compile(r"[^\s()\";:%?=\d.+*/<>&-][^\s()\";:%?=]*")
_WORDS = {"lam", "def", "rule", "True", "False", "grad", "jvp"}
SELECTION = re.compile(r"get\$(\d+)\$(\d+)")
"""``get$2$3``, the second of three parts."""


def is_name(word: str) -> bool:
    """Whether a word can be the name of a variable."""
    return (
        bool(_NAME.fullmatch(word))
        and word not in _WORDS
        and word not in OPERATORS
        and not SELECTION.fullmatch(word)
        and word not in ("nan", "inf")
    )


def parse_declaration(source: TermSource, syntax: Syntax) -> tuple[str, types.Type]:
    """Return the name and the type of ``(x : TYPE)``."""
    parts = syntax.parts or ()
    if len(parts) < 3 or parts[1].word != ":":
        raise source.error(syntax, f"expected (NAME : TYPE), found {syntax}")
    expect_name(source, parts[0])
    if len(parts) == 3:
        return parts[0].word, parse_type(source, parts[2])
    words = Syntax(parts[2].token, parts[2:])
    return parts[0].word, parse_type(source, words)


def expect_name(source: TermSource, syntax: Syntax) -> None:
    """Refuse what is not the name of a variable."""
    if not is_name(syntax.word):
        raise source.error(syntax, f"expected a name, found {syntax}")


def parse_type(source: TermSource, syntax: Syntax) -> types.Type:
    """Return the type that is written somewhere."""
    text = str(syntax)
    if text.endswith("…"):
        text = syntax.whole
    try:
        return types.type_from_text(text)
    except InputError as error:
        raise source.error(syntax, str(error)) from None
