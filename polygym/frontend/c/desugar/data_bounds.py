"""Bounds of loops that are read from memory, where that can be exact.

What the region does not change is read once, in front of it
(:mod:`~polygym.frontend.c.desugar.memory_parameters`).
A bound that another iteration has otherwise, beside one that is affine, becomes a condition on
data: the affine one says how far the loop may run, and what is beyond the other does nothing::

    for (j = 0; j < m && j < n[i]; j++) …   →   for (j = 0; j < m; j++) if (j < n[i]) …

That is the same where the condition never holds again once it fails: it compares the counter alone
with what the body does not change, in the direction of the loop; and where nothing reads the
counter's value behind the loop. Where no bound is affine, or where the first value is read from
memory, the sizes of arrays say how far the loop may run
(:mod:`polygym.frontend.c.desugar.bounds_from_sizes`). Beside something unsigned a negative counter
is large: with j = -2, ``j < k[i]`` fails and holds from 0 on. So both sides are signed, or the
counter is never negative.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.desugar.bounds_from_sizes import CounterRange, counter_range
from polygym.frontend.c.desugar.memory_parameters import MemoryParameters, is_fixed
from polygym.frontend.c.source import syntax

_UPWARDS = {"<": ">", "<=": ">="}
_DOWNWARDS = {">": "<", ">=": "<="}
_SIGNED_TYPES = frozenset({"int", "long", "short", "signed", "float", "double"})


class DataBoundsRewriter:
    """Rewrites the loops of one region in plain form."""

    def __init__(
        self,
        function: Any,
        declared: Mapping[str, Any],
        parameters: MemoryParameters,
        array_sizes: Mapping[str, Sequence[Any]],
    ) -> None:
        """``declared`` are the variables outside the region.

        ``array_sizes`` are sizes of arrays that are declared without them.
        """
        self._function, self._given = function, array_sizes
        self._declared, self._parameters = declared, parameters
        self._changed: set[str] = set()
        self._inner: set[str] = set()
        self._data: set[str] = set()
        self._exposed: set[str] = set()

    def apply(self, items: list[Any]) -> list[Any]:
        """Return the region's statements with other bounds."""
        self._inner = syntax.declared_names(items)
        self._changed = _modified(items) | self._inner
        has_data_bounds = any(map(_reads_memory, syntax.walk(items, c_ast.For)))
        items = self._parameters.apply(items, self._changed)
        if not has_data_bounds:
            return items
        self._data = _data_dependent_names(items)
        self._exposed = syntax.names_read_outside_loops(self._function.body)
        return [syntax.copy_tree(item, self._loop) for item in items]

    def _loop(self, node: Any) -> Any:
        """Return a loop whose bounds on data are conditions of its body; None for other nodes."""
        if not isinstance(node, c_ast.For) or node.cond is None:
            return None
        counter, start = syntax.counter_of(node), syntax.start_of(node)
        if counter is None or start is None or _direction(node) is None:
            return None
        starts_on_data = self._is_data_dependent(start)
        asks_data = any(map(self._is_data_dependent, syntax.conjuncts(node.cond)))
        if not starts_on_data and not asks_data:
            return None
        changes = _modified(node.stmt) | syntax.declared_names(node.stmt)
        is_exposed = not isinstance(node.init, c_ast.DeclList) and counter in self._exposed
        if counter in changes or is_exposed:
            return None
        loop, asked = node, list[Any]()
        if starts_on_data:
            started = self._started(node, counter, start, changes)
            if started is None:
                return None
            loop, asked = started
        parts = list(syntax.conjuncts(loop.cond))
        ends = [part for part in parts if self._stays_false(part, loop, counter, changes)]
        rest = [part for part in parts if part not in ends]
        if not rest:
            rest = [end for end in (self._end(loop, counter),) if end is not None]
        if not (asked or ends) or not rest:
            return None
        body = syntax.copy_tree(loop.stmt, self._loop)
        inside = c_ast.If(syntax.conjunction([*asked, *ends]), body, None, loop.stmt.coord)
        return c_ast.For(loop.init, syntax.conjunction(rest), loop.next, inside, loop.coord)

    def _is_data_dependent(self, node: Any) -> bool:
        """Whether an expression reads an element, or a scalar that got its value from one."""
        return _reads_memory(node) or not syntax.names_in(node).isdisjoint(self._data)

    def _started(
        self, loop: Any, counter: str, start: Any, changes: Collection[str]
    ) -> tuple[Any, list[Any]] | None:
        """Return a loop that starts where an array does, and the condition for its first value."""
        span = self._span(loop, counter)
        if span is None or not _steps_by_one(loop.next) or not is_fixed(start, counter, changes):
            return None
        kind = _type_of(loop, counter, self._function, self._declared)
        if kind is None:
            return None
        upwards = _direction(loop) is _UPWARDS
        first = span.first_node(start) if upwards else span.last_node(start)
        init = syntax.copy_tree(loop.init)
        if isinstance(init, c_ast.DeclList):
            init.decls[0].init = first
        else:
            init.rvalue = first
        place = c_ast.ID(counter, start.coord)
        value = syntax.cast_node(start, kind, start)
        asked = c_ast.BinaryOp(">=" if upwards else "<=", place, value, start.coord)
        return c_ast.For(init, loop.cond, loop.next, loop.stmt, loop.coord), [asked]

    def _end(self, loop: Any, counter: str) -> Any:
        """Return the condition that ends a loop where an array does, None if none says where."""
        span = self._span(loop, counter)
        if span is None:
            return None
        place = c_ast.ID(counter, loop.cond.coord)
        if _direction(loop) is _UPWARDS:
            return c_ast.BinaryOp("<", place, span.end_node(loop.cond), loop.cond.coord)
        return c_ast.BinaryOp(">=", place, span.first_node(loop.cond), loop.cond.coord)

    def _span(self, loop: Any, counter: str) -> CounterRange | None:
        """Return what a loop's counter can be, by the arrays in its body."""

        def sizes(name: str) -> list[Any]:
            """Return the sizes of an array, as far as they are known."""
            if name in self._inner:
                return []
            declared, _ = syntax.array_type(getattr(self._declared.get(name), "type", None))
            return list(self._given.get(name, declared))

        bodies = self._bodies_that_matter(loop.stmt)
        ranges = (
            counter_range(counter, body, sizes, lambda name: name not in self._changed)
            for body in bodies
        )
        return next((span for span in ranges if span is not None), None)

    def _bodies_that_matter(self, body: Any) -> Iterator[Any]:
        """Yield a body, and what alone is in it: where that does not run, nothing else happens.

        So in ``for (j = 0; j < m; j++) c[i][j] += value[k] * b[column[k]][j];`` value[k] counts,
        though m may be 0.
        """
        while True:
            yield body
            match syntax.statements_of(body):
                case [c_ast.For() as inner] if syntax.counter_of(inner) not in self._exposed:
                    body = inner.stmt
                case [c_ast.If(iffalse=None) as inner] if not _modified(inner.cond):
                    body = inner.iftrue
                case _:
                    return

    def _stays_false(
        self, condition: Any, loop: Any, counter: str | None, changes: Collection[str]
    ) -> bool:
        """Whether a condition on data fails forever once it has failed."""
        mirrored = _direction(loop)
        if not isinstance(condition, c_ast.BinaryOp) or mirrored is None:
            return False

        def is_counter(part: Any) -> bool:
            return isinstance(part, c_ast.ID) and part.name == counter

        if is_counter(condition.left) and condition.op in mirrored:
            bound = condition.right
        elif is_counter(condition.right) and condition.op in mirrored.values():
            bound = condition.left
        else:
            return False
        if not self._is_data_dependent(bound) or not is_fixed(bound, counter, changes):
            return False
        return self._is_signed(bound) or self._is_never_negative(loop, counter)

    def _is_signed(self, bound: Any) -> bool:
        """Whether an expression surely has no unsigned type."""
        return all(
            (types := self._types(name)) and not any(map(_may_be_unsigned, types))
            for name in syntax.names_in(bound)
        ) and not any(
            isinstance(constant, c_ast.Cast | c_ast.StructRef)
            or (isinstance(constant, c_ast.UnaryOp) and constant.op == "sizeof")
            or (isinstance(constant, c_ast.Constant) and not constant.value.isdigit())
            for constant in syntax.walk(bound)
        )

    def _is_never_negative(self, loop: Any, counter: str | None) -> bool:
        """Whether a counter starts from, or stays above, a number that is not negative."""
        if _direction(loop) is _UPWARDS:
            return _is_nonnegative_literal(syntax.start_of(loop))
        return any(
            isinstance(binary_op, c_ast.BinaryOp)
            and binary_op.op in _DOWNWARDS
            and isinstance(binary_op.left, c_ast.ID)
            and binary_op.left.name == counter
            and _is_nonnegative_literal(binary_op.right)
            for binary_op in syntax.conjuncts(loop.cond)
        )

    def _types(self, name: str) -> list[Any]:
        """Return the types of all variables of a name."""
        own = [decl.type for decl in syntax.walk(self._function, c_ast.Decl) if decl.name == name]
        outside = self._declared.get(name)
        return own if outside is None else [*own, outside.type]


