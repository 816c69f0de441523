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

from dataclasses import dataclass, replace
from typing import assert_never

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP, UnrollAndJam
from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import (
    add_constant,
    depends_on,
    is_monotone,
    maximum,
    min_max_operands,
    minimum,
    substitute,
    substitute_in,
)
from polygym.codegen.loopir.linear_sums import constant_difference
from polygym.codegen.loopir.pass_types import loop_pass


@dataclass(frozen=True, slots=True)
class UnrolledCopies:
    """Executions of a body that run together: ``variable`` is ``base`` plus each offset.

    With ``width`` above 1 every copy is a vector of so many lanes. Counted from ``base`` on,
    ``active`` lanes exist (all when None). ``fresh_variable`` is a variable name that nothing else
    uses.
    """

    variable: str
    base: ir.Index
    offsets: tuple[int, ...]
    fresh_variable: str
    width: int = 1
    active: ir.Index | None = None

    @property
    def first(self) -> ir.Index:
        """The smallest value of the variable."""
        return add_constant(self.base, self.offsets[0])

    @property
    def last(self) -> ir.Index:
        """The greatest value of the variable."""
        last = add_constant(self.base, self.offsets[-1] + self.width - 1)
        if self.active is None:
            return last
        return minimum(last, add_constant(ir.IndexOperator.ADD(self.base, self.active), -1))

    def active_from(self, offset: int) -> ir.Index | None:
        """Return how many lanes of the vector at an offset exist; None if all do."""
        match self.active:
            case None:
                return None
            case ir.IndexConstant(count):
                return None if count - offset >= self.width else ir.IndexConstant(count - offset)
            case _:
                return add_constant(self.active, -offset)


def jam_loops(node: ir.Node) -> ir.Node:
    """Carry out every annotation of the kind Jam, outermost first."""
    match node:
        case ir.Loop(annotation=UnrollAndJam(copies)) if copies > 1 and node.step == 1:
            return _jam_loop(node, copies)
        case ir.Loop(annotation=UnrollAndJam()):
            return replace(node, body=jam_loops(node.body), annotation=SEQUENTIAL_LOOP)
        case _:
            return ir.map_children(node, jam_loops)


def _jam_loop(loop: ir.Loop, count: int) -> ir.Node:
    """Return the main loop, ``count`` iterations at a time, and the loop over the rest."""
    name = loop.variable
    copies = UnrolledCopies(name, ir.IndexVariable(name), tuple(range(count)), f"{name}_")
    body, last = jam_loops(interleave(loop.body, copies)), add_constant(loop.upper, 1 - count)
    main = ir.Loop(name, loop.lower, last, count, body)
    rest = ir.Loop(name, remainder_start(loop, count), loop.upper, 1, jam_loops(loop.body))
    return main_and_remainder(loop, count, main, rest)


def main_and_remainder(loop: ir.Loop, count: int, main: ir.Loop, rest: ir.Loop) -> ir.Node:
    """Return both parts of a loop, or the one that has iterations, where that is known.

    ``main`` runs blocks of ``count`` iterations, ``rest`` what does not fill one.
    """
    last = constant_difference(loop.upper, loop.lower)
    if last is None:
        return ir.Block((main, rest))
    blocks, left = divmod(max(0, last + 1), count)
    return ir.Block((main,) * (blocks > 0) + (rest,) * (left > 0 or blocks == 0))


