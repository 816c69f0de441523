"""Programs: a term, what its free names are, and what it gives.

A *program* is what a ``(def …)`` says, or a bare term, whose free names are Floats. Its types have
sizes: those that are names are Integers, which the body may use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from polygym.pickling import pickle_by_name
from polygym.rewrite.term import Term
from polygym.terms.language.types import (
    INTEGER,
    FunctionType,
    TupleType,
    Type,
    VectorSize,
    VectorType,
)

BARE_NAME = "it"
"""The name of a program that is a bare term."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TermProgram:
    """A name, parameters with their types, the result's type, and the term.

    ``sizes`` are the names that sizes of parameters have; they are Integers of the body.
    """

    name: str
    parameters: tuple[tuple[str, Type], ...]
    result: Type
    body: Term

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of sizes that are no parameters themselves."""
        named = {name for name, _ in self.parameters}
        result: dict[str, None] = {}
        for _, kind in self.parameters:
            result |= dict.fromkeys(sizes_in(kind))
        return tuple(name for name in result if name not in named)

    @property
    def inputs(self) -> tuple[tuple[str, Type], ...]:
        """Parameters and sizes, with their types."""
        return (*self.parameters, *((name, INTEGER) for name in self.sizes))

    def with_body(self, body: Term) -> TermProgram:
        """Return the program with another term."""
        return replace(self, body=body)


def sizes_in(kind: Type) -> list[str]:
    """Return the names of the sizes in a type, from the left."""
    match kind:
        case VectorType(element, size):
            return [*([size] if isinstance(size, str) else []), *sizes_in(element)]
        case TupleType(parts):
            return [name for part in parts for name in sizes_in(part)]
        case FunctionType(argument, result):
            return [*sizes_in(argument), *sizes_in(result)]
        case _:
            return []


def with_sizes(kind: Type, change: Callable[[str], VectorSize]) -> Type:
    """Return a type with other sizes in the place of names."""
    match kind:
        case VectorType(element, size):
            changed = change(size) if isinstance(size, str) else size
            return VectorType(with_sizes(element, change), changed)
        case TupleType(parts):
            return TupleType(tuple(with_sizes(part, change) for part in parts))
        case FunctionType(argument, result):
            return FunctionType(with_sizes(argument, change), with_sizes(result, change))
        case _:
            return kind
