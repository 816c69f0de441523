"""Syntax tree → text, the way a person would write it, with the parentheses that are needed."""

from collections.abc import Iterable
from typing import assert_never

from polygym.frontend.tc.syntax import tree

_STRENGTH = {
    tree.InfixOperator(text): n for n, row in enumerate(tree.PRECEDENCE, 1) for text in row
}
_CHOICE, _PREFIX = 0, len(tree.PRECEDENCE) + 1


def expression_text(expression: tree.Expression) -> str:
    """Return the text of an expression; parsing it gives the same tree again, places apart."""
    return _text_within(expression, _CHOICE)


def target_text(tensor: str, indices: Iterable[str]) -> str:
    """Return the text of what is assigned: ``C(i, j)``, or ``s`` without indices."""
    inside = ", ".join(indices)
    return f"{tensor}({inside})" if inside else tensor


def statement_text(statement: tree.TcStatement) -> str:
    """Return the text of a statement."""
    left = target_text(statement.tensor, map(expression_text, statement.subscripts))
    assign = statement.assign.value + "!" * statement.initializes
    where = ", ".join(map(_where, statement.where))
    return f"{left} {assign} {expression_text(statement.value)}{where and f' where {where}'}"


def _where(entry: tree.Where) -> str:
    match entry:
        case tree.WhereRange(name, lower, upper):
            return f"{name} in {expression_text(lower)}:{expression_text(upper)}"
        case tree.WhereValue(name, value):
            return f"{name} = {expression_text(value)}"
        case tree.WhereExists(expression):
            return f"exists {expression_text(expression)}"
        case tree.WhereCondition(condition):
            return expression_text(condition)
        case _:
            assert_never(entry)


def _text_within(expression: tree.Expression, least: int) -> str:
    """Return the text of an expression, in parentheses where it binds less than ``least``."""
    match expression:
        case tree.NumberLiteral(text=text):
            return text
        case tree.NameUse(name=name):
            return name
        case tree.ElementOrCall(name, arguments):
            return f"{name}({', '.join(map(expression_text, arguments))})"
        case tree.ConvertExpression(scalar, operand):
            return f"{scalar.value}({expression_text(operand)})"
        case tree.PrefixExpression(operator, operand):
            return _enclosed(f"{operator.value}{_text_within(operand, _PREFIX)}", _PREFIX, least)
        case tree.InfixExpression(operator, left, right):
            strength = _STRENGTH[operator]
            # To the left associates: what stands on the right must bind more.
            first, second = _text_within(left, strength), _text_within(right, strength + 1)
            text = f"{first} {operator.value} {second}"
            return _enclosed(text, strength, least)
        case tree.ConditionalExpression(condition, then, otherwise):
            first = _text_within(condition, _CHOICE + 1)
            text = f"{first} ? {expression_text(then)} : {expression_text(otherwise)}"
            return _enclosed(text, _CHOICE, least)
        case _:
            assert_never(expression)


def _enclosed(text: str, strength: int, least: int) -> str:
    return text if strength >= least else f"({text})"


def definition_text(definition: tree.TcDefinition) -> str:
    """Return the text of a definition, a line for each statement."""
    parameters, outputs = (
        ", ".join(_declaration(declared) for declared in tensors)
        for tensors in (definition.parameters, definition.outputs)
    )
    body = "".join(f"  {statement_text(statement)}\n" for statement in definition.statements)
    return f"def {definition.name}({parameters}) -> ({outputs}) {{\n{body}}}\n"


def _declaration(declared: tree.Declaration) -> str:
    kind = "" if declared.type is None else declared.type.value
    sizes = ", ".join(map(expression_text, declared.sizes or ()))
    return f"{kind}{sizes and f'({sizes})'} {declared.name}".strip()
