"""Evaluation of expressions to static values: literals, attributes, calls, comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from docs.site.documents import facts
from docs.site.documents.calls import CallEvaluator, CallFunction
from docs.site.documents.values import (
    NOTHING,
    UNKNOWN,
    Alternatives,
    Member,
    Value,
    constant,
    either,
    item_of,
    known_tuple,
    merged,
    part_of,
)


class ExpressionEvaluator:
    """Evaluates expressions of one function: its globals, and the values of its names so far."""

    def __init__(
        self, names: dict[str, Value], module: Mapping[str, Any], call: CallFunction
    ) -> None:
        """Keep the names, which statements change."""
        self.names, self._module, self._call_function = names, module, call
        self._calls = CallEvaluator(self.value, call)

    def value(self, node: ast.expr | None) -> Value:
        """Return what is known of an expression."""
        match node:
            case None:
                return NOTHING
            case ast.Constant(value):
                return constant(value)
            case ast.Name(name):
                return self._name(name)
            case ast.Attribute(base, name):
                return facts.attribute(self.value(base), name)
            case ast.Dict():
                return self._dictionary(node)
            case ast.List(elements) | ast.Set(elements):
                return Value(hint=list, items=self._joined(elements)) if elements else NOTHING
            case ast.Tuple(elements):
                parts = tuple(map(self.value, elements))
                return Value(hint=tuple, parts=parts, known=known_tuple(parts))
            case ast.IfExp(_, body, orelse):
                return either(self.value(body), self.value(orelse))
            case ast.BoolOp(_, values):
                return self._joined(values)
            case ast.BinOp(left, operation, right):
                return self._operation(self.value(left), operation, self.value(right))
            case ast.Compare() | ast.UnaryOp(ast.Not()):
                return Value(hint=bool)
            case ast.UnaryOp(_, operand) | ast.Starred(operand) | ast.NamedExpr(_, operand):
                return replace(self.value(operand), known=UNKNOWN)
            case ast.JoinedStr():
                return Value(hint=str)
            case ast.Subscript(base, index):
                return self._subscript(self.value(base), self.value(index))
            case ast.ListComp(element, loops) | ast.GeneratorExp(element, loops):
                return self._list_comprehension(element, loops)
            case ast.DictComp():
                return self._dictionary_comprehension(node)
            case ast.Call(ast.Attribute(base, name), arguments, keywords):
                alternatives = Alternatives()
                for owner in facts.alternatives_of(self.value(base)):
                    method = facts.attribute(owner, name)
                    alternatives.add(self._calls.value(method, arguments, keywords))
                return alternatives.value
            case ast.Call(function, arguments, keywords):
                return self._calls.value(self.value(function), arguments, keywords)
            case _:
                return NOTHING

    def bind(self, target: ast.expr, value: Value) -> None:
        """Give names the value, or its parts."""
        match target:
            case ast.Name(name):
                self.names[name] = value
            case ast.Tuple(elements) | ast.List(elements):
                for place, element in enumerate(elements):
                    self.bind(element, part_of(value, place))
            case _:
                pass

    def _name(self, name: str) -> Value:
        if name in self.names:
            return self.names[name]
        found = self._module.get(name, getattr(self._module.get("__builtins__"), name, UNKNOWN))
        if found is UNKNOWN:
            builtins = self._module.get("__builtins__", {})
            found = builtins.get(name, UNKNOWN) if isinstance(builtins, dict) else UNKNOWN
        return NOTHING if found is UNKNOWN else constant(found)

    def _dictionary(self, node: ast.Dict) -> Value:
        document = Value(members={})
        for key, entry in zip(node.keys, node.values, strict=True):
            value = self.value(entry)
            if key is None:  # **entry
                document = merged(document, value) if value.members else document
                continue
            name = self.value(key).known
            if isinstance(name, str):
                document = document.with_member(name, Member(value))
            else:
                document = Value(hint=dict, items=value)
        return document

    def _joined(self, nodes: Iterable[ast.expr]) -> Value:
        alternatives = Alternatives()
        for node in nodes:
            value = self.value(node)
            alternatives.add(item_of(value) if isinstance(node, ast.Starred) else value)
        return alternatives.value

    def _operation(self, left: Value, operation: ast.operator, right: Value) -> Value:
        if isinstance(operation, ast.BitOr) and (left.members is not None or right.members):
            return merged(left, right)
        if isinstance(left.known, type) and isinstance(right.known, type | None):
            return Value(known=left.known | right.known)
        if str in (left.hint, right.hint):
            return Value(hint=str)
        if left.hint in (list, tuple):
            return replace(left, known=UNKNOWN)
        is_whole = {left.hint, right.hint} <= {int, bool} and not isinstance(operation, ast.Div)
        return Value(hint=int if is_whole else float)

    def _subscript(self, base: Value, index: Value) -> Value:
        if base.members is not None and index.known in base.members:
            return base.members[index.known].value
        if base.parts and isinstance(index.known, int):
            return part_of(base, index.known)
        return item_of(base)

    def _inside(self, loops: Iterable[ast.comprehension]) -> ExpressionEvaluator:
        """Return an evaluator in which the targets of a comprehension have their values."""
        inner = ExpressionEvaluator(dict(self.names), self._module, self._call_function)
        for loop in loops:
            inner.bind(loop.target, item_of(inner.value(loop.iter)))
        return inner

    def _list_comprehension(self, element: ast.expr, loops: list[ast.comprehension]) -> Value:
        known = [inner.value(element).known for inner in self._known_rounds(loops)]
        if known and UNKNOWN not in known:
            return Value(hint=list, items=Value(hint=type(known[0])), known=known)
        return Value(hint=list, items=self._inside(loops).value(element))

    def _dictionary_comprehension(self, node: ast.DictComp) -> Value:
        loop = node.generators[0]
        over = self.value(loop.iter)
        if over.members is not None and _is_name_of(node.key, loop.target):
            left_out = self._left_out(loop)
            kept = {name: one for name, one in over.members.items() if name not in left_out}
            return Value(members=kept)
        document = Value(members={})
        for inner in self._known_rounds(node.generators):
            name, value = inner.value(node.key).known, inner.value(node.value)
            if not isinstance(name, str):
                return Value(hint=dict, items=value)
            document = document.with_member(name, Member(value))
        if document.members:
            return document
        return Value(hint=dict, items=self._inside(node.generators).value(node.value))

    def _known_rounds(self, loops: list[ast.comprehension]) -> Iterator[ExpressionEvaluator]:
        """Yield an evaluator for each round of a loop over objects that are known."""
        over = self.value(loops[0].iter).known if len(loops) == 1 else ()
        left_out = self._left_out(loops[0])
        for one in over if isinstance(over, tuple | list) else ():
            inner = ExpressionEvaluator(dict(self.names), self._module, self._call_function)
            inner.bind(loops[0].target, constant(one))
            tested = [inner.value(test.left).known for test in _exclusions(loops[0])]
            if not any(known in left_out for known in tested):
                yield inner

    def _left_out(self, loop: ast.comprehension) -> tuple[str, ...]:
        """Return the names that the conditions of a loop leave out."""
        known = [self.value(test.comparators[0]).known for test in _exclusions(loop)]
        return tuple(
            name for names in known if isinstance(names, tuple | frozenset) for name in names
        )


def _exclusions(loop: ast.comprehension) -> list[ast.Compare]:
    """Return the conditions of a loop that something is not among others."""
    return [
        test
        for test in loop.ifs
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn)
    ]


def _is_name_of(key: ast.expr, target: ast.expr) -> bool:
    """Whether a key is the first name of the pairs that a comprehension goes through."""
    match key, target:
        case ast.Name(name), ast.Tuple([ast.Name(first), _]):
            return name == first
        case _:
            return False
