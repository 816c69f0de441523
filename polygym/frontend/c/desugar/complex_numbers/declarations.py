"""Declarations of complex variables as arrays of pairs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source import syntax

_COMPLEX = "_Complex"


@dataclass(frozen=True, slots=True)
class ComplexVariable:
    """A complex variable: the type of its parts, and how many subscripts an element has."""

    kind: str
    rank: int


def complex_variable(declared: Any, typedefs: Mapping[str, Any]) -> ComplexVariable | None:
    """Return what a declaration declares, None for anything but ``float`` and ``double complex``.

    ``long double complex`` is none, and is refused later.
    """
    kind, rank = declared.type, 0
    while True:
        match kind:
            case c_ast.ArrayDecl() | c_ast.PtrDecl():
                rank, kind = rank + 1, kind.type
            case c_ast.TypeDecl():
                kind = kind.type
            case c_ast.IdentifierType(names=[name]) if name in typedefs:
                kind = typedefs[name]
            case c_ast.IdentifierType(names=words) if _COMPLEX in words:
                parts = [word for word in words if word != _COMPLEX]
                if parts in (["double"], ["float"], []):
                    return ComplexVariable(parts[0] if parts else "double", rank)
                return None
            case _:
                return None


def with_pairs(declared: Any, variable: ComplexVariable) -> None:
    """Let a declaration declare pairs of reals: ``double complex a[n]`` is ``double a[n][2]``."""
    node = declared.type
    if isinstance(node, c_ast.TypeDecl):
        declared.type = _pair(node, variable)
        return
    while not isinstance(node.type, c_ast.TypeDecl):
        node = node.type
    node.type = _pair(node.type, variable)


def _pair(bottom: Any, variable: ComplexVariable) -> Any:
    """Return an array of two reals in the place of a complex number."""
    name = c_ast.IdentifierType([variable.kind], bottom.coord)
    kind = c_ast.TypeDecl(bottom.declname, bottom.quals, bottom.align, name, bottom.coord)
    return c_ast.ArrayDecl(kind, syntax.integer_node(2, bottom), [], bottom.coord)


def declarations_of(tree: Any, function: Any) -> Iterator[Any]:
    """Yield the declarations of a file and of a function: variables and arguments."""
    yield from (node for node in tree.ext if isinstance(node, c_ast.Decl) and node.name)
    yield from syntax.arguments_of(function)
    yield from (node for node in syntax.walk(function.body, c_ast.Decl) if node.name)
