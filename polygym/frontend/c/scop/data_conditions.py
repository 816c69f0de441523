"""Conditions on data around a statement: it stores its value where they hold, else the old one.

``if (a[i] > 0) b[i] = c[i];`` is ``b[i] = a[i] > 0 ? c[i] : b[i];``. The old value is read and
written back in the instances where C does neither, which nobody sees: the element exists. Where
that is not known, as of b[i + 1] in a loop to the last i, or of b[k[i]], the statement is an update
(:class:`~polygym.ir.expressions.Update`), which touches no memory where the conditions fail, and
whose subscripts are looked at where they hold.

What stands on the right is evaluated only where the conditions hold. Nested conditions are asked
from the outside to the inside, each only where those around it hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from polygym.frontend.c.sema.arithmetic import truth_value
from polygym.frontend.c.sema.bindings import ExpressionEnvironment
from polygym.frontend.c.sema.expressions import ExpressionReader
from polygym.ir.expressions import (
    Comparison,
    ComparisonOperator,
    Conditional,
    Expression,
    IntegerLiteral,
)
from polygym.ir.types import ScalarType


@dataclass(frozen=True, slots=True, eq=False)
class DataCondition:
    """A condition on data, where it stands, and whether its opposite is meant (in an ``else``)."""

    condition: Any
    environment: ExpressionEnvironment
    is_negated: bool


def conjunction_of_conditions(
    conditions: Sequence[DataCondition],
    environment: ExpressionEnvironment,
    expressions: ExpressionReader,
) -> Expression | None:
    """Return whether all conditions hold; None where there are none."""
    whole: Expression | None = None
    for guard in conditions:
        # Read in the statement's own loops, with what was known where the condition stands.
        where = replace(
            environment,
            known_values=guard.environment.known_values,
            arguments=guard.environment.arguments,
            cache={},
            is_data_dependent=guard.environment.is_data_dependent,
        )
        expression = expressions.value(guard.condition, where)
        condition: Expression = truth_value(expression)
        if guard.is_negated:
            condition = Comparison(ComparisonOperator.EQUAL, condition, IntegerLiteral(0))
        whole = (
            condition
            if whole is None
            else Conditional(whole, condition, IntegerLiteral(0), ScalarType.INT)
        )
    return whole
