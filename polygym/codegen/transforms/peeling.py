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

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP, VectorLoop
from polygym.codegen.loopir.index_arithmetic import (
    add_constant,
    depends_on,
    maximum,
    min_max_operands,
    minimum,
)
from polygym.codegen.loopir.ir import (
    Block,
    Index,
    IndexConstant,
    IndexOperation,
    IndexOperator,
    Instance,
    Loop,
    Node,
    instances_in,
    map_children,
)
from polygym.codegen.loopir.linear_sums import constant_difference, from_linear_sum, to_linear_sum
from polygym.codegen.loopir.turning_points import COMPARISONS, counters_in
from polygym.codegen.validate.ranges import IntegerInterval, interval_of, parameter_ranges
from polygym.ir.scop import Scop

_MAX_PEELED_ITERATIONS = 4
"""How many iterations from an end a comparison may turn over to be cut off."""


def peel_loops(node: Node, scop: Scop, sizes: Mapping[str, int]) -> Node:
    """Return the loops with what wraps around apart, where loops run in vectors."""
    known = {name: (value, value) for name, value in sizes.items()}
    return _peeled(node, {**parameter_ranges(scop), **known})


def _peeled(node: Node, ranges: Mapping[str, IntegerInterval]) -> Node:
    match node:
        case Loop(variable, lower, upper, step, body):
            between = (interval_of(lower, ranges)[0], interval_of(upper, ranges)[1])
            if isinstance(node.annotation, VectorLoop) and step == 1:
                return _peel_ends(node, between)
            return replace(node, body=_peeled(body, {**ranges, variable: between}))
        case _:
            return map_children(node, lambda part: _peeled(part, ranges))


@dataclass(frozen=True, slots=True)
class _SplitPoint:
    """From ``boundary`` on, or up to it, a comparison ends as ``outcome`` says."""

    comparison: Index
    boundary: Index
    outcome: bool


def _peel_ends(loop: Loop, between: IntegerInterval) -> Node:
    """Return the loop's first iterations, what is left, and its last ones."""
    found = dict.fromkeys(_comparisons(loop.body))
    inner = counters_in(loop.body)
    firsts: list[_SplitPoint] = []
    lasts: list[_SplitPoint] = []
    for comparison in found:
        if any(depends_on(comparison, name) for name in inner):
            continue
        cuts = _turning_points(comparison, loop.variable)
        if cuts is None:
            continue
        onwards, until = cuts
        if _is_near(onwards.boundary, loop.lower, IndexOperator.MAXIMUM, between[0]):
            firsts.append(onwards)
        elif _is_near(until.boundary, loop.upper, IndexOperator.MINIMUM, between[1]):
            lasts.append(until)
    if not firsts and not lasts:
        return loop
    truths = {cut.comparison: cut.outcome for cut in (*firsts, *lasts)}
    begin = maximum(loop.lower, *(cut.boundary for cut in firsts))
    end = minimum(loop.upper, *(cut.boundary for cut in lasts))
    alone = replace(loop, annotation=SEQUENTIAL_LOOP)
    parts: list[Node] = []
    if firsts:
        parts.append(replace(alone, upper=minimum(loop.upper, add_constant(begin, -1))))
    parts.append(replace(loop, lower=begin, upper=end, body=_simplify_node(loop.body, truths)))
    if lasts:
        parts.append(replace(alone, lower=maximum(begin, add_constant(end, 1))))
    return Block(tuple(parts))


def _is_near(place: Index, bound: Index, operator: IndexOperator, extreme: int) -> bool:
    """Whether an iteration is one of the first few, or the last few, of a loop."""
    if isinstance(place, IndexConstant):
        return abs(place.value - extreme) <= _MAX_PEELED_ITERATIONS
    distances = (constant_difference(place, piece) for piece in min_max_operands(bound, operator))
    return any(
        distance is not None and abs(distance) <= _MAX_PEELED_ITERATIONS for distance in distances
    )


