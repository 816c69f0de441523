"""Statements with other names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from polygym.compiler.frontend.tc.syntax import (
    Element,
    Exists,
    Expression,
    In,
    Let,
    Name,
    Statement,
    Where,
    with_children,
)


def renamed(statement: Statement, names: Mapping[str, str]) -> Statement:
    """Return a statement with other names for tensors, sizes, indices and values.

    Names that are not listed stay, functions among them.
    """

    def new(expression: Expression) -> Expression:
        return _renamed_expression(expression, names)

    def entry_of(entry: Where) -> Where:
        match entry:
            case In(name, lower, upper):
                found = names.get(name, name)
                return replace(entry, name=found, lower=new(lower), upper=new(upper))
            case Let(name, value):
                return replace(entry, name=names.get(name, name), value=new(value))
            case Exists(expression):
                return replace(entry, expression=new(expression))
            case _:
                assert_never(entry)

    return replace(
        statement,
        tensor=names.get(statement.tensor, statement.tensor),
        left=tuple(map(new, statement.left)),
        value=new(statement.value),
        where=tuple(map(entry_of, statement.where)),
    )


def _renamed_expression(expression: Expression, names: Mapping[str, str]) -> Expression:
    if isinstance(expression, Name | Element):
        expression = replace(expression, name=names.get(expression.name, expression.name))
    return with_children(expression, lambda part: _renamed_expression(part, names))
