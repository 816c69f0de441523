"""Values: numbers, truth values, vectors as lists, tuples as tuples; and what is no value.

A :class:`EvaluationFailure` is what a term comes to that has no value: an element outside of a
vector, an Integer divided by 0, vectors of different sizes added, a sum of no vectors. Floats never
fail:
1 / 0 is infinite, the logarithm of -1 is not a number, as in IEEE 754. Nor do sums and products of
Integers: they have 64 bits, and behind the largest comes the least.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from polygym.errors import InputError
from polygym.pickling import pickle_by_name
from polygym.rewrite.term import Term
from polygym.terms.language.types import BOOL, FLOAT, BaseType, TupleType, Type, VectorType

Value: TypeAlias = Any
"""float, int, bool, list (a vector) or tuple, nested."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class EvaluationFailure:
    """That a term has no value, and why."""

    reason: str

    def __str__(self) -> str:
        """Return the reason."""
        return self.reason


ValueScope: TypeAlias = tuple[Any, Any] | None
"""The values of the binders around a term, the innermost first, as nested pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function: the body, and what its binders are where it stands."""

    body: Term
    scope: ValueScope = field(repr=False)


def look_up(scope: ValueScope, index: int) -> Any:
    """Return the value of the binder ``index`` steps out."""
    for _ in range(index):
        assert scope is not None
        scope = scope[1]
    assert scope is not None
    return scope[0]


def wrap_integer(value: int) -> int:
    """Return an Integer within 64 bits, where it goes on from the largest with the least."""
    return (value + 2**63) % 2**64 - 2**63


def convert_value(name: str, value: Any, kind: Type) -> Value:
    """Return what a user hands in for a name, as a value of a type; arrays are vectors.

    Raises:
        InputError: it is none.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    match kind:
        case VectorType(element) if isinstance(value, list | tuple):
            return [convert_value(name, item, element) for item in value]
        case TupleType(parts) if isinstance(value, list | tuple) and len(value) == len(parts):
            return tuple(
                convert_value(name, item, part) for item, part in zip(value, parts, strict=True)
            )
        case BaseType():
            if kind == BOOL and isinstance(value, bool):
                return value
            if not isinstance(value, bool):
                if kind == FLOAT and isinstance(value, int | float):
                    return float(value)
                if (
                    kind not in (FLOAT, BOOL)
                    and isinstance(value, int)
                    and -(2**63) <= value < 2**63
                ):
                    return value
    raise InputError(f"{name}: expected a value of type {kind}, found {value!r}")


def numbers_in(value: Value) -> Iterator[float]:
    """Yield the numbers and truth values that a value consists of."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list | tuple):
            stack.extend(reversed(item))
        else:
            yield item


def is_regular(value: Value) -> bool:
    """Whether a value is one, and all its numbers are finite."""
    if isinstance(value, EvaluationFailure):
        return False
    return all(
        not isinstance(number, float) or math.isfinite(number) for number in numbers_in(value)
    )


def is_close(one: Value, other: Value, tolerance: float = 1e-9) -> bool:
    """Whether two values are equal up to rounding, their numbers and their shapes.

    A float may differ by ``tolerance`` times the largest magnitude that there is in either.
    """
    mine, its = list(_leaves(one)), list(_leaves(other))
    if [type(left) for left in mine] != [type(right) for right in its]:
        return False
    floats = [abs(number) for number in (*mine, *its) if isinstance(number, float)]
    scale = max([1.0, *(number for number in floats if math.isfinite(number))])
    return all(
        _near(left, right, tolerance * scale) if isinstance(left, float) else left == right
        for left, right in zip(mine, its, strict=True)
    )


def _near(one: float, other: float, tolerance: float) -> bool:
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other or abs(one - other) <= tolerance


def _leaves(value: Value) -> Iterator[Any]:
    """Yield the numbers of a value, and words that say where lists and tuples begin and end."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list | tuple):
            yield f"{type(item).__name__} of {len(item)}"
            stack.extend(reversed(item))
        else:
            yield item


def zero_like(value: Value) -> Value:
    """Return a value of the same shape with 0 everywhere."""
    if isinstance(value, list):
        return [zero_like(item) for item in value]
    if isinstance(value, tuple):
        return tuple(zero_like(item) for item in value)
    return type(value)(0)
