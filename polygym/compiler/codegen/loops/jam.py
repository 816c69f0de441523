"""Unroll and jam: several iterations of a loop together, inside the loops below it.

::

    for i:                           for i by 2:
      for k:                →          for k:
        S(i, k)                          S(i, k); S(i + 1, k)
                                     for the rest of i: for k: S(i, k)

What one iteration loaded the next one finds in a register, and independent chains of operations
fill the processor's pipelines. Side condition: the iterations of the loop are independent, so any
interleaving of them that keeps the order within each is right. Or the loop and those inside it may
be permuted with each other, and there is one statement in them: then what runs together runs in the
order (k, i), a block of i's in place of one, as in a tile. Pairs that depend on each other have
δ ≥ 0 along both loops, and the instances keep their order at equal k.

Where the bounds of an inner loop depend on the jammed one, the copies have only part of their
iterations in common. With lower bounds l(i) and upper bounds u(i), and the copies i, …, i + c - 1::

    for k in max l .. min u:      all copies together
    for every copy:               first k in l .. max l - 1, at the end k in min u + 1 .. u

Both parts may be long (a triangle's), but only the last c or so iterations are. The greatest lower
bound over the copies is found at the first or the last of them when l is a maximum of affine
pieces, and likewise the smallest upper bound of a minimum; other bounds are left alone, and the
copies then run one after the other.

That order is right for iterations that wait for each other too: δ ≥ 0 along k, so that no pair goes
from what is shared to what comes first, or from the end to either, and within these parts the loops
run as they did.

Example, c = 2, ``for i: for k = i .. n``: at i = 4 the copies share k = 5 .. n, and copy 4 runs
k = 4 alone before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from polygym.compiler.codegen.common.loop_annotation import SEQUENTIAL, Jam
from polygym.compiler.codegen.loops.index import (
    maximum,
    mentions,
    minimum,
    monotone,
    plus,
    replaced,
    replaced_in,
)
from polygym.compiler.codegen.loops.ir import (
    Block,
    Guard,
    Index,
    IndexOperator,
    Instance,
    Lanes,
    Loop,
    Node,
    Number,
    Operation,
    Variable,
    rebuilt,
)
from polygym.compiler.codegen.loops.linear import difference


@dataclass(frozen=True, slots=True)
class Copies:
    """Executions of a body that run together: ``variable`` is ``base`` plus each offset.

    With ``width`` above 1 every copy is a vector of so many lanes. Counted from ``base`` on,
    ``active`` lanes exist (all when None). ``spare`` is a variable name that nothing else uses.
    """

    variable: str
    base: Index
    offsets: tuple[int, ...]
    spare: str
    width: int = 1
    active: Index | None = None

    @property
    def first(self) -> Index:
        """The smallest value of the variable."""
        return plus(self.base, self.offsets[0])

    @property
    def last(self) -> Index:
        """The greatest value of the variable."""
        if self.active is None:
            return plus(self.base, self.offsets[-1] + self.width - 1)
        return minimum(
            plus(self.base, self.offsets[-1] + self.width - 1),
            plus(Operation(IndexOperator.ADD, (self.base, self.active)), -1),
        )

    def active_from(self, offset: int) -> Index | None:
        """Return how many lanes of the vector at an offset exist; None if all do."""
        match self.active:
            case None:
                return None
            case Number(count):
                return None if count - offset >= self.width else Number(count - offset)
            case _:
                return plus(self.active, -offset)


def jam_loops(node: Node) -> Node:
    """Carry out every annotation of the kind Jam, outermost first."""
    match node:
        case Loop(annotation=Jam(copies)) if copies > 1 and node.step == 1:
            return _jammed(node, copies)
        case Loop(annotation=Jam()):
            return replace(node, body=jam_loops(node.body), annotation=SEQUENTIAL)
        case _:
            return rebuilt(node, jam_loops)


def _jammed(loop: Loop, count: int) -> Node:
    """Return the main loop, ``count`` iterations at a time, and the loop over the rest."""
    name = loop.variable
    copies = Copies(name, Variable(name), tuple(range(count)), f"{name}_")
    main = Loop(
        name, loop.lower, plus(loop.upper, 1 - count), count, jam_loops(together(loop.body, copies))
    )
    rest = Loop(name, rest_start(loop, count), loop.upper, 1, jam_loops(loop.body))
    return main_and_rest(loop, count, main, rest)


def main_and_rest(loop: Loop, count: int, main: Loop, rest: Loop) -> Node:
    """Return both parts of a loop, or the one that has iterations, where that is known.

    ``main`` runs blocks of ``count`` iterations, ``rest`` what does not fill one.
    """
    last = difference(loop.upper, loop.lower)
    if last is None:
        return Block((main, rest))
    blocks, left = divmod(max(0, last + 1), count)
    return Block((main,) * (blocks > 0) + (rest,) * (left > 0 or blocks == 0))


def rest_start(loop: Loop, count: int) -> Index:
    """Return where the iterations begin that do not fill a block of ``count``.

    >>> from polygym.compiler.codegen.c_printer import print_index
    >>> print_index(rest_start(Loop("i", Number(0), Variable("m"), 1, Block(())), 4))
    '4 * polygym_floord(polygym_max(0, m + 1), 4)'

    With no iterations at all the start lies below the lower bound by what it lies above the upper
    one, so it must be kept from running: the quotient is taken of 0 at least.
    """
    last = difference(loop.upper, loop.lower)
    if last is not None:
        return plus(loop.lower, max(0, last + 1) // count * count)
    zero = loop.lower == Number(0)
    trips = plus(
        loop.upper if zero else Operation(IndexOperator.SUBTRACT, (loop.upper, loop.lower)), 1
    )
    whole = Operation(
        IndexOperator.MULTIPLY,
        (
            Number(count),
            Operation(IndexOperator.DIVIDE_FLOOR, (maximum(Number(0), trips), Number(count))),
        ),
    )
    return whole if zero else Operation(IndexOperator.ADD, (loop.lower, whole))


def together(node: Node, copies: Copies) -> Node:
    """Return a node that runs ``node`` for all copies, interleaved where it can be."""
    match node:
        case Instance():
            return _instances(node, copies)
        case Loop():
            return _loop(node, copies)
        case Guard(condition) if mentions(condition, copies.variable):
            return _one_by_one(node, copies)
        case Block() | Guard():
            return rebuilt(node, lambda part: together(part, copies))
        case _:
            assert_never(node)


def _instances(instance: Instance, copies: Copies) -> Node:
    """Return one instance for each copy."""
    found: list[Node] = []
    for offset in copies.offsets:
        base = plus(copies.base, offset)
        if copies.width == 1:
            found.append(replaced_in(instance, {copies.variable: base}))
            continue
        assert instance.lanes is None
        lanes = Lanes(copies.variable, base, copies.width, copies.active_from(offset))
        found.append(
            Instance(instance.statement, instance.iterators, instance.write, instance.reads, lanes)
        )
    return found[0] if len(found) == 1 else Block(tuple(found))


def _loop(loop: Loop, copies: Copies) -> Node:
    """Return the loop with all copies inside, and the iterations that they do not share."""
    name = copies.variable
    if not (mentions(loop.lower, name) or mentions(loop.upper, name)):
        body = together(loop.body, copies)
        return Loop(loop.variable, loop.lower, loop.upper, loop.step, body, loop.annotation)
    ends = (copies.first, copies.last)
    start = extreme_of(loop.lower, name, ends, IndexOperator.MAXIMUM)
    end = extreme_of(loop.upper, name, ends, IndexOperator.MINIMUM)
    if start is None or end is None or loop.step != 1:
        return _one_by_one(loop, copies)
    # The copies' own bounds are over the spare variable; what is shared is not.
    own = replaced_in(loop, {name: Variable(copies.spare)})
    assert isinstance(own, Loop)
    parts: list[Node] = []
    if mentions(loop.lower, name):
        high = minimum(plus(start, -1), own.upper)
        parts.append(_over(copies, replace(own, upper=high)))
    parts.append(replace(loop, lower=start, upper=end, body=together(loop.body, copies)))
    if mentions(loop.upper, name):
        # Where nothing is shared, all of the iterations are left, but none before the first.
        low = maximum(plus(end, 1), start if mentions(loop.lower, name) else loop.lower)
        parts.append(_over(copies, replace(own, lower=low)))
    return Block(tuple(parts))


def extreme_of(
    bound: Index, variable: str, ends: tuple[Index, Index], operator: IndexOperator
) -> Index | None:
    """Return the extreme of a bound over a variable's values, or None when that is not known.

    ``ends`` are the first and the last of the values.
    """
    if not mentions(bound, variable):
        return bound
    pieces: Sequence[Index]
    match bound:
        case Operation(inner, operands) if inner is operator:
            pieces = operands
        case _:
            pieces = (bound,)
    found: list[Index] = []
    for piece in pieces:
        if not monotone(piece, variable):
            return None
        found += [replaced(piece, {variable: end}) for end in ends]
    return maximum(*found) if operator is IndexOperator.MAXIMUM else minimum(*found)


def _one_by_one(node: Node, copies: Copies) -> Node:
    """Return a loop that runs a node for one copy after the other."""
    return _over(copies, replaced_in(node, {copies.variable: Variable(copies.spare)}))


def _over(copies: Copies, node: Node) -> Node:
    """Return a loop of the spare variable over the copies."""
    assert _dense(copies)
    return Loop(copies.spare, copies.first, copies.last, 1, node)


def _dense(copies: Copies) -> bool:
    """Whether the copies are all values from the first to the last."""
    return copies.offsets == tuple(
        copies.width * position for position in range(len(copies.offsets))
    )
