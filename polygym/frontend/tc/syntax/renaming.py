"""Statements with other names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from polygym.frontend.tc.syntax.tree import (
    ElementOrCall,
    Expression,
    NameUse,
    TcStatement,
    Where,
    WhereExists,
    WhereRange,
    WhereValue,
    with_operands,
)


def rename_statement(statement: TcStatement, names: Mapping[str, str]) -> TcStatement:
    """Return a statement with other names for tensors, sizes, indices and values.

    Names that are not listed stay, functions among them.
    """

    def new(expression: Expression) -> Expression:
        return _rename_expression(expression, names)

    def entry_of(entry: Where) -> Where:
        match entry:
            case WhereRange(name, lower, upper):
                result = names.get(name, name)
                return replace(entry, name=result, lower=new(lower), upper=new(upper))
            case WhereValue(name, value):
                return replace(entry, name=names.get(name, name), value=new(value))
            case WhereExists(expression):
                return replace(entry, expression=new(expression))
            case _:
                assert_never(entry)

    return replace(
        statement,
        tensor=names.get(statement.tensor, statement.tensor),
        subscripts=tuple(map(new, statement.subscripts)),
        value=new(statement.value),
        where=tuple(map(entry_of, statement.where)),
    )


def _rename_expression(expression: Expression, names: Mapping[str, str]) -> Expression:
    if isinstance(expression, NameUse | ElementOrCall):
        expression = replace(expression, name=names.get(expression.name, expression.name))
    return with_operands(expression, lambda part: _rename_expression(part, names))
