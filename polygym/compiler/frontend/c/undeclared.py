"""Names that a region uses and nothing declares: what they must be, by what they are used as.

=================================================  ==============================================
``for (i = …``                                     the counter ``int i;`` of the function
``A[i][j]``                                        an array argument with two dimensions
assigned, and in a subscript, bound or condition   ``int k;`` of the function
assigned, otherwise                                a variable at file scope, whose value is seen
in a subscript, a bound or an integer operator     the argument ``int n``
otherwise                                          the argument ``double alpha``
=================================================  ==============================================

An element is a double unless it is used as an integer, as that of ``idx`` in ``x[idx[i]]``, or of
``k`` in ``k % 2``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast

from polygym.compiler.frontend.c.calls import SAME_SIZE
from polygym.compiler.frontend.c.headers import header_hint
from polygym.compiler.frontend.c.places import SourceMap
from polygym.compiler.frontend.c.symbols import Names

_INTEGER_OPERATORS = frozenset({"%", "&", "|", "^", "<<", ">>"})
_CONDITIONS = frozenset({"<", "<=", ">", ">=", "==", "!=", "&&", "||"})

# Larger than whatever a subscript can be: arrays are declared so while their subscripts are read.
_ENDLESS = 2**40


@dataclass(slots=True)
class Unknown:
    """What is seen of a name: its first use, its number of subscripts, and how it is used."""

    name: str
    node: Any
    rank: int
    is_integer: bool = False
    is_counter: bool = False
    is_assigned: bool = False
    decides: bool = False  # stands in a subscript, a bound or a condition
    values: list[Any] = field(default_factory=list)

    @property
    def type(self) -> str:
        """The type that it is declared with."""
        return "int" if self.is_integer else "double"


def unknown_names(items: Sequence[Any], names: Names, source: SourceMap) -> tuple[Unknown, ...]:
    """Return the names that a region's items use and nothing declares, in order of their use."""
    reader = _Reader(names, source)
    for item in items:
        reader.read(item, decides=False)
    reader.settle()
    return tuple(reader.found.values())


def outside_text(unknown: Sequence[Unknown]) -> list[str]:
    """Return the declarations at file scope."""
    return [
        f"{one.type} {one.name};"
        for one in unknown
        if one.rank == 0 and one.is_assigned and not _is_inner(one)
    ]


def function_text(
    name: str, unknown: Sequence[Unknown], sizes: dict[str, tuple[str, ...]], more: Sequence[str]
) -> list[str]:
    """Return the head of the function and its declarations; ``more`` are its first arguments.

    ``sizes`` has the sizes of arrays; one that it does not know is endless.
    """
    arguments = [f"int {size}" for size in more]
    arguments += [
        f"{one.type} {one.name}"
        for one in sorted(unknown, key=lambda one: not one.is_integer)
        if one.rank == 0 and not one.is_assigned
    ]
    for one in unknown:
        if one.rank:
            extents = sizes.get(one.name, (f"{_ENDLESS}L",) * one.rank)
            arguments.append(f"{one.type} {one.name}" + "".join(f"[{e}]" for e in extents))
    inner = [one.name for one in unknown if _is_inner(one)]
    body = [f"  int {', '.join(inner)};"] if inner else []
    return [f"void {name}({', '.join(arguments) or 'void'}) {{", *body]


def _is_inner(one: Unknown) -> bool:
    """Whether a name is the function's own: a counter, or an integer that decides something."""
    return one.rank == 0 and (one.is_counter or (one.is_assigned and one.decides))


