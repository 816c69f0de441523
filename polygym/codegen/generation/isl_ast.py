"""isl's AST as the loop IR: the same nodes, and the same arithmetic.

Loops over the elements of a set, which depends on the counters around: isl's, looked through.

::

    { [c0] -> A[i, j] : 8c0 <= i < 8c0 + 8 and 0 <= j <= i }

        for i = 8 * c0 .. 8 * c0 + 7:  for j = 0 .. i:  …

They follow the dimensions of the array, the last one innermost.
"""

from collections.abc import Callable, Sequence

import islpy as isl

from polygym.codegen.loopir import ir
from polygym.errors import InternalError
from polygym.poly.isl_budget import unbounded_operations
from polygym.poly.isl_values import isl_c_text, to_int

_OPERATORS = {
    isl.ast_expr_op_type.minus: ir.IndexOperator.NEGATE,
    isl.ast_expr_op_type.add: ir.IndexOperator.ADD,
    isl.ast_expr_op_type.sub: ir.IndexOperator.SUBTRACT,
    isl.ast_expr_op_type.mul: ir.IndexOperator.MULTIPLY,
    isl.ast_expr_op_type.div: ir.IndexOperator.DIVIDE_EXACT,
    isl.ast_expr_op_type.fdiv_q: ir.IndexOperator.DIVIDE_FLOOR,
    isl.ast_expr_op_type.pdiv_q: ir.IndexOperator.DIVIDE_NONNEGATIVE,
    isl.ast_expr_op_type.pdiv_r: ir.IndexOperator.REMAINDER_NONNEGATIVE,
    isl.ast_expr_op_type.zdiv_r: ir.IndexOperator.REMAINDER_ZERO_TEST,
    isl.ast_expr_op_type.min: ir.IndexOperator.MINIMUM,
    isl.ast_expr_op_type.max: ir.IndexOperator.MAXIMUM,
    isl.ast_expr_op_type.cond: ir.IndexOperator.SELECT,
    isl.ast_expr_op_type.select: ir.IndexOperator.SELECT,
    isl.ast_expr_op_type.eq: ir.IndexOperator.EQUAL,
    isl.ast_expr_op_type.lt: ir.IndexOperator.LESS,
    isl.ast_expr_op_type.le: ir.IndexOperator.LESS_EQUAL,
    isl.ast_expr_op_type.gt: ir.IndexOperator.GREATER,
    isl.ast_expr_op_type.ge: ir.IndexOperator.GREATER_EQUAL,
    isl.ast_expr_op_type.and_: ir.IndexOperator.AND,
    isl.ast_expr_op_type.and_then: ir.IndexOperator.AND,
    isl.ast_expr_op_type.or_: ir.IndexOperator.OR,
    isl.ast_expr_op_type.or_else: ir.IndexOperator.OR,
}


def node_from_isl(
    node: isl.AstNode, leaf: Callable[[isl.AstNode], ir.Instance], marks: dict[int, str]
) -> ir.Node:
    """Convert a node of isl's AST, whose leaves are given; ``marks`` gets the names of marks."""
    kind = node.get_type()
    if kind == isl.ast_node_type.for_:
        return _loop_from_isl(node, leaf, marks)
    if kind == isl.ast_node_type.if_:
        else_node = node.if_get_else_node() if node.if_has_else_node() else None
        otherwise = None if else_node is None else node_from_isl(else_node, leaf, marks)
        return ir.Guard(
            index_from_isl(node.if_get_cond()),
            node_from_isl(node.if_get_then_node(), leaf, marks),
            otherwise,
        )
    if kind == isl.ast_node_type.block:
        children = node.block_get_children()
        return ir.Block(
            tuple(
                node_from_isl(children.get_at(k), leaf, marks) for k in range(children.n_ast_node())
            )
        )
    if kind == isl.ast_node_type.user:
        return leaf(node)
    if kind == isl.ast_node_type.mark:
        marked = node_from_isl(node.mark_get_node(), leaf, marks)
        marks[id(marked)] = node.mark_get_id().get_name()
        return marked
    raise InternalError(f"an isl AST node of a kind that is never asked for: {isl_c_text(node)}")


