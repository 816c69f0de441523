"""Declarations: the scalar type and the shape that a C declaration gives a name.

C's integer types, float and double exist for the rest of polygym; everything else is refused with
its name, at the place of use, because declarations that the region does not touch may be anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.scoped_types import enumeration_type
from polygym.frontend.c.tokens.standard_headers import OPAQUE
from polygym.ir.types import ScalarType

_MAX_DIMENSIONS = 16

# Without `int` and `signed`, which add nothing but to `char`: char is signed on these machines.
_TYPES = {
    (): ScalarType.INT,
    ("long",): ScalarType.LONG,
    ("long", "long"): ScalarType.LONG,
    ("short",): ScalarType.SHORT,
    ("char",): ScalarType.BYTE,
    ("unsigned",): ScalarType.UNSIGNED,
    ("long", "unsigned"): ScalarType.UNSIGNED_LONG,
    ("long", "long", "unsigned"): ScalarType.UNSIGNED_LONG,
    ("short", "unsigned"): ScalarType.UNSIGNED_SHORT,
    ("char", "unsigned"): ScalarType.UNSIGNED_BYTE,
    ("_Bool",): ScalarType.BOOL,
    ("float",): ScalarType.FLOAT,
    ("double",): ScalarType.DOUBLE,
}
_REDUNDANT_KEYWORDS = frozenset({"int", "signed"})


@dataclass(frozen=True, slots=True)
class DeclaredShape:
    """What a declaration says: element type, the sizes of an array's dimensions, pointer or not.

    ``is_pointer`` is a plain ``double *x``: a size is missing, and only ``*x`` and ``x[0]`` are
    known to exist. A size is the syntax tree of its expression.
    """

    type: ScalarType
    sizes: tuple[Any, ...] = ()
    is_pointer: bool = False


class Declarations:
    """Reads declarations with the typedefs of the file in hand."""

    def __init__(self, typedefs: Mapping[str, Any], source: SourceMap) -> None:
        """Keep the typedefs (name to type node) and the way back to the user's text."""
        self._typedefs = typedefs
        self._source = source

    def scalar(self, node: Any, at: Any, subject: str) -> ScalarType:
        """Return the scalar type that a type node means; ``at`` is where to complain."""
        shape = self.shape(node, at, subject)
        if shape.sizes or shape.is_pointer:
            raise self._source.error(
                at, f"{subject} is a pointer or an array; only scalars are understood here"
            )
        return shape.type

    def shape(self, node: Any, at: Any, subject: str) -> DeclaredShape:
        """Return the shape of a type node, through typedefs, outermost dimension first."""
        sizes: list[Any] = []
        pointer = False
        kind = node
        alias = ""
        while True:
            match kind:
                case c_ast.ArrayDecl():
                    if pointer:
                        raise self._source.error(
                            at,
                            f"{subject} is a pointer to arrays: its first size is not declared",
                            "declare every size, as in double A[n][m]",
                        )
                    if kind.dim is None or not _is_size(kind.dim):
                        raise self._source.error(
                            at,
                            f"{subject} has a dimension of unknown size",
                            "declare every size, as in double A[n][m]",
                        )
                    sizes.append(kind.dim)
                    kind = kind.type
                case c_ast.PtrDecl():
                    if pointer or sizes:
                        raise self._source.error(
                            at, f"{subject} involves pointers in a way that is not supported"
                        )
                    pointer = True
                    kind = kind.type
                case c_ast.TypeDecl() | c_ast.Typename():
                    kind = kind.type
                case c_ast.IdentifierType() if (
                    len(kind.names) == 1 and kind.names[0] in self._typedefs
                ):
                    alias = alias or kind.names[0]
                    kind = self._typedefs[kind.names[0]]
                case _:
                    break
        if len(sizes) > _MAX_DIMENSIONS:
            raise self._source.error(
                at,
                f"{subject} has {len(sizes)} dimensions; at most {_MAX_DIMENSIONS} are understood",
            )
        return DeclaredShape(self._element(kind, alias, at, subject), tuple(sizes), pointer)

    def _element(self, kind: Any, alias: str, at: Any, subject: str) -> ScalarType:
        """Return the scalar type at the bottom of a declaration; ``alias`` is a typedef's name."""
        if isinstance(kind, c_ast.Enum):
            known = ScalarType.INT if self._source.cpp else enumeration_type(kind)
            if known is not None:
                return known
            raise self._source.error(
                at, f"{subject} is of an enumeration whose constants are not computed"
            )
        names: tuple[str, ...]
        match kind:
            case c_ast.IdentifierType():
                names = tuple(sorted(kind.names))
                spelled = " ".join(kind.names)
            case c_ast.Struct() | c_ast.Union():
                names, spelled = (), f"{type(kind).__name__.lower()} {kind.name or ''}".strip()
            case c_ast.FuncDecl():
                raise self._source.error(
                    at,
                    f"{subject} is a function that is not known before the program runs",
                    "call a function of the file by its name",
                )
            case _:
                names, spelled = (), "something else"
        plain = tuple(name for name in names if name not in _REDUNDANT_KEYWORDS)
        if names and (scalar := _TYPES.get(plain)) is not None:
            return scalar
        if reason := self._source.reason(alias):
            raise self._source.error(at, f"{subject} is of type {alias}: {reason}")
        if spelled == f"struct {OPAQUE}{alias}":
            raise self._source.error(
                at,
                f"{subject} is of type {alias}, whose declaration is not read",
                "give the header that has it: -I DIR or --include FILE",
            )
        if alias:
            spelled = f"{alias} ({spelled})"
        raise self._source.error(
            at, f"{subject} is of type {spelled}; integers, float and double are understood"
        )


def resolved_type(node: Any, typedefs: Mapping[str, Any]) -> Any:
    """Return a type through typedefs: the pointer, array, structure or number that it is."""
    while True:
        match node:
            case c_ast.TypeDecl():
                node = node.type
            case c_ast.IdentifierType(names=[name]) if name in typedefs:
                node = typedefs[name]
            case _:
                return node


def array_rank(node: Any, typedefs: Mapping[str, Any]) -> int:
    """Return the number of an array type's dimensions, through typedefs; 0 for any other type."""
    kind = resolved_type(node, typedefs)
    return 1 + array_rank(kind.type, typedefs) if isinstance(kind, c_ast.ArrayDecl) else 0


def _is_size(node: Any) -> bool:
    """Whether the brackets of an array declaration hold a size (``[*]`` and ``[]`` do not)."""
    return not (isinstance(node, c_ast.ID) and node.name == "*")
