"""Plans: a schedule tree with its coincident loops shared out among blocks and threads.

::

    Band(i: coincident, j: coincident, k) → child
        →   Band(⌊i/8⌋: blocks, ⌊j/32⌋: blocks) → Band(i: threads, j: threads, k) → child

On every way down the tree it is done for the outermost band with coincident members. Those run
outermost of their band, which is permutable; δ = 0 on them for every pair that no loop further out
orders, so neither blocks nor threads ever wait for each other. Loops around such a band, as time is
for a stencil, stay on the host.

The thread's first axis, x, is the member along which most accesses move to the next element, so
that threads of a warp touch neighbours in memory; y and z are the innermost ones of the others.
What is left counts blocks alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polygym.codegen.tree.analysis.access_strides import StrideKind, strides_of
from polygym.codegen.tree.analysis.trip_counts import member_trip_count
from polygym.codegen.tree.ir import Band, BandMember, Leaf, SequenceNode, Tree, loop_paths
from polygym.codegen.tree.loop_context import LoopContext
from polygym.codegen.tree.transforms.tiling import tile_members
from polygym.gpu.mapping.device_mapping import DeviceMapping
from polygym.gpu.mapping.device_model import DeviceModel, default_block
from polygym.gpu.mapping.roles import BlockLoop, LoopRole, Roles, ThreadLoop
from polygym.ir.scop import Scop
from polygym.mapping.sizes import Sizes

_UNKNOWN_TRIPS = 1 << 20


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
                inside = around.inside_members(members, statements)
                below = self._planned(child, inside, depth + len(members), roles)
                return Band(statements, members, below)

    def _shared_out(self, band: Band, depth: int, roles: dict[tuple[str, int], LoopRole]) -> Tree:
        """Return a band with its coincident members for blocks and threads."""
        shared = [place for place, member in enumerate(band.members) if member.coincident]
        axes = self._thread_axes(band, shared)
        trips = [self._trips(band.statements, band.members[place]) for place in axes]
        block, tile = self._sizes(trips)
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

    def _thread_axes(self, band: Band, shared: Sequence[int]) -> list[int]:
        """Return the members for x, y and z: the coalesced one, then the innermost."""
        scores = self._neighbour_moves(band, shared)
        first = max(shared, key=lambda place: (scores[place], place))
        others = [place for place in reversed(shared) if place != first]
        most = 3 if self.mapping.block is None else len(self.mapping.block)
        return [first, *others][: min(most, 2 if self.mapping.block is None else 3)]

    def _neighbour_moves(self, band: Band, shared: Sequence[int]) -> dict[int, int]:
        """Return how many more accesses go to the next element than far away, for members."""
        result = dict.fromkeys(shared, 0)
        for name, path in loop_paths(band, band.statements):
            rows = [part.rows[0].iterators for member in path for part in member.terms]
            for place in shared:
                others = [row for at, row in enumerate(rows) if at != place]
                moves = strides_of(self.scop.statement(name), others, rows[place])
                kinds = (moves.write, *moves.all)  # what is written counts twice
                result[place] += 2 * kinds.count(StrideKind.UNIT) - kinds.count(StrideKind.OTHER)
        return result

    def _trips(self, statements: tuple[str, ...], member: BandMember) -> int:
        if self.sizes is None:
            return _UNKNOWN_TRIPS
        return member_trip_count(self.scop, statements, member, self.parameters, self.sizes)

    def _sizes(self, trips: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the threads of a block along its axes, and the points."""
        block = (
            default_block(self.model, trips)
            if self.mapping.block is None
            else list(self.mapping.block[: len(trips)])
        )
        block += [1] * (len(trips) - len(block))
        tile = list(self.mapping.tile or ())[: len(trips)]
        tile += block[len(tile) :]
        threads = [min(own, points) for own, points in zip(block, tile, strict=True)]
        return threads, tile