def _loop_from_isl(
    node: isl.AstNode, leaf: Callable[[isl.AstNode], ir.Instance], marks: dict[int, str]
) -> ir.Node:
    """Convert a loop; a degenerate one (a single iteration) keeps its counter as a constant."""
    variable = node.for_get_iterator().get_id().get_name()
    lower = index_from_isl(node.for_get_init())
    body = node_from_isl(node.for_get_body(), leaf, marks)
    if node.for_is_degenerate():
        return ir.Loop(variable, lower, lower, 1, body)
    condition = index_from_isl(node.for_get_cond())
    match condition:
        case ir.IndexOperation(ir.IndexOperator.LESS_EQUAL, (ir.IndexVariable(name), upper)) if (
            name == variable
        ):
            inclusive: ir.Index = upper
        case ir.IndexOperation(ir.IndexOperator.LESS, (ir.IndexVariable(name), upper)) if (
            name == variable
        ):
            inclusive = ir.IndexOperator.SUBTRACT(upper, ir.IndexConstant(1))
        case _:
            raise InternalError(f"an isl loop with an unforeseen condition: {isl_c_text(node)}")
    step = node.for_get_inc()
    return ir.Loop(variable, lower, inclusive, to_int(step.get_val()), body)


def index_from_isl(expression: isl.AstExpr) -> ir.Index:
    """Convert an expression of isl's AST."""
    kind = expression.get_type()
    if kind == isl.ast_expr_type.int:
        return ir.IndexConstant(to_int(expression.get_val()))
    if kind == isl.ast_expr_type.id:
        return ir.IndexVariable(expression.get_id().get_name())
    operator = _OPERATORS.get(expression.get_op_type())
    if operator is None:
        raise InternalError(
            f"an isl AST expression of an unforeseen kind: {isl_c_text(expression)}"
        )
    return operator(
        *(index_from_isl(expression.get_op_arg(k)) for k in range(expression.get_op_n_arg()))
    )


def scan_set(
    elements: isl.Map,
    around: isl.Set,
    outer: Sequence[str],
    counters: Sequence[str],
    instance: Callable[[tuple[ir.Index, ...]], ir.Instance],
) -> ir.Node:
    """Return loops that run an instance for all elements that belong to the values of counters.

    The ``outer`` counters have values in the set ``around``; the ``counters`` are those of the new
    loops, and an instance is made of the subscripts.
    """
    count = len(outer)
    parameters = elements.dim(isl.dim_type.param)
    moved = elements.move_dims(isl.dim_type.param, parameters, isl.dim_type.in_, 0, count).range()
    context = around.move_dims(isl.dim_type.param, parameters, isl.dim_type.set, 0, count).params()
    for place, name in enumerate(outer, parameters):
        moved = moved.set_dim_name(isl.dim_type.param, place, name)
        context = context.set_dim_name(isl.dim_type.param, place, name)
    names = isl.IdList.alloc(isl.DEFAULT_CONTEXT, len(counters))
    for name in counters:
        names = names.add(isl.Id(name))
    build = isl.AstBuild.from_context(context).set_iterators(names)
    moved = moved.set_tuple_name("copied")
    order = moved.identity().reset_tuple_id(isl.dim_type.out)
    ast = build.node_from_schedule_map(isl.UnionMap.from_map(order))

    def leaf(node: isl.AstNode) -> ir.Instance:
        call = node.user_get_expr()
        places = range(1, call.get_op_n_arg())
        return instance(tuple(index_from_isl(call.get_op_arg(place)) for place in places))

    with unbounded_operations():
        return node_from_isl(ast, leaf, {})
