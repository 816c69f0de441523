"""Schedule tree → isl AST → loop IR.

isl's AST generator scans the domains in the order of the tree. At every statement of its AST the
inverse of the schedule says which instance runs there; composing each access with it gives the
subscripts in terms of the loops' counters, simplified by isl in the context of the surrounding
loops. Example: T[i, j] of y = Ax under (i + j, i) reads ``x[c0 - c1]`` inside loops c0 and c1.
Subscripts that are computed are 0 here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import islpy as isl

from polygym.compiler.codegen.common.loop_annotation import SEQUENTIAL, LoopAnnotation
from polygym.compiler.codegen.common.sizes import Sizes, at_sizes, known_sizes
from polygym.compiler.codegen.loops.check_order import check_legal_order
from polygym.compiler.codegen.loops.ir import (
    Block,
    Guard,
    Index,
    IndexOperator,
    Instance,
    Loop,
    LoopProgram,
    Node,
    Number,
    Operation,
    Variable,
)
from polygym.compiler.codegen.loops.names import counter_names, counter_place
from polygym.compiler.codegen.trees.isl_tree import PLACE, to_isl
from polygym.compiler.codegen.trees.tree import Tree, depth, free_sums_in, path
from polygym.compiler.ir.expr import Access
from polygym.compiler.ir.scop import Scop, Statement
from polygym.compiler.poly.evaluate import evaluate
from polygym.compiler.poly.gathers import anchored
from polygym.compiler.poly.isl_budget import bounded, unbounded
from polygym.compiler.poly.isl_numbers import integer, isl_c_text
from polygym.compiler.poly.legality import LegalSchedule
from polygym.errors import InternalError

_OPERATORS = {
    isl.ast_expr_op_type.minus: IndexOperator.NEGATE,
    isl.ast_expr_op_type.add: IndexOperator.ADD,
    isl.ast_expr_op_type.sub: IndexOperator.SUBTRACT,
    isl.ast_expr_op_type.mul: IndexOperator.MULTIPLY,
    isl.ast_expr_op_type.div: IndexOperator.DIVIDE_EXACT,
    isl.ast_expr_op_type.fdiv_q: IndexOperator.DIVIDE_FLOOR,
    isl.ast_expr_op_type.pdiv_q: IndexOperator.DIVIDE_NONNEGATIVE,
    isl.ast_expr_op_type.pdiv_r: IndexOperator.REMAINDER_NONNEGATIVE,
    isl.ast_expr_op_type.zdiv_r: IndexOperator.REMAINDER_ZERO_TEST,
    isl.ast_expr_op_type.min: IndexOperator.MINIMUM,
    isl.ast_expr_op_type.max: IndexOperator.MAXIMUM,
    isl.ast_expr_op_type.cond: IndexOperator.SELECT,
    isl.ast_expr_op_type.select: IndexOperator.SELECT,
    isl.ast_expr_op_type.eq: IndexOperator.EQUAL,
    isl.ast_expr_op_type.lt: IndexOperator.LESS,
    isl.ast_expr_op_type.le: IndexOperator.LESS_EQUAL,
    isl.ast_expr_op_type.gt: IndexOperator.GREATER,
    isl.ast_expr_op_type.ge: IndexOperator.GREATER_EQUAL,
    isl.ast_expr_op_type.and_: IndexOperator.AND,
    isl.ast_expr_op_type.and_then: IndexOperator.AND,
    isl.ast_expr_op_type.or_: IndexOperator.OR,
    isl.ast_expr_op_type.or_else: IndexOperator.OR,
}


def generate_loops(
    tree: Tree, legal: LegalSchedule, sizes: Sizes | None = None, *, whole: bool = False
) -> LoopProgram:
    """Return the loops that run the program in the order of the tree, for all or given sizes.

    ``whole`` loops are not split where what runs in them changes: conditions inside tell.
    """
    scop = legal.scop
    sizes = known_sizes(scop, sizes)
    with bounded("generating loops"):
        build = isl.AstBuild.from_context(at_sizes(isl.Set(scop.context), sizes))
        extents = tuple(
            tuple(
                _index(build.expr_from_pw_aff(isl.PwAff(extent)))
                if sizes is None
                else Number(evaluate(extent, sizes))
                for extent in array.extents
            )
            for array in scop.arrays
        )
        instances: list[Instance] = []
        annotate = _Annotator(scop, instances, sizes)
        # Instances that share one time are enumerated by further loops, which no member stands for.
        counters = counter_names(scop, depth(tree) + scop.depth)
        build = build.set_iterators(_id_list(counters))
        build, keep = build.set_at_each_domain(annotate)
        ast = build.node_from_schedule(to_isl(tree, legal, sizes, whole=whole))
        del keep  # the callback had to live until here
        if annotate.failure is not None:
            raise annotate.failure
        with unbounded():  # reading what is there; isl would leave out numbers at its bound
            places: dict[int, int] = {}
            read = _node(ast, instances, places)
        numbers = {id(instance): number for number, instance in enumerate(instances)}
        check_legal_order(read, annotate.released(), numbers, scop, sizes, free_sums_in(tree))
    body = with_annotations(read, tree, places)
    known = None if sizes is None else tuple(sizes.items())
    return LoopProgram(scop, body, extents, _guarded_reads(scop, sizes), sizes=known)


def _id_list(names: tuple[str, ...]) -> isl.IdList:
    identifiers = isl.IdList.alloc(isl.DEFAULT_CONTEXT, len(names))
    for name in names:
        identifiers = identifiers.add(isl.Id(name))
    return identifiers


def with_annotations(node: Node, tree: Tree, places: Mapping[int, int] | None = None) -> Node:
    """Give every loop the annotation of the member that it stands for.

    ``places`` has the number of the branch for nodes, by their id, that are for some tiles alone.

    Loop number k around a statement is member number k on the statement's way down the tree, and
    isl names its counter so. A loop of a single iteration may have vanished, and its annotation
    with it.
    """
    annotations: dict[tuple[str, int | None], tuple[LoopAnnotation, ...]] = {}
    known = places or {}

    def annotation(statement: str, branch: int | None, position: int) -> LoopAnnotation:
        if (statement, branch) not in annotations:
            members = path(tree, statement, branch)
            annotations[statement, branch] = tuple(member.annotation for member in members)
        own = annotations[statement, branch]
        return own[position] if position < len(own) else SEQUENTIAL

    def walk(node: Node, branch: int | None) -> tuple[Node, str]:
        """Return the node with annotations, and the name of a statement in it."""
        branch = known.get(id(node), branch)
        match node:
            case Block(()):  # at these sizes nothing runs
                return node, ""
            case Block(children):
                walked = [walk(child, branch) for child in children]
                return Block(tuple(child for child, _ in walked)), walked[0][1]
            case Loop(variable, lower, upper, step, body):
                body, statement = walk(body, branch)
                own = annotation(statement, branch, counter_place(variable))
                return Loop(variable, lower, upper, step, body, own), statement
            case Guard(condition, then, otherwise):
                then, statement = walk(then, branch)
                return Guard(
                    condition, then, None if otherwise is None else walk(otherwise, branch)[0]
                ), statement
            case Instance():
                return node, node.statement
            case _:
                assert_never(node)

    return walk(node, None)[0]


class _Annotator:
    """Called by isl at every statement of its AST: records what runs there under a number."""

    def __init__(self, scop: Scop, instances: list[Instance], sizes: Sizes | None) -> None:
        self.instances = instances
        self.counters: list[isl.Map] = []
        self.failure: Exception | None = None
        self.statements = {statement.name: statement for statement in scop.statements}
        self.functions = {
            statement.name: (
                _function(statement.write, sizes),
                tuple(_function(access, sizes) for access in statement.reads),
            )
            for statement in scop.statements
        }

    def __call__(self, node: isl.AstNode, build: isl.AstBuild) -> isl.AstNode:
        """Annotate a node; an exception must not pass through isl, which would lose its memory.

        Nor may isl run out of operations in here: it would leave holes in its expressions.
        """
        with unbounded():
            try:
                self._record(build)
            except Exception as error:
                self.failure = self.failure or error
            return node.set_annotation(isl.Id(f"instance_{len(self.instances) - 1}"))

    def released(self) -> list[isl.Map]:
        """Return the maps of the leaves; islpy keeps this object, which is to keep no sets."""
        found, self.counters, self.functions = self.counters, [], {}
        return found

    def _record(self, build: isl.AstBuild) -> None:
        schedule = isl.Map.from_union_map(build.get_schedule())
        statement = self.statements[schedule.get_tuple_name(isl.dim_type.in_)]
        instance_at = isl.PwMultiAff.from_map(schedule.reverse())
        write, reads = self.functions[statement.name]
        running = schedule.range()
        self.counters.append(schedule)
        self.instances.append(
            Instance(
                statement.name,
                _iterators(statement, instance_at, build),
                _subscripts(write, instance_at, running, build),
                tuple(_subscripts(read, instance_at, running, build) for read in reads),
            )
        )


def _function(access: Access, sizes: Sizes | None) -> isl.PwMultiAff:
    return isl.PwMultiAff.from_map(at_sizes(anchored(access), sizes))


def _iterators(
    statement: Statement, instance_at: isl.PwMultiAff, build: isl.AstBuild
) -> tuple[Index, ...]:
    """Return the values of the statement's iterators in terms of the loops' counters."""
    return tuple(
        _index(build.expr_from_pw_aff(instance_at.get_pw_aff(position)))
        for position in range(statement.depth)
    )


def _subscripts(
    access: isl.PwMultiAff, instance_at: isl.PwMultiAff, running: isl.Set, build: isl.AstBuild
) -> tuple[Index, ...]:
    """Return the subscripts of an access in terms of the loops' counters, which stand in a set.

    An access under a condition that never holds here is never made; isl has no expression for it,
    and any subscripts will do.
    """
    at_counters = access.pullback_pw_multi_aff(instance_at)
    if at_counters.domain().is_disjoint(running):
        return tuple(Number(0) for _ in range(access.dim(isl.dim_type.out)))
    expression = build.access_from_pw_multi_aff(at_counters)
    return tuple(
        _index(expression.get_op_arg(position)) for position in range(1, expression.get_op_n_arg())
    )


def _guarded_reads(scop: Scop, sizes: Sizes | None) -> frozenset[tuple[str, int]]:
    """Return the reads whose relation does not cover all instances of their statement."""
    return frozenset(
        (statement.name, position)
        for statement in scop.statements
        for position, access in enumerate(statement.reads)
        if not at_sizes(isl.Set(statement.domain), sizes).is_subset(
            at_sizes(anchored(access), sizes).domain()
        )
    )


def _node(node: isl.AstNode, instances: list[Instance], places: dict[int, int]) -> Node:
    """Convert one node of isl's AST; ``places`` gets the branches that nodes are marked with."""
    kind = node.get_type()
    if kind == isl.ast_node_type.for_:
        return _loop(node, instances, places)
    if kind == isl.ast_node_type.if_:
        else_node = node.if_get_else_node() if node.if_has_else_node() else None
        otherwise = None if else_node is None else _node(else_node, instances, places)
        return Guard(
            _index(node.if_get_cond()),
            _node(node.if_get_then_node(), instances, places),
            otherwise,
        )
    if kind == isl.ast_node_type.block:
        children = node.block_get_children()
        return Block(
            tuple(
                _node(children.get_at(k), instances, places) for k in range(children.n_ast_node())
            )
        )
    if kind == isl.ast_node_type.user:
        return instances[int(node.get_annotation().get_name().removeprefix("instance_"))]
    if kind == isl.ast_node_type.mark:
        marked = _node(node.mark_get_node(), instances, places)
        places[id(marked)] = int(node.mark_get_id().get_name().removeprefix(PLACE))
        return marked
    raise InternalError(f"an isl AST node of a kind that is never asked for: {isl_c_text(node)}")


