"""Evolution of the variables that a loop carries from one iteration to the next.

The table of :mod:`polygym.frontend.c.scop.value_tracking`, computed: one walk through the body with
an unknown start value for every variable, and the start of iteration i from what that leaves. One
variable may need another's: of ``b = a; a = i;`` a is known first, then b.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import islpy as isl

from polygym.frontend.c.scop.loop_domains import AffineLoop
from polygym.frontend.c.sema.accesses import iterators_to_dimensions
from polygym.frontend.c.sema.affine_expressions import merge_pieces
from polygym.frontend.c.sema.bindings import Bindings, ExpressionEnvironment, LazyValue
from polygym.frontend.c.sema.integer_arithmetic import (
    constant_of_function,
    is_representable,
    values_of_type,
    wrapped_value,
)
from polygym.frontend.c.sema.symbols import Symbol
from polygym.ir.types import ScalarType

MAX_PIECES = 12
_MAX_ROUNDS = 4


class EffectTracker(Protocol):
    """The tracker that follows the values of variables through statements."""

    known: Mapping[Symbol, LazyValue]
    bindings: Bindings

    def apply_effect(self, node: Any, environment: ExpressionEnvironment) -> None:
        """Follow what a statement does."""


class ScalarEvolution:
    """Evolution of the variables that a loop carries from one iteration to the next."""

    def __init__(
        self,
        values: EffectTracker,
        node: Any,
        loop: AffineLoop,
        carried: Sequence[Symbol],
        before: Mapping[Symbol, LazyValue],
    ) -> None:
        self._values, self._node, self._loop = values, node, loop
        self._carried, self._before = carried, before
        self._starts: dict[Symbol, Any] | None = None
        self._leaves: dict[Symbol, Any] = {}
        self._unknown = {s: f"{values.bindings.name(s)}_before" for s in carried}

    def start(self, symbol: Symbol) -> Any:
        """Return the value at the start of an iteration, None if it is not known."""
        return self._solved().get(symbol)

    def end(self, symbol: Symbol) -> Any:
        """Return the value behind the loop, None if it is not known."""
        start, last = self._solved().get(symbol), exit_value(self._loop)
        if start is None or last is None:
            return None
        # What would be the start of the iteration at which the loop stops.
        return within_piece_limit(substitute_variable(start, self._loop.iterator.name, last))

    def _solved(self) -> dict[Symbol, Any]:
        """Return the values at the start of an iteration."""
        if self._starts is None:
            self._starts = {}
            self._leaves = self._walked()
            for _ in range(_MAX_ROUNDS):
                values = {s: self._one(s) for s in self._carried if s not in self._starts}
                new = {s: value for s, value in values.items() if value is not None}
                if not new:
                    break
                self._starts |= new
        return self._starts

    def _walked(self) -> dict[Symbol, Any]:
        """Return what one iteration leaves, in terms of what it finds."""
        values, bindings = self._values, self._values.bindings
        outside = values.known
        values.known = {
            s: v
            for s, v in self._before.items()
            if s not in self._carried and s is not self._loop.symbol
        } | {s: LazyValue(partial(bindings.variable, name)) for s, name in self._unknown.items()}
        body = self._loop.body_environment
        for symbol, name in self._unknown.items():
            kind = bindings.shape(symbol, symbol.declaration).type
            if kind not in (ScalarType.INT, ScalarType.LONG):
                body = body.restricted_to(values_of_type(name, kind, bindings.context))
        values.apply_effect(self._node.stmt, body)
        result = {s: values.known[s].compute() for s in self._carried if s in values.known}
        values.known = outside
        return result

    def _one(self, symbol: Symbol) -> Any:
        """Return the start value of one variable, None if it cannot be told now."""
        leaves = self._leaves.get(symbol)
        before = self._before.get(symbol)
        first: Any = before.compute() if before is not None else None
        if leaves is None:
            return None
        own = self._unknown[symbol]
        bindings, loop = self._values.bindings, self._loop
        difference = constant_of_function(leaves.sub(bindings.variable(own)).coalesce())
        if difference is not None:
            if first is None:
                return None
            count = bindings.variable(loop.iterator.name).sub(loop.first)
            count = count if loop.step > 0 else count.neg()
            count = count.scale_down_val(isl.Val(str(abs(loop.step)), bindings.context)).floor()
            return first.add(count.scale_val(difference))
        for other, name in self._unknown.items():
            if _mentions(leaves, name):
                if other is symbol or other not in (self._starts or {}):
                    return None
                leaves = substitute_variable(leaves, name, (self._starts or {})[other])
        counter = bindings.variable(loop.iterator.name)
        earlier = counter.add_constant_val(isl.Val(str(-loop.step), bindings.context))
        later = substitute_variable(leaves, loop.iterator.name, earlier)
        at_first = counter.eq_set(loop.first)
        later = later.intersect_domain(at_first.complement())
        if first is None:
            return within_piece_limit(later)  # not known for the first iteration
        return within_piece_limit(first.intersect_domain(at_first).union_add(later))


def exit_value(loop: AffineLoop) -> Any:
    """Return the value of a counter at which its loop stops."""
    name = loop.iterator.name
    stops = loop.candidate_values.subtract(loop.condition_values).coalesce()
    stops = iterators_to_dimensions(stops, (name,))
    if stops.is_empty():
        return None
    stop = stops.dim_min(0) if loop.step > 0 else stops.dim_max(0)
    value, kind = stop.from_range().coalesce(), loop.iterator.type
    is_wide = kind in (ScalarType.INT, ScalarType.LONG)
    if not is_wide and not is_representable(value, kind, value.domain()):
        value = wrapped_value(value, kind)
    return within_piece_limit(value)


def substitute_variable(value: Any, name: str, other: Any) -> Any:
    """Return a function with another function in the place of one of its variables."""
    if not _mentions(value, name):
        return value
    relation = isl.Map.from_pw_aff(value)
    index = relation.find_dim_by_name(isl.dim_type.param, name)
    relation = relation.move_dims(isl.dim_type.in_, 0, isl.dim_type.param, index, 1)
    result = isl.Map.from_pw_aff(other).apply_range(relation)
    return result.as_pw_multi_aff().get_pw_aff(0)


def _mentions(value: Any, name: str) -> bool:
    """Whether a function depends on one of its variables."""
    index = value.find_dim_by_name(isl.dim_type.param, name)
    return index >= 0 and bool(value.involves_dims(isl.dim_type.param, index, 1))


def within_piece_limit(value: Any) -> Any:
    """Return a function in few pieces, None if it has too many."""
    value = merge_pieces(value.coalesce())
    return value if value.n_piece() <= MAX_PIECES else None
