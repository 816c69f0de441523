"""Loops with roles → launches of kernels.

Loops outside of everything that is shared out run on the host. From the outermost loop of blocks
on there is a kernel; code without one is a kernel of a single thread::

    for t (host)                                  for t
      for c1 = 0 .. (n - 1) / 32 (blocks, x)  →     launch (⌊(n - 1) / 32⌋ + 1), 32 threads
        for c2 = 32 c1 .. 32 c1 + 31 (threads)        c2 = 32 block.x + thread.x
          S(c2)                                       if c2 <= n - 1: S(c2)

Iteration number k of a loop that is shared out is that of block or thread k; if there are more
iterations than blocks or threads, everyone goes on by as many. What is in no loop of an axis runs
for number 0 of that axis alone. Side condition: the iterations of all loops of one axis are
independent of each other, in one band, so that equal values of its member meet in one loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import assert_never

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import (
    add_constant,
    maximum,
    substitute_in,
)
from polygym.codegen.loopir.linear_sums import add_indices
from polygym.codegen.loopir.nests import conjunction, constant_spans
from polygym.errors import InternalError
from polygym.gpu.device_program import (
    BLOCK_VARIABLES,
    LARGEST_GRID,
    THREAD_VARIABLES,
    Barrier,
    DeviceProgram,
    HostGuard,
    HostLoop,
    HostNode,
    Kernel,
    KernelNode,
    Launch,
    ThreadCode,
    UniformGuard,
    UniformLoop,
)
from polygym.gpu.mapping.device_mapping import DEFAULT_DEVICE_MAPPING, DeviceMapping
from polygym.gpu.promotion.block_sums import block_sum
from polygym.gpu.promotion.copies import MadeCode
from polygym.gpu.promotion.nests import NestPromoter, PromotionOptions
from polygym.gpu.promotion.points import point_nest
from polygym.gpu.shared_loops.index_bounds import (
    Ranges,
    extreme,
    folded,
    most_iterations,
    negated,
    other_pieces,
    trip_count,
)
from polygym.gpu.shared_loops.roles import BlockLoop, Roles, SumLoop, ThreadLoop

_ONE = ir.IndexConstant(1)
_ZERO = ir.IndexConstant(0)
_USUAL_BLOCKS = 1024


def to_device(
    program: ir.LoopProgram, roles: Roles, mapping: DeviceMapping = DEFAULT_DEVICE_MAPPING
) -> DeviceProgram:
    """Return a program for a device: its loops, shared out by their roles.

    Raises:
        InternalError: a condition has no opposite that indices can express.
    """
    making = _Launches(roles, mapping, MadeCode.of(program))
    body = making.host_nodes(program.body)
    return DeviceProgram(making.made.extended(), body)


class _Launches:
    """The kernels of a program, numbered as they are made."""

    def __init__(self, roles: Roles, mapping: DeviceMapping, made: MadeCode) -> None:
        self._roles = roles
        self._mapping = mapping
        self.made = made
        self._count = 0

    def host_nodes(self, node: ir.Node) -> tuple[HostNode, ...]:
        """Return what the host does for a node."""
        if not self._is_shared(node):
            return (self._launch(node),) if any(ir.instances_in(node)) else ()
        match node:
            case ir.Block(children):
                result: list[HostNode] = []
                for shared, group in groupby(children, self._is_shared):
                    parts = tuple(group)
                    for part in parts if shared else (ir.block_of(parts),):
                        result += self.host_nodes(part)
                return tuple(result)
            case ir.Guard(condition, then, otherwise):
                guards = [HostGuard(condition, self.host_nodes(then))]
                if otherwise is not None:
                    guards.append(HostGuard(_opposite(condition), self.host_nodes(otherwise)))
                return tuple(guards)
            case ir.Loop(variable, lower, upper, step, body) if self._roles.of(node) is None:
                return (HostLoop(variable, lower, upper, step, self.host_nodes(body)),)
            case ir.Loop():
                return (self._launch(node),)
            case ir.Instance():
                raise AssertionError("an instance is in no loop that is shared out")
            case _:
                assert_never(node)

    def _is_shared(self, node: ir.Node) -> bool:
        return any(self._roles.of(loop) is not None for loop in ir.loops_in(node))

    def _launch(self, node: ir.Node) -> Launch:
        name = f"{self.made.program.scop.name}_{self._count}"
        self._count += 1
        return Launch(
            _KernelMaker.of(node, self._roles, self._mapping, self.made).kernel(node, name)
        )


def _opposite(condition: ir.Index) -> ir.Index:
    result = negated(condition)
    if result is None:
        raise InternalError(f"a condition without an opposite: {condition}")
    return result


@dataclass(frozen=True, slots=True)
class _Share:
    """Blocks along a coordinate: the number of one, and how many; None stands for enough."""

    number: ir.Index
    count: int | None


@dataclass(frozen=True)
class _KernelMaker:
    """One kernel: the coordinates of its grid, and the threads along its axes."""

    roles: Roles
    grid: tuple[ir.Index, ir.Index, ir.Index]
    shares: Mapping[int, _Share]
    counts: Mapping[int, ir.Index | None]
    threads: Mapping[int, int]
    promoter: NestPromoter
    shared: list[str] = field(default_factory=list)
    local: list[str] = field(default_factory=list)
    atomic: list[str] = field(default_factory=list)

    @staticmethod
    def of(node: ir.Node, roles: Roles, mapping: DeviceMapping, made: MadeCode) -> _KernelMaker:
        """Look at everything that is shared out in a node."""
        counts: dict[int, ir.Index | None] = {}
        _count_blocks(node, roles, {}, counts)
        for coordinate, count in counts.items():
            if count is not None and roles.runs_outside(node, coordinate):
                counts[coordinate] = folded(maximum(count, _ONE))
        grid, shares = _grid_of(counts)
        if isinstance(node, ir.Loop) and isinstance(role := roles.of(node), SumLoop):
            grid = (ir.IndexConstant(role.blocks), _ONE, _ONE)
        threads = roles.thread_axes(node)
        x, y, z = (threads.get(axis, 1) for axis in range(3))
        written = {made.statements[own.statement].write.array for own in ir.instances_in(node)}
        blocks = {
            name: (_ZERO, folded(add_constant(extent, -1)))
            for name, extent in zip(BLOCK_VARIABLES, grid, strict=True)
        }
        options = PromotionOptions(mapping.shared, mapping.registers, mapping.tile or ())
        promoter = NestPromoter(made, options, frozenset(written), (x, y, z), blocks)
        return _KernelMaker(roles, grid, shares, counts, threads, promoter)

    def kernel(self, node: ir.Node, name: str) -> Kernel:
        """Return the kernel."""
        body = self.block_nodes(node, frozenset(self.shares), frozenset(self.threads))
        body = without_outer_barriers(body)
        block, shared, local = self.promoter.threads, tuple(self.shared), tuple(self.local)
        return Kernel(name, self.grid, block, body, shared, local, frozenset(self.atomic))

    def block_nodes(
        self, node: ir.Node, blocks: frozenset[int], threads: frozenset[int]
    ) -> tuple[KernelNode, ...]:
        """Return what a block runs; the coordinates ``blocks`` and axes ``threads`` are open."""
        if (alone := blocks - self.roles.block_coordinates(node)) != frozenset():
            tests = [ir.IndexOperator.EQUAL(self.shares[c].number, _ZERO) for c in sorted(alone)]
            inside = self.block_nodes(node, blocks - alone, threads)
            return (UniformGuard(conjunction(tests), inside),)
        if not blocks and (isinstance(node, ir.Loop) or not self.roles.thread_axes(node)):
            role = self.roles.of(node) if isinstance(node, ir.Loop) else None
            if isinstance(node, ir.Loop) and isinstance(role, SumLoop):
                return self._sum(node, role)
            if isinstance(role, ThreadLoop) and (made := self._promoted(node, threads)) is not None:
                return made
            if isinstance(role, ThreadLoop) or not self.roles.thread_axes(node):
                return (ThreadCode(self.thread_node(node, threads)),)
        match node:
            case ir.Block(children):
                return tuple(
                    part for child in children for part in self.block_nodes(child, blocks, threads)
                )
            case ir.Guard(condition, then, otherwise):
                guards = [UniformGuard(condition, self.block_nodes(then, blocks, threads))]
                if otherwise is not None:
                    below = self.block_nodes(otherwise, blocks, threads)
                    guards.append(UniformGuard(_opposite(condition), below))
                return tuple(guards)
            case ir.Loop(variable, lower, upper, step, body):
                role = self.roles.of(node)
                if isinstance(role, BlockLoop) and role.coordinate in self.shares:
                    return self._block_loop(node, role.coordinate, blocks, threads)
                inside = self.block_nodes(body, blocks, threads)
                return (UniformLoop(variable, lower, upper, step, inside),)
            case ir.Instance():
                raise AssertionError("an instance is run by threads")
            case _:
                assert_never(node)

    def _sum(self, loop: ir.Loop, role: SumLoop) -> tuple[KernelNode, ...]:
        """Return a loop whose terms threads take together; one thread runs it if it is no sum."""
        made = block_sum(loop, self.promoter.made, self.threads[0], role.blocks)
        if made is None:
            tests = [ir.IndexOperator.EQUAL(_thread(axis), _ZERO) for axis in sorted(self.threads)]
            if role.blocks > 1:
                tests.append(ir.IndexOperator.EQUAL(ir.IndexVariable(BLOCK_VARIABLES[0]), _ZERO))
            code = ThreadCode(ir.Guard(conjunction(tests), loop, None))
            return (Barrier(), code, Barrier())
        self.shared.append(made.shared)
        self.local.append(made.local)
        if role.blocks > 1:
            self.atomic.append(made.update)
        return made.body

    def _promoted(self, node: ir.Node, threads: frozenset[int]) -> tuple[KernelNode, ...] | None:
        """Return loops over points with arrays promoted; None where nothing is."""
        nest = point_nest(node, self.roles, {axis: self.threads[axis] for axis in threads})
        if nest is None or len(threads) < len(self.threads):
            return None
        made = self.promoter.promoted(nest, self.promoter.made.bytes_of(self.shared))
        if made is None:
            return None
        self.shared.extend(made.shared)
        self.local.extend(made.local)
        return made.body

    def _block_loop(
        self, loop: ir.Loop, coordinate: int, blocks: frozenset[int], threads: frozenset[int]
    ) -> tuple[KernelNode, ...]:
        share, left = self.shares[coordinate], blocks - {coordinate}
        first = _nth(loop.lower, share.number, loop.step)
        if share.count is not None:
            inside = self.block_nodes(loop.body, left, threads)
            step = loop.step * share.count
            return (UniformLoop(loop.variable, first, loop.upper, step, inside),)
        inside = self.block_nodes(substitute_in(loop.body, {loop.variable: first}), left, threads)
        if trip_count(loop) == self.counts[coordinate]:
            return inside
        return (UniformGuard(ir.IndexOperator.LESS_EQUAL(first, loop.upper), inside),)

    def thread_node(self, node: ir.Node, axes: frozenset[int]) -> ir.Node:
        """Return what a thread runs; ``axes`` are open."""
        if (alone := axes - self.roles.thread_axes(node).keys()) != frozenset():
            tests = [ir.IndexOperator.EQUAL(_thread(axis), _ZERO) for axis in sorted(alone)]
            return ir.Guard(conjunction(tests), self.thread_node(node, axes - alone), None)
        role = self.roles.of(node) if isinstance(node, ir.Loop) else None
        if isinstance(node, ir.Loop) and isinstance(role, ThreadLoop):
            return self._thread_loop(node, role.axis, axes - {role.axis})
        return ir.map_children(node, lambda child: self.thread_node(child, axes))

    def _thread_loop(self, loop: ir.Loop, axis: int, axes: frozenset[int]) -> ir.Node:
        number, count = _thread(axis), self.threads[axis]
        spans = sorted(constant_spans(loop), key=lambda span: span[2])
        if spans and loop.step == 1 and spans[0][2] < count:
            first, last, length = spans[0]
            own = add_indices(first, number)
            lows = other_pieces(loop.lower, ir.IndexOperator.MAXIMUM, first)
            highs = other_pieces(loop.upper, ir.IndexOperator.MINIMUM, last)
            highs += [last] if length + 1 < count else []
            tests = [ir.IndexOperator.GREATER_EQUAL(own, low) for low in lows]
            tests += [ir.IndexOperator.LESS_EQUAL(own, high) for high in highs]
            inside = self.thread_node(substitute_in(loop.body, {loop.variable: own}), axes)
            return ir.Guard(conjunction(tests), inside, None) if tests else inside
        return replace(
            loop,
            lower=_nth(loop.lower, number, loop.step),
            step=loop.step * count,
            body=self.thread_node(loop.body, axes),
        )


def _thread(axis: int) -> ir.Index:
    return ir.IndexVariable(THREAD_VARIABLES[axis])


def _nth(lower: ir.Index, number: ir.Index, step: int) -> ir.Index:
    """Return the value of a loop's counter in iteration ``number``."""
    return add_indices(lower, ir.IndexOperator.MULTIPLY(ir.IndexConstant(step), number))