def _is_nonnegative_literal(node: Any) -> bool:
    """Whether a node is a number."""
    return isinstance(node, c_ast.Constant) and node.value.isdigit()


def _may_be_unsigned(kind: Any) -> bool:
    """Whether elements of a type may be unsigned."""
    words = getattr(getattr(syntax.array_type(kind)[1], "type", None), "names", ["unknown"])
    return not set(words) <= _SIGNED_TYPES


def _reads_memory(node: Any) -> bool:
    """Whether an expression, or a loop's header, reads an element."""
    if isinstance(node, c_ast.For):
        # What stands in it may have been read before.
        headers = [part for part in (node.init, node.next) if part is not None]
        return _reads_memory(headers) or (
            node.cond is not None and syntax.contains(node.cond, c_ast.ID)
        )
    return syntax.reads_elements(node)


def _modified(node: Any) -> set[str]:
    """Return the names that a statement, or several, change."""
    return syntax.names_in(list(syntax.modified_roots(node)))


def _data_dependent_names(items: list[Any]) -> set[str]:
    """Return the scalars that are assigned something that is read from memory."""
    result: set[str] = set()
    assigned = [
        (name, value)
        for node in syntax.walk(items, c_ast.Assignment, c_ast.Decl)
        for name, value in _assigned(node)
        if value is not None
    ]
    before = -1
    while len(result) > before:
        before = len(result)
        result |= {
            name
            for name, value in assigned
            if _reads_memory(value) or not syntax.names_in(value).isdisjoint(result)
        }
    return result


