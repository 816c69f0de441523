"""Subscripts: affine ones, and those that are computed when the program runs.

A subscript that reads a tensor, as I(i) + 1 does in X(I(i) + 1, j), is a *gather*. It may be any
integer; that it names an element is checked when it does. It says nothing of the ranges of indices:
those of i come from I, where it is a subscript itself. What the access may read is all of X along
that dimension, { [i, j] -> [g, j] : 0 <= g < M }.
"""

import islpy as isl

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.inference.ranges import IndexScope
from polygym.frontend.tc.semantics.affine import AffineExpression, IslCondition, quasi_affine_of
from polygym.frontend.tc.semantics.environment import NameEnvironment, TensorInfo
from polygym.frontend.tc.semantics.name_resolution import names_of_expression
from polygym.frontend.tc.semantics.types import default_type, type_of, type_text
from polygym.frontend.tc.syntax.printer import expression_text
from polygym.frontend.tc.syntax.tree import ElementOrCall, Expression, NameUse

# Sets with tens of different divisors take isl minutes.
_MOST_QUOTIENTS = 4


def affine_subscripts(
    element: ElementOrCall, scope: IndexScope, environment: NameEnvironment
) -> tuple[AffineExpression | None, ...]:
    """Return the subscripts of an element, None for those that are computed.

    Raises:
        SourceError: there are too many or too few, one is neither affine nor reads a tensor, or
            is no integer.
    """
    check_rank(element, environment.tensors[element.name])
    return tuple(
        _subscript(expression, element, scope, environment) for expression in element.arguments
    )


def check_rank(use: NameUse | ElementOrCall, tensor: TensorInfo) -> None:
    """Refuse too many or too few subscripts."""
    count = len(use.arguments) if isinstance(use, ElementOrCall) else 0
    if tensor.rank != count:
        raise SourceError(
            use.location,
            f"{use.name} has {tensor.rank} dimension(s) and is used with {count} subscript(s)",
        )


def _subscript(
    argument: Expression, element: ElementOrCall, scope: IndexScope, environment: NameEnvironment
) -> AffineExpression | None:
    read = [name for name in names_of_expression(argument) if name.name in environment.tensors]
    if read:
        scalar_type = default_type(type_of(argument, environment))
        if not scalar_type.is_integer:
            raise SourceError(
                read[0].location,
                f"the subscript {expression_text(argument)} of {element.name} is "
                f"{type_text(scalar_type)}: expected an integer",
                f"convert it: int({expression_text(argument)})",
            )
        return None
    value = quasi_affine_of(argument, frozenset(scope.isl_names))
    if value is None:
        raise SourceError(
            element.location,
            f"the subscript {expression_text(argument)} of {element.name} is not affine",
            "subscripts are sums of indices and sizes with whole coefficients, of quotients and "
            "remainders of these by positive numbers, or read a tensor",
        )
    check_quotient_count(value, expression_text(argument), element.name, element.location)
    return value


def check_quotient_count(
    value: AffineExpression, text: str, tensor: str, place: SourceLocation
) -> None:
    """Refuse a subscript with too many quotients and remainders."""
    if len(value.quotients) > _MOST_QUOTIENTS:
        raise SourceError(
            place,
            f"the subscript {text} of {tensor}: expected at most {_MOST_QUOTIENTS} quotients and "
            "remainders in it",
        )


def gathered_dimensions(values: tuple[AffineExpression | None, ...]) -> tuple[int, ...]:
    """Return the dimensions whose subscripts are computed."""
    return tuple(place for place, value in enumerate(values) if value is None)


def access_map(
    scope: IndexScope,
    instances: str,
    target: str,
    values: tuple[AffineExpression | None, ...],
    valid: tuple[isl.Set, ...],
    condition: IslCondition,
) -> isl.Map:
    """Return the elements that instances read, or may read where subscripts are computed.

    ``instances`` and ``target`` are the names of the two tuples and the members of the first,
    ``S0[i, j]`` and ``X``; ``valid`` holds the values that each subscript may have.
    """
    texts = ", ".join("*" if value is None else value.text(scope.isl_names) for value in values)
    result = scope.sizes.map(f"{{ {instances} -> {target}[{texts}] : {condition.text} }}")
    for place in gathered_dimensions(values):
        inside = result.get_space().range().universe_set()
        inside = inside.intersect(_with_valid_subscript(inside, place, valid[place]))
        result = result.intersect_range(inside)
    return result


def _with_valid_subscript(universe: isl.Set, place: int, valid: isl.Set) -> isl.Set:
    """Return the elements with one subscript valid."""
    rank = universe.dim(isl.dim_type.set)
    result = valid.insert_dims(isl.dim_type.set, 1, rank - place - 1)
    result = result.insert_dims(isl.dim_type.set, 0, place)
    name = universe.get_tuple_name()
    return result if name is None else result.set_tuple_name(name)
