"""Schedule tree → isl AST → loop IR.

isl's AST generator scans the domains in the order of the tree. At every statement of its AST the
inverse of the schedule says which instance runs there; composing each access with it gives the
subscripts in terms of the loops' counters, simplified by isl in the context of the surrounding
loops. Example: T[i, j] of y = Ax under (i + j, i) reads ``x[c0 - c1]`` inside loops c0 and c1.
Subscripts that are computed are 0 here.

Reads under a condition, made whether it holds or not: where they stay inside their array.

The relation of a read in an arm of ``?:`` has the instances alone for which a condition on
iterators holds. Such a read is *guarded*: elsewhere it may be of no element. But where it is one
all the same, it is read like any other, and what is read for nothing is thrown away::

    for i = 1 .. n:  S: y[i] = i > 4 ? x[i - 1] : 0;        x[0 .. n - 1] are all there

So lanes of vectors, which compute both arms, may have it. Side condition, for a read R from the
instances of dom R to the elements [0, e) of an array, of a statement whose instances are D: an
affine function f with

    f(i) ∈ [0, e)        for all i ∈ D that are not in dom R

which isl decides, at the sizes or for all that the context allows. The read then is R on dom R and
f on the rest. Candidates for f are the functions of which R consists, or 0 if the condition never
holds. In the example R = { S[i] -> x[i - 1] : i > 4 }, so f(i) = i - 1, and f(1) = 0 to f(4) = 3
are inside. With the loop from 0 on, f(0) = -1 is not, and the read is guarded.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import assert_never

import islpy as isl

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP, LoopAnnotation
from polygym.codegen.generation.isl_ast import index_from_isl, node_from_isl
from polygym.codegen.loopir import ir
from polygym.codegen.loopir.names import counter_depth, counter_names
from polygym.codegen.loopir.pass_types import CodegenRequest, Pass, Representation
from polygym.codegen.tree.ir import Tree, loop_path, reordered_reductions_in, tree_depth
from polygym.codegen.tree.isl_tree import BRANCH_PREFIX, to_isl
from polygym.codegen.validate.order import check_legal_order
from polygym.ir.expressions import Access
from polygym.ir.scop import Scop, Statement
from polygym.mapping.sizes import Sizes, at_sizes, known_sizes
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.isl_budget import attempt_bounded, bounded_operations, unbounded_operations
from polygym.poly.legality import LegalSchedule
from polygym.poly.may_accesses import anchor_access


def speculative_read(
    scop: Scop, statement: Statement, access: Access, sizes: Sizes | None
) -> tuple[isl.PwMultiAff, bool]:
    """Return the subscripts of a read, and whether it is guarded: only made where it has some.

    What computes subscripts, or takes isl too long, is guarded.
    """
    relation = at_sizes(anchor_access(access), sizes)
    instances = at_sizes(isl.Set(statement.domain), sizes)
    own = isl.PwMultiAff.from_map(relation)
    if instances.is_subset(relation.domain()):
        return own, False
    if access.gathered:
        return own, True
    if sizes is None:
        instances = instances.intersect_params(isl.Set(scop.context))
    try:
        with attempt_bounded(TUNING.speculation_operations):
            aff = _total_subscripts(relation, own, instances, _array_elements(scop, access, sizes))
    except isl.Error:
        return own, True
    return (own, True) if aff is None else (aff, False)


def _total_subscripts(
    relation: isl.Map, own: isl.PwMultiAff, instances: isl.Set, elements: isl.Set
) -> isl.PwMultiAff | None:
    """Return the subscripts for all instances; None where they might not be elements."""
    rest = instances.subtract(relation.domain())
    pieces: list[isl.MultiAff] = []
    own.foreach_piece(lambda _, piece: pieces.append(piece))
    if relation.domain().is_disjoint(instances):
        pieces = [isl.MultiAff.zero(own.get_space())]
    for piece in pieces:
        further = isl.Map.from_multi_aff(piece).intersect_domain(rest)
        if further.range().is_subset(elements):
            return isl.PwMultiAff.from_map(relation.union(further).coalesce()).coalesce()
    return None


def _array_elements(scop: Scop, access: Access, sizes: Sizes | None) -> isl.Set:
    """Return the elements of the array that an access is of."""
    below = isl.Map("{ [e] -> [x] : 0 <= x < e }")
    result = isl.Set("{ [] }")
    for extent in scop.array(access.array).extents:
        size = at_sizes(isl.Set.from_pw_aff(isl.PwAff(extent)), sizes)
        result = result.flat_product(size.apply(below))
    return result.set_tuple_name(access.array)


def generate_loops(
    tree: Tree, legal: LegalSchedule, sizes: Sizes | None = None, *, whole: bool = False
) -> ir.LoopProgram:
    """Return the loops that run the program in the order of the tree, for all or given sizes.

    ``without_splitting`` loops are not split where what runs in them changes: conditions inside
    tell.
    """
    scop = legal.scop
    sizes = known_sizes(scop, sizes)
    with bounded_operations("generating loops"):
        build = isl.AstBuild.from_context(at_sizes(isl.Set(scop.context), sizes))
        extents = tuple(
            tuple(
                index_from_isl(build.expr_from_pw_aff(isl.PwAff(extent)))
                if sizes is None
                else ir.IndexConstant(evaluate_extent(extent, sizes))
                for extent in array.extents
            )
            for array in scop.arrays
        )
        instances: list[ir.Instance] = []
        annotate = _InstanceRecorder(scop, instances, sizes)
        # Instances that share one time are enumerated by further loops, which no member stands for.
        counters = counter_names(scop, tree_depth(tree) + scop.depth)
        build = build.set_iterators(_isl_ids(counters))
        build, keep = build.set_at_each_domain(annotate)
        ast = build.node_from_schedule(to_isl(tree, legal, sizes, without_splitting=whole))
        del keep  # the callback had to live until here
        if annotate.failure is not None:
            raise annotate.failure
        with unbounded_operations():  # isl would leave out numbers at its bound
            marks: dict[int, str] = {}
            read = node_from_isl(ast, _instance_lookup(instances), marks)
        numbers = {id(instance): number for number, instance in enumerate(instances)}
        reordered = reordered_reductions_in(tree)
        check_legal_order(read, annotate.released(), numbers, scop, sizes, reordered)
    places = {node: int(mark.removeprefix(BRANCH_PREFIX)) for node, mark in marks.items()}
    body = with_annotations(read, tree, places)
    known = None if sizes is None else tuple(sizes.items())
    return ir.LoopProgram(scop, body, extents, annotate.guarded, sizes=known)


def _isl_ids(names: tuple[str, ...]) -> isl.IdList:
    identifiers = isl.IdList.alloc(isl.DEFAULT_CONTEXT, len(names))
    for name in names:
        identifiers = identifiers.add(isl.Id(name))
    return identifiers


def with_annotations(node: ir.Node, tree: Tree, places: Mapping[int, int] | None = None) -> ir.Node:
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
            members = loop_path(tree, statement, branch)
            annotations[statement, branch] = tuple(member.annotation for member in members)
        own = annotations[statement, branch]
        return own[position] if position < len(own) else SEQUENTIAL_LOOP

    def walk(node: ir.Node, branch: int | None) -> tuple[ir.Node, str]:
        """Return the node with annotations, and the name of a statement in it."""
        branch = known.get(id(node), branch)
        match node:
            case ir.Block(()):  # at these sizes nothing runs
                return node, ""
            case ir.Block(children):
                walked = [walk(child, branch) for child in children]
                return ir.Block(tuple(child for child, _ in walked)), walked[0][1]
            case ir.Loop(variable, body=body):
                body, statement = walk(body, branch)
                own = annotation(statement, branch, counter_depth(variable))
                return replace(node, body=body, annotation=own), statement
            case ir.Guard(condition, then, otherwise):
                then, statement = walk(then, branch)
                other = None if otherwise is None else walk(otherwise, branch)[0]
                return ir.Guard(condition, then, other), statement
            case ir.Instance():
                return node, node.statement
            case _:
                assert_never(node)

    return walk(node, None)[0]


def _instance_lookup(instances: list[ir.Instance]) -> Callable[[isl.AstNode], ir.Instance]:
    """Return what runs at a leaf, which has its number."""
    return lambda leaf: instances[int(leaf.get_annotation().get_name().removeprefix("instance_"))]


class _InstanceRecorder:
    """Called by isl at every statement of its AST: records what runs there under a number."""

    def __init__(self, scop: Scop, instances: list[ir.Instance], sizes: Sizes | None) -> None:
        self.instances = instances
        self.counters: list[isl.Map] = []
        self.failure: Exception | None = None
        self.statements = {statement.name: statement for statement in scop.statements}
        reads = {
            own.name: [speculative_read(scop, own, access, sizes) for access in own.reads]
            for own in scop.statements
        }
        self.functions = {
            statement.name: (
                isl.PwMultiAff.from_map(at_sizes(anchor_access(statement.write), sizes)),
                tuple(function for function, _ in reads[statement.name]),
            )
            for statement in scop.statements
        }
        self.guarded = frozenset(
            (name, number)
            for name, own_reads in reads.items()
            for number, (_, is_guarded) in enumerate(own_reads)
            if is_guarded
        )

    def __call__(self, node: isl.AstNode, build: isl.AstBuild) -> isl.AstNode:
        """Annotate a node; an exception must not pass through isl, which would lose its memory.

        Nor may isl run out of operations in here: it would leave holes in its expressions.
        """
        with unbounded_operations():
            try:
                self._record(build)
            except Exception as error:
                self.failure = self.failure or error
            return node.set_annotation(isl.Id(f"instance_{len(self.instances) - 1}"))

    def released(self) -> list[isl.Map]:
        """Return the maps of the leaves; islpy keeps this object, which is to keep no sets."""
        maps, self.counters, self.functions = self.counters, [], {}
        return maps

    def _record(self, build: isl.AstBuild) -> None:
        schedule = isl.Map.from_union_map(build.get_schedule())
        statement = self.statements[schedule.get_tuple_name(isl.dim_type.in_)]
        instance_at = isl.PwMultiAff.from_map(schedule.reverse())
        write, reads = self.functions[statement.name]
        running = schedule.range()
        self.counters.append(schedule)
        iterators = _iterators(statement, instance_at, build)
        place = _subscripts(write, instance_at, running, build)
        loads = tuple(_subscripts(read, instance_at, running, build) for read in reads)
        self.instances.append(ir.Instance(statement.name, iterators, place, loads))


def _iterators(
    statement: Statement, instance_at: isl.PwMultiAff, build: isl.AstBuild
) -> tuple[ir.Index, ...]:
    """Return the values of the statement's iterators in terms of the loops' counters."""
    return tuple(
        index_from_isl(build.expr_from_pw_aff(instance_at.get_pw_aff(position)))
        for position in range(statement.depth)
    )


def _subscripts(
    access: isl.PwMultiAff, instance_at: isl.PwMultiAff, running: isl.Set, build: isl.AstBuild
) -> tuple[ir.Index, ...]:
    """Return the subscripts of an access in terms of the loops' counters, which stand in a set.

    An access under a condition that never holds here is never made; isl has no expression for it,
    and any subscripts will do.
    """
    at_counters = access.pullback_pw_multi_aff(instance_at)
    if at_counters.domain().is_disjoint(running):
        return tuple(ir.IndexConstant(0) for _ in range(access.dim(isl.dim_type.out)))
    expression = build.access_from_pw_multi_aff(at_counters)
    return tuple(
        index_from_isl(expression.get_op_arg(position))
        for position in range(1, expression.get_op_n_arg())
    )


def _generate(tree: Tree, request: CodegenRequest) -> ir.LoopProgram:
    program = generate_loops(tree, request.legal, request.sizes, whole=request.keeps_loops_whole)
    return replace(program, mapping=request.mapping)


PASS = Pass(
    "generate",
    Representation.LOOPS,
    "loops of isl's AST generator, checked exactly and by execution",
    _generate,
)
