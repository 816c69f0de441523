"""Vectors: iterations of a loop as lanes, all executing one statement before the next.

::

    for j:                           for j by 8:
      S(j); T(j)            →          S(j .. j + 7); T(j .. j + 7)
                                     for the rest, by 8: the same, masked

Side condition: the iterations of the loop are independent. Loops inside stay loops, around vectors:
a reduction that runs inside the lanes keeps the order of each lane's sum, so the result is the same
bit for bit. With ``count`` above 1, so many vectors run together, as
:mod:`polygym.codegen.transforms.unroll_and_jam` has it, which also explains what happens to inner
loops whose bounds depend on the lane.

Long loops over nothing but statements begin with a masked vector, after which stores are aligned
(:mod:`polygym.codegen.transforms.store_alignment`).

A statement that cannot be computed in lanes (a division of integers traps, a call has no vector
form, a read needs its guard, a gather is made under a condition, a store may not happen) leaves its
loop as it is.
"""

from dataclasses import replace

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP, VectorLoop
from polygym.codegen.common.math_support import has_vector_form
from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import add_constant, minimum
from polygym.codegen.loopir.linear_sums import constant_difference
from polygym.codegen.loopir.nests import only_instances
from polygym.codegen.loopir.pass_types import loop_pass
from polygym.codegen.transforms.store_alignment import (
    NO_ROWS,
    RowSizes,
    aligned_start,
    known_row_sizes,
)
from polygym.codegen.transforms.unroll_and_jam import (
    UnrolledCopies,
    interleave,
    main_and_remainder,
    remainder_start,
)
from polygym.ir import expressions
from polygym.ir.scop import Scop, Statement
from polygym.ir.types import ScalarType

_SCALAR_OPERATORS = frozenset(
    {
        expressions.BinaryOperator.REMAINDER,
        expressions.BinaryOperator.SHIFT_LEFT,
        expressions.BinaryOperator.SHIFT_RIGHT,
    }
)


def vectorize(
    node: ir.Node, scop: Scop, guarded: frozenset[str], rows: RowSizes = NO_ROWS
) -> ir.Node:
    """Carry out every :class:`~polygym.codegen.common.loop_annotation.VectorLoop` annotation.

    ``guarded`` are statements with a read that is only made under a condition. Stores to arrays of
    which ``rows`` has the inner sizes are aligned.
    """
    match node:
        case ir.Loop(step=step, body=body, annotation=VectorLoop(bits, count)):
            names = statements_in(body)
            able = step == 1 and names.isdisjoint(guarded)
            if able and all(is_vectorizable(scop.statement(name)) for name in names):
                width = bits // (8 * max(element_size(scop, name) for name in names))
                if width > 1:
                    maskable = not any(has_narrowing(scop.statement(name)) for name in names)
                    instances = only_instances(body)
                    start = None
                    if maskable and instances is not None:
                        start = aligned_start(node, instances, scop, rows, width)
                    if start is not None:
                        return _vectorize_from(start, node, width, count)
                    return _vectorize_loop(node, width, count, is_maskable=maskable)
            body = vectorize(body, scop, guarded, rows)
            return replace(node, body=body, annotation=SEQUENTIAL_LOOP)
        case _:
            return ir.map_children(node, lambda part: vectorize(part, scop, guarded, rows))


def _vectorize_from(start: ir.Index, loop: ir.Loop, width: int, count: int) -> ir.Node:
    """Return the iterations before ``start``, fewer than lanes, under a mask; then the others."""
    counter = ir.IndexVariable(loop.variable)
    last = minimum(add_constant(start, -1), loop.upper)
    left = add_constant(ir.IndexOperator.SUBTRACT(last, counter), 1)
    masked = UnrolledCopies(loop.variable, counter, (0,), f"{loop.variable}_", width, left)
    first = ir.Loop(loop.variable, loop.lower, last, width, interleave(loop.body, masked))
    others = _vectorize_loop(replace(loop, lower=start), width, count, is_maskable=True)
    return ir.Block((first, others))


