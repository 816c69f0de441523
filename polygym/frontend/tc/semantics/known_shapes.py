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

from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.tree import names_of_expression

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
            kind, value = None if declared is None else declared.type, statement.value
            if kind is None and isinstance(value, tree.ElementOrCall | tree.NameUse):
                kind = self.types.get(value.name)  # of an element as it stands
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

    def _extent_of_index(self, index: str, statement: tree.TcStatement) -> KnownSize:
        """Return how far an index runs, None where that is not plain."""
        for entry in statement.where:
            if isinstance(entry, tree.WhereRange) and entry.name == index:
                lower, upper = entry.lower, entry.upper
                starts_at_0 = isinstance(lower, tree.NumberLiteral) and lower.value == 0
                if starts_at_0 and isinstance(upper, tree.NameUse | tree.NumberLiteral):
                    return upper
                return None
        sizes: list[KnownSize] = []
        for element in names_of_expression(statement.value):
            if not isinstance(element, tree.ElementOrCall) or element.name == statement.tensor:
                continue
            shape = self.shapes.get(element.name, ())
            for place, argument in enumerate(element.arguments):
                if index in {name.name for name in names_of_expression(argument)}:
                    alone = isinstance(argument, tree.NameUse) and place < len(shape)
                    sizes.append(shape[place] if alone else None)
        if not sizes or any(not is_same_size(sizes[0], size) for size in sizes):
            return None
        return sizes[0]


def is_same_size(one: KnownSize, other: KnownSize) -> bool:
    """Whether two sizes are known to be equal."""
    if isinstance(one, tree.NameUse) and isinstance(other, tree.NameUse):
        return one.name == other.name
    if isinstance(one, tree.NumberLiteral) and isinstance(other, tree.NumberLiteral):
        return one.value == other.value
    return False


def size_text(size: KnownSize) -> str:
    """Return a size for a message."""
    return "?" if size is None else size.name if isinstance(size, tree.NameUse) else size.text