def remainder_start(loop: ir.Loop, count: int) -> ir.Index:
    """Return where the iterations begin that do not fill a block of ``count``.

    >>> from polygym.codegen.c import print_index
    >>> whole = ir.Loop("i", ir.IndexConstant(0), ir.IndexVariable("m"), 1, ir.Block(()))
    >>> print_index(remainder_start(whole, 4))
    '4 * polygym_floord(polygym_max(0, m + 1), 4)'

    With no iterations at all the start lies below the lower bound by what it lies above the upper
    one, so it must be kept from running: the quotient is taken of 0 at least.
    """
    last = constant_difference(loop.upper, loop.lower)
    if last is not None:
        return add_constant(loop.lower, max(0, last + 1) // count * count)
    zero = loop.lower == ir.IndexConstant(0)
    span = loop.upper if zero else ir.IndexOperator.SUBTRACT(loop.upper, loop.lower)
    trips, block = maximum(ir.IndexConstant(0), add_constant(span, 1)), ir.IndexConstant(count)
    whole = ir.IndexOperator.MULTIPLY(block, ir.IndexOperator.DIVIDE_FLOOR(trips, block))
    return whole if zero else ir.IndexOperator.ADD(loop.lower, whole)


def interleave(node: ir.Node, copies: UnrolledCopies) -> ir.Node:
    """Return a node that runs ``node`` for all copies, interleaved where it can be."""
    match node:
        case ir.Instance():
            return _copy_instances(node, copies)
        case ir.Loop():
            return _interleave_loop(node, copies)
        case ir.Guard(condition) if depends_on(condition, copies.variable):
            return _run_in_sequence(node, copies)
        case ir.Block() | ir.Guard():
            return ir.map_children(node, lambda part: interleave(part, copies))
        case _:
            assert_never(node)


def _copy_instances(instance: ir.Instance, copies: UnrolledCopies) -> ir.Node:
    """Return one instance for each copy."""
    nodes: list[ir.Node] = []
    for offset in copies.offsets:
        base = add_constant(copies.base, offset)
        if copies.width == 1:
            nodes.append(substitute_in(instance, {copies.variable: base}))
            continue
        assert instance.lanes is None
        lanes = ir.Lanes(copies.variable, base, copies.width, copies.active_from(offset))
        nodes.append(replace(instance, lanes=lanes))
    return ir.block_of(nodes)


def _interleave_loop(loop: ir.Loop, copies: UnrolledCopies) -> ir.Node:
    """Return the loop with all copies inside, and the iterations that they do not share."""
    name = copies.variable
    if not (depends_on(loop.lower, name) or depends_on(loop.upper, name)):
        return replace(loop, body=interleave(loop.body, copies))
    ends = (copies.first, copies.last)
    start = bound_over_copies(loop.lower, name, ends, ir.IndexOperator.MAXIMUM)
    end = bound_over_copies(loop.upper, name, ends, ir.IndexOperator.MINIMUM)
    if start is None or end is None or loop.step != 1:
        return _run_in_sequence(loop, copies)
    # The copies' own bounds are over the spare variable; what is shared is not.
    own = substitute_in(loop, {name: ir.IndexVariable(copies.fresh_variable)})
    assert isinstance(own, ir.Loop)
    parts: list[ir.Node] = []
    if depends_on(loop.lower, name):
        high = minimum(add_constant(start, -1), own.upper)
        parts.append(_loop_over_copies(copies, replace(own, upper=high)))
    parts.append(replace(loop, lower=start, upper=end, body=interleave(loop.body, copies)))
    if depends_on(loop.upper, name):
        # Where nothing is shared, all of the iterations are left, but none before the first.
        low = maximum(add_constant(end, 1), start if depends_on(loop.lower, name) else loop.lower)
        parts.append(_loop_over_copies(copies, replace(own, lower=low)))
    return ir.Block(tuple(parts))


def bound_over_copies(
    bound: ir.Index, variable: str, ends: tuple[ir.Index, ir.Index], operator: ir.IndexOperator
) -> ir.Index | None:
    """Return the extreme of a bound over a variable's values, or None when that is not known.

    ``ends`` are the first and the last of the values.
    """
    if not depends_on(bound, variable):
        return bound
    indices: list[ir.Index] = []
    for piece in min_max_operands(bound, operator):
        if not is_monotone(piece, variable):
            return None
        indices += [substitute(piece, {variable: end}) for end in ends]
    return maximum(*indices) if operator is ir.IndexOperator.MAXIMUM else minimum(*indices)


def _run_in_sequence(node: ir.Node, copies: UnrolledCopies) -> ir.Node:
    """Return a loop that runs a node for one copy after the other."""
    own = substitute_in(node, {copies.variable: ir.IndexVariable(copies.fresh_variable)})
    return _loop_over_copies(copies, own)


def _loop_over_copies(copies: UnrolledCopies, node: ir.Node) -> ir.Node:
    """Return a loop of the spare variable over the copies."""
    assert copies.offsets == tuple(copies.width * k for k in range(len(copies.offsets)))
    return ir.Loop(copies.fresh_variable, copies.first, copies.last, 1, node)


PASS = loop_pass(
    "unroll_jam",
    "unroll-and-jam, with a remainder loop",
    lambda program: program.with_body(jam_loops(program.body)),
)
