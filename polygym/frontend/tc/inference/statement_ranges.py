"""From a statement to the ranges of its indices, and to what sizes must satisfy.

The affine subscripts of everything that it reads go into
:func:`polygym.frontend.tc.inference.ranges.infer_index_ranges`, and those of what it assigns, where
that has a size already. Afterwards it is certain that none of them leaves its tensor: the sizes for
which one would are excluded, if a ``where`` asked for it, or the statement is refused.

The ends of a range that a ``where`` gives: sums of sizes and numbers, and quotients of these.

``i in 0:(N + 1) / 2`` is the set { [i] : 0 <= i < floor((1N + 1) / 2) }. Integers divide towards
zero, which is downwards where nothing is negative; what may be negative for some sizes is not
divided.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.inference import assigned_elements
from polygym.frontend.tc.inference.assigned_elements import affine_subscripts
from polygym.frontend.tc.inference.lowering_state import (
    LoweringState,
    StatementContext,
    expected_sizes,
)
from polygym.frontend.tc.inference.ranges import (
    IndexScope,
    SubscriptConstraint,
    infer_index_ranges,
    instances_outside,
)
from polygym.frontend.tc.semantics.environment import (
    LARGEST_COEFFICIENT,
    affine_of,
    elements_read,
)
from polygym.frontend.tc.semantics.name_resolution import ResolvedStatement
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.printer import expression_text
from polygym.frontend.tc.syntax.tree import names_of_expression

# Sets with tens of different divisors take isl minutes.
_MOST_QUOTIENTS = 4


def where_range(draft: LoweringState, entry: tree.WhereRange, scope: IndexScope) -> isl.Set:
    """Return the range that a ``where`` gives.

    Raises:
        SourceError: an end is something else, or there is nothing between them, or below 0.
    """
    lower, upper = (
        _RangeEnd(draft, scope, entry, end).checked() for end in (entry.lower, entry.upper)
    )
    result = draft.sizes.set(f"{{ [x'] : {lower} <= x' < {upper} }}")
    result = result.intersect_params(draft.sizes.unrestricted)
    if not result.intersect(draft.sizes.set("{ [x'] : x' < 0 }")).is_empty():
        raise SourceError(
            entry.location, f"the range of {entry.name} begins below 0: indices are never negative"
        )
    if result.is_empty():
        raise SourceError(entry.location, f"the range of {entry.name} is empty")
    return result


@dataclass(frozen=True, slots=True)
class _RangeEnd:
    """One end, ``whole``, of a range."""

    draft: LoweringState
    scope: IndexScope
    given: tree.WhereRange
    whole: tree.Expression

    def checked(self) -> str:
        """Return the isl text, if there are not too many quotients for isl."""
        if sum(_is_quotient(part) for part in tree.parts_of(self.whole)) > _MOST_QUOTIENTS:
            raise SourceError(
                self.given.location,
                f"the range of {self.given.name}: expected at most {_MOST_QUOTIENTS} quotients in "
                "an end",
            )
        return self.text(self.whole)

    def text(self, end: tree.Expression) -> str:
        """Return the isl text of the end, or of a part of it."""
        sizes = self.draft.sizes
        value = affine_of(end, frozenset(self.draft.size_names))
        if value is not None:
            return value.text(self.scope.isl_names)
        match end:
            case tree.InfixExpression(
                tree.InfixOperator.ADD | tree.InfixOperator.SUBTRACT as operator, left, right
            ):
                return f"({self.text(left)} {operator.value} {self.text(right)})"
            case tree.InfixExpression(
                tree.InfixOperator.DIVIDE, left, tree.NumberLiteral(int() as divisor)
            ) if 0 < divisor < LARGEST_COEFFICIENT:
                dividend = self.text(left)
                negative = sizes.set(f"{{ [x'] : {dividend} < x' <= 0 }}")
                if not negative.intersect_params(sizes.unrestricted).is_empty():
                    raise SourceError(
                        end.location,
                        f"the range of {self.given.name}: {expression_text(left)} may be negative, "
                        "where / rounds upwards",
                    )
                return f"floor({dividend} / {divisor})"
            case _:
                raise self._refusal()

    def _refusal(self) -> SourceError:
        """Say what an end may be."""
        name, indices = self.given.name, self.scope.indices
        said = f"the range of {name}: expected a sum of sizes and numbers"
        if any(
            isinstance(part, tree.NumberLiteral) and part.value >= LARGEST_COEFFICIENT
            for part in tree.parts_of(self.whole)
        ):
            said += f" below {LARGEST_COEFFICIENT:,}"
        index = next(
            (name.name for name in names_of_expression(self.whole) if name.name in indices), None
        )
        hint = f"what depends on {index} is a condition: {name} < ... ? value : 0" if index else ""
        return SourceError(
            self.given.location, f"{said}, found {expression_text(self.whole)}", hint
        )


def _is_quotient(part: tree.Expression) -> bool:
    return isinstance(part, tree.InfixExpression) and part.operator is tree.InfixOperator.DIVIDE


# Of how many convex cases the condition on sizes may consist.
_MOST_CASES = 8


def infer_ranges(here: StatementContext, place: int) -> dict[str, isl.Set]:
    """Return the range of every index of the statement at a place, and restrict the sizes."""
    draft, meaning, scope = here.draft, here.meaning, here.scope
    said = _subscripts(here)
    given = {entry.name: where_range(draft, entry, scope) for entry in meaning.ranges}
    try:
        ranges = infer_index_ranges(scope, given, said)
    except SourceError:
        borrowed = _ranges_from_next(here, place, given)
        if not borrowed:
            raise
        given |= borrowed
        ranges = infer_index_ranges(scope, given, said)
    _restrict(here, said, ranges)
    assigned_elements.check_quotients(scope, given, said, ranges, draft.context)
    if expected_sizes(draft, meaning.statement.tensor) is None:
        assigned_elements.check_new_tensor(meaning, scope, ranges, draft.context)
    return ranges


def _subscripts(here: StatementContext) -> list[SubscriptConstraint]:
    """Return what ranges follow from: all subscripts of what is read, and of what is there."""
    draft, meaning, scope, environment = here.draft, here.meaning, here.scope, here.environment
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
        constraints += assigned_elements.assigned_constraints(meaning, scope, valid)
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
    try:
        given_later = {e.name: where_range(draft, e, context.scope) for e in later.ranges}
        ranges = infer_index_ranges(context.scope, given_later, said)
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
    here: StatementContext, said: list[SubscriptConstraint], ranges: Mapping[str, isl.Set]
) -> None:
    """Add to the context what the sizes must satisfy, or refuse an access that leaves."""
    draft, scope = here.draft, here.scope
    for name, values in ranges.items():
        _restrict_sizes(
            draft, values.params(), scope.indices[name], f"the range of {name} is empty"
        )
    inferred = scope.indices.keys() - {entry.name for entry in here.meaning.ranges}
    for constraint in said:
        mentioned = constraint.subscript.names | constraint.condition.names
        indices = [name for name in scope.indices if name in mentioned]
        outside = instances_outside(scope, indices, constraint, ranges)
        leaving = outside.params().intersect(draft.context)
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
