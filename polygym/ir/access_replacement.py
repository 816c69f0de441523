"""Expressions with other accesses, for passes that copy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from polygym.ir.expressions import (
    Access,
    Binary,
    Call,
    Cast,
    Comparison,
    Conditional,
    Expression,
    FloatLiteral,
    Gather,
    IntegerLiteral,
    IteratorValue,
    Load,
    ParameterValue,
    Unary,
    Update,
)


def replace_accesses(expression: Expression, replacements: Mapping[Access, Access]) -> Expression:
    """Return the expression with some accesses in the place of others."""

    def new(operand: Expression) -> Expression:
        return replace_accesses(operand, replacements)

    match expression:
        case Load(access):
            return replace(expression, access=replacements.get(access, access))
        case Gather(access, subscripts, scalar):
            there = replacements.get(access, access)
            return Gather(there, tuple(map(new, subscripts)), scalar)
        case IntegerLiteral() | FloatLiteral() | IteratorValue() | ParameterValue():
            return expression
        case Unary() | Cast():
            return replace(expression, operand=new(expression.operand))
        case Binary() | Comparison():
            return replace(expression, left=new(expression.left), right=new(expression.right))
        case Conditional(condition, then, otherwise):
            return Conditional(new(condition), new(then), new(otherwise), expression.type)
        case Call():
            return replace(expression, arguments=tuple(map(new, expression.arguments)))
        case Update(access, condition, subscripts, value):
            return Update(
                replacements.get(access, access),
                None if condition is None else new(condition),
                tuple(map(new, subscripts)),
                new(value),
            )
        case _:
            assert_never(expression)
