"""The constants that variables have when the region starts: their initialisers, evaluated.

A variable keeps its initialiser's value until the region if nothing in between can change it: a
local one that is neither assigned nor handed out by its address, or a const one at file scope. One
that is ``static`` has it in the first call alone, unless nothing in the function changes it. The
value of an array is the list of all its elements, row by row, as C reads the braces: an inner list
fills one row, numbers without inner braces go on where they are, and zeros fill what is left::

    int w[2][3] = {{1}, 2, 3};        1 0 0  2 3 0
"""

from collections import deque
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import islpy as isl
from pycparser import c_ast

from polygym.frontend.c.scop.bounds_check import Extents
from polygym.frontend.c.sema.arithmetic import folded_constant
from polygym.frontend.c.sema.bindings import Bindings, ExpressionEnvironment
from polygym.frontend.c.sema.division import constant_of_function as constant_size
from polygym.frontend.c.sema.expressions import ExpressionReader
from polygym.frontend.c.sema.symbols import DeclarationScope, ResolvedNames, Symbol
from polygym.frontend.c.source.locations import SourceMap
from polygym.ir.scop import InitialValue
from polygym.ir.types import ScalarType
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
        elif symbol.scope is DeclarationScope.FILE:
            raise bindings.source.error(
                symbol.initializer,
                f"{symbol.name} is const, and its value is not understood as a constant",
                f"write it with numbers, or make {symbol.name} an argument",
            )
    return values


def _keeps_initializer(symbol: Symbol, names: ResolvedNames) -> bool:
    """Whether the initialiser's value is still there when the region starts."""
    if names.is_static(symbol):
        return not names.assignments(symbol)  # zeros without one
    if symbol.initializer is None or symbol.scope in (
        DeclarationScope.REGION,
        DeclarationScope.ARGUMENT,
    ):
        return False
    if symbol.scope is DeclarationScope.FILE:
        return "const" in symbol.declaration.quals
    return not names.is_changed_before(symbol) and not (names.in_loop and names.assignments(symbol))


def _value(
    symbol: Symbol, extents: Extents, bindings: Bindings, expressions: ExpressionReader
) -> InitialValue | None:
    """Return the constant that a variable is initialised with."""
    shape = bindings.shape(symbol, symbol.declaration)
    found = [constant_size(function) for function in extents.functions]
    constants = [constant for constant in found if constant is not None]
    if shape.is_pointer or len(constants) < len(found):
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
            items[0].expr, "designated initialisers are not understood", "list all values in order"
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
