"""Names of types that functions declare: each type of a file gets a name of its own.

Passes look a type up by its name, wherever it stands. So a name that a block declares, and that
means something else outside of it, is spelled in another way there::

    typedef float T;                        typedef float T;
    void f(void) { typedef double T;   →    void f(void) { typedef double T_2;
                   T t; }                                  T_2 t; }

The same holds for the tags of structures, unions and enumerations. An enumeration is the integer
type that compilers of C take for it, ``unsigned`` where none of its constants is negative::

    enum side { LEFT, RIGHT };  enum side s;    →    enum side { LEFT, RIGHT };  unsigned int s;
"""

import operator
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import count
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.literals import integer_value, parse_literal
from polygym.ir.expressions import IntegerLiteral
from polygym.ir.types import ScalarType

_SPELLING = {ScalarType.INT: "signed", ScalarType.UNSIGNED: "unsigned"}
_UNARY: Mapping[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "!": operator.not_,
}
_BINARY: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<<": lambda number, places: number << max(0, min(places, 64)),
    ">>": lambda number, places: number >> max(0, places),
    "|": operator.or_,
    "&": operator.and_,
    "^": operator.xor,
}


def separate_local_types(tree: Any, spelled: Collection[str], *, is_cpp: bool) -> None:
    """Give types of a tree that have one name different ones, none of ``spelled``.

    In C++, values of an enumeration are computed with as ``int``, whatever its type.
    """
    functions = [node for node in tree.ext if isinstance(node, c_ast.FuncDef)]
    has_enumerations = not is_cpp and syntax.contains(tree, c_ast.Enum)
    if not has_enumerations and not any(
        _declared_type(part) for node in functions for part in syntax.walk(node.body)
    ):
        return
    separation = _Separation(spelled, is_cpp)
    pending: list[Any] = list(reversed(tree.ext))
    while pending:  # not recursive: programs may nest deeply where nobody looks
        step = pending.pop()
        if isinstance(step, c_ast.Node):
            pending += reversed(separation.enter(step))
        else:
            step()


def enumeration_type(kind: Any) -> ScalarType | None:
    """Return the type of an enumeration by its constants, None where they are not computed.

    >>> from pycparser.c_parser import CParser
    >>> text = "enum { A, B = 7 } x; enum { C = -1, D } y; enum { E = sizeof(int) } z;"
    >>> tree = CParser().parse(text)
    >>> [enumeration_type(node.type.type) for node in tree.ext]
    [<ScalarType.UNSIGNED: 'uint32_t'>, <ScalarType.INT: 'int'>, None]
    """
    lowest = highest = 0
    following: int | None = 0
    for enumerator in getattr(kind.values, "enumerators", None) or ():
        if enumerator.value is not None:
            following = _constant(enumerator.value, {})
        if following is None:
            return None
        lowest, highest = min(lowest, following), max(highest, following)
        following += 1
    types = (ScalarType.INT,) if lowest < 0 else (ScalarType.UNSIGNED,)
    return next((t for t in types if kind.values and highest <= t.highest), None)


def _constant(node: Any, enumerators: Mapping[Any, Any]) -> int | None:
    """Return the value of a constant expression, None where it is not computed with ``int``."""
    value: int | None
    match node:
        case c_ast.Constant():
            literal = parse_literal(node.value)
            return literal.value if isinstance(literal, IntegerLiteral) else None
        case c_ast.ID(name=name):
            value = enumerators.get(("enumerator", name))
        case c_ast.UnaryOp(op=op) if op in _UNARY:
            operand = _operand(node.expr, enumerators)
            value = None if operand is None else int(_UNARY[op](operand))
        case c_ast.BinaryOp(op=op) if op in _BINARY:
            left, right = _operand(node.left, enumerators), _operand(node.right, enumerators)
            value = None if left is None or right is None else _BINARY[op](left, right)
        case _:
            return None
    in_range = value is not None and ScalarType.INT.lowest <= value <= ScalarType.INT.highest
    return value if in_range else None


def _operand(node: Any, enumerators: Mapping[Any, Any]) -> int | None:
    """Return the value of an operand of type ``int``."""
    literal = parse_literal(node.value) if isinstance(node, c_ast.Constant) else None
    if isinstance(literal, IntegerLiteral) and literal.type is not ScalarType.INT:
        return None
    return _constant(node, enumerators)


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

    def __init__(self, spelled: Collection[str], is_cpp: bool) -> None:
        """Start at file scope."""
        self._is_cpp = is_cpp
        self._scope: ChainMap[tuple[str | None, ...], Any] = ChainMap({})
        self._taken = set(spelled)
        self._declared: set[tuple[str, ...]] = set()

    def enter(self, node: Any) -> list[Any]:
        """Enter a node; return the nodes to enter next, and steps to take in between."""
        below = [child for _, child in node.children()]
        match node:
            case c_ast.FuncDef() | c_ast.Compound() | c_ast.For():
                self._scope = self._scope.new_child()
                return [*below, self._leave]
            case c_ast.Typedef():  # its name counts from its end on
                return [*below, partial(self._name_type, node)]
            case c_ast.IdentifierType(names=[name]):
                node.names = [self._scope.get(("typedef", name), name)]
            case c_ast.TypeDecl(type=c_ast.Enum(values=None, name=tag)) if kind := self._scope.get(
                ("enumeration", tag)
            ):
                node.type = c_ast.IdentifierType([kind, "int"], node.type.coord)
                return []
            case c_ast.Struct() | c_ast.Union() | c_ast.Enum():
                tag = node.name
                if declared := _declared_type(node):
                    self._declare(declared)
                node.name = self._scope.get(("tag", tag), tag)
                if isinstance(node, c_ast.Enum) and node.values and not self._is_cpp:
                    return [*below, partial(self._enumeration, tag, node)]
            case _:
                if declared := _declared_type(node):
                    self._declare(declared)
        return below

    def _leave(self) -> None:
        self._scope = self._scope.parents

    def _name_type(self, node: Any) -> None:
        """Enter the name of a typedef."""
        self._declare(("typedef", node.name))
        node.name = self._scope["typedef", node.name]
        kind = node.type
        while not isinstance(kind, c_ast.TypeDecl):
            kind = kind.type
        kind.declname = node.name

    def _enumeration(self, tag: str | None, node: Any) -> None:
        """Enter the constants of an enumeration, computed, and its type."""
        following: int | None = 0
        for enumerator in node.values.enumerators:
            if enumerator.value is not None:
                following = _constant(enumerator.value, self._scope)
                if following is not None and integer_value(enumerator.value) is None:
                    enumerator.value = syntax.integer_node(following, enumerator)
            self._scope["enumerator", enumerator.name] = following
            following = None if following is None else following + 1
        kind = enumeration_type(node)
        self._scope["enumeration", tag] = None if kind is None else _SPELLING[kind]

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
