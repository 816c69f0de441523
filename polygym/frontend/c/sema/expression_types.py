"""Types of C expressions from the declarations around them, without what names stand for.

The type of ``a[i] * k`` follows from the declarations of ``a`` and ``k``: elements lose a level of
pointers, operators convert their operands as C does::

    double *a; short k;        a[i]: double      k: short      k + k: int      a: double *

None is the answer where a name is declared twice with different types, or is not declared at all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polygym.errors import InputError
from polygym.frontend.c.sema.declarations import Declarations
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.literals import parse_literal
from polygym.frontend.c.source.locations import SourceMap
from polygym.ir.expressions import MathFunction
from polygym.ir.types import ScalarType, common_type

WORDS = {
    ScalarType.BOOL: ("_Bool",),
    ScalarType.BYTE: ("signed", "char"),
    ScalarType.UNSIGNED_BYTE: ("unsigned", "char"),
    ScalarType.SHORT: ("short",),
    ScalarType.UNSIGNED_SHORT: ("unsigned", "short"),
    ScalarType.INT: ("int",),
    ScalarType.UNSIGNED: ("unsigned",),
    ScalarType.LONG: ("long",),
    ScalarType.UNSIGNED_LONG: ("unsigned", "long"),
    ScalarType.FLOAT: ("float",),
    ScalarType.DOUBLE: ("double",),
}
"""How C writes the types of numbers."""

_TRUTH = frozenset({"==", "!=", "<", ">", "<=", ">=", "&&", "||"})
_MATH = {
    function.c_name(scalar): scalar
    for function in MathFunction
    if function not in (MathFunction.ABS, MathFunction.EXPONENTIAL)
    for scalar in (ScalarType.DOUBLE, ScalarType.FLOAT)
} | {"abs": ScalarType.INT, "labs": ScalarType.LONG}
_MATH |= {f"__builtin_{name}": scalar for name, scalar in _MATH.items()}


@dataclass(frozen=True, slots=True)
class ExpressionTypes:
    """Reads types of expressions; ``declared`` has the type of each name that has only one."""

    source: SourceMap
    declared: Mapping[str, Any]
    typedefs: Mapping[str, Any]
    structures: Mapping[str, Any]
    functions: Mapping[str, Any]

    @staticmethod
    def of(tree: Any, declarations: Iterable[Any], source: SourceMap) -> "ExpressionTypes":
        """Return the reader for names that some declarations declare."""
        return ExpressionTypes(
            source,
            _types_by_name(declarations),
            syntax.typedefs_of(tree),
            syntax.structures_of(tree),
            {name: node.decl.type.type for name, node in syntax.functions_of(tree).items()},
        )

    def with_declarations(self, declarations: Iterable[Any]) -> "ExpressionTypes":
        """Return the reader of the same file for names that other declarations declare."""
        return replace(self, declared=_types_by_name(declarations))

    def type_of(self, node: Any) -> Any:
        """Return the node of an expression's type, without qualifiers; None where it is open."""
        kind = self._place_type(node)
        if kind is not None:
            return kind
        scalar = self.scalar(node)
        if scalar not in WORDS:
            return None
        words = c_ast.IdentifierType(list(WORDS[scalar]), node.coord)
        return c_ast.TypeDecl(None, [], None, words, node.coord)

    def scalar(self, node: Any) -> ScalarType | None:
        """Return the type of a number."""
        match node:
            case c_ast.Constant():
                literal = parse_literal(node.value)
                return None if literal is None or isinstance(literal, str) else literal.type
            case c_ast.UnaryOp(op="!"):
                return ScalarType.INT
            case c_ast.UnaryOp(op="+" | "-" | "~", expr=inner):
                kind = self.scalar(inner)
                return None if kind is None else kind.promoted
            case c_ast.UnaryOp(op="sizeof"):
                return ScalarType.UNSIGNED_LONG
            case c_ast.BinaryOp(op=op) if op in _TRUTH:
                return ScalarType.INT
            case c_ast.BinaryOp(op="<<" | ">>", left=left):
                kind = self.scalar(left)
                return None if kind is None else kind.promoted
            case c_ast.BinaryOp(left=left, right=right):
                return self._common(left, right)
            case c_ast.TernaryOp(iftrue=left, iffalse=right):
                return self._common(left, right)
            case c_ast.Cast(to_type=kind):
                return self.number(kind.type)
            case c_ast.FuncCall(name=c_ast.ID(name=name)) if name in self.functions:
                return self.number(self.functions[name])
            case c_ast.FuncCall(name=c_ast.ID(name=name)) if not self.source.is_generic:
                return _MATH.get(name)
            case _:
                return self.number(self._place_type(node))

    def _common(self, left: Any, right: Any) -> ScalarType | None:
        first, second = self.scalar(left), self.scalar(right)
        return None if first is None or second is None else common_type(first, second)

    def number(self, kind: Any) -> ScalarType | None:
        """Return the type of numbers that a node means, None for any other."""
        if kind is None:
            return None
        try:
            return Declarations(self.typedefs, self.source).scalar(kind, kind, "")
        except InputError:
            return None

    def _place_type(self, node: Any) -> Any:
        """Return the type of a variable, an element or a member."""
        match node:
            case c_ast.ID(name=name):
                return self._resolved(self.declared.get(name))
            case c_ast.ArrayRef(name=base):
                return self._below(self._place_type(base))
            case c_ast.UnaryOp(op="*", expr=base):
                return self._below(self._place_type(base))
            case c_ast.UnaryOp(op="&", expr=base):
                kind = self._place_type(base)
                return None if kind is None else c_ast.PtrDecl([], kind, node.coord)
            case c_ast.StructRef(name=base, field=field):
                kind = self._place_type(base)
                kind = self._below(kind) if node.type == "->" else kind
                return self._member(kind, field.name)
            case _:
                return None

    def _resolved(self, kind: Any) -> Any:
        """Return a type without the names of typedefs at its top."""
        while isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type, c_ast.IdentifierType):
            if len(kind.type.names) != 1 or kind.type.names[0] not in self.typedefs:
                break
            kind = self.typedefs[kind.type.names[0]]
        return kind

    def _below(self, kind: Any) -> Any:
        kind = self._resolved(kind)
        if isinstance(kind, c_ast.ArrayDecl | c_ast.PtrDecl):
            return self._resolved(kind.type)
        return None

    def _member(self, kind: Any, name: str) -> Any:
        kind = self._resolved(kind)
        structure = getattr(kind, "type", None)
        if not isinstance(structure, c_ast.Struct):
            return None
        members = structure.decls or getattr(self.structures.get(structure.name), "decls", None)
        return next((self._resolved(d.type) for d in members or () if d.name == name), None)


def _types_by_name(declarations: Iterable[Any]) -> dict[str, Any]:
    """Return the type of each name that is declared with one type alone."""
    declared: dict[str, Any] = {}
    for node in declarations:
        other = declared.setdefault(node.name, node.type)
        if other is None or _text(other) != _text(node.type):
            declared[node.name] = None
    return {name: kind for name, kind in declared.items() if kind is not None}


def _text(kind: Any) -> str:
    return str(CGenerator().visit(syntax.type_named(kind, "name")))
