"""Brute force: loops run by an interpreter, and what they may not do.

The loop IR is executed with fixed sizes; what comes out is every instance with the elements that
its subscripts name, in order, and the iterations of parallel loops that it is in. That is checked
against the program: every instance once, subscripts that name the elements of the accesses, no
dependence reversed, none between two iterations of a parallel loop, none between two lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import assert_never

from polygym.codegen.common.loop_annotation import ParallelLoop
from polygym.codegen.loopir.ir import (
    Block,
    Guard,
    Index,
    IndexConstant,
    IndexOperation,
    IndexOperator,
    IndexVariable,
    Instance,
    Loop,
    LoopProgram,
    Node,
)
from polygym.ir.expressions import Access
from tests.oracles.mapped_trees import Run, access_functions

Shares = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Event:
    """One instance that ran.

    ``step`` numbers what runs at once: all lanes of an instance have the same. ``shares`` are the
    parallel loops around it, each by the number of its execution and the iteration.
    """

    statement: str
    point: tuple[int, ...]
    write: tuple[int, ...]
    reads: tuple[tuple[int, ...], ...]
    step: int
    shares: Shares


def value(index: Index, at: Mapping[str, int]) -> int:
    """Return what an index is worth; what it assumes is asserted."""
    match index:
        case IndexConstant(number):
            return number
        case IndexVariable(name):
            return at[name]
        case IndexOperation(operator, operands):
            return _operation(operator, operands, at)
        case _:
            assert_never(index)


def _operation(operator: IndexOperator, operands: tuple[Index, ...], at: Mapping[str, int]) -> int:
    # Connectives and selections look at what they need only, as C does.
    match operator:
        case IndexOperator.AND:
            return int(all(value(operand, at) for operand in operands))
        case IndexOperator.OR:
            return int(any(value(operand, at) for operand in operands))
        case IndexOperator.SELECT:
            return value(operands[1] if value(operands[0], at) else operands[2], at)
        case _:
            return _arithmetic(operator, [value(operand, at) for operand in operands])


def _arithmetic(operator: IndexOperator, values: list[int]) -> int:
    first, *others = values
    second = others[0] if others else 0
    match operator:
        case IndexOperator.NEGATE:
            return -first
        case IndexOperator.ADD:
            return first + second
        case IndexOperator.SUBTRACT:
            return first - second
        case IndexOperator.MULTIPLY:
            return first * second
        case IndexOperator.DIVIDE_EXACT:
            assert first % second == 0, "a division that leaves a remainder"
            return first // second
        case IndexOperator.DIVIDE_FLOOR:
            assert second > 0
            return first // second
        case IndexOperator.DIVIDE_NONNEGATIVE:
            assert first >= 0 < second, "a negative number where none should be"
            return first // second
        case IndexOperator.REMAINDER_NONNEGATIVE:
            assert first >= 0 < second, "a negative number where none should be"
            return first % second
        case IndexOperator.REMAINDER_ZERO_TEST:
            return first % second
        case IndexOperator.MINIMUM:
            return min(values)
        case IndexOperator.MAXIMUM:
            return max(values)
        case IndexOperator.EQUAL:
            return int(first == second)
        case IndexOperator.LESS:
            return int(first < second)
        case IndexOperator.LESS_EQUAL:
            return int(first <= second)
        case IndexOperator.GREATER:
            return int(first > second)
        case IndexOperator.GREATER_EQUAL:
            return int(first >= second)
        case IndexOperator.AND | IndexOperator.OR | IndexOperator.SELECT:
            raise AssertionError("handled above")
        case _:
            assert_never(operator)


def events(body: Node, sizes: Mapping[str, int]) -> list[Event]:
    """Run loops and return what ran, in order."""
    return list(_Interpreter().node(body, dict(sizes), ()))


class _Interpreter:
    def __init__(self) -> None:
        self.steps = count()
        self.executions = count()

    def node(self, node: Node, at: dict[str, int], shares: Shares) -> Iterator[Event]:
        match node:
            case Block(children):
                for child in children:
                    yield from self.node(child, at, shares)
            case Loop(variable, lower, upper, step, body, annotation):
                assert variable not in at, f"{variable} is bound twice"
                execution = next(self.executions)
                for iteration in range(value(lower, at), value(upper, at) + 1, step):
                    own = ((execution, iteration),) if isinstance(annotation, ParallelLoop) else ()
                    yield from self.node(body, {**at, variable: iteration}, (*shares, *own))
            case Guard(condition, then, otherwise):
                if value(condition, at):
                    yield from self.node(then, at, shares)
                elif otherwise is not None:
                    yield from self.node(otherwise, at, shares)
            case Instance():
                yield from self.instance(node, at, shares)
            case _:
                assert_never(node)

    def instance(self, node: Instance, at: dict[str, int], shares: Shares) -> Iterator[Event]:
        step = next(self.steps)
        places = [at]
        if node.lanes is not None:
            lanes = node.lanes
            width = lanes.width
            base = value(lanes.base, at)
            if lanes.active is not None:
                width = min(width, value(lanes.active, at))
                assert width >= 1, "no lane at all"
            places = [{**at, lanes.variable: base + lane} for lane in range(width)]
        for place in places:
            yield Event(
                node.statement,
                tuple(value(index, place) for index in node.iterators),
                tuple(value(index, place) for index in node.write),
                tuple(tuple(value(index, place) for index in read) for read in node.reads),
                step,
                shares,
            )


def unpacked(
    program: LoopProgram, statement: str, number: int, subscripts: tuple[int, ...]
) -> tuple[int, ...]:
    """Return which element of the array a read of its copy stands for.

    The copy's own statement says it: ``{ B[p, q] -> B[q, p] }`` is what it writes.
    """
    copy = program.scop.statement(statement).reads[number].array
    written = program.scop.statement(copy).write.relation
    before, after = (part[part.index("[") + 1 : part.index("]")] for part in written.split("->"))
    values = dict(zip(after.split(", "), subscripts, strict=True))
    return tuple(values[name] for name in before.split(", "))


def affine(access: Access, subscripts: tuple[int, ...]) -> tuple[int, ...]:
    """Return the subscripts that loops compute: those on data are no business of theirs."""
    return tuple(
        subscript for place, subscript in enumerate(subscripts) if place not in access.gathered
    )


def check_loops(program: LoopProgram, run: Run) -> list[Event]:
    """Assert that loops are right for one small run; return what ran.

    Statements that packing has added are none of the run's; reads of packed arrays are checked as
    those of the arrays that they are copies of would be.
    """
    own = {statement.name for statement in run.scop.statements}
    result = [event for event in events(program.body, run.sizes) if event.statement in own]
    ran = [(event.statement, event.point) for event in result]
    assert len(set(ran)) == len(ran), "an instance runs twice"
    assert set(ran) == set(run.trace.order), "not the instances of the program"
    functions = access_functions(run)
    for event in result:
        statement = run.scop.statement(event.statement)
        for number, access, subscripts in (
            (-1, statement.write, event.write),
            *(
                (number, access, subscripts)
                for number, (access, subscripts) in enumerate(
                    zip(statement.reads, event.reads, strict=True)
                )
            ),
        ):
            if number >= 0 and program.scop.statement(event.statement).reads[number] != access:
                subscripts = unpacked(program, event.statement, number, subscripts)
            touched = functions[event.statement, number].get(event.point)
            if touched is not None:  # else the read is not made in this instance
                known = {(array, affine(access, element)) for array, element in touched}
                here = {(access.array, affine(access, subscripts))}
                assert known == here, f"{event}: access {number}"
    by_instance = dict(zip(ran, result, strict=True))
    place = {instance: position for position, instance in enumerate(ran)}
    for source, sink in run.dependent:
        first, second = by_instance[source], by_instance[sink]
        assert place[source] < place[sink], f"{sink} runs before {source}"
        assert first.step < second.step, f"{source} and {sink} run in lanes of one vector"
        for (one, iteration), (other, another) in zip(first.shares, second.shares, strict=False):
            if one != other:
                break
            assert iteration == another, f"{source} and {sink} run in different threads"
    return result
