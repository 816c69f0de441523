"""Peeling: the iterations in which subscripts wrap around, apart from those in which they do not.

::

    for j = 0 .. n - 1:   B[j] = A[j == 0 ? n - 1 : j - 1]

        →   for j = 0 .. min(n - 1, 0):      B[j] = A[j == 0 ? n - 1 : j - 1]
            for j = 1 .. n - 1:              B[j] = A[j - 1]

A periodic boundary is a case of a subscript. Inside of it the elements of a vector lie side by
side; with the case they would be collected one by one. So a loop that runs in vectors gives away
its first and last iterations where a comparison of its counter with something that its iterations
share turns over there, and what is left knows how the comparison ends.

Which comparisons turn over near an end is seen from the pieces of the bound, or from the numbers
between which the counter lies, as in a tile 64t .. 64t + 63 of 0 .. 999, where ``j == 0`` can only
hold at the beginning. Wherever the cuts are, the parts together are the loop, in its order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from polygym.compiler.codegen.common.loop_annotation import SEQUENTIAL, Vector
from polygym.compiler.codegen.loops.check_ranges import Range, interval, parameter_ranges
from polygym.compiler.codegen.loops.index import maximum, mentions, minimum, pieces, plus
from polygym.compiler.codegen.loops.ir import (
    Block,
    Index,
    IndexOperator,
    Instance,
    Loop,
    Node,
    Number,
    Operation,
    instances_in,
    rebuilt,
)
from polygym.compiler.codegen.loops.linear import as_sum, difference, from_sum
from polygym.compiler.codegen.loops.split_points import COMPARISONS, counters
from polygym.compiler.ir.scop import Scop

_NEAR = 4
"""How many iterations from an end a comparison may turn over to be cut off."""


def peel(node: Node, scop: Scop, sizes: Mapping[str, int]) -> Node:
    """Return the loops with what wraps around apart, where loops run in vectors."""
    known = {name: (value, value) for name, value in sizes.items()}
    return _peeled(node, {**parameter_ranges(scop), **known})


def _peeled(node: Node, ranges: Mapping[str, Range]) -> Node:
    match node:
        case Loop(variable, lower, upper, step, body):
            between = (interval(lower, ranges)[0], interval(upper, ranges)[1])
            if isinstance(node.annotation, Vector) and step == 1:
                return _split(node, between)
            return replace(node, body=_peeled(body, {**ranges, variable: between}))
        case _:
            return rebuilt(node, lambda part: _peeled(part, ranges))


@dataclass(frozen=True, slots=True)
class _Cut:
    """From ``place`` on, or up to it, a comparison ends as ``outcome`` says."""

    comparison: Index
    place: Index
    outcome: bool


def _split(loop: Loop, between: Range) -> Node:
    """Return the loop's first iterations, what is left, and its last ones."""
    found = dict.fromkeys(_comparisons(loop.body))
    inner = counters(loop.body)
    firsts: list[_Cut] = []
    lasts: list[_Cut] = []
    for comparison in found:
        if any(mentions(comparison, name) for name in inner):
            continue
        cuts = _turn(comparison, loop.variable)
        if cuts is None:
            continue
        onwards, until = cuts
        if _is_near(onwards.place, loop.lower, IndexOperator.MAXIMUM, between[0]):
            firsts.append(onwards)
        elif _is_near(until.place, loop.upper, IndexOperator.MINIMUM, between[1]):
            lasts.append(until)
    if not firsts and not lasts:
        return loop
    truths = {cut.comparison: cut.outcome for cut in (*firsts, *lasts)}
    begin = maximum(loop.lower, *(cut.place for cut in firsts))
    end = minimum(loop.upper, *(cut.place for cut in lasts))
    alone = replace(loop, annotation=SEQUENTIAL)
    parts: list[Node] = []
    if firsts:
        parts.append(replace(alone, upper=minimum(loop.upper, plus(begin, -1))))
    parts.append(replace(loop, lower=begin, upper=end, body=_decided_in(loop.body, truths)))
    if lasts:
        parts.append(replace(alone, lower=maximum(begin, plus(end, 1))))
    return Block(tuple(parts))


