"""Loops that stand directly in each other, and what passes over the loops ask about them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP
from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import add_constant, min_max_operands, minimum
from polygym.codegen.loopir.linear_sums import constant_difference


def sequence_parts(node: ir.Node) -> Iterator[ir.Node]:
    """Yield what runs one after the other, with no loop around it."""
    match node:
        case ir.Block(children):
            for child in children:
                yield from sequence_parts(child)
        case _:
            yield node


def perfect_nest(loop: ir.Loop) -> tuple[ir.Loop, ...]:
    """Return the loops that stand directly inside each other, from this one on."""
    loops = [loop]
    while isinstance(loops[-1].body, ir.Loop):
        loops.append(loops[-1].body)
    return tuple(loops)


def wrap_in_loops(loops: Sequence[ir.Loop], inside: ir.Node) -> ir.Node:
    """Return a node with a chain of loops around it."""
    for loop in reversed(loops):
        inside = replace(loop, body=inside)
    return inside


def only_instances(node: ir.Node) -> tuple[ir.Instance, ...] | None:
    """Return the instances of a node that has nothing else; None where there is more."""
    parts = tuple(sequence_parts(node))
    instances = tuple(part for part in parts if isinstance(part, ir.Instance))
    return instances if len(instances) == len(parts) else None


def constant_spans(loop: ir.Loop) -> Iterator[tuple[ir.Index, ir.Index, int]]:
    """Yield a piece of the lower bound and one of the upper that differ by a number, and that.

    From ``64·c0`` to ``min(64·c0 + 63, n - 1)`` it is one pair, with 63.
    """
    for first in min_max_operands(loop.lower, ir.IndexOperator.MAXIMUM):
        for last in min_max_operands(loop.upper, ir.IndexOperator.MINIMUM):
            length = constant_difference(last, first)
            if length is not None:
                yield first, last, length


def strip_mine(loop: ir.Loop, count: int, name: str) -> tuple[ir.Loop, ir.Loop]:
    """Return a loop over strips of so many iterations, by its counter's name, and that over one.

    ::

        for i in 3 .. n   →   for s in 3 .. n by 8: for i in s .. min(s + 7, n)
    """
    first = ir.IndexVariable(name)
    last = minimum(add_constant(first, count - 1), loop.upper)
    strips = replace(loop, variable=name, step=count, annotation=SEQUENTIAL_LOOP)
    return strips, replace(loop, lower=first, upper=last)


def undo_strip_mining(loops: Sequence[ir.Loop]) -> tuple[ir.Loop, ...]:
    """Return loops around each other, of which those that run in strips do so no more.

    >>> i = ir.Loop("i", ir.IndexVariable("m"), ir.IndexVariable("n"), 1, ir.Block(()))
    >>> undo_strip_mining(strip_mine(i, 8, "s")) == (i,), undo_strip_mining([i]) == (i,)
    (True, True)
    """
    result: list[ir.Loop] = []
    for loop in loops:
        for place, strips in enumerate(result):
            whole = replace(loop, lower=strips.lower, upper=strips.upper)
            _, inner = strip_mine(whole, strips.step, strips.variable)
            if inner == loop and strips.step > 1:
                result[place] = whole
                break
        else:
            result.append(loop)
    return tuple(result)


def conjunction(conditions: Sequence[ir.Index]) -> ir.Index:
    """Return the condition that all of one or more hold."""
    return conditions[0] if len(conditions) == 1 else ir.IndexOperator.AND(*conditions)
