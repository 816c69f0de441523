"""``for`` headers to isl: the exact set of values that a loop's counter takes.

For ``for (i = L; C; i += s)`` the body runs for ``i = L + s k``, ``k = 0, 1, …`` as long as C has
held every time so far. In sets, with s > 0 (a downward loop is its mirror image)::

    reached = { i : i >= L and (i - L) mod s = 0 }
    stops   = reached - C
    values  = reached ∩ C - { i : i >= i' for some i' in stops }

When C is made of comparisons that bound the counter on the right side (``i < n && i <= m``), no
value after a stop satisfies C again and the last line is ``reached ∩ C``. In general it is not:
``for (i = 0; i != n; i++)`` with n < 0 counts away from n and never ends, so the set is unbounded
and the loop is refused, unless an ``assert(n >= 0)`` says that this cannot be.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import islpy as isl
from pycparser import c_ast

from polygym.errors import SourceError, UnknownValueError
from polygym.frontend.c.sema.accesses import iterators_to_dimensions
from polygym.frontend.c.sema.affine import AffineReader
from polygym.frontend.c.sema.affine_expressions import nonnegative_set
from polygym.frontend.c.sema.bindings import (
    Bindings,
    ExpressionEnvironment,
    LazyValue,
    LoopIterator,
)
from polygym.frontend.c.sema.integer_arithmetic import constant_on_domain, is_representable
from polygym.frontend.c.sema.symbols import Symbol
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.syntax import MIRRORED, walk
from polygym.ir.types import ScalarType
from polygym.poly.isl_values import to_int

# The cost of the polyhedral model grows exponentially with the depth.
_MAX_NEST_DEPTH = 24


@dataclass(frozen=True, slots=True)
class AffineLoop:
    """A loop's counter, the environment of its body, and how it counts.

    ``candidate_values`` are the values that the counter would take if the condition always held,
    from ``first`` in steps of ``step``; ``condition_values`` those for which it does.
    """

    iterator: LoopIterator
    symbol: Symbol
    body_environment: ExpressionEnvironment
    first: Any
    step: int
    candidate_values: Any
    condition_values: Any

    @property
    def is_increasing(self) -> bool:
        """Whether the counter grows."""
        return self.step > 0


class LoopValueProvider(Protocol):
    """The tracker of what variables hold when an iteration of a loop starts."""

    def loop_carried(self, node: Any) -> Collection[Symbol]:
        """Return the variables that the body of a loop changes."""

    def iteration_start(self, node: Any, loop: AffineLoop) -> Mapping[Symbol, LazyValue]:
        """Return what is known when an iteration starts; ``loop`` lacks its condition."""


def read_loop(
    node: Any,
    environment: ExpressionEnvironment,
    bindings: Bindings,
    affine: AffineReader,
    values: LoopValueProvider,
) -> AffineLoop:
    """Read the header of a ``for`` statement."""
    source = bindings.source
    symbol, first_node, target = _start(node, bindings)
    if symbol in environment.iterators:
        raise source.error(target, f"{symbol.name} counts a surrounding loop already")
    if len(environment.iterators) >= _MAX_NEST_DEPTH:
        raise source.error(node, f"more than {_MAX_NEST_DEPTH} loops stand inside each other")
    shape = bindings.shape(symbol, target)
    if shape.sizes or shape.is_pointer or not shape.type.is_integer:
        raise source.error(
            target, f"a loop's counter must be an integer; {symbol.name} is {shape.type.value}"
        )
    role = environment.with_role("a loop bound")
    value = affine.expression(first_node, role)
    first = affine.converted_on_assignment(value, first_node, shape.type, environment)
    step = _step(node, symbol, environment, bindings, affine)
    others = tuple(iterator.name for iterator in environment.iterators.values())
    iterator = LoopIterator(bindings.counter_name(symbol.name, others), shape.type)
    counter = bindings.variable(iterator.name)
    reached = nonnegative_set(counter.sub(first) if step > 0 else first.sub(counter))
    if abs(step) > 1:
        distance = counter.sub(first).mod_val(isl.Val(str(abs(step)), bindings.context))
        reached = reached.intersect(distance.eq_set(distance.scale_val(0)))
    inner = replace(
        environment,
        domain=environment.domain.intersect(reached),
        iterators={**environment.iterators, symbol: iterator},
        role="a loop bound",
        cache={},
    )
    if node.cond is None:
        raise source.error(node, "a loop without a condition does not end")
    carried = values.loop_carried(node)
    if carried:
        body = replace(inner, role=environment.role, cache={})
        unbounded = AffineLoop(iterator, symbol, body, first, step, inner.domain, inner.domain)
        inner = replace(inner, known_values=values.iteration_start(node, unbounded), cache={})
    holds = affine.condition(node.cond, inner)
    counted = inner.domain.intersect(holds)
    asked = map(bindings.names.symbol_of, walk(node.cond, c_ast.ID))
    is_wide = shape.type in (ScalarType.INT, ScalarType.LONG)
    cannot_wrap = is_wide or is_representable(counter, shape.type, inner.domain)
    is_plain = cannot_wrap and not any(symbol in carried for symbol in asked)
    if not is_plain or not _bounds_counter(node.cond, symbol, step > 0, bindings):
        counted = _until_first_stop(inner.domain, holds, iterator.name, step > 0)
        counted = _within_typical_sizes(counted, bindings, (iterator.name,))
        if not iterators_to_dimensions(counted, (iterator.name,)).is_bounded():
            raise source.error(
                node.cond,
                "the loop does not end for some values of the parameters",
                "write the condition with < or >, or state before the region what is known of "
                "the bounds, as in assert(n >= 0);",
            )
    body = replace(inner, domain=counted.coalesce(), role=environment.role, cache={})
    return AffineLoop(iterator, symbol, body, first, step, inner.domain, holds)


def _start(node: Any, bindings: Bindings) -> tuple[Symbol, Any, Any]:
    """Read ``i = e`` or ``int i = e``: the counter, e, and the node that names the counter."""
    source = bindings.source
    init = node.init
    match init:
        case c_ast.Assignment(op="=") if isinstance(init.lvalue, c_ast.ID):
            target, first = init.lvalue, init.rvalue
        case c_ast.DeclList() if len(init.decls) == 1 and init.decls[0].init is not None:
            target, first = init.decls[0], init.decls[0].init
        case c_ast.ExprList() | c_ast.DeclList():
            second = (init.children() or [("", node)])[-1][1]
            raise source.error(second, "a loop that starts several counters is not supported")
        case _:
            raise source.error(init or node, "a loop must start with 'i = …' or 'int i = …'")
    if isinstance(first, c_ast.Assignment):
        raise source.error(first, "chained assignments are not supported")
    symbol = bindings.names.symbol_of(target)
    if symbol is None:
        raise source.error(target, f"{target.name} is not declared")
    return symbol, first, target


def _step(
    node: Any,
    symbol: Symbol,
    environment: ExpressionEnvironment,
    bindings: Bindings,
    affine: AffineReader,
) -> int:
    """Read the last part of a header as a constant other than zero."""
    source = bindings.source
    step = node.next

    def is_counter(part: Any) -> bool:
        """Whether a node is the counter's name."""
        return isinstance(part, c_ast.ID) and bindings.names.symbol_of(part) is symbol

    amount: Any = None
    sign = 1
    match step:
        case None:
            raise source.error(node, "a loop that does not change its counter is not supported")
        case c_ast.UnaryOp(op="++" | "p++") if is_counter(step.expr):
            return 1
        case c_ast.UnaryOp(op="--" | "p--") if is_counter(step.expr):
            return -1
        case c_ast.Assignment(op="+=" | "-=") if is_counter(step.lvalue):
            amount, sign = step.rvalue, 1 if step.op == "+=" else -1
        case c_ast.Assignment(op="=") if is_counter(step.lvalue):
            match step.rvalue:
                case c_ast.BinaryOp(op="+", left=left, right=right) if is_counter(left):
                    amount = right
                case c_ast.BinaryOp(op="+", left=left, right=right) if is_counter(right):
                    amount = left
                case c_ast.BinaryOp(op="-", left=left, right=right) if is_counter(left):
                    amount, sign = right, -1
    if amount is None:
        raise source.error(
            step,
            f"this change of {symbol.name} is not supported",
            f"a loop may step by {symbol.name}++, {symbol.name}--, or a constant",
        )
    size = affine.expression(amount, environment.with_role("a loop's step"))
    value = constant_on_domain(size, environment.domain)
    if value is None:
        raise _unknown_step_error(amount, symbol.name, source)
    if value.is_zero():
        raise source.error(amount, "a loop's step must not be zero")
    return sign * to_int(value)