def _loop(node: isl.AstNode, instances: list[Instance], places: dict[int, int]) -> Node:
    """Convert a loop; a degenerate one (a single iteration) keeps its counter as a constant."""
    variable = node.for_get_iterator().get_id().get_name()
    lower = _index(node.for_get_init())
    body = _node(node.for_get_body(), instances, places)
    if node.for_is_degenerate():
        return Loop(variable, lower, lower, 1, body)
    condition = _index(node.for_get_cond())
    match condition:
        case Operation(IndexOperator.LESS_EQUAL, (Variable(name), upper)) if name == variable:
            inclusive: Index = upper
        case Operation(IndexOperator.LESS, (Variable(name), upper)) if name == variable:
            inclusive = Operation(IndexOperator.SUBTRACT, (upper, Number(1)))
        case _:
            raise InternalError(f"an isl loop with an unforeseen condition: {isl_c_text(node)}")
    step = node.for_get_inc()
    return Loop(variable, lower, inclusive, integer(step.get_val()), body)


def _index(expression: isl.AstExpr) -> Index:
    """Convert an expression of isl's AST."""
    kind = expression.get_type()
    if kind == isl.ast_expr_type.int:
        return Number(integer(expression.get_val()))
    if kind == isl.ast_expr_type.id:
        return Variable(expression.get_id().get_name())
    operator = _OPERATORS.get(expression.get_op_type())
    if operator is None:
        raise InternalError(
            f"an isl AST expression of an unforeseen kind: {isl_c_text(expression)}"
        )
    return Operation(
        operator,
        tuple(_index(expression.get_op_arg(k)) for k in range(expression.get_op_n_arg())),
    )
