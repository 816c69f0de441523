"""Evaluation of functions to static values: their statements in order, and all that they return."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, get_args

from docs.site.documents import facts
from docs.site.documents.expressions import ExpressionEvaluator
from docs.site.documents.values import (
    NOTHING,
    Alternatives,
    Member,
    Value,
    constant,
    either,
    item_of,
    merged,
    optional,
    part_of,
)

_DEEPEST = 14


def returned_value(
    function: Any, bindings: Mapping[str, Value] | None = None, callers: tuple[Any, ...] = ()
) -> Value:
    """Return what a function returns, for values of its parameters as far as they are known.

    Of a function that calls itself, through ``callers``, nothing is known.
    """
    inner = inspect.unwrap(function)
    if inner in callers or len(callers) > _DEEPEST:
        return NOTHING
    body = _body_of(inner)
    hints = facts.hints_of(inner)
    names = {name: Value(hint=hint) for name, hint in hints.items() if name != "return"}
    if "self" not in names and (owner := _owner(inner)) is not None:
        names["self"] = Value(hint=owner)
    names |= bindings or {}
    return _FunctionBody(names, inner.__globals__, (*callers, inner)).result(body)


@cache
def _body_of(function: Any) -> tuple[ast.stmt, ...]:
    """Return the statements of a function, none where there is no source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError):
        return ()
    return tuple(tree.body) if isinstance(tree, ast.FunctionDef) else ()


def _owner(function: Any) -> type | None:
    """Return the class of a method."""
    name = function.__qualname__.rpartition(".")[0]
    found = function.__globals__.get(name)
    return found if isinstance(found, type) else None


class _FunctionBody:
    """The statements of a function, which change names and return values."""

    def __init__(
        self, names: dict[str, Value], module: Mapping[str, Any], callers: tuple[Any, ...]
    ) -> None:
        self._expressions = ExpressionEvaluator(
            names, module, lambda function, bound: returned_value(function, bound, callers)
        )
        self._returned = Alternatives()
        self._conditions = 0

    def result(self, body: Iterable[ast.stmt]) -> Value:
        """Return what the statements return."""
        self._run(body)
        return self._returned.value

    def _run(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        evaluate = self._expressions.value
        match statement:
            case ast.Return(value):
                self._returned.add(evaluate(value) if value is not None else NOTHING)
            case ast.Expr(ast.Yield(value)):
                self._returned.add(Value(hint=list, items=evaluate(value)))
            case ast.Assign(targets, value):
                for target in targets:
                    self._assign(target, evaluate(value))
            case ast.AnnAssign(target, _, value) if value is not None:
                self._assign(target, evaluate(value))
            case ast.AnnAssign(ast.Name(name), annotation, None):
                self._expressions.names[name] = Value(hint=evaluate(annotation).known)
            case ast.AugAssign(ast.Name(name), ast.BitOr(), value):
                added = evaluate(value)
                added = optional(added) if self._conditions else added
                self._expressions.names[name] = merged(self._name(name), added)
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "append"), [value])):
                known = self._name(name)
                item = either(item_of(known), evaluate(value))
                self._expressions.names[name] = Value(hint=list, items=item)
            case ast.If(_, body, orelse):
                self._branches(body, orelse)
            case ast.Match(subject, cases):
                self._match(subject, cases)
            case ast.For(target, over, body, orelse):
                self._expressions.bind(target, item_of(evaluate(over)))
                self._branches(body, orelse)
            case ast.With(items, body):
                for opened in items:
                    if opened.optional_vars is not None:
                        self._expressions.bind(opened.optional_vars, evaluate(opened.context_expr))
                self._run(body)
            case ast.Try(body, handlers, orelse, finalbody):
                self._run([*body, *orelse, *finalbody])
                for handler in handlers:
                    self._branches(handler.body, [])
            case ast.While(_, body, orelse):
                self._branches(body, orelse)
            case ast.ImportFrom(module, names, 0) if module is not None:
                self._import(module, names)
            case _:
                pass

    def _name(self, name: str) -> Value:
        return self._expressions.names.get(name, NOTHING)

    def _assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Subscript(ast.Name(name), index):
                key = self._expressions.value(index).known
                known = self._name(name)
                if isinstance(key, str) and known.items is None:
                    member = Member(value, is_optional=bool(self._conditions))
                    if known.members is not None and key in known.members:
                        before = known.members[key]
                        member = Member(either(before.value, value), before.is_optional)
                    self._expressions.names[name] = known.with_member(key, member)
                else:
                    self._expressions.names[name] = Value(hint=dict, items=value)
            case ast.Tuple(elements) | ast.List(elements):
                for place, element in enumerate(elements):
                    self._assign(element, part_of(value, place))
            case ast.Name(name) if self._conditions and not self._name(name).is_empty:
                self._expressions.names[name] = either(self._name(name), value)
            case _:
                self._expressions.bind(target, value)

    def _branches(self, *branches: Iterable[ast.stmt]) -> None:
        self._conditions += 1
        for branch in branches:
            self._run(branch)
        self._conditions -= 1

    def _match(self, subject: ast.expr, cases: Iterable[ast.match_case]) -> None:
        """Run the cases that the type of the subject allows, up to one that takes all of it."""
        known = self._expressions.value(subject)
        for case in cases:
            kinds = self._classes_of_pattern(case.pattern)
            if kinds and (known.is_null or not _are_related(known.hint, kinds)):
                continue
            is_all = bool(kinds) and case.guard is None and _is_covered(known.hint, kinds)
            if isinstance(subject, ast.Name):
                narrowed = replace(known, hint=kinds[0]) if kinds and not is_all else known
                self._expressions.names[subject.id] = narrowed
            self._branches(case.body)
            if is_all and not is_nullable(known):
                break
            known = constant(None) if is_all else known
        if isinstance(subject, ast.Name):
            self._expressions.names[subject.id] = known

    def _classes_of_pattern(self, pattern: ast.pattern) -> tuple[type, ...]:
        """Return the classes that a pattern names, none where it may match anything else."""
        match pattern:
            case ast.MatchClass(kind):
                known = self._expressions.value(kind).known
                return (known,) if isinstance(known, type) else ()
            case ast.MatchOr(patterns):
                found = [self._classes_of_pattern(one) for one in patterns]
                return tuple(kind for kinds in found for kind in kinds) if all(found) else ()
            case ast.MatchAs(inner, _) if inner is not None:
                return self._classes_of_pattern(inner)
            case _:
                return ()

    def _import(self, module: str, names: Iterable[ast.alias]) -> None:
        """Import names of the product's own modules."""
        for alias in names if module.startswith(facts.PACKAGES) else ():
            try:
                found = getattr(import_module(module), alias.name, None)
                found = import_module(f"{module}.{alias.name}") if found is None else found
            except ImportError:
                continue
            self._expressions.names[alias.asname or alias.name] = constant(found)


def _are_related(hint: Any, kinds: tuple[type, ...]) -> bool:
    """Whether a value of a type may be of one of the classes."""
    own = facts.classes_of(hint)
    return not own or any(
        issubclass(one, kind) or issubclass(kind, one) for one in own for kind in kinds
    )


def _is_covered(hint: Any, kinds: tuple[type, ...]) -> bool:
    """Whether every value of a type, but for None, is of one of the classes."""
    own = facts.classes_of(hint)
    return bool(own) and all(issubclass(one, kinds) for one in own)


def is_nullable(value: Value) -> bool:
    """Whether a value may be None."""
    return value.is_nullable or type(None) in get_args(value.hint)
