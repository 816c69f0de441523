"""Sums by the threads of a block together: terms in turn, then a tree in shared memory.

::

    for k: y[i] += A[i][k]      →      own = 0
                                       for k = thread, thread + 256, …: own += A[i][k]
                                       all[thread] = own                              barrier
                                       if thread < 128: all[thread] += all[thread + 128]
                                       …                                              barriers
                                       if thread = 0: y[i] += all[0]

It is done for a loop with a single statement, a sum, a product or an extreme, whose element is the
same all the time; e reads the array nowhere else. Then terms may be taken in any order, where the
mapping allows that (:mod:`polygym.codegen.common.reductions`). With several blocks, each takes some
of the terms, and the last update is atomic; no extreme has several, since it begins with the
element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from polygym.codegen.common.reductions import ReductionOperator, reduction_operator
from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import depends_on
from polygym.codegen.loopir.linear_sums import add_indices
from polygym.gpu.device_program import (
    BLOCK_VARIABLES,
    THREAD_VARIABLES,
    Barrier,
    KernelNode,
    ThreadCode,
)
from polygym.gpu.promotion.copies import MadeCode, Promoted, zero_literal
from polygym.ir.expressions import (
    Access,
    Binary,
    BinaryOperator,
    Call,
    Expression,
    FloatLiteral,
    IntegerLiteral,
    Load,
    MathFunction,
)
from polygym.ir.scop import Statement

_OPERATORS = {
    ReductionOperator.SUM: BinaryOperator.ADD,
    ReductionOperator.PRODUCT: BinaryOperator.MULTIPLY,
    ReductionOperator.AND: BinaryOperator.BIT_AND,
    ReductionOperator.OR: BinaryOperator.BIT_OR,
    ReductionOperator.XOR: BinaryOperator.BIT_XOR,
}
_EXTREMES = (MathFunction.MAXIMUM, MathFunction.MINIMUM)


@dataclass(frozen=True, slots=True)
class BlockSum:
    """The code of a block, our arrays in shared memory and registers, and the last update."""

    body: tuple[KernelNode, ...]
    shared: str
    local: str
    update: str


def combination(statement: Statement) -> Callable[[Expression, Expression], Expression] | None:
    """Return what takes two values of a reduction together; None where nothing may.

    Extremes are those of IEEE 754, which are the same in any order.
    """
    kind, operator = statement.body.type, reduction_operator(statement)
    own = len(statement.accumulator_reads)
    same_array = [access for access in statement.reads if access.array == statement.write.array]
    if operator is None or own != 1 or len(same_array) != 1:
        return None
    if operator.is_min_max:
        function = statement.body.function if isinstance(statement.body, Call) else None
        if function not in _EXTREMES:
            return None
        return lambda left, right: Call(function, (left, right), kind)
    return lambda left, right: Binary(_OPERATORS[operator], left, right, kind)


def is_block_sum(loop: ir.Loop, statements: Mapping[str, Statement]) -> bool:
    """Whether all that a loop does is to take terms together in one element."""
    names = {instance.statement for instance in ir.instances_in(loop.body)}
    if len(names) != 1:
        return False
    inner = {own.variable for own in ir.loops_in(loop)}
    return combination(statements[names.pop()]) is not None and not any(
        depends_on(subscript, name)
        for instance in ir.instances_in(loop.body)
        for subscript in instance.write
        for name in inner
    )


def block_sum(loop: ir.Loop, made: MadeCode, threads: int, blocks: int) -> BlockSum | None:
    """Return a loop that the threads of a block, or of several, run together; None if it is none.

    ``threads`` is a power of two.
    """
    if not is_block_sum(loop, made.statements):
        return None
    instance = next(ir.instances_in(loop.body))
    statement = made.statements[instance.statement]
    combine = combination(statement)
    assert combine is not None
    source = made.program.scop.array(statement.write.array)
    own, everyone = made.promote(source, "own", (1,)), made.promote(source, "all", (threads,))
    zero, number = (ir.IndexConstant(0),), ir.IndexVariable(THREAD_VARIABLES[0])
    begin = made.added(_beginning(statement, own))
    terms = made.redirected(loop, {source.name: (own, lambda _: zero)})
    assert isinstance(terms, ir.Loop)
    first: ir.Index = number
    if blocks > 1:
        block = ir.IndexVariable(BLOCK_VARIABLES[0])
        first = add_indices(first, ir.IndexOperator.MULTIPLY(ir.IndexConstant(threads), block))
    scaled = ir.IndexOperator.MULTIPLY(ir.IndexConstant(loop.step), first)
    terms = replace(terms, lower=add_indices(loop.lower, scaled), step=loop.step * threads * blocks)
    move = made.added(_assignment(everyone, own, Load(_element(own), source.type), "move"))
    both = combine(Load(_element(everyone), source.type), Load(_element(everyone), source.type))
    fold = made.added(_assignment(everyone, everyone, both, "fold"))
    total = combine(Load(statement.write, source.type), Load(_element(everyone), source.type))
    update = made.added(replace(statement, name=f"{statement.name}_total", body=total))
    at = (instance.iterators, instance.write)
    body: list[KernelNode] = [
        Barrier(),
        ThreadCode(
            ir.Block(
                (
                    ir.Instance(begin, *_beginning_at(statement, instance, zero)),
                    terms,
                    ir.Instance(move, (), (number,), (zero,)),
                )
            )
        ),
        Barrier(),
    ]
    half = threads // 2
    while half:
        other = add_indices(number, ir.IndexConstant(half))
        step = ir.Instance(fold, (), (number,), ((number,), (other,)))
        test = ir.IndexOperator.LESS(number, ir.IndexConstant(half))
        body += [ThreadCode(ir.Guard(test, step, None)), Barrier()]
        half //= 2
    last = ir.Instance(update, *at, (instance.write, zero))
    body.append(ThreadCode(ir.Guard(ir.IndexOperator.EQUAL(number, zero[0]), last, None)))
    body.append(Barrier())
    return BlockSum(tuple(body), everyone.array.name, own.array.name, update)


def _beginning(statement: Statement, own: Promoted) -> Statement:
    """Return the statement that sets what changes nothing: 0, 1, or the element of an extreme."""
    kind, operator = statement.body.type, reduction_operator(statement)
    assert operator is not None
    value: Expression
    if operator.is_idempotent:
        value = Load(statement.write, kind)
    elif operator is ReductionOperator.PRODUCT:
        value = FloatLiteral(1.0, kind) if kind.is_floating else IntegerLiteral(1, kind)
    else:
        value = zero_literal(kind)
    return replace(
        statement,
        name=f"{own.array.name}_begin",
        write=Access(own.array.name, statement.write.relation, own.array.name),
        body=value,
    )


def _beginning_at(
    statement: Statement, instance: ir.Instance, zero: tuple[ir.Index, ...]
) -> tuple[tuple[ir.Index, ...], tuple[ir.Index, ...], tuple[tuple[ir.Index, ...], ...]]:
    """Return the iterators, the element and the reads of the first instance of a sum."""
    operator = reduction_operator(statement)
    assert operator is not None
    reads = (instance.write,) if operator.is_idempotent else ()
    none = (ir.IndexConstant(0),) * len(instance.iterators)
    return none, zero, reads


def _element(promoted: Promoted) -> Access:
    """Return an access whose instances say which element it is."""
    name = promoted.array.name
    return Access(name, f"{{ {name}[] -> {name}[0] }}", name)


def _assignment(to: Promoted, source: Promoted, value: Expression, suffix: str) -> Statement:
    template = to.template
    return replace(template, name=f"{to.array.name}_{suffix}", write=_element(to), body=value)
