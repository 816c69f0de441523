"""JSON types of values: texts such as ``string``, ``array of numbers``, ``object or null``."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Mapping
from dataclasses import is_dataclass
from enum import Enum
from fractions import Fraction
from numbers import Number
from pathlib import PurePath
from typing import Any, Union, get_args, get_origin

from docs.site.documents.values import UNKNOWN, Value

_PLURALS = {"any": "any values", "null": "nulls"}


def kind_of(value: Value) -> str:
    """Return the JSON type of a value."""
    text = _kind(value)
    return f"{text} or null" if value.is_nullable and "null" not in text else text


def kind_of_hint(hint: Any) -> str:
    """Return the JSON type of what a Python type becomes.

    >>> kind_of_hint(tuple[float, ...]), kind_of_hint(int | None), kind_of_hint(dict[str, int])
    ('array of numbers', 'integer or null', 'object of integers')
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is UNKNOWN or hint is Any:
        return "any"
    if hint is None or hint is type(None):
        return "null"
    if origin in (Union, types.UnionType):
        kinds = sorted(dict.fromkeys(map(kind_of_hint, arguments)), key=lambda kind: kind == "null")
        return "any" if "any" in kinds else " or ".join(kinds)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"object of {plural(kind_of_hint(arguments[-1]))}"
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return f"array of {plural(kind_of_hint(arguments[0]))}"
    return _kind_of_class(hint) if isinstance(hint, type) else "any"


def plural(kind: str) -> str:
    """Return the plural of a JSON type.

    >>> plural("number"), plural("array of numbers")
    ('numbers', 'arrays of numbers')
    """
    first, of, rest = kind.partition(" of ")
    return f"{_PLURALS.get(first, first + 's')}{of}{rest}" if " or " not in kind else f"({kind})"


def _kind(value: Value) -> str:
    if value.members is not None:
        return "object"
    if value.items is not None:
        holder = "object" if value.hint is dict else "array"
        items = kind_of(value.items)
        return holder if items == "any" else f"{holder} of {plural(items)}"
    if value.parts:
        return "array"
    return kind_of_hint(value.hint)


def _kind_of_class(hint: type) -> str:
    for base, kind in (
        (bool, "boolean"),
        (int, "integer"),
        (Fraction, "number"),
        (float, "number"),
        (Number, "number"),
        (str | PurePath | Enum, "string"),
    ):
        if issubclass(hint, base):
            return kind
    if issubclass(hint, Mapping) or is_dataclass(hint):
        return "object"
    return "array" if issubclass(hint, Collection) else "any"
