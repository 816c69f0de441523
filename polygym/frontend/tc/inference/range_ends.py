"""The ends of a range that a ``where`` gives: sums of sizes and numbers, and quotients of these.

``i in 0:(N + 1) / 2`` is the set { [i] : 0 <= i < floor((1N + 1) / 2) }. Integers divide towards
zero, which is downwards where nothing is negative; what may be negative for some sizes is not
divided.
"""

from dataclasses import dataclass

import islpy as isl

from polygym.errors import SourceError
from polygym.frontend.tc.inference.lowering_state import LoweringState
from polygym.frontend.tc.inference.ranges import IndexScope
from polygym.frontend.tc.semantics.affine import LARGEST_COEFFICIENT, affine_of
from polygym.frontend.tc.semantics.name_resolution import names_of_expression
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.printer import expression_text

# Sets with tens of different divisors take isl minutes.
_MOST_QUOTIENTS = 4


def where_range(draft: LoweringState, one: tree.WhereRange, scope: IndexScope) -> isl.Set:
    """Return the range that a ``where`` gives.

    Raises:
        SourceError: an end is something else, or there is nothing between them, or below 0.
    """
    lower, upper = (_RangeEnd(draft, scope, one, end).checked() for end in (one.lower, one.upper))
    result = draft.sizes.set(f"{{ [x'] : {lower} <= x' < {upper} }}")
    result = result.intersect_params(draft.sizes.unrestricted)
    if not result.intersect(draft.sizes.set("{ [x'] : x' < 0 }")).is_empty():
        raise SourceError(
            one.location, f"the range of {one.name} begins below 0: indices are never negative"
        )
    if result.is_empty():
        raise SourceError(one.location, f"the range of {one.name} is empty")
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
        if sum(_is_quotient(part) for part in _parts(self.whole)) > _MOST_QUOTIENTS:
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
            for part in _parts(self.whole)
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


def _parts(expression: tree.Expression) -> list[tree.Expression]:
    """Return an expression and all that it consists of."""
    expressions = [expression]
    for part in expressions:
        expressions += tree.operands_of(part)
    return expressions
