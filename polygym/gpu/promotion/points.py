"""The points of a block: loops that its threads share, each with as many points a thread.

::

    for i = 8 b .. min(8 b + 7, n - 1) (4 threads)      i = 8 b + thread + 4 r  for r = 0, 1
      body                                         →    if i <= n - 1: body

Points are independent of each other. So what a thread runs for them may be taken apart and put
together in any way that keeps the order at every point: after one part of the body for all points
the next one, or inside of loops that are the same for all::

    for each r: for k: S(i, k)      →      for k: S(i₀, k) S(i₁, k)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import (
    add_constant,
    depends_on,
    substitute,
    substitute_in,
)
from polygym.codegen.loopir.linear_sums import (
    add_indices,
    from_linear_sum,
    to_linear_sum,
)
from polygym.codegen.loopir.nests import conjunction, constant_spans
from polygym.gpu.device_program import THREAD_VARIABLES
from polygym.gpu.shared_loops.index_bounds import other_pieces
from polygym.gpu.shared_loops.roles import Roles, ThreadLoop

MOST_COPIES = 64
"""The most points of a thread whose code stands in the text."""
GROUP = 4
"""The elements of 4 bytes that one instruction moves."""


@dataclass(frozen=True, slots=True)
class PointAxis:
    """One loop over points: from ``origin`` on, so many ``threads``, ``copies`` points of each.

    ``conditions`` say of the counter which points there are.
    """

    axis: int
    variable: str
    origin: ir.Index
    threads: int
    copies: int
    conditions: tuple[ir.Index, ...]

    @property
    def points(self) -> int:
        """The points of the block, those that are not there as well."""
        return self.threads * self.copies

    @property
    def copy_variable(self) -> str:
        """The name that stands for the number of a thread's point."""
        return f"{self.variable}.copy"

    @property
    def group(self) -> int:
        """The number of points of a thread that follow each other."""
        return GROUP if self.copies % GROUP == 0 else 1

    def value(self, copy: int) -> ir.Index:
        """Return the counter of a thread's point."""
        thread = ir.IndexVariable(THREAD_VARIABLES[self.axis])
        group, place = divmod(copy, self.group)
        own = ir.IndexOperator.MULTIPLY(ir.IndexConstant(self.group), thread)
        return add_indices(
            self.origin, add_constant(own, self.threads * self.group * group + place)
        )

    @property
    def range(self) -> tuple[ir.Index, ir.Index]:
        """The least and the greatest value of the counter."""
        return self.origin, add_indices(self.origin, ir.IndexConstant(self.points - 1))


@dataclass(frozen=True, slots=True)
class PointNest:
    """Loops over points, the outermost first, and what runs at each."""

    axes: tuple[PointAxis, ...]
    body: ir.Node

    @property
    def copies(self) -> int:
        """The points of a thread."""
        return prod(axis.copies for axis in self.axes)

    def points(self) -> Iterator[Mapping[str, ir.Index]]:
        """Yield the points of a thread: the values of counters and of their numbers."""
        for numbers in product(*(range(axis.copies) for axis in self.axes)):
            at: dict[str, ir.Index] = {}
            for axis, number in zip(self.axes, numbers, strict=True):
                at[axis.variable] = axis.value(number)
                at[axis.copy_variable] = ir.IndexConstant(number)
            yield at

    @property
    def copy_variables(self) -> tuple[ir.Index, ...]:
        """The numbers of a thread's point."""
        return tuple(ir.IndexVariable(axis.copy_variable) for axis in self.axes)

    def guarded(self, node: ir.Node, at: Mapping[str, ir.Index]) -> ir.Node:
        """Return what runs at a point only where there is one."""
        tests = [substitute(test, at) for axis in self.axes for test in axis.conditions]
        return ir.Guard(conjunction(tests), node, None) if tests else node

    def depends(self, *indices: ir.Index) -> bool:
        """Whether indices are others at other points."""
        return any(depends_on(index, axis.variable) for index in indices for axis in self.axes)


def point_nest(node: ir.Node, roles: Roles, threads: Mapping[int, int]) -> PointNest | None:
    """Return loops of threads as points; None where they are not in each other, or cut up."""
    loops: list[tuple[ir.Loop, int]] = []
    while isinstance(node, ir.Loop) and isinstance(role := roles.of(node), ThreadLoop):
        loops.append((node, role.axis))
        node = node.body
    if sorted(axis for _, axis in loops) != sorted(threads) or roles.thread_axes(node):
        return None
    axes = [_point_axis(loop, axis, threads[axis]) for loop, axis in loops]
    known = [axis for axis in axes if axis is not None]
    result = PointNest(tuple(known), node)
    origins = [axis.origin for axis in known]
    if len(known) < len(axes) or result.depends(*origins) or result.copies > MOST_COPIES:
        return None
    return result


def _point_axis(loop: ir.Loop, axis: int, threads: int) -> PointAxis | None:
    spans = sorted(constant_spans(loop), key=lambda span: span[2])
    if not spans or loop.step != 1 or spans[0][2] < 0:
        return None
    first, last, length = spans[0]
    copies = -(-(length + 1) // threads)
    counter = ir.IndexVariable(loop.variable)
    lows = other_pieces(loop.lower, ir.IndexOperator.MAXIMUM, first)
    highs = other_pieces(loop.upper, ir.IndexOperator.MINIMUM, last)
    highs += [last] if length + 1 < copies * threads else []
    tests = [ir.IndexOperator.GREATER_EQUAL(counter, low) for low in lows]
    tests += [ir.IndexOperator.LESS_EQUAL(counter, high) for high in highs]
    return PointAxis(axis, loop.variable, first, threads, copies, tuple(tests))


def at_each_point(nest: PointNest, node: ir.Node, *, is_guarded: bool) -> ir.Node:
    """Return a node for all points of a thread, one after the other."""
    parts = []
    for at in nest.points():
        own = _with_sums(substitute_in(node, at))
        parts.append(nest.guarded(own, at) if is_guarded else own)
    return ir.block_of(parts)


def _with_sums(node: ir.Node) -> ir.Node:
    """Return a node whose subscripts are written as sums: what is added and taken away is gone."""
    if not isinstance(node, ir.Instance):
        return ir.map_children(node, _with_sums)

    def sums(indices: tuple[ir.Index, ...]) -> tuple[ir.Index, ...]:
        return tuple(from_linear_sum(to_linear_sum(index)) for index in indices)

    return replace(node, write=sums(node.write), reads=tuple(map(sums, node.reads)))


def pushed_inward(nest: PointNest, node: ir.Node, *, is_guarded: bool) -> ir.Node:
    """Return a node for all points of a thread, inside of loops that are the same for all."""
    if nest.copies == 1:
        return at_each_point(nest, node, is_guarded=is_guarded)
    match node:
        case ir.Block():
            return ir.map_children(
                node, lambda child: pushed_inward(nest, child, is_guarded=is_guarded)
            )
        case ir.Loop() if not nest.depends(node.lower, node.upper):
            return ir.map_children(
                node, lambda child: pushed_inward(nest, child, is_guarded=is_guarded)
            )
        case ir.Guard() if not nest.depends(node.condition):
            return ir.map_children(
                node, lambda child: pushed_inward(nest, child, is_guarded=is_guarded)
            )
        case _:
            return at_each_point(nest, node, is_guarded=is_guarded)


def body_items(nest: PointNest) -> Sequence[ir.Node]:
    """Return what runs at a point, one after the other."""
    return nest.body.children if isinstance(nest.body, ir.Block) else (nest.body,)