class _Reader:
    """Walks a region and notes what unknown names are used as."""

    def __init__(self, names: Names, source: SourceMap) -> None:
        self._names = names
        self._source = source
        self.found: dict[str, Unknown] = {}

    def read(self, node: Any, *, decides: bool) -> None:
        """Read a node; what ``decides`` is a subscript, a bound or the like."""
        match node:
            case None | c_ast.Pragma():
                return
            case c_ast.ID():
                self._use(node, (), decides=decides)
            case c_ast.ArrayRef():
                self._element(node, decides=decides)
            case c_ast.FuncCall():
                if node.args is not None and not _is_name(node.name, SAME_SIZE):
                    self.read(node.args, decides=decides and _is_name(node.name, "min", "max"))
            case c_ast.StructRef():
                self.read(node.name, decides=False)
            case c_ast.For():
                self._loop(node)
            case c_ast.If() | c_ast.TernaryOp():
                self.read(node.cond, decides=decides or _is_plain(node.cond))
                self.read(node.iftrue, decides=decides)
                self.read(node.iffalse, decides=decides)
            case c_ast.Assignment():
                self._assigned(node, decides=decides)
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
                self._target(node.expr, c_ast.Constant("int", "1"))
            case c_ast.UnaryOp(op="~"):
                self.read(node.expr, decides=True)
            case c_ast.UnaryOp(op="sizeof"):
                return
            case c_ast.BinaryOp():
                whole = decides or node.op in _INTEGER_OPERATORS
                self.read(node.left, decides=whole)
                self.read(node.right, decides=whole)
            case _:
                for _, child in node.children():
                    self.read(child, decides=decides)

    def _use(self, node: Any, subscripts: Sequence[Any], *, decides: bool) -> Unknown | None:
        """Note one use of a name; None if it is declared."""
        if self._names.of(node) is not None:
            return None
        if hint := header_hint(node.name):
            raise self._source.error(node, f"{node.name} is not declared", hint)
        one = self.found.setdefault(node.name, Unknown(node.name, node, len(subscripts)))
        if one.rank != len(subscripts):
            raise self._source.error(
                node,
                f"{node.name} is not declared, and used with {one.rank} subscripts and with "
                f"{len(subscripts)}",
                "declare it",
            )
        one.is_integer |= decides
        one.decides |= decides
        return one

    def _element(self, node: Any, *, decides: bool) -> Unknown | None:
        """Read ``name[e]…[e]``."""
        subscripts: list[Any] = []
        while isinstance(node, c_ast.ArrayRef):
            subscripts.insert(0, node.subscript)
            node = node.name
        for subscript in subscripts:
            self.read(subscript, decides=True)
        if isinstance(node, c_ast.ID):
            return self._use(node, subscripts, decides=decides)
        self.read(node, decides=False)
        return None

    def _loop(self, node: Any) -> None:
        """Read a loop: its header decides which iterations run."""
        for part in (node.init, node.cond, node.next):
            self.read(part, decides=True)
        init = node.init
        if isinstance(init, c_ast.Assignment) and isinstance(init.lvalue, c_ast.ID):
            one = self._use(init.lvalue, (), decides=True)
            if one is not None:
                one.is_counter = one.is_assigned = True
        self.read(node.stmt, decides=False)

    def _assigned(self, node: Any, *, decides: bool) -> None:
        """Read an assignment."""
        whole = node.op[:-1] in _INTEGER_OPERATORS
        one = self._target(node.lvalue, node.rvalue)
        if one is not None:
            one.is_integer |= whole
        self.read(node.rvalue, decides=decides or whole)

    def _target(self, target: Any, value: Any) -> Unknown | None:
        """Note that something is assigned."""
        if isinstance(target, c_ast.ID):
            one = self._use(target, (), decides=False)
        elif isinstance(target, c_ast.ArrayRef):
            one = self._element(target, decides=False)
        else:
            self.read(target, decides=False)
            return None
        if one is not None:
            one.is_assigned = True
            one.values.append(value)
        return one

    def settle(self) -> None:
        """Follow integers through assignments: of ``k = n - 1; x[k] = 0;`` n is one, too."""
        changed = True
        while changed:
            before = [(one.is_integer, one.decides) for one in self.found.values()]
            for one in list(self.found.values()):
                if one.decides and one.rank == 0:
                    for value in one.values:
                        self.read(value, decides=True)
                elif one.rank == 0 and one.values and all(map(self._is_whole, one.values)):
                    one.is_integer |= any(map(_has_name, one.values))
            changed = before != [(one.is_integer, one.decides) for one in self.found.values()]

    def _is_whole(self, node: Any) -> bool:
        """Whether an expression is made of integers alone."""
        match node:
            case c_ast.ID():
                one = self.found.get(node.name)
                if one is not None:
                    return one.is_integer
                symbol = self._names.of(node)
                kind = getattr(getattr(symbol, "declaration", None), "type", None)
                names: list[str] = getattr(getattr(kind, "type", None), "names", [])
                return isinstance(kind, c_ast.TypeDecl) and names in (["int"], ["long"])
            case c_ast.Constant():
                return bool(node.type == "int")
            case c_ast.BinaryOp() | c_ast.UnaryOp(op="-" | "+"):
                return all(self._is_whole(child) for _, child in node.children())
            case _:
                return False


def _has_name(node: Any) -> bool:
    return isinstance(node, c_ast.ID) or any(_has_name(child) for _, child in node.children())


def _is_name(node: Any, *names: str) -> bool:
    return isinstance(node, c_ast.ID) and node.name in names


def _is_plain(condition: Any) -> bool:
    """Whether a condition is about names and integer constants alone, as those of counters are."""
    return all(
        isinstance(node, c_ast.ID | c_ast.BinaryOp | c_ast.UnaryOp)
        or (isinstance(node, c_ast.Constant) and node.type == "int")
        for node in _nodes(condition)
    )


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for _, child in node.children():
        yield from _nodes(child)
