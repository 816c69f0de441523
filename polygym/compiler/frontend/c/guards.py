"""Conditions on data around a statement: it stores its value where they hold, else the old one.

``if (a[i] > 0) b[i] = c[i];`` is ``b[i] = a[i] > 0 ? c[i] : b[i];``. The old value is read and
written back in the instances where C does neither, which nobody sees: the element exists. Where
that is not known, as of b[i + 1] in a loop to the last i, or of b[k[i]], the statement is an update
(:class:`~polygym.compiler.ir.expr.Update`), which touches no memory where the conditions fail, and
whose subscripts are looked at where they hold.

What stands on the right is evaluated only where the conditions hold. Nested conditions are asked
from the outside to the inside, each only where those around it hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from polygym.compiler.frontend.c.arithmetic import truth
from polygym.compiler.frontend.c.bindings import Environment
from polygym.compiler.frontend.c.expressions import Expressions
from polygym.compiler.ir.expr import (
    Comparison,
    ComparisonOperator,
    Conditional,
    Expression,
    IntegerLiteral,
)
from polygym.compiler.ir.types import ScalarType


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """A condition on data, where it stands, and whether its opposite is meant (in an ``else``)."""

    condition: Any
    environment: Environment
    is_else: bool


def all_hold(
    guards: Sequence[Guard], environment: Environment, expressions: Expressions
) -> Expression | None:
    """Return whether all conditions hold; None where there are none."""
    whole: Expression | None = None
    for guard in guards:
        # Read in the statement's own loops, with what was known where the condition stands.
        where = replace(
            environment,
            known=guard.environment.known,
            arguments=guard.environment.arguments,
            memory={},
            is_on_data=guard.environment.is_on_data,
        )
        found = expressions.value(guard.condition, where)
        condition: Expression = truth(found)
        if guard.is_else:
            condition = Comparison(ComparisonOperator.EQUAL, condition, IntegerLiteral(0))
        whole = (
            condition
            if whole is None
            else Conditional(whole, condition, IntegerLiteral(0), ScalarType.INT)
        )
    return whole