def _count_blocks(
    node: ir.Node, roles: Roles, ranges: Ranges, counts: dict[int, ir.Index | None]
) -> None:
    """Note for every coordinate how many blocks it needs at most; None where nobody knows."""
    if isinstance(node, ir.Loop):
        role = roles.of(node)
        if isinstance(role, BlockLoop):
            own = most_iterations(node, ranges)
            before = counts.get(role.coordinate, own)
            if own is None or before is None:
                counts[role.coordinate] = None
            else:
                counts[role.coordinate] = folded(maximum(own, before))
        bounds = (
            extreme(node.lower, ranges, greatest=False),
            extreme(node.upper, ranges, greatest=True),
        )
        ranges = {**ranges, node.variable: bounds}
    for child in ir.children_of(node):
        _count_blocks(child, roles, ranges, counts)


def _grid_of(
    counts: Mapping[int, ir.Index | None],
) -> tuple[tuple[ir.Index, ir.Index, ir.Index], dict[int, _Share]]:
    """Return a grid, and the blocks along each coordinate.

    The first two are x and y; the others share z, if their numbers are known, else the first of
    them has it and the rest run in order.
    """
    grid: list[ir.Index] = [_ONE, _ONE, _ONE]
    shares: dict[int, _Share] = {}
    ordered = sorted(counts)
    for axis, coordinate in enumerate(ordered[:2]):
        grid[axis], shares[coordinate] = _own_axis(counts[coordinate], axis)
    rest = ordered[2:]
    if len(rest) == 1 or any(not _is_small(counts[coordinate]) for coordinate in rest[:1]):
        grid[2], shares[rest[0]] = _own_axis(counts[rest[0]], 2)
        return (grid[0], grid[1], grid[2]), shares
    product = 1
    for coordinate in rest:
        count = counts[coordinate]
        if not isinstance(count, ir.IndexConstant) or not _is_small(count, product):
            continue
        shares[coordinate] = _Share(_digit(product, max(count.value, 1)), None)
        product *= max(count.value, 1)
    grid[2] = ir.IndexConstant(product)
    return (grid[0], grid[1], grid[2]), shares


