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

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.desugar.inlining import SAME_SIZE_CHECK
from polygym.frontend.c.memory.unsized_arrays import UNBOUNDED_SIZE
from polygym.frontend.c.sema.symbols import ResolvedNames
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.tokens.standard_headers import header_hint

_INTEGER_OPERATORS = frozenset({"%", "&", "|", "^", "<<", ">>"})
_CONDITIONS = frozenset({"<", "<=", ">", ">=", "==", "!=", "&&", "||"})


@dataclass(slots=True)
class UndeclaredName:
    """What is seen of a name: its first use, its number of subscripts, and how it is used."""

    name: str
    node: Any
    rank: int
    is_integer: bool = False
    is_counter: bool = False
    is_assigned: bool = False
    affects_control: bool = False  # stands in a subscript, a bound or a condition
    values: list[Any] = field(default_factory=list)

    @property
    def type(self) -> str:
        """The type that it is declared with."""
        return "int" if self.is_integer else "double"


def undeclared_names(
    items: Sequence[Any], names: ResolvedNames, source: SourceMap
) -> tuple[UndeclaredName, ...]:
    """Return the names that a region's items use and nothing declares, in order of their use."""
    reader = _UseCollector(names, source)
    for item in items:
        reader.read(item, affects_control=False)
    reader.propagate_integers()
    return tuple(reader.found.values())


def file_scope_declarations(unknown: Sequence[UndeclaredName]) -> list[str]:
    """Return the declarations at file scope."""
    return [
        f"{name.type} {name.name};"
        for name in unknown
        if name.rank == 0 and name.is_assigned and not _is_local(name)
    ]


def function_head(
    name: str,
    unknown: Sequence[UndeclaredName],
    sizes: dict[str, tuple[str, ...]],
    extra_arguments: Sequence[str],
) -> list[str]:
    """Return the head of the function and its declarations; ``extra_arguments`` come first.

    ``sizes`` has the sizes of arrays; one that it does not know is endless.
    """
    arguments = [f"int {size}" for size in extra_arguments]
    arguments += [
        f"{undeclared.type} {undeclared.name}"
        for undeclared in sorted(unknown, key=lambda undeclared: not undeclared.is_integer)
        if undeclared.rank == 0 and not undeclared.is_assigned
    ]
    for use in unknown:
        if use.rank:
            extents = sizes.get(use.name, (UNBOUNDED_SIZE,) * use.rank)
            arguments.append(f"{use.type} {use.name}" + "".join(f"[{e}]" for e in extents))
    inner = [undeclared.name for undeclared in unknown if _is_local(undeclared)]
    body = [f"  int {', '.join(inner)};"] if inner else []
    return [f"void {name}({', '.join(arguments) or 'void'}) {{", *body]


def _is_local(name: UndeclaredName) -> bool:
    """Whether a name is the function's own: a counter, or an integer that decides something."""
    return name.rank == 0 and (name.is_counter or (name.is_assigned and name.affects_control))