def _is_near(place: Index, bound: Index, operator: IndexOperator, extreme: int) -> bool:
    """Whether an iteration is one of the first few, or the last few, of a loop."""
    if isinstance(place, Number):
        return abs(place.value - extreme) <= _NEAR
    distances = (difference(place, piece) for piece in pieces(bound, operator))
    return any(distance is not None and abs(distance) <= _NEAR for distance in distances)


def _turn(comparison: Index, variable: str) -> tuple[_Cut, _Cut] | None:
    """Return from where on a comparison always has one outcome, and up to where it has one.

    With v the variable and t free of it: v == t is false from t + 1 on and up to t - 1; v <= t is
    false from t + 1 on and true up to t; v >= t is true from t on and false up to t - 1.
    """
    assert isinstance(comparison, Operation)
    operator, (left, right) = comparison.operator, comparison.operands
    terms, constant = as_sum(Operation(IndexOperator.SUBTRACT, (left, right)))
    mine = [term for term in terms if mentions(term, variable)]
    factor = terms[mine[0]] if len(mine) == 1 else 0
    if abs(factor) != 1 or isinstance(mine[0], Operation):
        return None
    # left - right = factor·v + rest, so it is 0 where v = -rest / factor.
    rest = {term: -factor * value for term, value in terms.items() if term != mine[0]}
    turn = from_sum((rest, -factor * constant))
    if operator is IndexOperator.EQUAL:
        return _Cut(comparison, plus(turn, 1), False), _Cut(comparison, plus(turn, -1), False)
    rises = operator in (IndexOperator.GREATER, IndexOperator.GREATER_EQUAL)
    strict = operator in (IndexOperator.GREATER, IndexOperator.LESS)
    if rises == (factor > 0):  # v > t, or v >= t
        first = plus(turn, int(strict))
        return _Cut(comparison, first, True), _Cut(comparison, plus(first, -1), False)
    last = plus(turn, -int(strict))  # v < t, or v <= t
    return _Cut(comparison, plus(last, 1), False), _Cut(comparison, last, True)


def _comparisons(node: Node) -> Iterator[Index]:
    """Yield the comparisons on which subscripts depend."""
    for instance in instances_in(node):
        for subscripts in (instance.write, *instance.reads):
            for subscript in subscripts:
                yield from _within(subscript)


def _within(index: Index) -> Iterator[Index]:
    match index:
        case Operation(operator) if operator in COMPARISONS:
            yield index
        case Operation(_, operands):
            for operand in operands:
                yield from _within(operand)
        case _:
            return


def _decided_in(node: Node, truths: Mapping[Index, bool]) -> Node:
    """Return a node with comparisons of subscripts decided."""
    if not isinstance(node, Instance):
        return rebuilt(node, lambda part: _decided_in(part, truths))
    assert node.lanes is None, "vectors are made later"
    return replace(
        node,
        write=tuple(_decided(index, truths) for index in node.write),
        reads=tuple(tuple(_decided(index, truths) for index in read) for read in node.reads),
    )


def _decided(index: Index, truths: Mapping[Index, bool]) -> Index:
    """Return a subscript without the cases that are decided."""
    match index:
        case Operation(IndexOperator.SELECT, (condition, then, otherwise)):
            outcome = _outcome(condition, truths)
            match outcome:
                case bool():
                    return _decided(then if outcome else otherwise, truths)
                case _:
                    arms = (_decided(then, truths), _decided(otherwise, truths))
                    return Operation(IndexOperator.SELECT, (outcome, *arms))
        case Operation(operator, operands):
            return Operation(operator, tuple(_decided(operand, truths) for operand in operands))
        case _:
            return index


def _outcome(condition: Index, truths: Mapping[Index, bool]) -> Index | bool:
    """Return what is left of a condition, or how it ends."""
    if condition in truths:
        return truths[condition]
    match condition:
        case Operation(IndexOperator.AND | IndexOperator.OR as operator, operands):
            ends = operator is IndexOperator.OR  # one operand like this decides it
            left = []
            for operand in operands:
                outcome = _outcome(operand, truths)
                if outcome is ends:
                    return ends
                if not isinstance(outcome, bool):
                    left.append(outcome)
            if not left:
                return not ends
            return left[0] if len(left) == 1 else Operation(operator, tuple(left))
        case _:
            return condition