def _turning_points(comparison: Index, variable: str) -> tuple[_SplitPoint, _SplitPoint] | None:
    """Return from where on a comparison always has one outcome, and up to where it has one.

    With v the variable and t free of it: v == t is false from t + 1 on and up to t - 1; v <= t is
    false from t + 1 on and true up to t; v >= t is true from t on and false up to t - 1.
    """
    assert isinstance(comparison, IndexOperation)
    operator, (left, right) = comparison.operator, comparison.operands
    terms, constant = to_linear_sum(IndexOperation(IndexOperator.SUBTRACT, (left, right)))
    mine = [term for term in terms if depends_on(term, variable)]
    factor = terms[mine[0]] if len(mine) == 1 else 0
    if abs(factor) != 1 or isinstance(mine[0], IndexOperation):
        return None
    # left - right = factor·v + rest, so it is 0 where v = -rest / factor.
    rest = {term: -factor * value for term, value in terms.items() if term != mine[0]}
    turn = from_linear_sum((rest, -factor * constant))
    if operator is IndexOperator.EQUAL:
        return _SplitPoint(comparison, add_constant(turn, 1), False), _SplitPoint(
            comparison, add_constant(turn, -1), False
        )
    rises = operator in (IndexOperator.GREATER, IndexOperator.GREATER_EQUAL)
    strict = operator in (IndexOperator.GREATER, IndexOperator.LESS)
    if rises == (factor > 0):  # v > t, or v >= t
        first = add_constant(turn, int(strict))
        return _SplitPoint(comparison, first, True), _SplitPoint(
            comparison, add_constant(first, -1), False
        )
    last = add_constant(turn, -int(strict))  # v < t, or v <= t
    return _SplitPoint(comparison, add_constant(last, 1), False), _SplitPoint(
        comparison, last, True
    )


def _comparisons(node: Node) -> Iterator[Index]:
    """Yield the comparisons on which subscripts depend."""
    for instance in instances_in(node):
        for subscripts in (instance.write, *instance.reads):
            for subscript in subscripts:
                yield from _comparisons_in_index(subscript)


def _comparisons_in_index(index: Index) -> Iterator[Index]:
    match index:
        case IndexOperation(operator) if operator in COMPARISONS:
            yield index
        case IndexOperation(_, operands):
            for operand in operands:
                yield from _comparisons_in_index(operand)
        case _:
            return


def _simplify_node(node: Node, truths: Mapping[Index, bool]) -> Node:
    """Return a node with comparisons of subscripts decided."""
    if not isinstance(node, Instance):
        return map_children(node, lambda part: _simplify_node(part, truths))
    assert node.lanes is None, "vectors are made later"
    return replace(
        node,
        write=tuple(_simplify_index(index, truths) for index in node.write),
        reads=tuple(tuple(_simplify_index(index, truths) for index in read) for read in node.reads),
    )


def _simplify_index(index: Index, truths: Mapping[Index, bool]) -> Index:
    """Return a subscript without the cases that are decided."""
    match index:
        case IndexOperation(IndexOperator.SELECT, (condition, then, otherwise)):
            outcome = _outcome(condition, truths)
            match outcome:
                case bool():
                    return _simplify_index(then if outcome else otherwise, truths)
                case _:
                    arms = (_simplify_index(then, truths), _simplify_index(otherwise, truths))
                    return IndexOperation(IndexOperator.SELECT, (outcome, *arms))
        case IndexOperation(operator, operands):
            return IndexOperation(
                operator, tuple(_simplify_index(operand, truths) for operand in operands)
            )
        case _:
            return index


def _outcome(condition: Index, truths: Mapping[Index, bool]) -> Index | bool:
    """Return what is left of a condition, or how it ends."""
    if condition in truths:
        return truths[condition]
    match condition:
        case IndexOperation(IndexOperator.AND | IndexOperator.OR as operator, operands):
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
            return left[0] if len(left) == 1 else IndexOperation(operator, tuple(left))
        case _:
            return condition
