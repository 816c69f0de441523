"""Elements that a statement assigns: one for each index, or one for several of them.

``y(i / 2) +=! x(i)`` adds two elements of x to each of y, ``y(2 * i) = x(i)`` leaves gaps, and in
``O(i + k) +=! I(i) * K(k)`` several combinations of i and k meet. A reduction means the same
whatever order they come in; a plain ``=`` would keep the last one, and is refused with two of them.
A tensor that is new is as large as the largest of its subscripts; what is assigned lies at 0 and
above, and elements that no index leads to are zero.

In-place updates: whether a statement may write the tensor that it reads.

A statement means: read the whole right side, then assign. Done element by element, in any order,
that comes to the same if no instance reads what another one writes. With R from instances to the
elements that they read, W to the element that they write, the pairs in conflict are

    { u -> w : R(u) = W(w) }  without  { u -> u }.

In ``a(i, j) = a(j, i)``, (0, 1) reads what (1, 0) writes; in ``a(i) = 2 * a(i)``, nobody reads what
another one writes; nor in ``a(i) = a(i + N) where i in 0:N``. A read whose subscript is computed
may be of any element: R is a relation then, and the same holds. The same holds for the reads of
``C(i) += C(i) * A(i, k)``: all k read the C(i) that each of them writes.

Quotients and remainders in subscripts: they mean something where nothing negative is divided.

C rounds -1 / 2 towards zero, and -1 % 2 is -1; elsewhere it is downwards, and 1. So a statement is
taken only if that makes no difference: no dividend is negative where an element is read, and the
ranges of indices are the same by either rounding. Those of i in ``A((i - 1) / 2)`` are not: it
would begin at 0 or at 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import islpy as isl

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.inference.ranges import (
    IndexScope,
    SubscriptConstraint,
    infer_index_ranges,
    instances_outside,
)
from polygym.frontend.tc.inference.subscripts import check_quotient_count
from polygym.frontend.tc.semantics import affine
from polygym.frontend.tc.semantics.name_resolution import ResolvedStatement, names_of_expression
from polygym.frontend.tc.syntax.printer import expression_text, target_text
from polygym.frontend.tc.syntax.tree import AssignKind, Expression, NameUse
from polygym.poly.isl_values import coordinates


def check_no_conflicts(
    instances: isl.Set,
    write: isl.Map,
    own: Sequence[tuple[isl.Map, str, SourceLocation]],
    indices: Sequence[str],
) -> None:
    """Refuse a statement of which some instance reads what another one writes.

    ``own`` are the reads of the tensor that is written, with their texts.

    Raises:
        SourceError: with two instances, as values of ``indices``, and the element.
    """
    write = write.intersect_domain(instances)
    for read, text, place in own:
        read = read.intersect_domain(instances)
        met = _two_at_one_element(read, write, len(indices))
        if met is None:
            continue
        reader, writer = met
        reads = "is read" if read.is_single_valued() else "may be read"
        raise SourceError(
            place,
            f"{text} {reads} where {_instance_text(indices, reader)} and written where "
            f"{_instance_text(indices, writer)}: all is read before anything is assigned, which "
            "cannot be done in place",
            "assign to another tensor",
        )


def check_single_assignment(
    instances: isl.Set, write: isl.Map, text: str, indices: Sequence[str], place: SourceLocation
) -> None:
    """Refuse an assignment of which two instances write one element.

    Raises:
        SourceError: with two instances, as values of ``indices``.
    """
    write = write.intersect_domain(instances)
    met = _two_at_one_element(write, write, len(indices))
    if met is None:
        return
    one, two = met
    raise SourceError(
        place,
        f"{text} is the same element where {_instance_text(indices, one)} and where "
        f"{_instance_text(indices, two)}: expected a reduction such as +=! or max=!, found =",
    )


def _two_at_one_element(
    first: isl.Map, second: isl.Map, count: int
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return two instances, of ``count`` indices each, that two accesses have at one element."""
    pairs = first.apply_range(second.reverse())
    others = pairs.subtract(isl.Map.identity(pairs.get_space()))
    if others.is_empty():
        return None
    values = _smallest(others.wrap())
    return values[:count], values[count:]


def _smallest(values: isl.Set) -> tuple[int, ...]:
    """Return a point with small coordinates, for small sizes."""
    count = values.dim(isl.dim_type.param)
    line = values.move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, count) if count else values
    point = line.lexmin().sample_point()
    return coordinates(point)[count:]