def _unknown_step_error(amount: Any, counter: str, source: SourceMap) -> SourceError:
    """Return the refusal of a step that is no number."""
    names = tuple(dict.fromkeys(name.name for name in walk(amount, c_ast.ID)))
    first = names[0] if names else "step"
    return UnknownValueError(
        source.location(amount),
        "a loop's step must be a number",
        f"give its value, -p {first}=4, or state it before the region, assert({first} == 4); for "
        f"any positive step, let {counter} count by 1 from its first value f, and ask inside: if "
        f"(({counter} - f) % step == 0) …",
        names,
    )


def _bounds_counter(node: Any, symbol: Symbol, is_increasing: bool, bindings: Bindings) -> bool:
    """Whether a condition is a conjunction of bounds that end a loop in this direction."""
    if not isinstance(node, c_ast.BinaryOp):
        return False
    if node.op == "&&":
        sides = (node.left, node.right)
        return all(_bounds_counter(side, symbol, is_increasing, bindings) for side in sides)

    def mentions(part: Any) -> bool:
        """Whether the counter stands somewhere in a node."""
        return any(bindings.names.symbol_of(name) is symbol for name in walk(part, c_ast.ID))

    if node.op not in MIRRORED or mentions(node.left) == mentions(node.right):
        return False
    is_left = mentions(node.left)
    if not isinstance(node.left if is_left else node.right, c_ast.ID):
        return False
    operator = node.op if is_left else MIRRORED[node.op]
    return operator in (("<", "<=") if is_increasing else (">", ">="))


