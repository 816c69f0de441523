"""Indices as Python expressions, for code that is run by Python.

``max(0, n - 1) // 2`` is ``(max((0), (v0 - (1))) // (2))`` where ``n`` is called ``v0``.
"""

from collections.abc import Callable
from typing import assert_never

from polygym.codegen.loopir import ir


def python_text(index: ir.Index, name_of: Callable[[str], str]) -> str:
    """Return an index as a Python expression; ``name_of`` returns Python's names of variables."""
    match index:
        case ir.IndexConstant(value):
            return f"({value})"
        case ir.IndexVariable(name):
            return name_of(name)
        case ir.IndexOperation(operator, operands):
            parts = [python_text(operand, name_of) for operand in operands]
            match operator:
                case ir.IndexOperator.NEGATE:
                    return f"(-{parts[0]})"
                case ir.IndexOperator.MINIMUM:
                    return f"min({', '.join(parts)})"
                case ir.IndexOperator.MAXIMUM:
                    return f"max({', '.join(parts)})"
                case ir.IndexOperator.SELECT:
                    return f"({parts[1]} if {parts[0]} else {parts[2]})"
                case _:
                    return f"({f' {ir.INFIX_SYMBOLS[operator]} '.join(parts)})"
        case _:
            assert_never(index)
