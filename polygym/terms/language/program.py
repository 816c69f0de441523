"""Programs: a term, what its free names are, and what it gives.

A *program* is what a ``(def …)`` says, or a bare term, whose free names are Floats. Its types have
sizes: those that are names are Integers, which the body may use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polygym.pickling import pickle_by_name
from polygym.rewrite.term import Term
from polygym.terms.language.types import INTEGER, Type, sizes_of

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
    return [size for size in sizes_of(kind) if isinstance(size, str)]
