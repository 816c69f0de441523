"""What a definition says about shapes and types before any range is inferred.

Parameters and declared outputs have the sizes of their declarations. Another tensor has those that
its indices say: one that alone is the subscript of a dimension runs as far as that, if all such
dimensions agree and it stands in no other subscript. In ``T(b, n) +=! I(b, m) * W(n, m)``, with
``float(B, M) I`` and ``float(N, M) W``, T is of size (B, N); in ``O(i) = I(i + x)`` the size of O
stays open. So much is enough for calls (:mod:`polygym.compiler.frontend.tc.calls`); ranges are
inferred later, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from polygym.compiler.frontend.tc.resolve import names_in
from polygym.compiler.frontend.tc.syntax import (
    Element,
    In,
    Name,
    Number,
    Output,
    Parameter,
    Scalar,
    Statement,
)

Size: TypeAlias = Name | Number | None
"""A name or a number; None is not known."""


@dataclass(slots=True)
class Known:
    """The tensors that have a value, statement by statement: their sizes, and types where known."""

    parameters: tuple[str, ...]
    declared: dict[str, Output]
    shapes: dict[str, tuple[Size, ...]] = field(default_factory=dict)
    types: dict[str, Scalar] = field(default_factory=dict)

    @staticmethod
    def of(parameters: Sequence[Parameter], outputs: Sequence[Output]) -> Known:
        """Return what is known before the first statement."""
        names = tuple(one.name for one in parameters)
        found = Known(names, {one.name: one for one in outputs})
        for parameter in parameters:
            found.shapes[parameter.name] = parameter.sizes
            found.types[parameter.name] = parameter.type
        return found

    def see(self, statement: Statement) -> None:
        """Note what a statement assigns.

        One that leaves a size open may be followed by one that decides it, as ``C(i) = 0`` by
        ``C(i) += A(i)``.
        """
        name = statement.tensor
        declared = self.declared.get(name)
        if name not in self.types:
            kind = None if declared is None else declared.type
            kind = kind or self._type(statement)
            if kind is not None:
                self.types[name] = kind
        if name in self.parameters:
            return
        if declared is not None and declared.sizes is not None:
            self.shapes[name] = declared.sizes
            return
        sizes = tuple(
            self._extent(part.name, statement) if isinstance(part, Name) else None
            for part in statement.left
        )
        before = self.shapes.get(name, sizes)
        if len(before) == len(sizes):
            sizes = tuple(old or new for old, new in zip(before, sizes, strict=True))
        self.shapes[name] = sizes

    def _type(self, statement: Statement) -> Scalar | None:
        """Return the type of a value that is an element as it stands."""
        value = statement.value
        return self.types.get(value.name) if isinstance(value, Element | Name) else None

    def _extent(self, index: str, statement: Statement) -> Size:
        """Return how far an index runs, None where that is not plain."""
        for entry in statement.where:
            if isinstance(entry, In) and entry.name == index:
                starts_at_0 = isinstance(entry.lower, Number) and entry.lower.value == 0
                upper = entry.upper
                return upper if starts_at_0 and isinstance(upper, Name | Number) else None
        found: list[Size] = []
        for one in names_in(statement.value):
            if not isinstance(one, Element) or one.name == statement.tensor:
                continue
            shape = self.shapes.get(one.name, ())
            for place, argument in enumerate(one.arguments):
                if index in {name.name for name in names_in(argument)}:
                    alone = isinstance(argument, Name) and place < len(shape)
                    found.append(shape[place] if alone else None)
        if not found or any(not same(found[0], one) for one in found):
            return None
        return found[0]


def same(one: Size, other: Size) -> bool:
    """Whether two sizes are known to be equal."""
    match one, other:
        case Name(name), Name(another):
            return name == another
        case Number(value), Number(another_value):
            return value == another_value
        case _:
            return False


def said(size: Size) -> str:
    """Return a size for a message."""
    match size:
        case Name(name):
            return name
        case Number(text=text):
            return text
        case _:
            return "?"
