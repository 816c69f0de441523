"""Indices as C: bounds, conditions and subscripts, with no more parentheses than C needs."""

from typing import assert_never

from polygym.codegen.loopir import ir

_MACROS = {
    ir.IndexOperator.MINIMUM: ("min", "((a) < (b) ? (a) : (b))"),
    ir.IndexOperator.MAXIMUM: ("max", "((a) > (b) ? (a) : (b))"),
    ir.IndexOperator.DIVIDE_FLOOR: ("floord", "((a) < 0 ? -((-(a) + (b) - 1) / (b)) : (a) / (b))"),
}

# Operator text and precedence, as in C's grammar: a higher number binds tighter.
_INFIX = {
    ir.IndexOperator.MULTIPLY: ("*", 9),
    ir.IndexOperator.DIVIDE_EXACT: ("/", 9),
    ir.IndexOperator.DIVIDE_NONNEGATIVE: ("/", 9),
    ir.IndexOperator.REMAINDER_NONNEGATIVE: ("%", 9),
    ir.IndexOperator.REMAINDER_ZERO_TEST: ("%", 9),
    ir.IndexOperator.ADD: ("+", 8),
    ir.IndexOperator.SUBTRACT: ("-", 8),
    ir.IndexOperator.LESS: ("<", 6),
    ir.IndexOperator.LESS_EQUAL: ("<=", 6),
    ir.IndexOperator.GREATER: (">", 6),
    ir.IndexOperator.GREATER_EQUAL: (">=", 6),
    ir.IndexOperator.EQUAL: ("==", 5),
    ir.IndexOperator.AND: ("&&", 2),
    ir.IndexOperator.OR: ("||", 1),
}
UNARY_PRECEDENCE = 10
"""The precedence of a sign, and of a cast."""
_AND_PRECEDENCE, _ATOM_PRECEDENCE = 2, 11


def macro_definitions(text: str) -> list[str]:
    """Return the definitions of the macros that a text uses."""
    return [
        f"#define polygym_{name}(a, b) {definition}"
        for name, definition in _MACROS.values()
        if f"polygym_{name}(" in text
    ]


def print_index(index: ir.Index, precedence: int = 0) -> str:
    """Return an index as C text, in parentheses where the surroundings bind tighter."""
    text, own = _text_and_precedence(index)
    return f"({text})" if own < precedence else text


def _text_and_precedence(index: ir.Index) -> tuple[str, int]:
    match index:
        case ir.IndexConstant(value):
            return str(value), _ATOM_PRECEDENCE if value >= 0 else UNARY_PRECEDENCE
        case ir.IndexVariable(name):
            return name, _ATOM_PRECEDENCE
        case ir.IndexOperation(ir.IndexOperator.NEGATE, (operand,)):
            return f"-{print_index(operand, _ATOM_PRECEDENCE)}", UNARY_PRECEDENCE
        case ir.IndexOperation(ir.IndexOperator.SELECT, (condition, then, otherwise)):
            parts = (print_index(condition, 1), print_index(then), print_index(otherwise))
            return "{} ? {} : {}".format(*parts), 0
        case ir.IndexOperation(operator, operands) if operator in _MACROS:
            return _macro_call(operator, operands), _ATOM_PRECEDENCE
        case ir.IndexOperation(operator, operands):
            symbol, own = _INFIX[operator]
            if operator is ir.IndexOperator.OR:
                # Compilers warn about && inside || without parentheses.
                return f" {symbol} ".join(
                    print_index(o, _AND_PRECEDENCE + 1) for o in operands
                ), own
            first, *others = operands
            pieces = [print_index(first, own)]
            pieces += [print_index(other, own + 1) for other in others]
            return f" {symbol} ".join(pieces), own
        case _:
            assert_never(index)


def _macro_call(operator: ir.IndexOperator, operands: tuple[ir.Index, ...]) -> str:
    """Return nested calls of a two-argument macro."""
    name, _ = _MACROS[operator]
    first, *others = operands
    text = print_index(first)
    for other in others:
        text = f"polygym_{name}({text}, {print_index(other)})"
    return text