class _UseCollector:
    """Walks a region and notes what unknown names are used as."""

    def __init__(self, names: ResolvedNames, source: SourceMap) -> None:
        self._names = names
        self._source = source
        self.found: dict[str, UndeclaredName] = {}

    def read(self, node: Any, *, affects_control: bool) -> None:
        """Read a node; what ``affects_control`` is a subscript, a bound or the like."""
        match node:
            case None | c_ast.Pragma():
                return
            case c_ast.ID():
                self._use(node, (), affects_control=affects_control)
            case c_ast.ArrayRef():
                self._element(node, affects_control=affects_control)
            case c_ast.FuncCall():
                if node.args is not None and not _is_name(node.name, SAME_SIZE_CHECK):
                    self.read(
                        node.args,
                        affects_control=affects_control and _is_name(node.name, "min", "max"),
                    )
            case c_ast.StructRef():
                self.read(node.name, affects_control=False)
            case c_ast.For():
                self._loop(node)
            case c_ast.If() | c_ast.TernaryOp():
                self.read(
                    node.cond, affects_control=affects_control or _is_integer_condition(node.cond)
                )
                self.read(node.iftrue, affects_control=affects_control)
                self.read(node.iffalse, affects_control=affects_control)
            case c_ast.Assignment():
                self._assigned(node, affects_control=affects_control)
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
                self._target(node.expr, c_ast.Constant("int", "1"))
            case c_ast.UnaryOp(op="~"):
                self.read(node.expr, affects_control=True)
            case c_ast.UnaryOp(op="sizeof"):
                return
            case c_ast.BinaryOp():
                whole = affects_control or node.op in _INTEGER_OPERATORS
                self.read(node.left, affects_control=whole)
                self.read(node.right, affects_control=whole)
            case _:
                for _, child in node.children():
                    self.read(child, affects_control=affects_control)

    def _use(
        self, node: Any, subscripts: Sequence[Any], *, affects_control: bool
    ) -> UndeclaredName | None:
        """Note one use of a name; None if it is declared."""
        if self._names.symbol_of(node) is not None:
            return None
        if hint := header_hint(node.name):
            raise self._source.error(node, f"{node.name} is not declared", hint)
        name = self.found.setdefault(node.name, UndeclaredName(node.name, node, len(subscripts)))
        if name.rank != len(subscripts):
            raise self._source.error(
                node,
                f"{node.name} is not declared, and used with {name.rank} subscripts and with "
                f"{len(subscripts)}",
                "declare it",
            )
        name.is_integer |= affects_control
        name.affects_control |= affects_control
        return name

    def _element(self, node: Any, *, affects_control: bool) -> UndeclaredName | None:
        """Read ``name[e]…[e]``."""
        node, subscripts = syntax.base_and_subscripts(node)
        for subscript in subscripts:
            self.read(subscript, affects_control=True)
        if isinstance(node, c_ast.ID):
            return self._use(node, subscripts, affects_control=affects_control)
        self.read(node, affects_control=False)
        return None

    def _loop(self, node: Any) -> None:
        """Read a loop: its header decides which iterations run."""
        for part in (node.init, node.cond, node.next):
            self.read(part, affects_control=True)
        init = node.init
        if isinstance(init, c_ast.Assignment) and isinstance(init.lvalue, c_ast.ID):
            name = self._use(init.lvalue, (), affects_control=True)
            if name is not None:
                name.is_counter = name.is_assigned = True
        self.read(node.stmt, affects_control=False)

    def _assigned(self, node: Any, *, affects_control: bool) -> None:
        """Read an assignment."""
        whole = node.op[:-1] in _INTEGER_OPERATORS
        name = self._target(node.lvalue, node.rvalue)
        if name is not None:
            name.is_integer |= whole
        self.read(node.rvalue, affects_control=affects_control or whole)

    def _target(self, target: Any, value: Any) -> UndeclaredName | None:
        """Note that something is assigned."""
        if isinstance(target, c_ast.ID):
            name = self._use(target, (), affects_control=False)
        elif isinstance(target, c_ast.ArrayRef):
            name = self._element(target, affects_control=False)
        else:
            self.read(target, affects_control=False)
            return None
        if name is not None:
            name.is_assigned = True
            name.values.append(value)
        return name

    def propagate_integers(self) -> None:
        """Follow integers through assignments: of ``k = n - 1; x[k] = 0;`` n is one, too."""
        before: list[tuple[bool, bool]] | None = None
        while before != (now := [(n.is_integer, n.affects_control) for n in self.found.values()]):
            before = now
            for name in list(self.found.values()):
                if name.affects_control and name.rank == 0:
                    for value in name.values:
                        self.read(value, affects_control=True)
                elif name.rank == 0 and name.values and all(map(self._is_whole, name.values)):
                    name.is_integer |= syntax.contains(name.values, c_ast.ID)

    def _is_whole(self, node: Any) -> bool:
        """Whether an expression is made of integers alone."""
        match node:
            case c_ast.ID():
                name = self.found.get(node.name)
                if name is not None:
                    return name.is_integer
                symbol = self._names.symbol_of(node)
                kind = getattr(getattr(symbol, "declaration", None), "type", None)
                names: list[str] = getattr(getattr(kind, "type", None), "names", [])
                return isinstance(kind, c_ast.TypeDecl) and names in (["int"], ["long"])
            case c_ast.Constant():
                return bool(node.type == "int")
            case c_ast.BinaryOp() | c_ast.UnaryOp(op="-" | "+"):
                return all(self._is_whole(child) for _, child in node.children())
            case _:
                return False


def _is_name(node: Any, *names: str) -> bool:
    return isinstance(node, c_ast.ID) and node.name in names


def _is_integer_condition(condition: Any) -> bool:
    """Whether a condition is about names and integer constants alone, as those of counters are."""
    return all(
        isinstance(node, c_ast.ID | c_ast.BinaryOp | c_ast.UnaryOp)
        or (isinstance(node, c_ast.Constant) and node.type == "int")
        for node in syntax.walk(condition)
    )
