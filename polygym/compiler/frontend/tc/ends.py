"""The ends of a range that a ``where`` gives: sums of sizes and numbers, and quotients of these.

``i in 0:(N + 1) / 2`` is the set { [i] : 0 <= i < floor((1N + 1) / 2) }. Integers divide towards
zero, which is downwards where nothing is negative; what may be negative for some sizes is not
divided.
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polygym.compiler.frontend.tc.affine import LARGEST, affine
from polygym.compiler.frontend.tc.draft import Draft
from polygym.compiler.frontend.tc.printer import text_of
from polygym.compiler.frontend.tc.ranges import Scope
from polygym.compiler.frontend.tc.resolve import names_in
from polygym.compiler.frontend.tc.syntax import Expression, In, Infix, Number, Operator, children
from polygym.errors import SourceError

# Sets with tens of different divisors take isl minutes.
_MOST_QUOTIENTS = 4


def given_range(draft: Draft, one: In, scope: Scope) -> isl.Set:
    """Return the range that a ``where`` gives.

    Raises:
        SourceError: an end is something else, or there is nothing between them, or below 0.
    """
    lower, upper = (_End(draft, scope, one, end).checked() for end in (one.lower, one.upper))
    found = draft.sizes.set(f"{{ [x'] : {lower} <= x' < {upper} }}")
    found = found.intersect_params(draft.sizes.at_first)
    if not found.intersect(draft.sizes.set("{ [x'] : x' < 0 }")).is_empty():
        raise SourceError(
            one.place, f"the range of {one.name} begins below 0: indices are never negative"
        )
    if found.is_empty():
        raise SourceError(one.place, f"the range of {one.name} is empty")
    return found


@dataclass(frozen=True, slots=True)
class _End:
    """One end, ``whole``, of a range."""

    draft: Draft
    scope: Scope
    given: In
    whole: Expression

    def checked(self) -> str:
        """Return the isl text, if there are not too many quotients for isl."""
        if sum(_is_quotient(part) for part in _parts(self.whole)) > _MOST_QUOTIENTS:
            raise SourceError(
                self.given.place,
                f"the range of {self.given.name}: expected at most {_MOST_QUOTIENTS} quotients in "
                "an end",
            )
        return self.text(self.whole)

    def text(self, end: Expression) -> str:
        """Return the isl text of the end, or of a part of it."""
        sizes = self.draft.sizes
        value = affine(end, frozenset(self.draft.size_names))
        if value is not None:
            return value.text(self.scope.isl_names)
        match end:
            case Infix(Operator.ADD | Operator.SUBTRACT as operator, left, right):
                return f"({self.text(left)} {operator.value} {self.text(right)})"
            case Infix(Operator.DIVIDE, left, Number(int() as divisor)) if 0 < divisor < LARGEST:
                dividend = self.text(left)
                negative = sizes.set(f"{{ [x'] : {dividend} < x' <= 0 }}")
                if not negative.intersect_params(sizes.at_first).is_empty():
                    raise SourceError(
                        end.place,
                        f"the range of {self.given.name}: {text_of(left)} may be negative, where "
                        "/ rounds upwards",
                    )
                return f"floor({dividend} / {divisor})"
            case _:
                raise self._refusal()

    def _refusal(self) -> SourceError:
        """Say what an end may be."""
        name, indices = self.given.name, self.scope.indices
        said = f"the range of {name}: expected a sum of sizes and numbers"
        if any(isinstance(part, Number) and part.value >= LARGEST for part in _parts(self.whole)):
            said += f" below {LARGEST:,}"
        index = next((one.name for one in names_in(self.whole) if one.name in indices), None)
        hint = f"what depends on {index} is a condition: {name} < ... ? value : 0" if index else ""
        return SourceError(self.given.place, f"{said}, found {text_of(self.whole)}", hint)


def _is_quotient(part: Expression) -> bool:
    return isinstance(part, Infix) and part.operator is Operator.DIVIDE


def _parts(expression: Expression) -> list[Expression]:
    """Return an expression and all that it consists of."""
    found = [expression]
    for part in found:
        found += children(part)
    return found
