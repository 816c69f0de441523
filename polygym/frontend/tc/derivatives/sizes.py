"""Sizes that inference has found → expressions of the language, for ``where i in 0:...``.

isl's function of the sizes, in general with cases, becomes what isl would print of it in C, as a
tree. What it divides is not negative for the sizes that are possible.
"""

import islpy as isl

from polygym.errors import InternalError
from polygym.frontend.tc.derivatives import arithmetic
from polygym.frontend.tc.syntax import tree
from polygym.poly.isl_values import to_int

_Op = isl.ast_expr_op_type

_INFIX = {
    _Op.add: "+", _Op.sub: "-", _Op.mul: "*", _Op.div: "/", _Op.fdiv_q: "/", _Op.pdiv_q: "/",
    _Op.pdiv_r: "%", _Op.zdiv_r: "%", _Op.eq: "==", _Op.le: "<=", _Op.lt: "<", _Op.ge: ">=",
    _Op.gt: ">", _Op.and_: "&&", _Op.or_: "||", _Op.and_then: "&&", _Op.or_else: "||",
}  # fmt: skip


def size_expression(
    size: isl.PwAff, context: isl.Set, values: dict[str, tree.Expression]
) -> tree.Expression:
    """Return a size as an expression; ``values`` are those of isl's parameters."""
    simple = size.gist(context).coalesce()
    return _expression(isl.AstBuild.from_context(context).expr_from_pw_aff(simple), values)


def _expression(node: isl.AstExpr, values: dict[str, tree.Expression]) -> tree.Expression:
    match node.get_type():
        case isl.ast_expr_type.int:
            return arithmetic.signed(to_int(node.get_val()))
        case isl.ast_expr_type.id:
            return values[node.get_id().get_name()]
        case _:
            return _operation(node, values)


def _operation(node: isl.AstExpr, values: dict[str, tree.Expression]) -> tree.Expression:
    kind = node.get_op_type()
    operands = [_expression(node.get_op_arg(n), values) for n in range(node.get_op_n_arg())]
    match kind:
        case _Op.minus:
            return arithmetic.negative(operands[0])
        case _Op.min | _Op.max:
            result = operands[0]
            function = "min" if kind == _Op.min else "max"
            for operand in operands[1:]:
                result = arithmetic.element(function, (result, operand))
            return result
        case _Op.cond | _Op.select:
            return arithmetic.choice(*operands)
        case _ if kind in _INFIX:
            return _infix(_INFIX[kind], operands[0], operands[1])
        case _:
            raise InternalError(f"isl: a size with an operation {kind}")


def _infix(operator: str, left: tree.Expression, right: tree.Expression) -> tree.Expression:
    if operator == "+":
        return arithmetic.plus(left, right)
    return (
        arithmetic.minus(left, right)
        if operator == "-"
        else arithmetic.infix(operator, left, right)
    )