def _instance_text(indices: Sequence[str], values: Sequence[int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in zip(indices, values, strict=True))


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
            [replace(constraint, rounding=affine.Rounding.TOWARDS_ZERO) for constraint in said],
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


def assigned_subscripts(
    meaning: ResolvedStatement, scope: IndexScope
) -> tuple[affine.AffineExpression, ...]:
    """Return the subscripts of what a statement assigns.

    Raises:
        SourceError: one is not affine, or has too many quotients.
    """
    result = []
    for part in meaning.subscripts:
        value = affine.quasi_affine_of(part, frozenset(scope.isl_names))
        tensor, text = meaning.statement.tensor, expression_text(part)
        if value is None:
            raise SourceError(
                location_of(part),
                f"the subscript {text} of {tensor} is not affine",
                "subscripts on the left are sums of indices and sizes with whole coefficients, and "
                "of quotients and remainders of these by positive numbers",
            )
        check_quotient_count(value, text, tensor, location_of(part))
        result.append(value)
    return tuple(result)


def assigned_constraints(
    meaning: ResolvedStatement, scope: IndexScope, valid: Sequence[isl.Set]
) -> tuple[SubscriptConstraint, ...]:
    """Return the subscripts of what is assigned, which have to lie in some sets."""
    text = assigned_text(meaning)
    return tuple(
        SubscriptConstraint(
            value, values, affine.TRUE_CONDITION, expression_text(part), text, location_of(part)
        )
        for part, value, values in zip(
            meaning.subscripts, assigned_subscripts(meaning, scope), valid, strict=True
        )
    )


def assigned_text(meaning: ResolvedStatement) -> str:
    """Return the text of what is assigned, ``y(i / 2)``."""
    return target_text(meaning.statement.tensor, map(expression_text, meaning.subscripts))


def location_of(part: Expression) -> SourceLocation:
    """Return the place of a subscript: that of the first name in it."""
    return next((name.location for name in names_of_expression(part)), part.location)


def is_index_only(meaning: ResolvedStatement) -> bool:
    """Whether each subscript on the left is an index."""
    return all(isinstance(part, NameUse) for part in meaning.subscripts)


def write_map(meaning: ResolvedStatement, scope: IndexScope, indices: Sequence[str]) -> isl.Map:
    """Return which element is assigned, as a map from the values of indices."""
    texts = ", ".join(value.text(scope.isl_names) for value in assigned_subscripts(meaning, scope))
    return scope.sizes.map(f"{{ {scope.tuple_of(indices)} -> [{texts}] }}")


def assigned_elements(
    meaning: ResolvedStatement, scope: IndexScope, ranges: Mapping[str, isl.Set]
) -> isl.Set:
    """Return all elements that are assigned."""
    indices = [name for name in scope.indices if name in meaning.indices]
    instances = scope.box(indices, ranges)
    return instances.apply(write_map(meaning, scope, indices)).compute_divs().coalesce()


def check_new_tensor(
    meaning: ResolvedStatement, scope: IndexScope, ranges: Mapping[str, isl.Set], context: isl.Set
) -> None:
    """Refuse elements below 0 of a tensor that is new."""
    if is_index_only(meaning):
        return
    from_zero = scope.sizes.set("{ [x'] : x' >= 0 }")
    subscripts = assigned_constraints(meaning, scope, [from_zero] * len(meaning.subscripts))
    check_dividends(scope, subscripts, ranges, context)
    for constraint in subscripts:
        indices = [name for name in scope.indices if name in constraint.subscript.names]
        if (
            not instances_outside(scope, indices, constraint, ranges)
            .intersect_params(context)
            .is_empty()
        ):
            raise SourceError(
                constraint.location,
                f"{constraint.text} may be assigned below 0, which is no element",
                f"add something to {constraint.required_text}, or say a range: where "
                f"{indices[0]} in ...",
            )


def check_assigned_once(meaning: ResolvedStatement, scope: IndexScope, domain: isl.Set) -> None:
    """Refuse a plain assignment that assigns an element twice."""
    if meaning.statement.assign is AssignKind.SET and not is_index_only(meaning):
        indices = tuple(meaning.indices)
        write = write_map(meaning, scope, indices)
        text, place = assigned_text(meaning), meaning.statement.location
        check_single_assignment(domain, write, text, indices, place)