def _vectorize_loop(loop: ir.Loop, width: int, count: int, *, is_maskable: bool) -> ir.Node:
    """Return the loop over whole blocks of vectors and the masked loop over the rest.

    What cannot be masked runs one by one in the rest.
    """
    name, block = loop.variable, width * count
    counter = ir.IndexVariable(name)
    copies = UnrolledCopies(name, counter, tuple(range(0, block, width)), f"{name}_", width)
    main = ir.Loop(
        name, loop.lower, add_constant(loop.upper, 1 - block), block, interleave(loop.body, copies)
    )
    start = remainder_start(loop, block)
    if not is_maskable:
        rest = ir.Loop(name, start, loop.upper, 1, loop.body)
        return main_and_remainder(loop, block, main, rest)
    last = constant_difference(loop.upper, loop.lower)
    if last is None:
        left = add_constant(ir.IndexOperator.SUBTRACT(loop.upper, counter), 1)
        masked = UnrolledCopies(name, counter, (0,), f"{name}_", width, left)
        rest = ir.Loop(name, start, loop.upper, width, interleave(loop.body, masked))
    else:
        # How many are left is known: they run together too, in as few vectors as will do.
        remaining = (last + 1) % block
        offsets = tuple(range(0, max(1, remaining), width))
        masked = UnrolledCopies(
            name, counter, offsets, f"{name}_", width, ir.IndexConstant(remaining)
        )
        rest = ir.Loop(name, start, loop.upper, block, interleave(loop.body, masked))
    return main_and_remainder(loop, block, main, rest)


def statements_in(node: ir.Node) -> frozenset[str]:
    """Return the names of the statements that run in a node."""
    return frozenset(instance.statement for instance in ir.instances_in(node))


def element_size(scop: Scop, statement: str) -> int:
    """Return the bytes of the largest element that a statement handles."""
    body = scop.statement(statement).body
    return max(
        scop.widest_element((statement,)), *(node.type.size for node in expressions.walk(body))
    )


def has_narrowing(statement: Statement) -> bool:
    """Whether something in the body makes integers of fewer bits of integers.

    LLVM 22 stores such vectors wrongly under a mask that leaves one lane: all bits of the wider
    integer, beyond the element.
    """
    for node in expressions.walk(statement.body):
        match node:
            case expressions.Cast(operand, type_):
                if type_.is_storage_only and not operand.type.is_storage_only:
                    return True  # the upper bits of an integer are cut off
                source, target = operand.type, type_
            case expressions.IteratorValue(_, type_) | expressions.ParameterValue(_, type_):
                source, target = ScalarType.LONG, type_
            case _:
                continue
        if source.is_integer and target.is_integer and source.size > target.size:
            return True
    return False


def is_vectorizable(statement: Statement) -> bool:
    """Whether the body can be computed in lanes."""
    return all(_has_vector_form(node) for node in expressions.walk(statement.body))


def has_masked_form(statement: Statement) -> bool:
    """Whether a statement can be computed in lanes, under a mask too, and computes no subscript."""
    accesses = (statement.write, *statement.reads)
    return (
        is_vectorizable(statement)
        and not has_narrowing(statement)
        and not any(access.gathered for access in accesses)
    )


def _has_vector_form(node: expressions.Expression) -> bool:
    match node:
        case expressions.Binary(operator, _, _, type_):
            divides = operator is expressions.BinaryOperator.DIVIDE and type_.is_integer
            return operator not in _SCALAR_OPERATORS and not divides
        case expressions.Cast(operand, type_):
            return not (operand.type.is_floating and type_.is_integer)
        case expressions.Call(function):
            return has_vector_form(function)
        case expressions.Update():
            return False
        case expressions.Conditional(_, then, otherwise):
            return not any(
                isinstance(inner, expressions.Gather)
                for arm in (then, otherwise)
                for inner in expressions.walk(arm)
            )
        case _:
            return True


def vectorize_program(program: ir.LoopProgram) -> ir.LoopProgram:
    """Vectorize the loops of a program."""
    scop, rows = program.scop, known_row_sizes(program)
    return program.with_body(vectorize(program.body, scop, program.guarded_statements, rows))


PASS = loop_pass("vectorize", "vectorization, with a masked remainder", vectorize_program)
