"""Types of pointer expressions: through typedefs, to members of structures and to elements."""

from collections.abc import Callable
from copy import copy
from typing import Any

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polygym.frontend.c.source import syntax


class PointerTypes:
    """Reads types of a file: of names by a function, of all else from its structures."""

    def __init__(self, tree: Any, type_of_name: Callable[[Any], Any]) -> None:
        """Keep the typedefs and structures; ``type_of_name`` is asked for identifiers."""
        self._typedefs: dict[str, Any] = {}
        for node in syntax.walk(tree, c_ast.Typedef):
            self._typedefs.setdefault(node.name, node.type)  # `typedef T T;` says it again
        self._structures = syntax.structures_of(tree)
        self._type_of_name = type_of_name

    def with_names(self, type_of_name: Callable[[Any], Any]) -> "PointerTypes":
        """Return the same file's types, with other types of names."""
        result = copy(self)
        result._type_of_name = type_of_name
        return result

    def resolved(self, kind: Any) -> Any:
        """Return a type without the names of typedefs around it.

        ``Matrix`` of ``typedef double **Matrix`` is ``double **``.
        """
        passed: set[str] = set()
        while True:
            match kind:
                case c_ast.TypeDecl() | c_ast.Typename():
                    kind = kind.type
                case c_ast.IdentifierType(names=[name]) if name in self._typedefs.keys() - passed:
                    passed.add(name)
                    kind = self._typedefs[name]
                case c_ast.Struct(decls=None) if kind.name in self._structures:
                    return self._structures[kind.name]
                case _:
                    return kind

    def expanded(self, kind: Any, name: str | None) -> Any:
        """Return a type whose pointers and sizes are spelled out, for a variable of a name."""
        match kind:
            case c_ast.PtrDecl():
                return c_ast.PtrDecl(kind.quals, self.expanded(kind.type, name), kind.coord)
            case c_ast.ArrayDecl():
                inner = self.expanded(kind.type, name)
                return c_ast.ArrayDecl(inner, kind.dim, kind.dim_quals, kind.coord)
            case c_ast.TypeDecl():
                inner = self.resolved(kind)
                if isinstance(inner, c_ast.PtrDecl | c_ast.ArrayDecl):
                    return self.expanded(inner, name)
                return c_ast.TypeDecl(name, kind.quals, None, kind.type, kind.coord)
            case _:
                return kind

    def of(self, node: Any) -> Any:
        """Return the resolved type of an expression, None where it cannot be told."""
        match node:
            case c_ast.ID():
                kind = self._type_of_name(node)
                return None if kind is None else self.resolved(kind)
            case c_ast.StructRef():
                structure = self.of(node.name) if node.type == "." else self._element(node.name)
                return self.member(structure, node.field.name)
            case c_ast.ArrayRef():
                return self._element(node.name)
            case c_ast.UnaryOp(op="*"):
                return self._element(node.expr)
            case c_ast.UnaryOp(op="&"):
                inner = self.of(node.expr)
                return None if inner is None else c_ast.PtrDecl([], inner)
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
                return self.of(node.expr)
            case c_ast.Cast():
                return self.resolved(node.to_type)
            case c_ast.Assignment():
                return self.of(node.lvalue)
            case c_ast.BinaryOp(op="+" | "-"):
                left, right = self.of(node.left), self.of(node.right)
                return left if self.is_pointer(left) or right is None else right
            case _:
                return None

    def member(self, structure: Any, name: str) -> Any:
        """Return the resolved type of a structure's member, None where there is none."""
        for decl in getattr(structure, "decls", None) or ():
            if getattr(decl, "name", None) == name and decl.bitsize is None:
                return self.resolved(decl.type)
        return None

    def pointee(self, kind: Any) -> Any:
        """Return the resolved type of the elements of a pointer or an array."""
        return self.resolved(kind.type) if self.is_pointer(kind) else None

    def _element(self, node: Any) -> Any:
        return self.pointee(self.of(node))

    @staticmethod
    def is_pointer(kind: Any) -> bool:
        """Whether a resolved type is that of a pointer or of an array."""
        inner = getattr(kind, "type", None)
        is_place = isinstance(kind, c_ast.PtrDecl | c_ast.ArrayDecl)
        return is_place and not isinstance(inner, c_ast.FuncDecl)

    def text(self, kind: Any) -> str:
        """Return a type as text: equal for equal types."""
        match kind:
            case c_ast.PtrDecl() | c_ast.ArrayDecl():
                size = getattr(kind, "dim", None)
                end = "*" if size is None else f"[{CGenerator().visit(size)}]"
                return f"{self.text(self.resolved(kind.type))}{end}"
            case c_ast.IdentifierType():
                return " ".join(sorted(kind.names))
            case c_ast.Struct() | c_ast.Union():
                return f"struct {kind.name or id(kind)}"
            case _:
                return str(type(kind).__name__)
