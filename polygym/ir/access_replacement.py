"""Expressions with other accesses, for passes that copy arrays."""

from collections.abc import Mapping
from dataclasses import replace

from polygym.ir.expressions import Access, Expression, Gather, Load, Update, map_operands


def replace_accesses(expression: Expression, replacements: Mapping[Access, Access]) -> Expression:
    """Return the expression with some accesses in the place of others."""
    changed = map_operands(expression, lambda operand: replace_accesses(operand, replacements))
    if isinstance(changed, Load | Gather | Update):
        return replace(changed, access=replacements.get(changed.access, changed.access))
    return changed
