"""Integers that are set once for all that reads them: the expression that each stands for.

``int k = i * m + j;`` and ``k = i * m + j;`` say what k is in the rest of their block, if k has no
other value anywhere, is read nowhere else, and what the expression reads does not change there. A
function of the file that only returns an expression of integers stands for that::

    static int at(int i, int j, int m) { return i * m + j; }         at(r, 0, n)  is  r * n + 0
"""

from bisect import bisect_left
from collections.abc import Collection
from typing import Any

from pycparser import c_ast

from polygym.errors import SourceError
from polygym.frontend.c.desugar.actual_arguments import substitution
from polygym.frontend.c.sema.declarations import Declarations
from polygym.frontend.c.sema.symbols import resolve_names
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion
from polygym.ir.types import ScalarType

# What is computed with these has the value of an integer, or C gives it none; 2^64 elements are
# more than any array has.
_INT = frozenset(
    scalar for scalar in ScalarType if scalar.is_integer and ScalarType.INT.can_represent(scalar)
)
_EXACT = _INT | {ScalarType.LONG, ScalarType.UNSIGNED_LONG}


class SingleAssignments:
    """The integers of one function, and what they stand for."""

    def __init__(self, tree: Any, region: ScopRegion, source: SourceMap) -> None:
        """Look at the function of a region, whose statements are plain."""
        function = region.function
        self._names = resolve_names(tree, region)
        self._declarations = Declarations(syntax.typedefs_of(tree), source)
        outside = [node for node in tree.ext if isinstance(node, c_ast.Decl)]
        own = [*syntax.arguments_of(function), *syntax.walk(function.body, c_ast.Decl)]
        self._declared: dict[str, list[Any]] = {}
        for decl in (*outside, *own):
            if decl.name:
                self._declared.setdefault(decl.name, []).append(decl)
        self.own = {decl.name for decl in own if decl.name}
        self._functions = syntax.functions_of(tree)
        self._types: dict[str, frozenset[ScalarType | None]] = {}
        self._values: dict[str, Any] = {}
        self._mentions: dict[str, list[int]] = {}
        self._changes: dict[str, list[int]] = {}
        self._declares: dict[str, list[int]] = {}
        self._set: dict[str, list[tuple[Any, Any, int, int]]] = {}
        self._number(function.body)

    def _number(self, body: Any) -> None:
        """Number the nodes of a function; keep where names stand, and what sets them until where.

        What stands behind a statement in its block has the numbers between two.
        """
        numbers: dict[int, int] = {}
        twice: set[int] = set()
        for number, decl in enumerate(syntax.walk(body)):
            if id(decl) in numbers:
                twice.add(id(decl))  # one node in two places: where is it?
            numbers[id(decl)] = number
            if isinstance(decl, c_ast.ID):
                self._mentions.setdefault(decl.name, []).append(number)
            elif isinstance(decl, c_ast.Decl) and decl.name:
                self._declares.setdefault(decl.name, []).append(number)
            elif syntax.is_modification(decl):
                (base, *_) = syntax.modified_roots(decl)
                if isinstance(base, c_ast.ID):
                    self._changes.setdefault(base.name, []).append(number)
        for block in syntax.walk(body, c_ast.Compound):
            items = block.block_items or []
            if not any(_assignment_of(item)[0] for item in items) or twice & set(map(id, items)):
                continue
            last = numbers[id(items[-1])] + sum(1 for _ in syntax.walk(items[-1]))
            starts = [*(numbers[id(item)] for item in items[1:]), last]
            for item, start in zip(items, starts, strict=True):
                name, value = _assignment_of(item)
                if name is not None:
                    self._set.setdefault(name, []).append((item, value, start, last))

    def is_exact(self, name: str) -> bool:
        """Whether a name is one an integer (or of some) that does not wrap."""
        return self._is_among(name, _EXACT)

    def is_signed(self, name: str) -> bool:
        """Whether all that a name means are integers with the values of ``long``."""
        return self._is_among(name, _EXACT - {ScalarType.UNSIGNED_LONG})

    def is_int(self, name: str) -> bool:
        """Whether all that a name means are integers with the values of ``int``."""
        return self._is_among(name, _INT)

    def is_int_or_unsigned(self, name: str) -> bool:
        """Whether all that a name means are integers with the values of ``int`` or ``unsigned``."""
        return self._is_among(name, _INT | {ScalarType.UNSIGNED})

    def holds_exact_sums(self, name: str) -> bool:
        """Whether a name is one of an integer, which C does not convert after a sum."""
        return self._type(name) in (ScalarType.INT, ScalarType.LONG)

    def can_hold(self, name: str, value: Any) -> bool:
        """Whether a variable surely holds what an expression computes."""
        return self._holds(self._type(name), value)

    def has_type_of(self, name: str, other: str) -> bool:
        """Whether a name is one of integers of the same type as another."""
        return self._type(name) is not None and self._type(name) == self._type(other)

    def type_name(self, name: str) -> str:
        """Return a type for a variable with the values of another one."""
        if self.is_int(name):
            return "int"
        return "long" if self.is_signed(name) else "size_t"

    def declaration(self, name: str) -> Any:
        """Return the only declaration of a name, None where there are more or none."""
        result = self._declared.get(name, [])
        return result[0] if len(result) == 1 else None

    def definition(self, node: Any) -> Any:
        """Return the expression that a name or a call stands for, None for others.

        An element of memory has a name so, and keeps it.
        """
        match node:
            case c_ast.ID(name=name):
                value = self.only_value(name)
                return None if value is None or syntax.reads_elements(value) else value
            case c_ast.FuncCall(name=c_ast.ID(name=name)) if name in self._functions:
                return self._returned(node, self._functions[name])
        return None

    def assignment(self, name: str) -> Any:
        """Return the statement that gives a variable its only value, None where there are more."""
        statements = self._set.get(name, ())
        return statements[0][0] if len(statements) == 1 else None

    def only_value(self, name: str) -> Any:
        """Return what a variable stands for, None if that is not one expression."""
        if name not in self._values:
            self._values[name] = self._value_anew(name)
        return self._values[name]

    def _is_among(self, name: str, types: Collection[ScalarType | None]) -> bool:
        """Whether all that a name means have one of some types."""
        return bool(self._types_of(name)) and self._types_of(name) <= set(types)

    def _type(self, name: str) -> ScalarType | None:
        """Return the type of a variable or of an array's elements, None where it is not sure."""
        types = self._types_of(name)
        return next(iter(types)) if len(types) == 1 else None

    def _types_of(self, name: str) -> frozenset[ScalarType | None]:
        """Return the types of all that a name means."""
        if name not in self._types:
            kinds = [syntax.array_type(decl.type)[1] for decl in self._declared.get(name, ())]
            self._types[name] = frozenset(map(self._scalar, kinds))
        return self._types[name]

    def _scalar(self, kind: Any) -> ScalarType | None:
        try:
            return self._declarations.scalar(kind, kind, "")
        except SourceError:
            return None

    def _holds(self, scalar: ScalarType | None, value: Any) -> bool:
        """Whether a variable of a type surely holds what an expression computes."""
        kinds = set(map(self._type, syntax.names_in(value)))
        if syntax.acts(value):
            return False
        if scalar in (ScalarType.LONG, ScalarType.UNSIGNED_LONG):
            return kinds <= _EXACT
        return scalar is ScalarType.INT and kinds <= _INT and not syntax.contains(value, c_ast.Cast)

    def _value_anew(self, name: str) -> Any:
        """Return what a variable stands for."""
        if len(self._set.get(name, ())) != 1 or self.declaration(name) is None:
            return None
        ((item, value, start, end),) = self._set[name]
        own = 0 if isinstance(item, c_ast.Decl) else 1
        mentions = self._mentions.get(name, [])
        if len(self._changes.get(name, [])) != own:
            return None
        if len(mentions) != _count_between(mentions, start, end) + own:
            return None
        if not isinstance(self._declared[name][0].type, c_ast.TypeDecl):
            return None
        stays = not any(
            _count_between(places.get(other, []), start, end)
            for other in syntax.names_in(value)
            for places in (self._changes, self._declares)
        )
        stays &= not any(map(self._may_differ, (item, *syntax.walk(value, c_ast.ID))))
        return value if stays and self._holds(self._type(name), value) else None

    def _may_differ(self, node: Any) -> bool:
        """Whether the variable that a node means may change behind it by its address or a call."""
        mention = syntax.target_of(node) if syntax.is_modification(node) else node
        symbol = self._names.symbol_of(mention)
        return symbol is not None and self._names.may_differ(symbol, mention)

    def _returned(self, call: Any, function: Any) -> Any:
        """Return what a function of integers returns, with the arguments in it."""
        items = syntax.statements_of(function.body)
        if len(items) != 1 or not isinstance(items[0], c_ast.Return):
            return None
        given, operands = function.decl.type.args, syntax.operands_of(call)
        arguments = [decl for decl in (given.params if given else ()) if hasattr(decl, "name")]
        values: dict[str, Any] = {}
        for argument, operand in zip(arguments, operands, strict=False):
            if not self._holds(self._scalar(argument.type), operand):
                return None
            values[argument.name] = operand
        expression = items[0].expr
        kinds = {self._scalar(argument.type) for argument in arguments}
        whole = self._scalar(function.decl.type.type)
        is_wide = whole in (ScalarType.LONG, ScalarType.UNSIGNED_LONG)
        is_same = whole is ScalarType.INT and kinds <= _INT
        if len(values) != len(operands) or not syntax.names_in(expression) <= set(values):
            return None
        if not (is_wide or is_same) or not kinds <= _EXACT:
            return None
        if syntax.contains(expression, c_ast.Cast, c_ast.FuncCall):
            return None
        return syntax.copy_tree(expression, substitution(values))


def _assignment_of(item: Any) -> tuple[str | None, Any]:
    """Return the variable that a statement sets, and what to; None for other statements."""
    match item:
        case c_ast.Decl(init=init) if init is not None and not isinstance(init, c_ast.InitList):
            is_static = bool(set(item.storage) & {"static", "extern"})
            return (None if is_static else item.name), init
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name)):
            return name, item.rvalue
        case _:
            return None, None


def _count_between(places: list[int], start: int, end: int) -> int:
    """Return how many places, in their order, are between two."""
    return bisect_left(places, end) - bisect_left(places, start)
