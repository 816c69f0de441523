"""Values of terms written to places of C: vectors, sums, scans, choices.

A place is an array that nothing has written to before, or an element of one. Sums of vectors are
added where they stand, without an array for each of their values. :mod:`polygym.terms.code.emitter`
has the other half: what an expression is, and what it needs computed first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from polygym.rewrite.term import Term, term
from polygym.terms.code import c_values
from polygym.terms.code.additive_uses import (
    Path,
    additive_uses,
    is_nothing,
    mentions_nothing,
)
from polygym.terms.code.function_writer import (
    StatementWriter,
    extents_of,
    is_all_numbers,
    load_value,
    loop_counter,
    parenthesize,
)
from polygym.terms.code.scalars import apply_operator
from polygym.terms.code.shapes import ShapeInference
from polygym.terms.code.sizes import Extent, linear_form, size_text, subtract
from polygym.terms.language.nodes import index_of, is_lam, term_facts
from polygym.terms.language.trampoline import Trampolined
from polygym.terms.language.types import FLOAT, TupleType
from polygym.terms.language.values import Closure, ValueScope


class ResultSlot:
    """A place that the first sum of an expression may use, since it is written only afterwards."""

    def __init__(self, place: c_values.CArray | None) -> None:
        """Offer a place."""
        self.place = place

    def taken(self) -> c_values.CArray | None:
        """Return the place, once."""
        array, self.place = self.place, None
        return array


class PlaceWriter(ABC):
    """Writes values to places; what values are, its subclass knows."""

    _text: StatementWriter
    _shapes: ShapeInference

    @abstractmethod
    def _value(
        self, node: Term, scope: ValueScope, slot: ResultSlot | None = None
    ) -> Trampolined[Any]: ...

    @abstractmethod
    def _scalar(
        self, node: Term, scope: ValueScope, slot: ResultSlot | None = None
    ) -> Trampolined[c_values.CScalar]: ...

    @abstractmethod
    def _applied(self, node: Term, scope: ValueScope) -> Trampolined[tuple[Term, ValueScope]]: ...

    @abstractmethod
    def _bound(self, value: Term, body: Term, scope: ValueScope) -> Trampolined[Any]: ...

    def _into(self, node: Term, scope: ValueScope, place: Any) -> Trampolined[None]:
        node = _without_renaming(node)
        head, children = node.head, node.children
        if head == "let" and _is_sum(children[0]) and additive_uses(node) is not None:
            self._text.clear(place)
            yield self._added(node, scope, place)
        elif head == "let":
            bound = yield self._bound(children[0], children[1], scope)
            yield self._into(children[1], (bound, scope), place)
        elif head == "apply":
            body, inner = yield self._applied(node, scope)
            yield self._into(body, inner, place)
        elif head == "if":
            yield self._choice_into(node, scope, place)
        elif head == "tuple":
            for child, part in zip(children, place, strict=True):
                yield self._into(child, scope, part)
        elif head in ("build", "constVec", "deltaVec"):
            yield self._vector_into(node, scope, place)
        elif head in ("sumbuild", "sum"):
            yield self._sum_into(node, scope, place)
        elif isinstance(place, c_values.CArray) and not place.extents:
            value = yield self._scalar(node, scope, ResultSlot(place))
            self._text.assign(place, value)
        elif head in ("add", "sub", "mul", "neg"):
            yield self._by_parts_into(node, scope, place)
        else:
            self._text.copy((yield self._value(node, scope)), place)

    def _choice_into(self, node: Term, scope: ValueScope, place: Any) -> Trampolined[None]:
        condition, first, second = node.children
        if isinstance(place, c_values.CArray) and not place.extents:
            self._text.assign(place, (yield self._scalar(node, scope, ResultSlot(place))))
            return None
        chosen = self._text.condition((yield self._scalar(condition, scope)))
        if chosen.known_value is not None:
            yield self._into(first if chosen.known_value else second, scope, place)
            return None
        yield self._arms(chosen, (first, second), lambda arm: self._into(arm, scope, place))

    def _arms(
        self,
        chosen: c_values.CScalar,
        arms: tuple[Term, Term],
        write: Callable[[Term], Trampolined[Any]],
    ) -> Trampolined[list[Any]]:
        """Write a choice between two arms; return what the writer of these returns."""
        results = []
        for arm, start, facts in zip(
            arms, (f"if {parenthesize(chosen.text)} {{", "} else {"), chosen.facts, strict=True
        ):
            self._text.line(start)
            with self._text.ranges.assuming(facts):
                results.append((yield write(arm)))
        if self._text.lines[-1] == "} else {":  # the second arm has nothing to write
            self._text.lines.pop()
        self._text.lines.append("}")
        return results

    def _vector_into(self, node: Term, scope: ValueScope, place: Any) -> Trampolined[None]:
        count = self._vector_size(node, scope, place)
        if node.head == "build":
            function = yield self._value(node.children[1], scope)
            if self._is_scan(function, count):
                yield self._scan_into(function, count, place)
                return None
            with self._text.loop(count) as counter:
                inner = (loop_counter(counter), function.scope)
                yield self._into(function.body, inner, c_values.element(place, counter))
            return None
        value = yield self._value(node.children[-1], scope)
        if isinstance(value, c_values.CScalar):
            value = self._text.make_simple(value, "value")
        if node.head == "constVec":
            with self._text.loop(count) as counter:
                self._text.copy(value, c_values.element(place, counter))
            return None
        where = yield self._scalar(node.children[1], scope)
        self._text.clear(place)
        if where.is_affine:
            self._text.copy(value, c_values.element(place, where.text))
            return None
        chosen = self._text.checked_subscript(where, count)
        with self._text.loop(count) as counter:
            self._text.line(f"if ({counter} == {chosen.text}) {{")
            self._text.copy(value, c_values.element(place, counter))
            self._text.lines.append("}")

    def _is_scan(self, function: Closure, count: Extent) -> bool:
        """Whether elements are the sums of the first i + c values of one function, c ≥ 0."""
        total = function.body
        if total.head != "sumbuild" or not is_lam(total.children[1]):
            return False
        if term_facts(total.children[1]).free & 1 or not self._text.ranges.at_least(count, 1):
            return False
        step = self._shapes.shape_of(total.children[0], (loop_counter("#"), function.scope))
        return step.form is not None and _steps_ahead(step.form) is not None

    def _scan_into(self, function: Closure, count: Extent, place: Any) -> Trampolined[None]:
        """Write sums of more and more values, each from the one before, in the same order."""
        total = function.body
        step = self._shapes.shape_of(total.children[0], (loop_counter("#"), function.scope))
        ahead = c_values.literal(_steps_ahead(step.form) or 0)
        yield self._into(total, (c_values.literal(0), function.scope), c_values.element(place, "0"))
        with self._text.loop(subtract(count, 1)) as counter:
            before = c_values.element(place, counter)
            after = c_values.element(place, f"{counter} + 1")
            self._text.copy(load_value(before), after)
            value = apply_operator("add", [loop_counter(counter), ahead])
            inner = (value, (loop_counter(counter), function.scope))
            yield self._added(total.children[1].children[0], inner, after)

    def _vector_size(self, node: Term, scope: ValueScope, place: Any) -> Extent:
        """Return the size of a vector that is written out, which is that of its place."""
        count = self._shapes.known(node.children[0], scope, node)
        if count != c_values.extent(place):
            raise self._shapes.error(
                node,
                f"a vector of {size_text(c_values.extent(place))} elements as in other places",
                size_text(count),
            )
        return count

    def _sum_into(self, node: Term, scope: ValueScope, place: Any) -> Trampolined[None]:
        """Add elements up; they are computed one by one, vectors into arrays of their own."""
        if node.head == "sum":
            vector = yield self._value(node.children[0], scope)
            count = c_values.extent(vector)
            self._expect_elements(node, count, is_number=False)
        else:
            function = yield self._value(node.children[1], scope)
            count = self._sum_count(node, node.children[0], scope, place)
        is_number = isinstance(place, c_values.CArray) and not place.extents
        if is_number:
            self._text.assign(place, c_values.literal(0.0 if place.kind == FLOAT else 0))
        else:
            self._text.clear(place)
        with self._text.loop(count) as counter:
            if node.head == "sum":
                self._text.add(place, load_value(c_values.element(vector, counter)))
            else:
                yield self._added(function.body, (loop_counter(counter), function.scope), place)

    def _added(self, node: Term, scope: ValueScope, place: Any) -> Trampolined[None]:
        """Add a value to what is at a place, without an array of its own where that can be."""
        if place is None or is_nothing(node):
            return None
        node = _without_renaming(node)
        head, children = node.head, node.children
        is_number = isinstance(place, c_values.CArray) and not place.extents
        if head == "let" and (uses := additive_uses(node)) is not None:
            parts = []
            for path in uses.paths:
                parts.append(None if path is None else (yield self._followed(path, scope, place)))
            is_tuple = isinstance(term_facts(children[0]).type, TupleType)
            yield self._added(children[0], scope, tuple(parts) if is_tuple else parts[0])
            yield self._added(uses.rest, scope, place)
        elif head == "let":
            bound = yield self._bound(children[0], children[1], scope)
            yield self._added(children[1], (bound, scope), place)
        elif head == "apply":
            body, inner = yield self._applied(node, scope)
            yield self._added(body, inner, place)
        elif head == "add" and (not is_number or mentions_nothing(node)):
            for child in children:
                yield self._added(child, scope, place)
        elif is_number:
            self._text.add(place, (yield self._scalar(node, scope)))
        elif head == "tuple":
            for child, part in zip(children, place, strict=True):
                yield self._added(child, scope, part)
        elif head == "if":
            chosen = self._text.condition((yield self._scalar(children[0], scope)))
            if chosen.known_value is not None:
                yield self._added(children[1 if chosen.known_value else 2], scope, place)
            else:
                arms = (children[1], children[2])
                yield self._arms(chosen, arms, lambda arm: self._added(arm, scope, place))
        elif head in ("build", "constVec", "deltaVec"):
            yield self._vector_added(node, scope, place)
        elif head == "sumbuild":
            count = self._sum_count(node, children[0], scope, place)
            function = yield self._value(children[1], scope)
            with self._text.loop(count) as counter:
                yield self._added(function.body, (loop_counter(counter), function.scope), place)
        else:
            self._text.add(place, load_value((yield self._value(node, scope))))

    def _followed(self, path: Path, scope: ValueScope, place: Any) -> Trampolined[Any]:
        """Return the part of a place that a path leads to."""
        for step in path:
            if isinstance(step, int):
                place = place[step]
                continue
            count = self._vector_size(step, scope, place)
            where = yield self._scalar(step.children[1], scope)
            if not where.is_affine:
                where = self._text.checked_subscript(where, count)
            place = c_values.element(place, where.text)
        return place

    def _vector_added(self, node: Term, scope: ValueScope, place: Any) -> Trampolined[None]:
        count = self._vector_size(node, scope, place)
        if node.head == "build":
            function = yield self._value(node.children[1], scope)
            with self._text.loop(count) as counter:
                inner = (loop_counter(counter), function.scope)
                yield self._added(function.body, inner, c_values.element(place, counter))
            return None
        value = node.children[-1]
        if _is_zero(value):
            return None
        if node.head == "deltaVec":
            its_place = yield self._followed((node,), scope, place)
            yield self._added(value, scope, its_place)
            return None
        made = yield self._value(value, scope)
        if isinstance(made, c_values.CScalar):
            made = self._text.make_simple(made, "value")
        with self._text.loop(count) as counter:
            self._text.add(c_values.element(place, counter), made)

    def _sum_count(self, node: Term, count: Term, scope: ValueScope, place: Any) -> Extent:
        """Return how many values a sum has: vectors need one, as none have no size."""
        size = self._shapes.known(count, scope, node)
        self._expect_elements(node, size, is_number=is_all_numbers(place))
        return size

    def _expect_elements(self, node: Term, count: Extent, *, is_number: bool) -> None:
        if is_number or self._text.ranges.at_least(count, 1):
            return
        actual = "none" if count == 0 else f"{size_text(count)} of them, which may be none"
        raise self._shapes.error(node, "elements to add", actual)

    def _by_parts_into(self, node: Term, scope: ValueScope, place: Any) -> Trampolined[None]:
        values = []
        for child in node.children:
            value = yield self._value(child, scope)
            values.append(
                self._text.make_simple(value, "factor")
                if isinstance(value, c_values.CScalar)
                else value
            )
        sizes = [extents_of(value) for value in values if not isinstance(value, c_values.CScalar)]
        if any(size != sizes[0] for size in sizes):
            texts = [", ".join(" by ".join(map(size_text, its)) for its in size) for size in sizes]
            raise self._shapes.error(node, "vectors of one size", " and ".join(texts))
        self._text.combine(str(node.head), place, *values)


def _is_sum(value: Term) -> bool:
    """Whether a value is a sum of vectors, to which zeros are written first in any case."""
    while value.head == "let":
        value = value.children[1]
    return value.head == "sumbuild"


def _without_renaming(node: Term) -> Term:
    """Return a of ``(let (x a) x)``, and of ``(let (x a) (tuple (select 0 x) …))`` with all parts.

    Other terms are returned as they are.
    """
    while node.head == "let":
        value, body = node.children
        whole, kind = body, term_facts(value).type
        if body.head == "tuple" and isinstance(kind, TupleType):
            whole = body.children[0].children[-1] if body.children[0].children else body
            parts = [term("select", term(at), whole) for at in range(len(kind.parts))]
            whole = whole if parts == list(body.children) else body
        if index_of(whole) != 0 or whole.children:
            return node
        node = value
    return node


def _steps_ahead(size: Extent) -> int | None:
    """Return c of a size # + c, # being a counter, None of any other."""
    rest = subtract(size, linear_form("#"))
    return rest if isinstance(rest, int) and rest >= 0 else None


def _is_zero(value: Term) -> bool:
    """Whether a value is 0.0, or vectors of it."""
    while value.head == "constVec":
        value = value.children[-1]
    return not value.children and value.head == 0.0 and isinstance(value.head, float)
