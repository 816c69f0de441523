"""Quotients and remainders in subscripts: they mean something where nothing negative is divided.

C rounds -1 / 2 towards zero, and -1 % 2 is -1; elsewhere it is downwards, and 1. So a statement is
taken only if that makes no difference: no dividend is negative where an element is read, and the
ranges of indices are the same by either rounding. Those of i in ``A((i - 1) / 2)`` are not: it
would begin at 0 or at 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import islpy as isl

from polygym.errors import SourceError
from polygym.frontend.tc.inference.ranges import (
    IndexScope,
    SubscriptConstraint,
    infer_index_ranges,
    instances_outside,
)
from polygym.frontend.tc.semantics.affine import Rounding


def check_quotients(
    scope: IndexScope,
    given: Mapping[str, isl.Set],
    said: Sequence[SubscriptConstraint],
    ranges: Mapping[str, isl.Set],
    context: isl.Set,
) -> None:
    """Refuse quotients of what may be negative.

    ``ranges`` were inferred with quotients that are rounded downwards, from what is ``given``;
    ``context`` are the sizes that are possible.
    """
    divided = [constraint for constraint in said if constraint.subscript.quotients]
    if not divided:
        return
    check_dividends(scope, divided, ranges, context)
    try:
        other = infer_index_ranges(
            scope,
            given,
            [replace(constraint, rounding=Rounding.TOWARDS_ZERO) for constraint in said],
        )
    except SourceError:
        raise _refusal(scope, divided[0]) from None
    for name, values in ranges.items():
        mine = values.intersect_params(context)
        if not mine.is_equal(other[name].intersect_params(context)):
            raise _refusal(
                scope, next((one for one in divided if name in one.subscript.names), divided[0])
            )


def check_dividends(
    scope: IndexScope,
    said: Sequence[SubscriptConstraint],
    ranges: Mapping[str, isl.Set],
    context: isl.Set,
) -> None:
    """Refuse subscripts in which something is divided that may be negative."""
    from_zero = scope.sizes.set("{ [x'] : x' >= 0 }")
    for constraint in said:
        for quotient in constraint.subscript.quotients:
            dividend = replace(constraint, subscript=quotient.dividend, valid_values=from_zero)
            mentioned = dividend.subscript.names | constraint.condition.names
            indices = [name for name in scope.indices if name in mentioned]
            negative = instances_outside(scope, indices, dividend, ranges)
            if not negative.intersect_params(context).is_empty():
                raise _refusal(scope, constraint)


def _refusal(scope: IndexScope, one: SubscriptConstraint) -> SourceError:
    index = next((name for name in scope.indices if name in one.subscript.names), "i")
    return SourceError(
        one.location,
        f"{one.required_text} of {one.text} divides what may be negative, where / and % may be "
        "rounded in two ways",
        f"add a multiple of the divisor, or say a range without that: where {index} in ...",
    )
