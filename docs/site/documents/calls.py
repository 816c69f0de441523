"""Evaluation of calls to static values: builtin functions, classes, functions of the product."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields, replace
from typing import Any, TypeAlias, TypeVar, get_args, get_origin

from docs.site.documents import facts
from docs.site.documents.values import NOTHING, UNKNOWN, Value, item_of, known_tuple, part_of

Evaluate: TypeAlias = Callable[[ast.expr], Value]
"""What evaluates an expression of the function in which the calls stand."""

CallFunction: TypeAlias = Callable[[Any, Mapping[str, Value]], Value]
"""What evaluates the body of a function for values of its parameters."""

_RESULTS: Mapping[Any, Any] = {
    str: str, repr: str, int: int, len: int, float: float, round: float, bool: bool, any: bool,
    all: bool, isinstance: bool, format: str,
}  # fmt: skip
_SAME_ITEMS = (list, tuple, sorted, reversed, set, frozenset, iter)


class CallEvaluator:
    """Evaluates calls, whose arguments are expressions of one function."""

    def __init__(self, evaluate: Evaluate, call_function: CallFunction) -> None:
        """Keep what evaluates arguments, and bodies of functions."""
        self._evaluate, self._call_function = evaluate, call_function

    def value(
        self, function: Value, arguments: list[ast.expr], keywords: list[ast.keyword]
    ) -> Value:
        """Return the result of a call."""
        known, first = function.known, self._evaluate(arguments[0]) if arguments else NOTHING
        if known is asdict:
            return facts.dataclass_value(first.hint)
        if known is fields:
            kinds = facts.classes_of(first.hint if first.known is UNKNOWN else first.known)
            return Value(known=fields(kinds[0])) if kinds else NOTHING
        if known is getattr and len(arguments) > 1:
            name = self._evaluate(arguments[1]).known
            return facts.attribute(first, name) if isinstance(name, str) else NOTHING
        if known is replace:
            return first
        if known is UNKNOWN:
            return NOTHING
        if known in _SAME_ITEMS:
            return Value(hint=list, items=item_of(first), parts=first.parts, known=first.known)
        if known is dict:
            return _as_object(first)
        if known in (min, max, sum, abs):
            hint = item_of(first).hint if len(arguments) == 1 and known is not abs else first.hint
            return Value(hint=int if hint is bool else hint)
        if known in (zip, enumerate, map, filter):
            return self._iteration(known, arguments)
        if isinstance(known, type):
            return self._instance(known, arguments, keywords)
        if known in _RESULTS:
            return Value(hint=_RESULTS[known])
        return self._called(function, arguments, keywords)

    def _iteration(self, function: Any, arguments: list[ast.expr]) -> Value:
        values = list(map(self._evaluate, arguments))
        if function is enumerate:
            parts: tuple[Value, ...] = (Value(hint=int), item_of(values[0]))
        elif function is zip:
            parts = tuple(map(item_of, values))
        elif function is map and values[0].known in _RESULTS:
            return Value(hint=list, items=Value(hint=_RESULTS[values[0].known]))
        else:
            return Value(hint=list, items=NOTHING)
        return Value(hint=list, items=Value(hint=tuple, parts=parts))

    def _instance(
        self, kind: type, arguments: list[ast.expr], keywords: list[ast.keyword]
    ) -> Value:
        if kind in _RESULTS:
            return Value(hint=_RESULTS[kind])
        if kind.__name__ == "CommandResult":
            named = {keyword.arg: keyword.value for keyword in keywords}
            given = arguments[1] if len(arguments) > 1 else named.get("document")
            return Value(hint=kind, document=self._evaluate(given) if given is not None else None)
        return Value(hint=kind)

    def _called(
        self, function: Value, arguments: list[ast.expr], keywords: list[ast.keyword]
    ) -> Value:
        inner = inspect.unwrap(function.known)
        is_own = inspect.isfunction(inner) and inner.__module__.startswith(facts.PACKAGES)
        if function.owner is not None and not is_own:
            return _method_of_builtin(function.owner, getattr(inner, "__name__", ""))
        if not is_own:
            return NOTHING
        hint = facts.return_hint(inner)
        meaning = facts.function_meaning(inner)
        if isinstance(hint, TypeVar):
            return self._of_function_argument(arguments)
        if not may_be_document(hint):
            return Value(hint=hint, meaning=meaning)
        bindings = self._bindings(inner, function.owner, arguments, keywords)
        result = self._call_function(inner, bindings)
        if result.is_empty:
            return Value(hint=hint, meaning=meaning)
        return replace(_filled(result, hint), meaning=result.meaning or meaning)

    def _of_function_argument(self, arguments: list[ast.expr]) -> Value:
        """Return what a function gives that is called by another one, which returns that."""
        bodies = [one.body for one in arguments if isinstance(one, ast.Lambda)]
        return self._evaluate(bodies[0]) if bodies else NOTHING

    def _bindings(
        self,
        function: Any,
        owner: Value | None,
        arguments: list[ast.expr],
        keywords: list[ast.keyword],
    ) -> dict[str, Value]:
        """Return the values of a function's parameters."""
        parameters = list(inspect.signature(function).parameters.values())
        given: list[Value] = []
        if owner is not None and parameters and parameters[0].name in ("self", "cls"):
            given.append(owner)
        for argument in arguments:
            value = self._evaluate(argument)
            given += value.parts if isinstance(argument, ast.Starred) and value.parts else [value]
        bound = _positional(parameters, given)
        bound |= {word.arg: self._evaluate(word.value) for word in keywords if word.arg is not None}
        hints = facts.hints_of(function)
        for parameter in parameters:
            known = bound.get(parameter.name, NOTHING)
            if known.is_empty and parameter.name in hints:
                bound[parameter.name] = Value(hint=hints[parameter.name])
        return bound


