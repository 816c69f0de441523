"""Loops whose reads are staged through shared memory, some iterations at a time.

::

    for k = 0 .. n - 1:                     for k0 = 0 .. n - 1 by 16      (all threads together)
      C += A[i][k] * B[k][j]                  A_block = A[8 b .. 8 b + 7][k0 .. k0 + 15]
                                        →     B_block = …
                                              barrier
                                              for k = k0 .. min(k0 + 15, n - 1):
                                                C += A_block[…][…] * B_block[…][…]
                                              barrier

An array is staged if nothing in the kernel writes it and the box that the iterations touch has a
size that is a number (:mod:`polygym.gpu.promotion.boxes`). It pays where elements are used by
several points, or where the threads of a warp read elements that are far from each other. All
threads of a block fill a box, neighbours in x with neighbours in memory; what is outside of the
array is zero there. Rows have an odd length where threads read down columns, so that these are in
different banks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import (
    coefficient,
    depends_on,
    evaluate_index,
)
from polygym.codegen.loopir.linear_sums import add_indices, constant_difference
from polygym.codegen.loopir.nests import conjunction
from polygym.gpu.device_program import THREAD_VARIABLES, aligned
from polygym.gpu.promotion.boxes import Box, box_of
from polygym.gpu.promotion.copies import Promoted, Subscripts
from polygym.gpu.promotion.points import GROUP, PointNest
from polygym.gpu.promotion.sums import accesses_in
from polygym.gpu.shared_loops.index_bounds import Ranges, extreme, folded, variables_of
from polygym.ir.scop import Statement

_LEAST_USES = 8
_USUAL_TRIPS = 8
_USUAL_STEP = 16


@dataclass(frozen=True, slots=True)
class Stage:
    """A loop in steps of so many iterations, from ``lower`` to ``upper`` at all points.

    ``boxes`` are what a step reads of arrays.
    """

    loop: ir.Loop
    lower: ir.Index
    upper: ir.Index
    step: int
    boxes: Mapping[str, Box]

    @property
    def is_even(self) -> bool:
        """Whether every step is whole, and the same at all points."""
        trips = constant_difference(self.upper, self.lower)
        is_same = (self.lower, self.upper) == (self.loop.lower, self.loop.upper)
        return is_same and trips is not None and (trips + 1) % self.step == 0

    @property
    def firsts(self) -> tuple[ir.Index, ir.Index]:
        """The least and the greatest value with which a step begins."""
        if not self.is_even:
            return self.lower, self.upper
        return self.lower, add_indices(self.upper, ir.IndexConstant(1 - self.step))


@dataclass(frozen=True)
class StagePlanner:
    """Finds the stages of a kernel; ``kept`` are arrays that may not be staged.

    ``wanted`` are the arrays to stage, None where it is left to what pays.
    """

    nest: PointNest
    statements: Mapping[str, Statement]
    sizes_of_elements: Mapping[str, int]
    ranges: Ranges
    kept: frozenset[str]
    excluded: frozenset[tuple[str, int]]
    wanted: frozenset[str] | None
    step: int | None
    most_bytes: int

    def stage(self, loop: ir.Node) -> Stage | None:
        """Return how a loop is staged; None where it is not."""
        if not isinstance(loop, ir.Loop) or loop.step != 1:
            return None
        points = {axis.variable: axis.range for axis in self.nest.axes}
        lower = extreme(loop.lower, points, greatest=False)
        upper = extreme(loop.upper, points, greatest=True)
        if lower is None or upper is None:
            return None
        step = self.step or _USUAL_STEP
        trips = constant_difference(upper, lower)
        while trips is not None and step > max(trips + 1, 1):
            step = max(1, step // 2) if self.step is None else max(trips + 1, 1)
        while step:
            boxes = self._boxes(loop, step, points)
            if boxes and self.bytes_of(boxes) <= self.most_bytes:
                return Stage(loop, lower, upper, step, boxes)
            step //= 2
        return None

    def bytes_of(self, boxes: Mapping[str, Box]) -> int:
        """Return the bytes that boxes take in shared memory at most."""
        sizes = (
            self.sizes_of_elements[name] * prod(self.lengths_in_memory(box, ()))
            for name, box in boxes.items()
        )
        return sum(aligned(size) for size in sizes)

    def lengths_in_memory(self, box: Box, reads: Sequence[Subscripts]) -> tuple[int, ...]:
        """Return the lengths in shared memory, in their order there.

        Rows are odd where threads read down columns, and where what fills them goes down columns
        they begin in other banks, and at a multiple of what one instruction moves.
        """
        *others, last = box.ordered(box.lengths)
        if not others:
            return (last,)
        if box.order[-1] != len(box.order) - 1:
            return (*others, -(-last // GROUP) * GROUP + GROUP)
        if not reads or any(map(self.is_turned, reads)):
            return (*others, last + 1 - last % 2)
        return (*others, last)

    def _boxes(self, loop: ir.Loop, step: int, points: Ranges) -> dict[str, Box]:
        counter = ir.IndexVariable(loop.variable)
        stepped: dict[str, tuple[ir.Index | None, ir.Index | None]] = dict(points)
        stepped[loop.variable] = counter, add_indices(counter, ir.IndexConstant(step - 1))
        trips = {loop.variable: step}
        for inner in ir.loops_in(loop.body):
            low = extreme(inner.lower, stepped, greatest=False)
            high = extreme(inner.upper, stepped, greatest=True)
            stepped[inner.variable] = low, high
            length = None if low is None or high is None else constant_difference(high, low)
            trips[inner.variable] = _USUAL_TRIPS if length is None else length + 1
        reads: dict[str, list[tuple[Statement, int, Subscripts]]] = {}
        gathered: set[str] = set()
        for statement, number, access, subscripts in accesses_in(loop, self.statements):
            if access.gathered:
                gathered.add(access.array)
            elif number >= 0 and access.array not in self.kept:
                reads.setdefault(access.array, []).append((statement, number, subscripts))
        result = {}
        for array, own in reads.items():
            if array in gathered or (self.wanted is not None and array not in self.wanted):
                continue
            if any((statement.name, number) in self.excluded for statement, number, _ in own):
                continue
            read = [row[2] for row in own]
            box = box_of(read, stepped) if read[0] else None
            if box is not None and (self.wanted is not None or self._pays(read, box, trips)):
                result[array] = replace(box, order=self._order(read))
        return result

    def _order(self, reads: Sequence[Subscripts]) -> tuple[int, ...]:
        """Return the dimensions as they stand in shared memory.

        Points of a thread that follow each other read elements in a row, if one dimension alone
        moves with them: that comes last. Threads read rows then.
        """
        rank = len(reads[0])
        usual = tuple(range(rank))
        along = [
            {
                dimension
                for subscripts in reads
                for dimension, subscript in enumerate(subscripts)
                if depends_on(subscript, axis.variable)
            }
            for axis in self.nest.axes
            if axis.group > 1
        ]
        moved = set().union(*along)
        if len(moved) != 1 or any(
            coefficient(subscripts[dimension], axis.variable) not in (0, 1)
            for subscripts in reads
            for dimension in moved
            for axis in self.nest.axes
        ):
            return usual
        last = moved.pop()
        return (*(dimension for dimension in usual if dimension != last), last)

    def _pays(self, reads: Sequence[Subscripts], box: Box, trips: Mapping[str, int]) -> bool:
        """Whether elements are used often, or read across rows."""
        points = prod(axis.points for axis in self.nest.axes)
        used = len(set(reads)) * points * prod(trips.values())
        if used >= _LEAST_USES * box.elements:
            return True
        return used >= box.elements and any(self.is_turned(subscripts) for subscripts in reads)

    def is_turned(self, subscripts: Subscripts) -> bool:
        """Whether threads that follow in x read elements that do not."""
        first = next((axis for axis in self.nest.axes if axis.axis == 0), None)
        if first is None:
            return False
        *others, last = (coefficient(subscript, first.variable) for subscript in subscripts)
        return any(step != 0 for step in others) or last not in (0, 1)


def filling(
    box: Box,
    promoted: Promoted,
    extents: Sequence[ir.Index],
    threads: tuple[int, int, int],
    ranges: Ranges,
    counter: str,
) -> ir.Node:
    """Return what all threads do to fill a box: one element after the other, in turn."""
    number, count = _thread_number(threads), prod(threads)
    digits: list[ir.Index] = []
    rest: ir.Index = ir.IndexVariable(counter)
    for length in reversed(box.lengths[1:]):
        size = ir.IndexConstant(length)
        digits.insert(0, ir.IndexOperator.REMAINDER_NONNEGATIVE(rest, size))
        rest = ir.IndexOperator.DIVIDE_NONNEGATIVE(rest, size)
    digits.insert(0, rest)
    element = [add_indices(first, own) for first, own in zip(box.origin, digits, strict=True)]
    tests = _bounds_tests(box, element, extents, ranges)
    inside = box.ordered(digits)
    node: ir.Node = promoted.filled(element, inside)
    if tests:
        node = ir.Guard(conjunction(tests), node, promoted.cleared(inside))
    last = ir.IndexConstant(box.elements - 1)
    return ir.Loop(counter, number, last, count, node)


def _thread_number(threads: tuple[int, int, int]) -> ir.Index:
    """Return the number of a thread in its block."""
    result: ir.Index = ir.IndexConstant(0)
    before = 1
    for name, count in zip(THREAD_VARIABLES, threads, strict=True):
        if count > 1:
            own = ir.IndexOperator.MULTIPLY(ir.IndexConstant(before), ir.IndexVariable(name))
            result = add_indices(result, own)
        before *= count
    return result


def _bounds_tests(
    box: Box, element: Sequence[ir.Index], extents: Sequence[ir.Index], ranges: Ranges
) -> list[ir.Index]:
    """Return the conditions under which an element is in the array, but those that always hold."""
    tests: list[ir.Index] = []
    for first, length, subscript, extent in zip(
        box.origin, box.lengths, element, extents, strict=True
    ):
        low = extreme(first, ranges, greatest=False)
        if low is None or not _holds(folded(low), 0):
            tests.append(ir.IndexOperator.GREATER_EQUAL(subscript, ir.IndexConstant(0)))
        high = extreme(first, ranges, greatest=True)
        room = None if high is None else ir.IndexOperator.SUBTRACT(extent, high)
        if room is None or not _holds(folded(room), length):
            tests.append(ir.IndexOperator.LESS(subscript, extent))
    return tests


def _holds(index: ir.Index, least: int) -> bool:
    """Whether an index without variables is at least a number."""
    return not variables_of(index) and evaluate_index(index, {}) >= least
