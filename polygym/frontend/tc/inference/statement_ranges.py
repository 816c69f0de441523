"""From a statement to the ranges of its indices, and to what sizes must satisfy.

The affine subscripts of everything that it reads go into
:func:`polygym.frontend.tc.inference.ranges.infer_index_ranges`, and those of what it assigns, where
that has a size already. Afterwards it is certain that none of them leaves its tensor: the sizes for
which one would are excluded, if a ``where`` asked for it, or the statement is refused.
"""

from collections.abc import Mapping

import islpy as isl

from polygym.errors import SourceError
from polygym.frontend.tc.inference import assigned_elements
from polygym.frontend.tc.inference.assigned_elements import affine_subscripts
from polygym.frontend.tc.inference.lowering_state import (
    LoweringState,
    StatementContext,
    expected_sizes,
)
from polygym.frontend.tc.inference.ranges import (
    SubscriptConstraint,
    infer_index_ranges,
    instances_outside,
)
from polygym.frontend.tc.inference.where_ranges import restrict_sizes, where_range
from polygym.frontend.tc.semantics.environment import elements_read
from polygym.frontend.tc.semantics.name_resolution import ResolvedStatement
from polygym.frontend.tc.syntax.printer import expression_text
from polygym.frontend.tc.syntax.tree import names_of_expression


def infer_ranges(here: StatementContext, place: int) -> dict[str, isl.Set]:
    """Return the range of every index of the statement at a place, and restrict the sizes."""
    draft, meaning, scope = here.draft, here.meaning, here.scope
    said = _subscripts(here)
    given = {entry.name: where_range(draft, entry, scope) for entry in meaning.ranges}
    try:
        ranges = infer_index_ranges(scope, given, said)
    except SourceError as refusal:
        try:
            borrowed = _ranges_from_next(here, place, given)
        except SourceError as later:
            raise (refusal if said else later) from None
        if not borrowed:
            raise
        given |= borrowed
        ranges = infer_index_ranges(scope, given, said)
    _restrict(here, said, ranges)
    assigned_elements.check_quotients(scope, given, said, ranges, draft.context)
    if expected_sizes(draft, meaning.statement.tensor) is None:
        condition = here.environment.condition
        assigned_elements.check_new_tensor(meaning, scope, ranges, draft.context, condition)
    return ranges


def _subscripts(here: StatementContext) -> list[SubscriptConstraint]:
    """Return what ranges follow from: all subscripts of what is read, and of what is there."""
    draft, meaning, scope, environment = here.draft, here.meaning, here.scope, here.environment
    statement = meaning.statement
    constraints: list[SubscriptConstraint] = []
    for whole in (*meaning.evaluated, *meaning.witnesses):
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
        condition = environment.condition
        constraints += assigned_elements.assigned_constraints(meaning, scope, valid, condition)
    return constraints


def _ranges_from_next(
    here: StatementContext, place: int, given: Mapping[str, isl.Set]
) -> dict[str, isl.Set]:
    """Return ranges for ``C(i) = 0`` from the statement that goes on with C, if one does.

    ``C(i) = 0`` alone does not say how far i runs; ``C(i) += A(i, k) * x(k)`` below does. It
    counts if nothing in between reads C.
    """
    draft, meaning = here.draft, here.meaning
    statement = meaning.statement
    if statement.tensor in draft.tensors or expected_sizes(draft, statement.tensor) is not None:
        return {}
    later = _next_assignment(draft, place, statement.tensor)
    if later is None or len(later.subscripts) != len(meaning.subscripts):
        return {}
    if not assigned_elements.is_index_only(meaning) or not assigned_elements.is_index_only(later):
        return {}
    context = StatementContext.of(draft, later)
    said = _subscripts(context)
    given_later = {e.name: where_range(draft, e, context.scope) for e in later.ranges}
    ranges = infer_index_ranges(context.scope, given_later, said)
    return {
        mine.name: ranges[other.name]
        for mine, other in zip(statement.indices, later.statement.indices, strict=True)
        if mine.name not in given
    }


def _next_assignment(draft: LoweringState, place: int, tensor: str) -> ResolvedStatement | None:
    """Return the next statement that assigns a tensor, None if one reads it before that is done."""
    for later in draft.resolved_statements[place + 1 :]:
        parts = (*later.evaluated, *later.witnesses)
        if any(name.name == tensor for part in parts for name in names_of_expression(part)):
            return None
        if later.statement.tensor == tensor:
            return later
    return None


def _restrict(
    here: StatementContext, said: list[SubscriptConstraint], ranges: Mapping[str, isl.Set]
) -> None:
    """Add to the context what the sizes must satisfy, or refuse an access that leaves."""
    draft, scope = here.draft, here.scope
    for name, values in ranges.items():
        restrict_sizes(draft, values.params(), scope.indices[name], f"the range of {name} is empty")
    for constraint in said:
        mentioned = constraint.subscript.names | constraint.condition.names
        indices = [name for name in scope.indices if name in mentioned]
        outside = instances_outside(scope, indices, constraint, ranges)
        leaving = outside.params().intersect(draft.context)
        if leaving.is_empty():
            continue
        good = draft.context.subtract(leaving)
        restrict_sizes(draft, good, constraint.location, f"{constraint.text} leaves its tensor")
