"""isl text at given parameter values: sizes of arrays, and whether values are admissible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import islpy as isl

from polygym.compiler.ir.scop import Scop
from polygym.compiler.ir.types import ScalarType
from polygym.compiler.poly.isl_numbers import coordinates, highest, length, lowest

_Points = TypeVar("_Points", isl.Set, isl.Map)


def evaluate(extent: str, parameters: Mapping[str, int]) -> int:
    """Return the value of a function of the parameters.

    >>> evaluate("[n] -> { [(2 + n)] }", {"n": 5})
    7
    """
    point = fixed(isl.Set.from_pw_aff(isl.PwAff(extent)), parameters).sample_point()
    return coordinates(point)[0]


def longest_sum(scop: Scop, parameters: Mapping[str, int], kept: ScalarType | None = None) -> int:
    """Return how many terms an element may get from one statement, as a bound.

    Those are the iterations of the loops on which the written element does not depend. With
    ``kept`` only arrays of that type count.
    """
    longest = 1
    for statement in scop.statements:
        if not statement.own_reads:
            continue
        if kept not in (None, scop.array(statement.write.array).type):
            continue
        write = isl.Map(statement.write.relation)
        domain = fixed(isl.Set(statement.domain), parameters)
        if domain.is_empty():
            continue
        terms = 1
        for place in range(statement.depth):
            if not write.involves_dims(isl.dim_type.in_, place, 1):
                terms *= length(domain, place)
        longest = max(longest, terms)
    return longest


def admits(context: str, parameters: Mapping[str, int]) -> bool:
    """Whether a set of parameter values holds these; names that it does not mention are free.

    >>> admits("[n] -> { : n >= 2 }", {"n": 1})
    False
    """
    return not fixed(isl.Set(context), parameters).is_empty()


def admitted_near(
    context: str, given: Mapping[str, int], wanted: Mapping[str, int]
) -> dict[str, int]:
    """Return values that a set of parameter values holds beside given ones, near the wanted.

    One after the other is as large as it can be, but not above the wanted; where it must be above,
    as small as it can be. Where the set holds none, they are what was wanted.

    >>> admitted_near("[n, k] -> { : 2k < n and k > 0 }", {"n": 16}, {"k": 16})
    {'k': 7}
    >>> admitted_near("[n, k] -> { : n > 20 and k > n }", {}, {"n": 16, "k": 16})
    {'n': 21, 'k': 22}
    >>> admitted_near("[n, k] -> { : 2k < n and k > 0 }", {"n": 1}, {"k": 16})
    {'k': 16}
    """
    left = fixed(isl.Set(context), given)
    found = {}
    for name, most in wanted.items():
        found[name] = most
        position = left.find_dim_by_name(isl.dim_type.param, name)
        if position < 0:
            continue
        value = left.move_dims(isl.dim_type.set, 0, isl.dim_type.param, position, 1)
        values = value.project_out(isl.dim_type.param, 0, value.dim(isl.dim_type.param))
        if values.is_empty():
            return dict(wanted)
        below = values.upper_bound_val(isl.dim_type.set, 0, isl.Val(most))
        found[name] = lowest(values, 0) if below.is_empty() else highest(below, 0)
        left = fixed(left, {name: found[name]})
    return found


def fixed(values: _Points, parameters: Mapping[str, int]) -> _Points:
    """Return a set or a map at these values of its parameters; others stay free."""
    for name, value in parameters.items():
        position = values.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            values = values.fix_val(isl.dim_type.param, position, isl.Val(value))
    return values
