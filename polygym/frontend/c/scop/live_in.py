"""Values that come into the region from the function around it, by code that polygym does not run.

A region is run by itself: its arguments and globals are given, its constants known,
and its local variables start with nothing. A
local variable that other code fills, and that the region reads before it writes it, is an input
like an argument::

    double w = 2 * alpha;                      w = 2 * alpha;
    #pragma scop                               #pragma scop
    A[i] = A[i] * w;      an input             w = 1; A[i] = A[i] * w;      a local variable

A ``static`` one has what the call before has left: it is an input wherever that is read, and only
then, or where code around the region mentions it, does somebody see what the region leaves in it.

Which reads see a value from outside is asked exactly: those instances and elements for which the
dataflow analysis finds no earlier write in the region.

The constants that variables have when the region starts: their initialisers, evaluated.

A variable keeps its initialiser's value until the region if nothing in between can change it: a
local one that is neither assigned nor handed out by its address, or one at file scope that is const
or that nothing writes (:mod:`~polygym.frontend.c.source.unwritten_statics`). A local one that is
``static`` has it in the first call alone, unless nothing in the function changes it. The
value of an array is the list of all its elements, row by row, as C reads the braces: an inner list
fills one row, numbers without inner braces go on where they are, and zeros fill what is left::

    int w[2][3] = {{1}, 2, 3};        1 0 0  2 3 0
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import islpy as isl
from pycparser import c_ast

from polygym.frontend.c.scop.extraction import StatementDraft
from polygym.frontend.c.scop.violations import Extents
from polygym.frontend.c.sema.accesses import SourceAccess, access_relation
from polygym.frontend.c.sema.arithmetic import folded_constant
from polygym.frontend.c.sema.bindings import Bindings, ExpressionEnvironment
from polygym.frontend.c.sema.expressions import ExpressionReader
from polygym.frontend.c.sema.integer_arithmetic import constant_of_function as constant_size
from polygym.frontend.c.sema.symbols import DeclarationScope, ResolvedNames, Symbol
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.syntax import keeps_initializer
from polygym.ir.scop import Array, InitialValue, Scop, StorageClass
from polygym.ir.types import ScalarType
from polygym.poly.dependences import reads_without_source
from polygym.poly.isl_values import to_int

_MAX_VALUES = 1 << 16


def initial_constants_of(
    used_symbols: Sequence[Symbol],
    sizes: Mapping[Symbol, Extents],
    bindings: Bindings,
    expressions: ExpressionReader,
) -> dict[Symbol, InitialValue]:
    """Return the constants of the variables that have one.

    A local variable whose initialiser is not constant has none. A const one at file scope is
    refused then: it has a value that is the same in every run, and that would be lost.
    """
    values: dict[Symbol, InitialValue] = {}
    for symbol in used_symbols:
        if symbol in bindings.parameters or not _keeps_initializer(symbol, bindings.names):
            continue
        value = _value(symbol, sizes[symbol], bindings, expressions)
        if value is not None:
            values[symbol] = value
        elif "const" in symbol.declaration.quals and symbol.scope is DeclarationScope.FILE:
            raise bindings.source.error(
                symbol.initializer,
                f"{symbol.name} is const, and its value is not supported as a constant",
                f"write it with numbers, or make {symbol.name} an argument",
            )
    return values


def _keeps_initializer(symbol: Symbol, names: ResolvedNames) -> bool:
    """Whether the initialiser's value is still there when the region starts."""
    if names.is_static(symbol):
        return not names.assignments(symbol)  # zeros without one
    given = (DeclarationScope.REGION, DeclarationScope.ARGUMENT)
    if symbol.initializer is None or symbol.scope in given:
        return False
    if symbol.scope is DeclarationScope.FILE:
        return keeps_initializer(symbol.declaration)
    return not names.is_changed_before(symbol) and not (names.in_loop and names.assignments(symbol))


def _value(
    symbol: Symbol, extents: Extents, bindings: Bindings, expressions: ExpressionReader
) -> InitialValue | None:
    """Return the constant that a variable is initialised with."""
    shape = bindings.shape(symbol, symbol.declaration)
    constants = [constant_size(function) for function in extents.functions]
    if shape.is_pointer or any(constant is None for constant in constants):
        return None
    lengths = tuple(map(to_int, constants))
    initialiser = symbol.initializer
    if initialiser is None:
        zero = 0 if shape.type.is_integer else 0.0
        many = prod(lengths)
        return None if many > _MAX_VALUES else (zero,) * many if lengths else zero
    if lengths and not isinstance(initialiser, c_ast.InitList):
        return None
    if prod(lengths) > _MAX_VALUES:
        raise bindings.source.error(
            initialiser,
            f"{symbol.name} has more than {_MAX_VALUES} elements and an initialiser",
            "fill it by loops in the region",
        )
    nodes = _elements(deque([initialiser]), lengths, bindings.source)
    values = [_constant(node, shape.type, bindings, expressions) for node in nodes]
    known = tuple(value for value in values if value is not None)
    if len(known) < len(values):
        return None
    return known if lengths else known[0]


