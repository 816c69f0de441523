"""Names of types that functions declare: each type of a file gets a name of its own.

Passes look a type up by its name, wherever it stands. So a name that a block declares, and that
means something else outside of it, is spelled in another way there::

    typedef float T;                        typedef float T;
    void f(void) { typedef double T;   →    void f(void) { typedef double T_2;
                   T t; }                                  T_2 t; }

The same holds for the tags of structures, unions and enumerations.
"""

from collections import ChainMap
from collections.abc import Collection
from itertools import count
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source import syntax

_TAGGED = (c_ast.Struct, c_ast.Union, c_ast.Enum)


def separate_local_types(tree: Any, spelled: Collection[str]) -> None:
    """Give types of a tree that have one name different ones, none of ``spelled``."""
    functions = [node for node in tree.ext if isinstance(node, c_ast.FuncDef)]
    if not any(_declared_type(part) for node in functions for part in syntax.walk(node.body)):
        return
    separation = _Separation(spelled)
    for node in tree.ext:
        separation.visit(node)


def _declared_type(node: Any) -> tuple[str, ...]:
    """Return the kind and the name of a type that a node declares; nothing for other nodes."""
    match node:
        case c_ast.Typedef():
            return "typedef", node.name
        case c_ast.Struct() | c_ast.Union() if node.name and node.decls is not None:
            return "tag", node.name
        case c_ast.Enum() if node.name and node.values is not None:
            return "tag", node.name
        case c_ast.Decl(name=None, type=c_ast.Struct() | c_ast.Union() as kind) if kind.name:
            return "tag", kind.name  # `struct S;` in a block is not that of the file
        case _:
            return ()


class _Separation:
    """A walk over a file, with the spelling of each name of a type that is visible."""

    def __init__(self, spelled: Collection[str]) -> None:
        """Start at file scope."""
        self._scope: ChainMap[tuple[str, ...], str] = ChainMap({})
        self._taken = set(spelled)
        self._declared: set[tuple[str, ...]] = set()

    def visit(self, node: Any) -> None:
        """Walk a node: declarations of types count from their names on."""
        match node:
            case c_ast.FuncDef() | c_ast.Compound() | c_ast.For():
                self._scope = self._scope.new_child()
                self._visit_below(node)
                self._scope = self._scope.parents
            case c_ast.Typedef():
                self._visit_below(node)
                self._declare(("typedef", node.name))
                node.name = self._scope["typedef", node.name]
                _name_declared(node.type, node.name)
            case c_ast.IdentifierType(names=[name]):
                node.names = [self._scope.get(("typedef", name), name)]
            case c_ast.Struct() | c_ast.Union() | c_ast.Enum():
                if declared := _declared_type(node):
                    self._declare(declared)
                node.name = self._scope.get(("tag", node.name), node.name)
                self._visit_below(node)
            case _:
                if declared := _declared_type(node):
                    self._declare(declared)
                self._visit_below(node)

    def _visit_below(self, node: Any) -> None:
        for _, child in node.children():
            self.visit(child)

    def _declare(self, name: tuple[str, ...]) -> None:
        """Enter a name in the innermost scope, in another spelling if the file has it already."""
        if name in self._scope.maps[0]:
            return
        spelling = name[1]
        if name in self._declared:
            spellings = (f"{spelling}_{number}" for number in count(2))
            spelling = next(new for new in spellings if new not in self._taken)
        self._taken.add(spelling)
        self._declared.add(name)
        self._scope[name] = spelling


def _name_declared(kind: Any, name: str) -> None:
    """Put a name in the middle of a declared type."""
    while not isinstance(kind, c_ast.TypeDecl):
        kind = kind.type
    kind.declname = name
