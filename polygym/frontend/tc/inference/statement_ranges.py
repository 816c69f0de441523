"""From a statement to the ranges of its indices, and to what sizes must satisfy.

The affine subscripts of everything that it reads go into
:func:`polygym.frontend.tc.inference.ranges.infer_index_ranges`, and those of what it assigns, where
that has a size already. Afterwards it is certain that none of them leaves its tensor: the sizes for
which one would are excluded, if a ``where`` asked for it, or the statement is refused.
"""

from collections.abc import Mapping

import islpy as isl

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.inference.assigned_elements import (
    assigned_constraints,
    check_new_tensor,
    is_index_only,
)
from polygym.frontend.tc.inference.lowering_state import LoweringState, expected_sizes, scope_of
from polygym.frontend.tc.inference.quotients import check_quotients
from polygym.frontend.tc.inference.range_ends import where_range
from polygym.frontend.tc.inference.ranges import (
    IndexScope,
    SubscriptConstraint,
    infer_index_ranges,
    instances_outside,
)
from polygym.frontend.tc.inference.subscripts import affine_subscripts
from polygym.frontend.tc.semantics.environment import NameEnvironment, elements_read
from polygym.frontend.tc.semantics.name_resolution import ResolvedStatement, names_of_expression
from polygym.frontend.tc.syntax.printer import expression_text

# Of how many convex cases the condition on sizes may consist.
_MOST_CASES = 8


def infer_ranges(
    draft: LoweringState,
    place: int,
    meaning: ResolvedStatement,
    scope: IndexScope,
    environment: NameEnvironment,
) -> dict[str, isl.Set]:
    """Return the range of every index of the statement at a place, and restrict the sizes."""
    said = _subscripts(draft, meaning, scope, environment)
    given = {entry.name: where_range(draft, entry, scope) for entry in meaning.ranges}
    try:
        ranges = infer_index_ranges(scope, given, said)
    except SourceError:
        borrowed = _ranges_from_next(draft, place, meaning, given)
        if not borrowed:
            raise
        given |= borrowed
        ranges = infer_index_ranges(scope, given, said)
    _restrict(draft, meaning, scope, said, ranges)
    check_quotients(scope, given, said, ranges, draft.context)
    if expected_sizes(draft, meaning.statement.tensor) is None:
        check_new_tensor(meaning, scope, ranges, draft.context)
    return ranges


def _subscripts(
    draft: LoweringState,
    meaning: ResolvedStatement,
    scope: IndexScope,
    environment: NameEnvironment,
) -> list[SubscriptConstraint]:
    """Return what ranges follow from: all subscripts of what is read, and of what is there."""
    statement = meaning.statement
    constraints: list[SubscriptConstraint] = []
    for whole in (meaning.value, *meaning.witnesses):
        for element, condition in elements_read(whole, environment):
            values = affine_subscripts(element, scope, environment)
            all_valid = draft.tensors[element.name].valid
            for part, value, valid in zip(element.arguments, values, all_valid, strict=True):
                if value is not None:
                    said, text = expression_text(part), expression_text(element)
                    constraints.append(
                        SubscriptConstraint(value, valid, condition, said, text, element.location)
                    )
    valid = expected_sizes(draft, statement.tensor)
    if valid is not None:
        if len(valid) != len(statement.subscripts):
            raise SourceError(
                statement.location,
                f"{statement.tensor} is declared with {len(valid)} dimension(s) and assigned "
                f"with {len(statement.subscripts)}",
            )
        constraints += assigned_constraints(meaning, scope, valid)
    return constraints


def _ranges_from_next(
    draft: LoweringState, place: int, meaning: ResolvedStatement, given: Mapping[str, isl.Set]
) -> dict[str, isl.Set]:
    """Return ranges for ``C(i) = 0`` from the statement that goes on with C, if one does.

    ``C(i) = 0`` alone does not say how far i runs; ``C(i) += A(i, k) * x(k)`` below does. It
    counts if nothing in between reads C.
    """
    statement = meaning.statement
    if statement.tensor in draft.tensors or expected_sizes(draft, statement.tensor) is not None:
        return {}
    later = _next_assignment(draft, place, statement.tensor)
    if later is None or len(later.subscripts) != len(meaning.subscripts):
        return {}
    if not is_index_only(meaning) or not is_index_only(later):
        return {}
    scope, environment = scope_of(draft, later)
    said = _subscripts(draft, later, scope, environment)
    try:
        ranges = infer_index_ranges(
            scope, {entry.name: where_range(draft, entry, scope) for entry in later.ranges}, said
        )
    except SourceError:
        return {}
    return {
        mine.name: ranges[other.name]
        for mine, other in zip(statement.indices, later.statement.indices, strict=True)
        if mine.name not in given
    }


def _next_assignment(draft: LoweringState, place: int, tensor: str) -> ResolvedStatement | None:
    """Return the next statement that assigns a tensor, None if one reads it before that is done."""
    for later in draft.resolved_statements[place + 1 :]:
        parts = (later.value, *later.witnesses)
        if any(name.name == tensor for part in parts for name in names_of_expression(part)):
            return None
        if later.statement.tensor == tensor:
            return later
    return None


def _restrict(
    draft: LoweringState,
    meaning: ResolvedStatement,
    scope: IndexScope,
    said: list[SubscriptConstraint],
    ranges: Mapping[str, isl.Set],
) -> None:
    """Add to the context what the sizes must satisfy, or refuse an access that leaves."""
    for name, found in ranges.items():
        _restrict_sizes(draft, found.params(), scope.indices[name], f"the range of {name} is empty")
    inferred = scope.indices.keys() - {entry.name for entry in meaning.ranges}
    for constraint in said:
        mentioned = constraint.subscript.names | constraint.condition.names
        indices = [name for name in scope.indices if name in mentioned]
        leaving = (
            instances_outside(scope, indices, constraint, ranges).params().intersect(draft.context)
        )
        if leaving.is_empty():
            continue
        free = sorted(constraint.subscript.names & inferred)
        if free:
            raise SourceError(
                constraint.location,
                f"the range of {free[0]} is ambiguous: {constraint.text} leaves its tensor for "
                "some sizes, whatever else bounds it",
                f"say it: where {free[0]} in 0:...",
            )
        good = draft.context.subtract(leaving)
        _restrict_sizes(draft, good, constraint.location, f"{constraint.text} leaves its tensor")


def _restrict_sizes(
    draft: LoweringState, good: isl.Set, place: SourceLocation, otherwise: str
) -> None:
    """Restrict the sizes to those that are good.

    That may be a union: under ``j < i`` an access may be good wherever one of two sizes is small.
    Which sizes a call has is asked when it is made.
    """
    context = draft.context.intersect(good).coalesce()
    if context.is_empty():
        sizes = " for these sizes" if draft.is_fixed else ", whatever the sizes are"
        raise SourceError(place, f"{otherwise}{sizes}")
    if context.n_basic_set() > _MOST_CASES:
        raise SourceError(
            place,
            f"{otherwise} for some sizes, and which ones is no plain condition",
            "say smaller ranges: where i in 0:...",
        )
    draft.context = context
