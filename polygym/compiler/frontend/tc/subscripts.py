"""Subscripts: affine ones, and those that are computed when the program runs.

A subscript that reads a tensor, as I(i) + 1 does in X(I(i) + 1, j), is a *gather*. It may be any
integer; that it names an element is checked when it does. It says nothing of the ranges of indices:
those of i come from I, where it is a subscript itself. What the access may read is all of X along
that dimension, { [i, j] -> [g, j] : 0 <= g < M }.
"""

from __future__ import annotations

import islpy as isl

from polygym.compiler.frontend.tc.affine import Affine, Condition, quasi_affine
from polygym.compiler.frontend.tc.environment import Environment
from polygym.compiler.frontend.tc.printer import text_of
from polygym.compiler.frontend.tc.ranges import Scope
from polygym.compiler.frontend.tc.resolve import names_in
from polygym.compiler.frontend.tc.syntax import Element, Expression, Name
from polygym.compiler.frontend.tc.tensors import Tensor
from polygym.compiler.frontend.tc.types import named, settled, type_of
from polygym.errors import Place, SourceError

# Sets with tens of different divisors take isl minutes.
_MOST_QUOTIENTS = 4


def subscripts(
    element: Element, scope: Scope, environment: Environment
) -> tuple[Affine | None, ...]:
    """Return the subscripts of an element, None for those that are computed.

    Raises:
        SourceError: there are too many or too few, one is neither affine nor reads a tensor, or
            is no integer.
    """
    check_rank(element, environment.tensors[element.name])
    return tuple(_subscript(one, element, scope, environment) for one in element.arguments)


def check_rank(use: Name | Element, tensor: Tensor) -> None:
    """Refuse too many or too few subscripts."""
    count = len(use.arguments) if isinstance(use, Element) else 0
    if tensor.rank != count:
        raise SourceError(
            use.place,
            f"{use.name} has {tensor.rank} dimension(s) and is used with {count} subscript(s)",
        )


def _subscript(
    argument: Expression, element: Element, scope: Scope, environment: Environment
) -> Affine | None:
    read = [one for one in names_in(argument) if one.name in environment.tensors]
    if read:
        found = settled(type_of(argument, environment))
        if not found.is_integer:
            raise SourceError(
                read[0].place,
                f"the subscript {text_of(argument)} of {element.name} is {named(found)}: expected "
                "an integer",
                f"convert it: int({text_of(argument)})",
            )
        return None
    value = quasi_affine(argument, frozenset(scope.isl_names))
    if value is None:
        raise SourceError(
            element.place,
            f"the subscript {text_of(argument)} of {element.name} is not affine",
            "subscripts are sums of indices and sizes with whole coefficients, of quotients and "
            "remainders of these by positive numbers, or read a tensor",
        )
    check_quotient_count(value, text_of(argument), element.name, element.place)
    return value


def check_quotient_count(value: Affine, text: str, tensor: str, place: Place) -> None:
    """Refuse a subscript with too many quotients and remainders."""
    if len(value.quotients) > _MOST_QUOTIENTS:
        raise SourceError(
            place,
            f"the subscript {text} of {tensor}: expected at most {_MOST_QUOTIENTS} quotients and "
            "remainders in it",
        )


def gathered(values: tuple[Affine | None, ...]) -> tuple[int, ...]:
    """Return the dimensions whose subscripts are computed."""
    return tuple(place for place, value in enumerate(values) if value is None)


def access_map(
    scope: Scope,
    instances: str,
    target: str,
    values: tuple[Affine | None, ...],
    valid: tuple[isl.Set, ...],
    condition: Condition,
) -> isl.Map:
    """Return the elements that instances read, or may read where subscripts are computed.

    ``instances`` and ``target`` are the names of the two tuples and the members of the first,
    ``S0[i, j]`` and ``X``; ``valid`` holds the values that each subscript may have.
    """
    texts = ", ".join("*" if value is None else value.text(scope.isl_names) for value in values)
    found = scope.sizes.map(f"{{ {instances} -> {target}[{texts}] : {condition.text} }}")
    for place in gathered(values):
        inside = found.get_space().range().universe_set()
        inside = inside.intersect(_along(inside, place, valid[place]))
        found = found.intersect_range(inside)
    return found


def _along(universe: isl.Set, place: int, valid: isl.Set) -> isl.Set:
    """Return the elements with one subscript valid."""
    rank = universe.dim(isl.dim_type.set)
    found = valid.insert_dims(isl.dim_type.set, 1, rank - place - 1)
    found = found.insert_dims(isl.dim_type.set, 0, place)
    name = universe.get_tuple_name()
    return found if name is None else found.set_tuple_name(name)
