"""Layout of structures in memory: sizes, alignments and offsets as 64-bit Linux has them.

A member stands at the first multiple of its alignment behind the one before; a structure's size is
a multiple of the largest alignment of its members::

    struct body { char tag; double x, v[3]; };       tag at 0, x at 8, v at 16; 40 bytes in all

Bit-fields follow each other, as long as none lies across a multiple of its type's size. Nothing is
said of a structure with members of unknown types. Attributes and pragmas that change a layout are
not read, so code that relies on a layout lets the compiler check it.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.errors import SourceError
from polygym.frontend.c.sema.declarations import Declarations, resolved_type
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.literals import integer_value
from polygym.frontend.c.source.locations import SourceMap

_POINTER_BYTES = 8


@dataclass(frozen=True, slots=True)
class MemberPlace:
    """The place of a member in a structure of ``size`` bytes.

    Its element with the subscripts s₁, s₂, … stands at ``offset`` + Σ ``strides``ₖ·sₖ. Subscripts
    are those of all arrays on the way to it, of ``counts`` elements each: ``cells[2].v[1]`` of
    ``struct { int id; struct { double a, v[3]; } cells[4]; }`` stands at 16 + 32·2 + 8·1 of 136.
    """

    size: int
    offset: int
    strides: tuple[int, ...]
    counts: tuple[int, ...]

    def at(self, subscripts: tuple[int, ...]) -> int:
        """Return the bytes between the beginnings of the structure and of an element."""
        steps = zip(self.strides, subscripts, strict=True)
        return self.offset + sum(stride * subscript for stride, subscript in steps)


class StructLayouts:
    """Layouts of the structures of a file."""

    def __init__(self, tree: Any, source: SourceMap) -> None:
        """Keep the types that the file names."""
        self._typedefs: Mapping[str, Any] = syntax.typedefs_of(tree)
        self._structures = syntax.structures_of(tree)
        self._unions = {
            node.name: node for node in syntax.walk(tree, c_ast.Union) if node.name and node.decls
        }
        self._declarations = Declarations(self._typedefs, source)
        self._enumerators: Mapping[str, int] = {}
        self._enumerators = self._values_of_enumerators(tree)

    def place(self, kind: Any, path: tuple[str, ...]) -> MemberPlace | None:
        """Return the place of a member in a structure, None where it cannot be told."""
        structure = self.structure(kind)
        whole = None if structure is None else self._size_and_alignment(structure)
        if whole is None:
            return None
        offset = 0
        strides: list[int] = []
        counts: list[int] = []
        for name in path:
            structure = self.structure(kind)
            offsets = None if structure is None else self._offsets(structure)
            if offsets is None or name not in offsets[0]:
                return None
            offset += offsets[0][name]
            kind = next(member.type for member in structure.decls if member.name == name)
            while isinstance(self._resolved(kind), c_ast.ArrayDecl):
                array = self._resolved(kind)
                count, kind = self._count(array.dim), array.type
                element = self._size_and_alignment(kind)
                if count is None or element is None:
                    return None
                counts.append(count)
                strides.append(element[0])
        return MemberPlace(whole[0], offset, tuple(strides), tuple(counts))

    def structure(self, kind: Any) -> Any:
        """Return the structure that a type is, with its members; None for any other type."""
        kind = self._resolved(kind)
        if not isinstance(kind, c_ast.Struct):
            return None
        return kind if kind.decls else self._structures.get(kind.name)

    def _resolved(self, kind: Any) -> Any:
        return resolved_type(kind, self._typedefs)

    def _offsets(self, structure: Any) -> tuple[dict[str, int], int, int] | None:
        """Return the offsets of a structure's members, its size and its alignment."""
        offsets: dict[str, int] = {}
        bits, widest = 0, 1
        for member in structure.decls:
            own = self._size_and_alignment(member.type)
            width = None if member.bitsize is None else self._count(member.bitsize)
            if own is None or (width is None and member.bitsize is not None):
                return None
            size, alignment = own
            if width is None:
                bits = _round_up(bits, 8 * alignment)
                if member.name is not None:
                    offsets[member.name] = bits // 8
                bits += 8 * size
            else:
                if not width or bits // (8 * size) != (bits + width - 1) // (8 * size):
                    bits = _round_up(bits, 8 * size)
                bits += width
            if width is None or member.name is not None:
                widest = max(widest, alignment)
        return offsets, _round_up(bits, 8 * widest) // 8, widest

    def _size_and_alignment(self, kind: Any) -> tuple[int, int] | None:
        """Return the bytes of a type and its alignment."""
        kind = self._resolved(kind)
        match kind:
            case c_ast.PtrDecl():
                return _POINTER_BYTES, _POINTER_BYTES
            case c_ast.ArrayDecl():
                count, element = self._count(kind.dim), self._size_and_alignment(kind.type)
                if count is None or element is None:
                    return None
                return count * element[0], element[1]
            case c_ast.Struct():
                structure = self.structure(kind)
                own = None if structure is None else self._offsets(structure)
                return None if own is None else own[1:]
            case c_ast.Union():
                union = kind if kind.decls else self._unions.get(kind.name)
                return None if union is None else self._union(union.decls)
            case c_ast.IdentifierType(names=names) if "_Complex" in names:
                part = c_ast.IdentifierType([n for n in names if n != "_Complex"], kind.coord)
                real = self._size_and_alignment(part)
                return None if real is None else (2 * real[0], real[1])
            case c_ast.IdentifierType(names=names) if sorted(names) == ["double", "long"]:
                return 16, 16
            case c_ast.IdentifierType() | c_ast.Enum():
                try:
                    scalar = self._declarations.scalar(kind, kind, "a member")
                except SourceError:
                    return None
                return scalar.size, scalar.size
            case _:
                return None

    def _union(self, members: Sequence[Any]) -> tuple[int, int] | None:
        """Return the bytes of a union of some members and its alignment."""
        sizes = [self._size_and_alignment(member.type) for member in members]
        known = [size for size in sizes if size is not None]
        if len(known) < len(sizes):
            return None
        widest = max(alignment for _, alignment in known)
        return _round_up(max(size for size, _ in known), widest), widest

    def _count(self, node: Any) -> int | None:
        """Return the value of a constant expression of numbers and enumerators."""
        match node:
            case c_ast.BinaryOp(op=op) if op in _OPERATORS:
                left, right = self._count(node.left), self._count(node.right)
                if left is None or right is None or min(left, right) < 0:
                    return None
                return None if op in "/%" and not right else _OPERATORS[op](left, right)
            case c_ast.ID(name=name):
                return self._enumerators.get(name)
            case _:
                return integer_value(node)

    def _values_of_enumerators(self, tree: Any) -> dict[str, int]:
        """Return the values of enumerators, those alone that constants give."""
        values: dict[str, int] = {}
        for enumeration in syntax.walk(tree, c_ast.EnumeratorList):
            following: int | None = 0
            for enumerator in enumeration.enumerators:
                if enumerator.value is not None:
                    self._enumerators = values
                    following = self._count(enumerator.value)
                if following is not None:
                    values[enumerator.name] = following
                    following += 1
        return values


_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "<<": lambda number, places: number << min(places, 64),
    ">>": operator.rshift,
}


def _round_up(value: int, step: int) -> int:
    """Return the smallest multiple of a number that is not below a value."""
    return -(-value // step) * step
