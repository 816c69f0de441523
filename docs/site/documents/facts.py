"""Facts about attributes: their types and meanings, from annotations and docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache, cached_property
from importlib import import_module
from itertools import pairwise
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

from docs.site.documents.values import UNKNOWN, Member, Value, constant

PACKAGES = ("polygym", "polybench", "agents")
"""Prefixes of the modules whose source is followed."""

_SAYS_NOTHING = re.compile(r"^plain data\b.*", re.IGNORECASE)
_IS_RETURN = re.compile(r"^(?:Return|Whether|Say) ")


def attribute(owner: Value, name: str) -> Value:
    """Return an attribute of a value."""
    if owner.known is not UNKNOWN and (found := getattr(owner.known, name, UNKNOWN)) is not UNKNOWN:
        return constant(found) if not callable(found) else Value(known=found, owner=owner)
    for kind in classes_of(owner.hint):
        if issubclass(kind, Enum) and name == "value":
            values = ", ".join(f"`{one.value}`" for one in kind)
            return Value(hint=type(next(iter(kind)).value), meaning=f"One of {values}.")
        if issubclass(kind, Enum) and name == "name":
            return Value(hint=str)
        hints = hints_of(kind)
        if name in hints:
            hint = get_args(hints[name])[0] if get_origin(hints[name]) is ClassVar else hints[name]
            return Value(hint=hint, meaning=member_meaning(kind, name))
        found = inspect.getattr_static(kind, name, UNKNOWN)
        if isinstance(found, property | cached_property):
            getter = found.fget if isinstance(found, property) else found.func
            return Value(hint=return_hint(getter), meaning=function_meaning(getter))
        if isinstance(found, staticmethod | classmethod):
            return Value(known=found.__func__, owner=Value(known=kind))
        if callable(found):
            return Value(known=found, owner=owner)
    return Value()


def classes_of(hint: Any) -> tuple[type, ...]:
    """Return the classes that a type stands for; None is left out."""
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(kind for one in get_args(hint) for kind in classes_of(one))
    origin = get_origin(hint)
    hint = origin if isinstance(origin, type) else hint
    return (hint,) if isinstance(hint, type) and hint is not type(None) else ()


def alternatives_of(value: Value) -> tuple[Value, ...]:
    """Return a value for each class that it may be of."""
    kinds = classes_of(value.hint)
    if len(kinds) < 2 or value.known is not UNKNOWN or value.members is not None:
        return (value,)
    return tuple(replace(value, hint=kind) for kind in kinds)


def dataclass_value(hint: Any) -> Value:
    """Return the document that ``asdict`` makes of a dataclass."""
    members = {}
    for kind in classes_of(hint):
        if not is_dataclass(kind):
            continue
        hints = hints_of(kind)
        for entry in fields(kind):
            of = hints.get(entry.name, UNKNOWN)
            value = dataclass_value(of) if _is_dataclass(of) else Value(hint=of)
            meaning = member_meaning(kind, entry.name)
            nullable = type(None) in get_args(of)
            members[entry.name] = Member(
                Value(value.hint, members=value.members, meaning=meaning, is_nullable=nullable)
            )
    return Value(members=members)


def return_hint(function: Any) -> Any:
    """Return the type of what a function returns."""
    return hints_of(inspect.unwrap(function)).get("return", UNKNOWN)


@cache
def hints_of(owner: Any) -> dict[str, Any]:
    """Return the type hints of a class or a function, as far as they can be evaluated."""
    try:
        return get_type_hints(owner)
    except (NameError, TypeError, AttributeError):
        return _hints_one_by_one(owner)


def _hints_one_by_one(owner: Any) -> dict[str, Any]:
    """Return the hints that can be evaluated, with the names that only type checkers import."""
    module = inspect.getmodule(owner)
    if module is None:
        return {}
    names = _NamesForTypes(_imports_for_types(module))
    owners = reversed(owner.__mro__) if isinstance(owner, type) else (owner,)
    hints = {}
    for one in owners:
        for name, text in getattr(one, "__annotations__", {}).items():
            with suppress(Exception):
                hints[name] = eval(text, vars(module), names) if isinstance(text, str) else text
    return hints


class _NamesForTypes(dict[str, Any]):
    """Names that a module imports for type checkers alone, imported when a hint has them."""

    def __init__(self, places: Mapping[str, tuple[str, str]]) -> None:
        super().__init__()
        self._places = places

    def __missing__(self, name: str) -> Any:
        module, original = self._places[name]
        return getattr(import_module(module), original)


@cache
def _imports_for_types(module: types.ModuleType) -> Mapping[str, tuple[str, str]]:
    """Return the modules, and the names there, of what a module imports for type checkers."""
    found = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for part in node.body:
                if isinstance(part, ast.ImportFrom) and str(part.module).startswith(PACKAGES):
                    for alias in part.names:
                        found[alias.asname or alias.name] = (str(part.module), alias.name)
    return found


def function_meaning(function: Any) -> str:
    """Return what a function returns, from the first sentence of its docstring."""
    document = inspect.getdoc(inspect.unwrap(function)) or ""
    first = " ".join(document.split("\n\n")[0].split())
    text = re.split(r"(?<=[.!?:;])\s", first)[0].rstrip(":;")
    text = _IS_RETURN.sub(lambda match: "Whether " if "Whether" in match[0] else "", text)
    text = _SAYS_NOTHING.sub("", text)
    return text[:1].upper() + text[1:]


def member_meaning(kind: type, name: str) -> str:
    """Return what is said of an attribute: below it, or by the sentence that names it."""
    for owner in kind.__mro__:
        if name not in vars(owner).get("__annotations__", {}):
            continue
        below = _texts_below_attributes(owner).get(name, "")
        return below or _sentence_naming(inspect.cleandoc(owner.__doc__ or ""), name)
    return ""


def _sentence_naming(document: str, name: str) -> str:
    """Return the part of a sentence that has the name in double backquotes.

    The first line of a docstring is about the whole.
    """
    _, _, body = document.partition("\n\n")
    for text in body.split("\n\n"):
        for sentence in re.split(r"(?<=[.!?;])\s+", " ".join(text.split())):
            if f"``{name}``" in sentence:
                return sentence.rstrip(";.") + "."
    return ""


@cache
def _texts_below_attributes(kind: type) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    return {
        before.target.id: " ".join(str(text.value.value).split())
        for before, text in pairwise(body)
        if isinstance(before, ast.AnnAssign)
        and isinstance(before.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _is_dataclass(hint: Any) -> bool:
    kinds = classes_of(hint)
    return len(kinds) == 1 and is_dataclass(kinds[0])