def may_be_document(hint: Any) -> bool:
    """Whether a function with this result may return a document, or the result of a command.

    >>> may_be_document(dict[str, Any]), may_be_document(list[int]), may_be_document(int | None)
    (True, False, False)
    """
    if hint is UNKNOWN or hint is Any or hint is object:
        return True
    if getattr(hint, "__name__", "") == "CommandResult":
        return True
    if get_origin(hint) in (list, tuple) or type(None) in get_args(hint):
        return any(may_be_document(one) for one in get_args(hint) if one not in (Any, Ellipsis))
    return get_origin(hint) is dict or hint is dict


def _filled(result: Value, hint: Any) -> Value:
    """Return a tuple in which the parts have their types where nothing more is known."""
    if not result.parts or get_origin(hint) is not tuple:
        return result
    hints = get_args(hint)
    parts = tuple(
        Value(hint=hints[place]) if part.is_empty and place < len(hints) else part
        for place, part in enumerate(result.parts)
    )
    return replace(result, parts=parts)


def _positional(parameters: Iterable[inspect.Parameter], given: list[Value]) -> dict[str, Value]:
    """Return the values of positional parameters; the last may take all that are left."""
    bound: dict[str, Value] = {}
    for place, parameter in enumerate(parameters):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            rest = tuple(given[place:])
            bound[parameter.name] = Value(hint=tuple, parts=rest, known=known_tuple(rest))
            break
        if place < len(given):
            bound[parameter.name] = given[place]
    return bound


def _method_of_builtin(owner: Value, name: str) -> Value:
    """Return the result of a method of a dictionary, a list or a text."""
    if owner.hint is str:
        return Value(hint=list, items=Value(hint=str)) if "split" in name else Value(hint=str)
    if name == "items" and owner.members is not None:
        return owner
    if name == "items":
        keys = get_args(owner.hint)
        first = Value(hint=keys[0]) if keys else NOTHING
        return Value(hint=list, items=Value(hint=tuple, parts=(first, item_of(owner))))
    if name in ("values", "get"):
        found = item_of(owner)
        return replace(found, is_nullable=True) if name == "get" else Value(hint=list, items=found)
    return NOTHING


def _as_object(value: Value) -> Value:
    """Return what ``dict`` makes of a mapping, or of pairs."""
    if value.members is not None:
        return value
    origin = get_origin(value.hint)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Value(hint=dict, items=item_of(value))
    pair = item_of(value)
    return Value(hint=dict, items=part_of(pair, 1))
