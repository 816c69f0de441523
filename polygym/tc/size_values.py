"""Values of the sizes that a definition's facts have as expressions: numbers, or symbols."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from polygym.frontend.tc.derivatives.analysis import DefinitionFacts, definition_facts
from polygym.frontend.tc.syntax import tree
from polygym.poly.isl_budget import exclusive_isl


@lru_cache(maxsize=256)
@exclusive_isl()
def known_facts(
    definition: tree.TcDefinition, constants: tuple[tuple[str, int], ...]
) -> DefinitionFacts:
    """Return the facts of a definition, which are kept."""
    return definition_facts(definition, dict(constants))


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "&&": lambda a, b: a and b,
    "||": lambda a, b: a or b,
}


def evaluate(size: tree.Expression, sizes: Mapping[str, Any]) -> Any:
    """Return the value of a size; nothing negative is divided in one."""
    match size:
        case tree.NumberLiteral(value):
            return value
        case tree.NameUse(name):
            return sizes[name]
        case tree.PrefixExpression(tree.PrefixOperator.NEGATE, operand):
            return -evaluate(operand, sizes)
        case tree.InfixExpression(operator, left, right):
            return _OPERATIONS[operator.value](evaluate(left, sizes), evaluate(right, sizes))
        case tree.ElementOrCall(name, (left, right)):
            chosen = min if name == "min" else max
            return chosen(evaluate(left, sizes), evaluate(right, sizes))
        case tree.ConditionalExpression(condition, then, otherwise):
            return evaluate(then if evaluate(condition, sizes) else otherwise, sizes)
        case _:
            raise AssertionError(size)
