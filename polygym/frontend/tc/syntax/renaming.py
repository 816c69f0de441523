"""Statements with other names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from polygym.frontend.tc.syntax import tree


def rename_statement(statement: tree.TcStatement, names: Mapping[str, str]) -> tree.TcStatement:
    """Return a statement with other names for tensors, sizes, indices and values.

    Names that are not listed stay, functions among them.
    """

    def new(expression: tree.Expression) -> tree.Expression:
        return _rename_expression(expression, names)

    def entry_of(entry: tree.Where) -> tree.Where:
        match entry:
            case tree.WhereRange(name, lower, upper):
                result = names.get(name, name)
                return replace(entry, name=result, lower=new(lower), upper=new(upper))
            case tree.WhereValue(name, value):
                return replace(entry, name=names.get(name, name), value=new(value))
            case tree.WhereExists(expression):
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


def _rename_expression(expression: tree.Expression, names: Mapping[str, str]) -> tree.Expression:
    if isinstance(expression, tree.NameUse | tree.ElementOrCall):
        expression = replace(expression, name=names.get(expression.name, expression.name))
    return tree.with_operands(expression, lambda part: _rename_expression(part, names))
