"""Shapes and types that a definition states before any range is inferred.

Parameters and declared outputs have the sizes of their declarations. Another tensor has those that
its indices say: one that alone is the subscript of a dimension runs as far as that, if all such
dimensions agree and it stands in no other subscript. In ``T(b, n) +=! I(b, m) * W(n, m)``, with
``float(B, M) I`` and ``float(N, M) W``, T is of size (B, N); in ``O(i) = I(i + x)`` the size of O
stays open. So much is enough for calls (:mod:`polygym.frontend.tc.parsing.inlining`); ranges are
inferred later, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from polygym.frontend.tc.semantics.name_resolution import names_of_expression
from polygym.frontend.tc.syntax import tree

KnownSize: TypeAlias = tree.NameUse | tree.NumberLiteral | None
"""A name or a number; None is not known."""


@dataclass(slots=True)
class KnownShapes:
    """The tensors that have a value, statement by statement: their sizes, and types where known."""

    parameters: tuple[str, ...]
    declared: dict[str, tree.TcOutput]
    shapes: dict[str, tuple[KnownSize, ...]] = field(default_factory=dict)
    types: dict[str, tree.ElementType] = field(default_factory=dict)

    @staticmethod
    def of(parameters: Sequence[tree.TcParameter], outputs: Sequence[tree.TcOutput]) -> KnownShapes:
        """Return what is known before the first statement."""
        names = tuple(parameter.name for parameter in parameters)
        shapes = KnownShapes(names, {output.name: output for output in outputs})
        for parameter in parameters:
            shapes.shapes[parameter.name] = parameter.sizes
            shapes.types[parameter.name] = parameter.type
        return shapes

    def add_statement(self, statement: tree.TcStatement) -> None:
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
            self._extent_of_index(part.name, statement) if isinstance(part, tree.NameUse) else None
            for part in statement.subscripts
        )
        before = self.shapes.get(name, sizes)
        if len(before) == len(sizes):
            sizes = tuple(old or new for old, new in zip(before, sizes, strict=True))
        self.shapes[name] = sizes

    def _type(self, statement: tree.TcStatement) -> tree.ElementType | None:
        """Return the type of a value that is an element as it stands."""
        value = statement.value
        return (
            self.types.get(value.name)
            if isinstance(value, tree.ElementOrCall | tree.NameUse)
            else None
        )

    def _extent_of_index(self, index: str, statement: tree.TcStatement) -> KnownSize:
        """Return how far an index runs, None where that is not plain."""
        for entry in statement.where:
            if isinstance(entry, tree.WhereRange) and entry.name == index:
                starts_at_0 = isinstance(entry.lower, tree.NumberLiteral) and entry.lower.value == 0
                upper = entry.upper
                return (
                    upper
                    if starts_at_0 and isinstance(upper, tree.NameUse | tree.NumberLiteral)
                    else None
                )
        sizes: list[KnownSize] = []
        for known_size in names_of_expression(statement.value):
            if (
                not isinstance(known_size, tree.ElementOrCall)
                or known_size.name == statement.tensor
            ):
                continue
            shape = self.shapes.get(known_size.name, ())
            for place, argument in enumerate(known_size.arguments):
                if index in {name.name for name in names_of_expression(argument)}:
                    alone = isinstance(argument, tree.NameUse) and place < len(shape)
                    sizes.append(shape[place] if alone else None)
        if not sizes or any(not is_same_size(sizes[0], size) for size in sizes):
            return None
        return sizes[0]


def is_same_size(one: KnownSize, other: KnownSize) -> bool:
    """Whether two sizes are known to be equal."""
    match one, other:
        case tree.NameUse(name), tree.NameUse(another):
            return name == another
        case tree.NumberLiteral(value), tree.NumberLiteral(another_value):
            return value == another_value
        case _:
            return False


def size_text(size: KnownSize) -> str:
    """Return a size for a message."""
    match size:
        case tree.NameUse(name):
            return name
        case tree.NumberLiteral(text=text):
            return text
        case _:
            return "?"
