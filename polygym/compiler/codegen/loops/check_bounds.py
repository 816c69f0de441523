"""Does every access stay inside its array? Proved for the sizes, or left to a check as code runs.

isl writes the loops and the subscripts, and passes over loops rewrite both; code that is made of
them takes them at their word. Here they are not: every subscript of every instance gets a greatest
and a least value (:mod:`polygym.compiler.codegen.loops.extremes`), from the loops' bounds and the
guards around it alone.

On the way it is seen which divisions leave no remainder. LLVM is told of these, and of no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias, assert_never

from polygym.compiler.codegen.loops.extremes import (
    Bounds,
    Context,
    Effort,
    Form,
    TooHardError,
    number_form,
)
from polygym.compiler.codegen.loops.index import pieces
from polygym.compiler.codegen.loops.ir import (
    Block,
    Guard,
    Index,
    IndexOperator,
    Instance,
    Lanes,
    Loop,
    LoopProgram,
    Node,
)
from polygym.compiler.codegen.loops.linear import difference

_MOST_STEPS = 10_000
_MOST_COMBINATIONS = 3_000

Access: TypeAlias = tuple[str, int]
"""A statement, and the number of one of its reads, or ``WRITE``."""
WRITE = -1


def with_proofs(program: LoopProgram, sizes: Mapping[str, int] | None) -> LoopProgram:
    """Return the program with what is known of it, and what is not, at the sizes or at all."""
    effort = Effort(left=_MOST_STEPS)
    unproved = _unproved(program, sizes, effort)
    if unproved:  # perhaps more is known of what is around than bounds one by one
        harder = Effort(left=_MOST_STEPS, combinations=_MOST_COMBINATIONS)
        unproved &= _unproved(program, sizes, harder)
    exact = frozenset(index for index, is_exact in effort.exact.items() if is_exact)
    if effort.left < 0:  # not all places were looked at
        exact = frozenset()
    return replace(program, unproved=unproved, exact=exact)


def unproved_accesses(program: LoopProgram, sizes: Mapping[str, int] | None) -> frozenset[Access]:
    """Return the accesses that are not known to stay inside, at the sizes or at all of them."""
    return with_proofs(program, sizes).unproved


def _unproved(
    program: LoopProgram, sizes: Mapping[str, int] | None, effort: Effort
) -> frozenset[Access]:
    top = Context({}, {}, effort)
    names = (parameter.name for parameter in program.scop.parameters)
    top.names = {
        name: top.variable(Bounds()) if sizes is None else number_form(sizes[name])
        for name in names
    }
    walk = _Walk(program)
    try:
        walk.node(program.body, top)
    except TooHardError:
        return frozenset(
            (statement.name, access)
            for statement in program.scop.statements
            for access in (WRITE, *range(len(statement.reads)))
        )
    return frozenset(walk.unproved)


class _Walk:
    """Goes through a program and collects what cannot be proved."""

    def __init__(self, program: LoopProgram) -> None:
        arrays = (array.name for array in program.scop.arrays)
        self.extents = dict(zip(arrays, program.extents, strict=True))
        self.statements = {statement.name: statement for statement in program.scop.statements}
        self.unproved: set[Access] = set()

    def node(self, node: Node, context: Context) -> None:
        match node:
            case Block(children):
                for child in children:
                    self.node(child, context)
            case Loop(variable, body=body):
                inside = context.inside({})
                inside.assume_not_empty(node.lower, node.upper)
                self.node(body, inside.inside({variable: counter_of(inside, node)}))
            case Guard(condition, then, otherwise):
                inside = context.inside({})
                inside.assume(condition, holds=True)
                self.node(then, inside)
                if otherwise is not None:
                    inside = context.inside({})
                    inside.assume(condition, holds=False)
                    self.node(otherwise, inside)
            case Instance():
                self.instance(node, context)
            case _:
                assert_never(node)

    def instance(self, instance: Instance, context: Context) -> None:
        statement = self.statements[instance.statement]
        some = True
        if instance.lanes is not None:
            some = _has_lanes(instance.lanes, context)
            context = self._in_lanes(instance.lanes, context)
        accesses = (
            (statement.write, instance.write),
            *zip(statement.reads, instance.reads, strict=True),
        )
        for number, (access, subscripts) in enumerate(accesses, WRITE):
            extents = self.extents[access.array]
            for subscript, extent in zip(subscripts, extents, strict=True):
                form = context.form(subscript)
                room = context.form(extent).plus(form, -1)
                if not (some and context.is_at_least(form, 0) and context.is_at_least(room, 1)):
                    self.unproved.add((statement.name, number))

    def _in_lanes(self, lanes: Lanes, context: Context) -> Context:
        """Return the context in which the lanes' variable is that of any lane."""
        inside = context.inside({})
        base = inside.form(lanes.base)
        highs = [base.shifted(lanes.width - 1)]
        if lanes.active is not None:
            highs.append(base.plus(inside.form(lanes.active)).shifted(-1))
        lane = inside.variable(Bounds((base,), tuple(highs)))
        return inside.inside({lanes.variable: lane})


def _has_lanes(lanes: Lanes, context: Context) -> bool:
    """Whether lane 0 is known to exist: what is the same in all of them is read there."""
    if lanes.active is None:
        return True
    inside = context.inside({})
    return inside.is_at_least(inside.form(lanes.active), 1)


def counter_of(context: Context, loop: Loop) -> Form:
    """Return a loop's counter: a variable, or in steps the lower bound and a multiple of one.

    In steps it may end before the upper bound: from 3 to 9 by 4 it is 3 + 4k with k <= 6/4, or 7.
    """
    lows = _pieces(context, loop.lower, IndexOperator.MAXIMUM)
    highs = _pieces(context, loop.upper, IndexOperator.MINIMUM)
    if loop.step == 1:
        return context.variable(Bounds(lows, highs))
    start, part = context.form(loop.lower), Fraction(1, loop.step)
    most = [high.plus(start, -1).times(part) for high in highs]
    last = difference(loop.upper, loop.lower)
    if last is not None and last >= 0:
        most.append(number_form(last // loop.step))
    number = context.variable(Bounds((number_form(0),), tuple(most)))
    return start.plus(number, loop.step)


def _pieces(context: Context, bound: Index, operator: IndexOperator) -> tuple[Form, ...]:
    """Return what bounds a counter: the bound, and what it is the minimum or maximum of."""
    every = dict.fromkeys((*pieces(bound, operator), bound))
    return tuple(context.form(piece) for piece in every)