def _elements(items: deque[Any], lengths: tuple[int, ...], source: SourceMap) -> list[Any]:
    """Take what initialises an array of some lengths (or a scalar) off a list; None means zero."""
    if items and isinstance(items[0], c_ast.NamedInitializer):
        raise source.error(
            items[0].expr, "designated initialisers are not supported", "list all values in order"
        )
    if items and isinstance(items[0], c_ast.InitList):
        listed = items.popleft()
        inner = deque(listed.exprs)
        result = _rows(inner, lengths, source) if lengths else _elements(inner, (), source)
        if inner:
            raise source.error(
                inner[0], "this initialiser lists more values than there are elements"
            )
        return result
    if lengths:
        return _rows(items, lengths, source)
    return [items.popleft() if items else None]


def _rows(items: deque[Any], lengths: tuple[int, ...], source: SourceMap) -> list[Any]:
    """Take what initialises the rows of an array off a list."""
    return [node for _ in range(lengths[0]) for node in _elements(items, lengths[1:], source)]


def _constant(
    node: Any, scalar: ScalarType, bindings: Bindings, expressions: ExpressionReader
) -> int | float | None:
    """Return the constant value of an initialiser's expression; None if it is not constant."""
    if node is None:
        return 0 if scalar.is_integer else 0.0
    nowhere = ExpressionEnvironment(isl.Set.universe(isl.Space.set_alloc(bindings.context, 0, 0)))
    before = dict(bindings.parameters)
    value = bindings.read_if_possible(expressions.value, node, nowhere)
    bindings.parameters = before
    return None if value is None else folded_constant(value, scalar)


def live_in_variables(
    scop: Scop,
    drafts: Sequence[StatementDraft],
    source_accesses: Sequence[SourceAccess],
    symbols: Iterable[Symbol],
    sizes: Mapping[Symbol, Sequence[Any]],
    bindings: Bindings,
) -> tuple[Symbol, ...]:
    """Return the variables of the function whose values from outside the region sees.

    ``drafts`` are those of the finished statements, in their order; ``symbols`` the variables in
    memory that have no constant value when the region starts; ``sizes`` the sizes of arrays.
    """
    suspects = {symbol for symbol in symbols if _has_value_from_outside(symbol, bindings.names)}
    if not suspects:
        return ()
    accesses = _AccessRelations(scop, drafts, source_accesses, suspects, sizes, bindings.context)
    outside = accesses.reads_from_outside()
    result = [
        touch.symbol for touch, reads in accesses.reads if not reads.intersect(outside).is_empty()
    ]
    return tuple(dict.fromkeys(result))


def with_live_in(scop: Scop, names: Sequence[str]) -> Scop:
    """Return a Scop with some of its local variables as further arguments.

    A scalar is handed over by value, unless somebody sees what becomes of it.
    """
    arrays = tuple(
        replace(array, storage_class=_storage(array)) if array.name in names else array
        for array in scop.arrays
    )
    return replace(scop, arrays=arrays, signature=(*scop.signature, *names))


def without_dead_outputs(scop: Scop, names: Collection[str]) -> Scop:
    """Return a Scop whose last values of some variables are not observed."""
    arrays = (
        replace(array, live_out=array.live_out and array.name not in names) for array in scop.arrays
    )
    return replace(scop, arrays=tuple(arrays))


def _storage(array: Array) -> StorageClass:
    return StorageClass.ARGUMENT if array.rank or array.live_out else StorageClass.VALUE


def _has_value_from_outside(symbol: Symbol, names: ResolvedNames) -> bool:
    """Whether code around the region, or an earlier call, gives a local variable a value."""
    return symbol.scope is DeclarationScope.FUNCTION and (
        symbol.initializer is not None or names.is_changed_before(symbol) or names.is_static(symbol)
    )


class _AccessRelations:
    """The accesses to some variables, as isl relations restricted to what runs."""

    def __init__(
        self,
        scop: Scop,
        drafts: Sequence[StatementDraft],
        source_accesses: Sequence[SourceAccess],
        candidates: set[Symbol],
        sizes: Mapping[Symbol, Sequence[Any]],
        context: Any,
    ) -> None:
        """Collect reads, each with its touch, in the order of the text, and all writes."""
        parameters = isl.Set.read_from_str(context, scop.context)
        self.domain = isl.UnionSet.read_from_str(context, "{ }")
        self.writes = isl.UnionMap.read_from_str(context, "{ }")
        self.reads: list[tuple[SourceAccess, Any]] = []
        for statement, draft in zip(scop.statements, drafts, strict=True):
            instances = isl.Set.read_from_str(context, statement.domain)
            instances = instances.intersect_params(parameters)
            self.domain = self.domain.union(isl.UnionSet.from_set(instances))
            for index in draft.source_accesses:
                touch = source_accesses[index]
                if touch.symbol not in candidates:
                    continue
                relation = access_relation(
                    touch, statement.name, draft.environment.domain, context, sizes[touch.symbol]
                )
                accessed = isl.UnionMap.from_map(relation.intersect_domain(instances))
                if index == draft.source_accesses.start:
                    self.writes = self.writes.union(accessed)
                else:
                    self.reads.append((touch, accessed))
        self.order = isl.UnionMap.read_from_str(context, scop.schedule)

    def reads_from_outside(self) -> Any:
        """Return the pairs (instance, element) whose value no earlier instance has written."""
        every = isl.UnionMap.read_from_str(self.domain.get_ctx(), "{ }")
        for _, reads in self.reads:
            every = every.union(reads)
        order = self.order.intersect_domain(self.domain)
        return reads_without_source(every, self.writes, order)
