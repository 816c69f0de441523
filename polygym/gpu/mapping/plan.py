"""Plans: a schedule tree with its coincident loops shared out among blocks and threads.

::

    Band(i: coincident, j: coincident, k) → child
        →   Band(⌊i/8⌋: blocks, ⌊j/32⌋: blocks) → Band(i: threads, j: threads, k) → child

On every way down the tree it is done for the outermost band with coincident members. Those run
outermost of their band, which is permutable; δ = 0 on them for every pair that no loop further out
orders, so neither blocks nor threads ever wait for each other. Loops around such a band, as time is
for a stencil, stay on the host.

The thread's first axis, x, is the member along which most accesses move to the next element, so
that threads of a warp touch neighbours in memory; y is the one along which most elements are used
again. Where these are short, there is z as well. What is left counts blocks alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from polygym.codegen.tree.analysis.access_strides import (
    AccessStrides,
    StrideKind,
    strides_of,
)
from polygym.codegen.tree.analysis.trip_counts import member_trip_count
from polygym.codegen.tree.ir import Band, BandMember, Leaf, SequenceNode, Tree, loop_paths
from polygym.codegen.tree.loop_context import LoopContext
from polygym.codegen.tree.transforms.tiling import tile_members
from polygym.gpu.mapping.device_mapping import DeviceMapping
from polygym.gpu.mapping.device_model import (
    LEAST_POINTS,
    DeviceModel,
    block_for_reuse,
    default_block,
)
from polygym.gpu.mapping.sum_roles import sum_roles, threads_for, whole_sum
from polygym.gpu.shared_loops.roles import BlockLoop, LoopRole, Roles, SumLoop, ThreadLoop
from polygym.ir.scop import Scop
from polygym.mapping.sizes import Sizes

_UNKNOWN_TRIPS = 1 << 20
_FEW_POINTS = 32  # for each multiprocessor: fewer leave most of its threads idle

_Moves: TypeAlias = dict[int, dict[str, AccessStrides]]
"""By member and statement, how accesses move."""


@dataclass(frozen=True)
class DevicePlan:
    """A tree whose loops have roles."""

    tree: Tree
    roles: Roles


@dataclass(frozen=True)
class Planner:
    """Plans for a program under a mapping, for a device; without ``sizes`` loops are long."""

    scop: Scop
    mapping: DeviceMapping
    model: DeviceModel
    parameters: tuple[str, ...]
    sizes: Sizes | None

    def plan(self, tree: Tree, around: LoopContext) -> DevicePlan:
        """Return the plan of a whole tree."""
        roles: dict[tuple[str, int], LoopRole] = {}
        return DevicePlan(self._planned(tree, around, 0, roles), Roles(roles))

    def _planned(
        self,
        tree: Tree,
        around: LoopContext,
        depth: int,
        roles: dict[tuple[str, int], LoopRole],
    ) -> Tree:
        match tree:
            case Leaf():
                return tree
            case SequenceNode():
                return tree.with_children(
                    lambda branch: self._planned(
                        branch.child, around.for_branch(branch.statements), depth, roles
                    )
                )
            case Band(statements, members, child):
                if any(member.coincident for member in members):
                    return self._shared_out(tree, depth, roles)
                sums = self._sums(tree)
                if sums and not any(
                    member.coincident for _, path in loop_paths(tree, statements) for member in path
                ):
                    for name, terms in sums:
                        roles[name, depth] = whole_sum(self.model, self.scop.statement(name), terms)
                    return tree
                inside = around.inside_members(members, statements)
                below = self._planned(child, inside, depth + len(members), roles)
                return Band(statements, members, below)

    def _shared_out(self, band: Band, depth: int, roles: dict[tuple[str, int], LoopRole]) -> Tree:
        """Return a band with its coincident members for blocks and threads."""
        shared = [place for place, member in enumerate(band.members) if member.coincident]
        sums = self._sums(band)
        count = prod(self._trips(band.statements, band.members[place]) for place in shared)
        is_few = count < _FEW_POINTS * self.model.multiprocessors
        if sums and is_few and self._is_short_beside(band, [name for name, _ in sums]):
            return self._a_block_each(band, depth, shared, sums, roles)
        moves = self._moves(band, shared)
        axes = self._thread_axes(band, shared, moves)
        trips = [self._trips(band.statements, band.members[place]) for place in axes]
        rest = prod(
            self._trips(band.statements, band.members[place])
            for place in shared
            if place not in axes
        )
        has_reuse = len(axes) > 1 and bool(_unmoved(moves, axes[1]) - _unmoved(moves, axes[0]))
        block, tile = self._sizes(trips, rest, has_reuse)
        size_of = dict(zip(axes, tile, strict=True))
        threads_of = dict(zip(axes, block, strict=True))
        # The first coordinates of the grid are those of x, y and z.
        order = [*axes, *(place for place in reversed(shared) if place not in axes)]
        blocks: list[BandMember] = []
        for number, place in enumerate(shared):
            member = band.members[place]
            size = size_of.get(place, 1)
            blocks += tile_members([member], [size]) if size > 1 else [member]
            for name in band.statements:
                roles[name, depth + number] = BlockLoop(order.index(place))
        threads = [place for place in shared if size_of.get(place, 1) > 1]
        for number, place in enumerate(threads):
            for name in band.statements:
                role = ThreadLoop(axes.index(place), threads_of[place])
                roles[name, depth + len(shared) + number] = role
        serial = [place for place in range(len(band.members)) if place not in shared]
        points = tuple(band.members[place] for place in (*threads, *serial))
        below = Band(band.statements, points, band.child) if points else band.child
        return Band(band.statements, tuple(blocks), below)

    def _sums(self, band: Band) -> list[tuple[str, int]]:
        """Return the sums of a band that threads may take together, and are worth it."""
        if self.sizes is None or self.mapping.block is not None or self.mapping.tile is not None:
            return []
        may = self.mapping.reassociate
        return list(sum_roles(band, self.scop, self.sizes, self.parameters, reassociate=may))

    def _is_short_beside(self, band: Band, sums: Sequence[str]) -> bool:
        """Whether what is no sum has no loops of its own, so that one thread may run it."""
        return all(
            prod(self._trips((name,), member) for member in path if not member.coincident) == 1
            and not any(member.coincident for member in path[len(band.members) :])
            for name, path in loop_paths(band, band.statements)
            if name not in sums
        )

    def _a_block_each(
        self,
        band: Band,
        depth: int,
        shared: Sequence[int],
        sums: Sequence[tuple[str, int]],
        roles: dict[tuple[str, int], LoopRole],
    ) -> Tree:
        """Return a band with a block for each point, whose threads take terms together."""
        serial = tuple(member for place, member in enumerate(band.members) if place not in shared)
        for number, _ in enumerate(shared):
            for name in band.statements:
                roles[name, depth + number] = BlockLoop(len(shared) - 1 - number)
        most = max(terms for _, terms in sums)
        for name, _ in sums:
            roles[name, depth + len(shared)] = SumLoop(threads_for(most))
        below = Band(band.statements, serial, band.child) if serial else band.child
        return Band(band.statements, tuple(band.members[place] for place in shared), below)

    def _thread_axes(self, band: Band, shared: Sequence[int], moves: _Moves) -> list[int]:
        """Return the members for x, y and z: the coalesced one, then those of most reuse.

        An element that y does not move, but x does, is used along y. Of equals the innermost
        counts.
        """
        scores = {place: _neighbour_score(moves[place]) for place in shared}
        first = max(shared, key=lambda place: (scores[place], place))
        at_first = _unmoved(moves, first)
        others = sorted(
            (place for place in shared if place != first),
            key=lambda place: (-len(_unmoved(moves, place) - at_first), -place),
        )
        axes = [first, *others]
        if self.mapping.block is not None:
            return axes[: len(self.mapping.block)]
        points = prod(self._trips(band.statements, band.members[place]) for place in axes[:2])
        return axes[: 3 if points < LEAST_POINTS else 2]

    def _moves(self, band: Band, shared: Sequence[int]) -> _Moves:
        """Return how the accesses of each statement move along members."""
        result: _Moves = {place: {} for place in shared}
        for name, path in loop_paths(band, band.statements):
            rows = [part.rows[0].iterators for member in path for part in member.terms]
            for place in shared:
                others = [row for at, row in enumerate(rows) if at != place]
                result[place][name] = strides_of(self.scop.statement(name), others, rows[place])
        return result

    def _trips(self, statements: tuple[str, ...], member: BandMember) -> int:
        if self.sizes is None:
            return _UNKNOWN_TRIPS
        return member_trip_count(self.scop, statements, member, self.parameters, self.sizes)

    def _sizes(
        self, trips: Sequence[int], others: int, has_reuse: bool
    ) -> tuple[list[int], list[int]]:
        """Return the threads of a block along its axes, and the points."""
        given = self.mapping.block
        tile = list(self.mapping.tile or ())[: len(trips)]
        if given is None and not tile and has_reuse:
            return block_for_reuse(self.model, trips, others)
        block = default_block(self.model, trips, others) if given is None else list(given)
        block = [*block[: len(trips)], *[1] * (len(trips) - len(block))]
        tile += block[len(tile) :]
        threads = [min(own, points) for own, points in zip(block, tile, strict=True)]
        return threads, tile


def _neighbour_score(moves: Mapping[str, AccessStrides]) -> int:
    """Return how many more accesses go to the next element than far away."""
    result = 0
    for own in moves.values():
        kinds = (own.write, *own.all)  # what is written counts twice
        result += 2 * kinds.count(StrideKind.UNIT) - kinds.count(StrideKind.OTHER)
    return result


def _unmoved(moves: _Moves, place: int) -> frozenset[tuple[str, int]]:
    """Return the reads, by statement and number, that a member does not move."""
    return frozenset(
        (name, number)
        for name, own in moves[place].items()
        for number, kind in enumerate(own.reads)
        if kind is StrideKind.ZERO
    )
