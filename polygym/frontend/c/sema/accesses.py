"""Array accesses: from ``A[i][j + 1]`` to the isl relation that says which element is touched.

An access is recorded as a :class:`SourceAccess` while the region is read, with its subscripts as
functions of parameters and iterators; its text is made when all parameters are known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl
from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polygym.errors import LimitError, SourceError
from polygym.frontend.c.sema.affine import AffineReader
from polygym.frontend.c.sema.bindings import (
    Bindings,
    ExpressionEnvironment,
    KnownValue,
    VariableBinding,
)
from polygym.frontend.c.sema.symbols import DeclarationScope, Symbol
from polygym.frontend.c.source.syntax import base_and_subscripts, is_zero
from polygym.ir.types import ScalarType


@dataclass(frozen=True, slots=True, eq=False)
class SourceAccess:
    """One access in one statement.

    ``subscripts`` are isl functions with the iterators as parameters, None for one that is computed
    when the program runs; ``domain`` the set (in the
    same manner) of parameter and iterator values for which the access may happen; ``iterators``
    the names among them, outermost first. Those of ``runtime_checked`` are affine and computed all
    the same, since they may leave the array: ``domain`` is then where they do not. ``environment``
    is where the access stands.
    """

    symbol: Symbol
    array: str
    type: ScalarType
    subscripts: tuple[Any, ...]
    domain: Any
    iterators: tuple[str, ...]
    text: str
    node: Any
    environment: ExpressionEnvironment
    runtime_checked: tuple[int, ...] = ()

    @property
    def computed_dimensions(self) -> tuple[int, ...]:
        """The dimensions whose subscripts are computed when the program runs."""
        return tuple(
            place
            for place, subscript in enumerate(self.subscripts)
            if subscript is None or place in self.runtime_checked
        )


def c_text(node: Any) -> str:
    """Return C text of a syntax tree."""
    return str(CGenerator(reduce_parentheses=True).visit(node))


def read_access(
    node: Any,
    environment: ExpressionEnvironment,
    bindings: Bindings,
    affine: AffineReader,
    computed: list[Any] | None = None,
) -> SourceAccess:
    """Read ``name``, ``name[e]…[e]`` or ``*name`` as an access to memory.

    Subscripts that are not affine are put into the list ``computed``; without one they are refused.
    """
    source = bindings.source
    base, subscripts = access_subscripts(node, bindings)
    binding = bindings.binding(base, environment, affine.expression)
    if isinstance(binding, KnownValue):
        binding = VariableBinding(binding.symbol, bindings.shape(binding.symbol, base))
    if not isinstance(binding, VariableBinding):
        raise source.error(base, f"{base.name} is not an array")
    shape = binding.shape
    _refuse_replaced(base, binding, bindings)
    if shape.is_pointer:
        if binding.symbol.scope is not DeclarationScope.ARGUMENT:
            raise source.error(base, *alias_message(base.name))
        _check_pointer(node, subscripts, base.name, bindings)
        subscripts = []
    elif isinstance(node, c_ast.UnaryOp):
        raise pointer_arithmetic_error(node, bindings)
    elif len(subscripts) != len(shape.sizes):
        count = f"{len(shape.sizes)} dimension{'s' if len(shape.sizes) != 1 else ''}"
        raise source.error(
            base, f"{base.name} has {count} and is used with {len(subscripts)} subscripts here"
        )
    inner = environment.with_role("a subscript")

    def function(subscript: Any) -> Any:
        """Return an affine subscript, None for one that is computed."""
        before = dict(bindings.parameters)
        try:
            return affine.expression(subscript, inner)
        except LimitError:
            raise
        except SourceError:
            if computed is None:
                raise
            bindings.parameters = before
            computed.append(subscript)
            return None

    return SourceAccess(
        symbol=binding.symbol,
        array=bindings.name(binding.symbol),
        type=shape.type,
        subscripts=tuple(function(subscript) for subscript in subscripts),
        domain=environment.domain,
        iterators=tuple(iterator.name for iterator in environment.iterators.values()),
        text=c_text(node),
        node=node,
        environment=environment,
    )


def alias_message(name: str) -> tuple[str, str]:
    """Return why a local pointer is refused, and what to write instead."""
    return (
        f"{name} is a pointer; it may alias an array",
        "let it point into one array alone, and step by ++, -- and sums, or write the array",
    )


def access_subscripts(node: Any, bindings: Bindings) -> tuple[Any, list[Any]]:
    """Return the name that an access begins with, and its subscripts; ``*name`` has the one 0."""
    base, own = base_and_subscripts(node)
    base, subscripts = base_and_subscripts(base) if isinstance(base, c_ast.ArrayRef) else (base, [])
    subscripts += own
    if not isinstance(base, c_ast.ID):
        raise pointer_arithmetic_error(node, bindings)
    return base, subscripts


def _refuse_replaced(node: Any, variable: VariableBinding, bindings: Bindings) -> None:
    """Refuse an array or pointer argument that the function sets to another address.

    An array argument is a pointer in C: after ``A = B;`` the two names are one array.
    """
    symbol, shape = variable.symbol, variable.shape
    replaced = bindings.names.replaced.get(symbol)
    if (
        symbol.scope is DeclarationScope.ARGUMENT
        and (shape.is_pointer or shape.sizes)
        and replaced is not None
    ):
        line = bindings.source.location(replaced).line
        raise bindings.source.error(
            node,
            f"{symbol.name} is a pointer whose value may change in line {line}; it may alias an "
            "array then",
        )


def pointer_arithmetic_error(node: Any, bindings: Bindings) -> SourceError:
    """Return the refusal of ``*(A + i)`` and of ``((int *)A)[i]``."""
    base, inside = node, {c_ast.ArrayRef: "name", c_ast.UnaryOp: "expr", c_ast.BinaryOp: "left"}
    while type(base) in inside:
        base = getattr(base, inside[type(base)])
    if isinstance(base, c_ast.Cast):
        return bindings.source.error(
            node, "aliasing through casts is refused: one element would have two names"
        )
    if isinstance(base, c_ast.CompoundLiteral):
        return bindings.source.error(
            node, "compound literals are not supported", "declare an array with these values"
        )
    return bindings.source.error(
        node, "pointer arithmetic is not supported", "write accesses as A[i][j]"
    )


def _check_pointer(node: Any, subscripts: list[Any], name: str, bindings: Bindings) -> None:
    """Accept ``*x`` and ``x[0]`` of a pointer: one element, which is all that surely exists."""
    if len(subscripts) != 1 or not is_zero(subscripts[0]):
        raise bindings.source.error(
            node,
            f"{name} is a pointer: the size of what it points to is not declared",
            f"declare the argument as an array with its size, as in double {name}[n]",
        )


def access_relation(
    access: SourceAccess, statement: str, instances: Any, context: Any, sizes: Sequence[Any] = ()
) -> Any:
    """Return the access as an isl map from the statement's instances to the array's elements.

    A computed subscript may be any within the array: ``sizes`` are its sizes.

    ``instances`` is the statement's own domain, in the manner of ``touch.domain``: only what an
    affine condition inside the statement adds to it is written into the map, so that most maps are
    as plain as ``{ S[i, j] -> A[i, j + 1] }``.
    """
    space = isl.Space.set_alloc(context, 0, 0)
    result = isl.Map.from_domain(isl.Set.universe(space))
    for place, subscript in enumerate(access.subscripts):
        if subscript is None:
            result = result.flat_range_product(_any_subscript(sizes[place], context))
        else:
            result = result.flat_range_product(isl.Map.from_pw_aff(subscript))
    if access.domain is not instances:
        result = result.intersect_domain(access.domain.gist(instances)).coalesce()
    result = map_from_dimensions(result, access.iterators)
    result = result.set_tuple_name(isl.dim_type.in_, statement)
    return result.set_tuple_name(isl.dim_type.out, access.array)


def _any_subscript(size: Any, context: Any) -> Any:
    """Return the map to all subscripts of a dimension of some size."""
    index = isl.Map.read_from_str(context, "{ [] -> [g] : g >= 0 }")
    below = isl.Map.read_from_str(context, "{ [s] -> [g] : g < s }")
    return isl.Map.from_pw_aff(size).apply_range(below).intersect(index)


def without_iterators(domain: Any, iterators: tuple[str, ...]) -> Any:
    """Return a set with the iterators, which are among its isl parameters, projected out."""
    for name in iterators:
        index = domain.find_dim_by_name(isl.dim_type.param, name)
        if index >= 0:
            domain = domain.project_out(isl.dim_type.param, index, 1)
    return domain


def iterators_to_dimensions(domain: Any, iterators: tuple[str, ...]) -> Any:
    """Turn the iterators among a set's isl parameters into its dimensions.

    ``[n, i] -> { [] : 0 <= i < n }`` becomes ``[n] -> { [i] : 0 <= i < n }``.
    """
    for position, name in enumerate(iterators):
        domain = _with_parameter(domain, name)
        index = domain.find_dim_by_name(isl.dim_type.param, name)
        domain = domain.move_dims(isl.dim_type.set, position, isl.dim_type.param, index, 1)
    return domain


def map_from_dimensions(result: Any, iterators: tuple[str, ...]) -> Any:
    """Turn the iterators among a map's isl parameters into its input dimensions."""
    for position, name in enumerate(iterators):
        result = _with_parameter(result, name)
        index = result.find_dim_by_name(isl.dim_type.param, name)
        result = result.move_dims(isl.dim_type.in_, position, isl.dim_type.param, index, 1)
    return result


def _with_parameter(thing: Any, name: str) -> Any:
    """Return a set or map that has an isl parameter of that name."""
    if thing.find_dim_by_name(isl.dim_type.param, name) >= 0:
        return thing
    count = thing.dim(isl.dim_type.param)
    return thing.add_dims(isl.dim_type.param, 1).set_dim_name(isl.dim_type.param, count, name)
