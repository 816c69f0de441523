"""Ranges that a ``where`` gives, and the conditions on sizes that follow from a statement.

Ends are made of sizes and numbers by sums, quotients, remainders, ``min``, ``max`` and ``?:``.
``i in 0:(N + 1) / 2`` is { [i] : 0 <= i < floor((1N + 1) / 2) }. Integers divide towards zero,
which is downwards where nothing is negative: the sizes for which a dividend is negative are
excluded, and a call with such sizes is refused.
"""

from dataclasses import dataclass

import islpy as isl

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.inference.lowering_state import LoweringState
from polygym.frontend.tc.inference.ranges import IndexScope
from polygym.frontend.tc.semantics.environment import LARGEST_COEFFICIENT, affine_of, condition_of
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.printer import expression_text
from polygym.frontend.tc.syntax.tree import names_of_expression

# Sets with tens of different divisors take isl minutes.
_MOST_QUOTIENTS = 4

# Of how many convex cases the condition on sizes may consist.
_MOST_CASES = 8

_SUMS = (tree.InfixOperator.ADD, tree.InfixOperator.SUBTRACT)
_DIVISIONS = (tree.InfixOperator.DIVIDE, tree.InfixOperator.REMAINDER)


def where_range(draft: LoweringState, entry: tree.WhereRange, scope: IndexScope) -> isl.Set:
    """Return the range that a ``where`` gives.

    Raises:
        SourceError: an end is something else, or there is nothing between them, or below 0.
    """
    lower, upper = (
        _RangeEnd(draft, scope, entry, end).checked() for end in (entry.lower, entry.upper)
    )
    index = _affine(draft, "x'")
    result = lower.le_set(index).intersect(index.lt_set(upper)).coalesce()
    result = result.intersect_params(draft.sizes.unrestricted)
    below = result.intersect(draft.sizes.set("{ [x'] : x' < 0 }")).params()
    if not below.intersect(draft.context).is_empty():
        raise SourceError(
            entry.location, f"the range of {entry.name} begins below 0: indices are never negative"
        )
    if result.is_empty():
        raise SourceError(entry.location, f"the range of {entry.name} is empty")
    return result


def _affine(draft: LoweringState, text: str) -> isl.PwAff:
    """Return a function of an index, which is x', and the sizes."""
    names = ", ".join(draft.sizes.names)
    return isl.PwAff.read_from_str(draft.sizes.context, f"[{names}] -> {{ [x'] -> [({text})] }}")


@dataclass(frozen=True, slots=True)
class _RangeEnd:
    """One end, ``whole``, of a range."""

    draft: LoweringState
    scope: IndexScope
    given: tree.WhereRange
    whole: tree.Expression

    def checked(self) -> isl.PwAff:
        """Return the end, if there are not too many quotients for isl."""
        if sum(_is_quotient(part) for part in tree.parts_of(self.whole)) > _MOST_QUOTIENTS:
            raise SourceError(
                self.given.location,
                f"the range of {self.given.name}: expected at most {_MOST_QUOTIENTS} quotients in "
                "an end",
            )
        return self.value(self.whole)

    def value(self, end: tree.Expression) -> isl.PwAff:
        """Return the end, or a part of it, as a function of the sizes."""
        known = frozenset(self.draft.size_names)
        affine = affine_of(end, known)
        if affine is not None:
            return _affine(self.draft, affine.text(self.scope.isl_names))
        match end:
            case tree.InfixExpression(operator, left, right) if operator in _SUMS:
                first, second = self.value(left), self.value(right)
                is_sum = operator is tree.InfixOperator.ADD
                return first.add(second) if is_sum else first.sub(second)
            case tree.InfixExpression(tree.InfixOperator.MULTIPLY, left, right) if (
                factor := _constant(left) or _constant(right)
            ):
                scaled = self.value(right if _constant(left) else left)
                return scaled.scale_val(isl.Val.int_from_si(scaled.get_ctx(), factor))
            case tree.InfixExpression(operator, left, right) if operator in _DIVISIONS and (
                0 < (divisor := _constant(right) or 0) < LARGEST_COEFFICIENT
            ):
                return self._divided(end, divisor)
            case tree.ElementOrCall("min" | "max" as name, (left, right)):
                first, second = self.value(left), self.value(right)
                return first.min(second) if name == "min" else first.max(second)
            case tree.ConditionalExpression(condition, then, otherwise):
                holds = condition_of(condition, known, self.scope.isl_names)
                if not holds.is_exact:
                    raise self._refusal()
                there = self.draft.sizes.set(f"{{ [x'] : {holds.text} }}")
                first, second = self.value(then), self.value(otherwise)
                others = second.intersect_domain(there.complement())
                return first.intersect_domain(there).union_add(others)
            case _:
                raise self._refusal()

    def _divided(self, end: tree.InfixExpression, divisor: int) -> isl.PwAff:
        """Return a quotient or a remainder, for sizes for which nothing negative is divided."""
        dividend = self.value(end.left)
        value = isl.Val.int_from_si(dividend.get_ctx(), divisor)
        good = dividend.nonneg_set().params()
        if not self.draft.context.is_subset(good):
            restrict_sizes(
                self.draft,
                good,
                end.location,
                f"the range of {self.given.name}: {expression_text(end.left)} is negative, where "
                "/ rounds upwards,",
            )
        if end.operator is tree.InfixOperator.REMAINDER:
            return dividend.mod_val(value)
        return dividend.scale_down_val(value).floor()

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
        hint = f"what depends on {index} is a condition: where {name} < ..." if index else ""
        return SourceError(
            self.given.location, f"{said}, found {expression_text(self.whole)}", hint
        )


def _constant(expression: tree.Expression) -> int | None:
    """Return the value of an expression of numbers alone."""
    value = affine_of(expression, frozenset())
    return None if value is None else value.constant


def _is_quotient(part: tree.Expression) -> bool:
    return isinstance(part, tree.InfixExpression) and part.operator in _DIVISIONS


def restrict_sizes(
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