def _assigned(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield the scalar that a node assigns, and what."""
    if isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ID):
        yield node.lvalue.name, node.rvalue
    elif isinstance(node, c_ast.Decl) and node.name:
        yield node.name, node.init


def _steps_by_one(step: Any) -> bool:
    """Whether the size of a loop's step is 1."""
    return isinstance(step, c_ast.UnaryOp) or getattr(step.rvalue, "value", "") == "1"


def _type_of(loop: Any, counter: str, function: Any, declared: Mapping[str, Any]) -> Any:
    """Return the type of a loop's counter, None if its name has several."""
    if isinstance(loop.init, c_ast.DeclList):
        kind = loop.init.decls[0].type
    else:
        own = [decl for decl in syntax.walk(function, c_ast.Decl) if decl.name == counter]
        outside = [declared[counter]] if not own and counter in declared else []
        if len(decls := [*own, *outside]) != 1:
            return None
        kind = decls[0].type
    return kind if isinstance(kind, c_ast.TypeDecl) else None


def _direction(loop: Any) -> Mapping[str, str] | None:
    """Return the comparisons that end a loop in its direction, with those from the other side."""
    match loop.next:
        case c_ast.UnaryOp(op="++" | "p++") | c_ast.Assignment(op="+=", rvalue=c_ast.Constant()):
            return _UPWARDS
        case c_ast.UnaryOp(op="--" | "p--") | c_ast.Assignment(op="-=", rvalue=c_ast.Constant()):
            return _DOWNWARDS
        case _:
            return None