def _own_axis(count: ir.Index | None, axis: int) -> tuple[ir.Index, _Share]:
    """Return the extent of an axis of the grid that counts one coordinate."""
    number, most = ir.IndexVariable(BLOCK_VARIABLES[axis]), LARGEST_GRID[axis]
    if count is None:
        return ir.IndexConstant(_USUAL_BLOCKS), _Share(number, _USUAL_BLOCKS)
    if isinstance(count, ir.IndexConstant) and count.value <= most:
        return count, _Share(number, None)
    extent = folded(ir.IndexOperator.MINIMUM(count, ir.IndexConstant(most)))
    return extent, _Share(number, most)


def _is_small(count: ir.Index | None, times: int = 1) -> bool:
    return isinstance(count, ir.IndexConstant) and count.value * times <= LARGEST_GRID[2]


def _digit(below: int, count: int) -> ir.Index:
    """Return ⌊block.z / below⌋ mod count: a number among those that share an axis."""
    z: ir.Index = ir.IndexVariable(BLOCK_VARIABLES[2])
    if below > 1:
        z = ir.IndexOperator.DIVIDE_NONNEGATIVE(z, ir.IndexConstant(below))
    return ir.IndexOperator.REMAINDER_NONNEGATIVE(z, ir.IndexConstant(count))


def without_outer_barriers(nodes: tuple[KernelNode, ...]) -> tuple[KernelNode, ...]:
    """Return the body of a kernel without barriers at its beginning, at its end, and twice."""
    kept = [
        node
        for number, node in enumerate(nodes)
        if not (isinstance(node, Barrier) and isinstance(nodes[number - 1], Barrier) and number)
    ]
    if kept and isinstance(kept[0], Barrier):
        kept = kept[1:]
    if kept and isinstance(kept[-1], Barrier):
        kept = kept[:-1]
    if len(kept) == 1 and isinstance(kept[0], UniformGuard):
        return (replace(kept[0], body=without_outer_barriers(kept[0].body)),)
    return tuple(kept)
