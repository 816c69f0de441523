"""Elements that a statement assigns: one for each index, or one for several of them.

``y(i / 2) +=! x(i)`` adds two elements of x to each of y, ``y(2 * i) = x(i)`` leaves gaps, and in
``O(i + k) +=! I(i) * K(k)`` several combinations of i and k meet. A reduction means the same
whatever order they come in; a plain ``=`` would keep the last one, and is refused with two of them.
A tensor that is new is as large as the largest of its subscripts; what is assigned lies at 0 and
above, and elements that no index leads to are zero.
"""

from collections.abc import Mapping, Sequence

import islpy as isl

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.inference.in_place import check_single_assignment
from polygym.frontend.tc.inference.quotients import check_dividends
from polygym.frontend.tc.inference.ranges import IndexScope, SubscriptConstraint, instances_outside
from polygym.frontend.tc.inference.subscripts import check_quotient_count
from polygym.frontend.tc.semantics.affine import TRUE_CONDITION, AffineExpression, quasi_affine_of
from polygym.frontend.tc.semantics.name_resolution import ResolvedStatement, names_of_expression
from polygym.frontend.tc.syntax.printer import expression_text, target_text
from polygym.frontend.tc.syntax.tree import AssignKind, Expression, NameUse


def assigned_subscripts(
    meaning: ResolvedStatement, scope: IndexScope
) -> tuple[AffineExpression, ...]:
    """Return the subscripts of what a statement assigns.

    Raises:
        SourceError: one is not affine, or has too many quotients.
    """
    result = []
    for part in meaning.subscripts:
        value = quasi_affine_of(part, frozenset(scope.isl_names))
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
            value, values, TRUE_CONDITION, expression_text(part), text, location_of(part)
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