def _within_typical_sizes(counted: Any, bindings: Bindings, counters: tuple[str, ...]) -> Any:
    """Return the values of a counter for parameters that are not too large for their types.

    A counter that has wrapped around is larger. That is no condition on the program: it is left
    out again.
    """
    limits = bindings.within_typical_sizes(counted)
    if limits.plain_is_universe():
        return counted
    within = counted.intersect(limits).coalesce()
    short = within.gist(limits).gist(limits).coalesce()  # twice: the first finds the divisions
    return short if iterators_to_dimensions(short, counters).is_bounded() else within


def _until_first_stop(reached: Any, holds: Any, name: str, is_increasing: bool) -> Any:
    """Return the values of a counter before the first one at which its condition fails."""
    stops = reached.subtract(holds)
    order = ">=" if is_increasing else "<="
    later = isl.Map.read_from_str(reached.get_ctx(), f"{{ [a] -> [b] : b {order} a }}")
    after = iterators_to_dimensions(stops, (name,)).apply(later)
    values = iterators_to_dimensions(reached.intersect(holds), (name,)).subtract(after)
    values = values.set_dim_name(isl.dim_type.set, 0, name)
    count = values.dim(isl.dim_type.param)
    return values.move_dims(isl.dim_type.param, count, isl.dim_type.set, 0, 1)


def refuse_counter_assignment(
    symbol: Symbol, node: Any, environment: ExpressionEnvironment, bindings: Bindings
) -> None:
    """Refuse an assignment to a loop's counter."""
    if symbol in environment.iterators:
        raise bindings.source.error(
            node, f"the loop's counter {symbol.name} is changed inside the loop"
        )
