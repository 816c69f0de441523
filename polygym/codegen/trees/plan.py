"""From the tree of a schedule to the tree of a mapping: every transformation, in its place.

The walk goes down the tree with the pairs of instances that no loop further out orders. What it
does to a band depends on what stands below:

* a sequence with further loops: the band is tiled, and its points *sink* into the branches, where
  they join the bands of those (imperfect nests). ::

      Band(i) → Sequence{ S: Band(j), T: Band(k, j) }
          →  Band(⌊i/64⌋) → Sequence{ S: Band(i, j), T: Band(i, k, j) }

  Side condition: within one tile all of S now runs before all of T, so no pair may lead from a
  later branch to an earlier one; and the points of ``i`` and the members of a branch are one band
  only if they are permutable with each other, asked of the pairs alive above ``i``;
* a band, in which nothing would run in vectors: the band is tiled in its coincident members, and
  their points move *through* the others into the band below. ::

      Band(i, j, k) → Band(l)    →    Band(⌊i/64⌋, ⌊j/64⌋) → Band(k) → Band(i, j, l)

  Side condition: none, a coincident member has δ = 0 for every pair, wherever it runs. This is a
  sum over two loops, k and l, which cannot be permuted: the order of the terms is kept;
* nothing but statements: it is tiled, its points get their order and their duties;
* anything else: it stays as it is.

The outermost coincident loop on every way down becomes parallel; where a tiled band has none, its
tiles form a wavefront.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polygym.codegen.duty import SEQUENTIAL as ALONE
from polygym.codegen.duty import Parallel
from polygym.codegen.machine import Machine
from polygym.codegen.mapping import Mapping, Sharing
from polygym.codegen.packable import Packing, packing_of
from polygym.codegen.sizes import Sizes
from polygym.codegen.trees.around import Around
from polygym.codegen.trees.model import tile_sizes
from polygym.codegen.trees.moves import table
from polygym.codegen.trees.pairs import weakly_ordered
from polygym.codegen.trees.points import Arrangement, Arranger
from polygym.codegen.trees.tile import coincident_first, sizes_for, tiles
from polygym.codegen.trees.tree import (
    Band,
    Branch,
    Leaf,
    Member,
    Sequence,
    Tree,
    restricted,
)
from polygym.codegen.trees.wavefront import diamond, wavefront
from polygym.ir.scop import Scop
from polygym.poly.distance import all_pairs
from polygym.poly.innermost import independent
from polygym.poly.legality import LegalSchedule
from polygym.poly.quota import bounded

_SINKING = 64
_SWEEP = 512


def plan(
    tree: Tree,
    legal: LegalSchedule,
    mapping: Mapping,
    machine: Machine,
    sizes: Sizes | None = None,
) -> Tree:
    """Return the tree of loops that a mapping makes of a schedule's tree."""
    if mapping.leaves_order and not mapping.shares:
        return tree
    with bounded("mapping the schedule to the machine"):
        names = tuple(part.statement for part in legal.schedule.statements)
        parameters = legal.schedule.parameters
        around = Around(all_pairs(legal.scop), {name: () for name in names}, parameters)
        planner = _Planner(legal.scop, mapping, machine, packing_of(legal.scop, mapping, sizes))
        if mapping.leaves_order:
            return planner.with_parallel(tree, parallel=False)
        return planner.tree(tree, around)


@dataclass(frozen=True)
class _Planner:
    """The walk; holds what every step needs to see."""

    scop: Scop
    mapping: Mapping
    machine: Machine
    packing: Packing | None

    @property
    def arranger(self) -> Arranger:
        """What arranges the innermost loops."""
        return Arranger(self.scop, self.mapping, self.machine, self.packing)

    def tree(self, tree: Tree, around: Around) -> Tree:
        """Return the mapped tree."""
        match tree:
            case Leaf():
                return tree
            case Sequence(branches):
                return Sequence(
                    tuple(
                        Branch(
                            branch.statements,
                            self.tree(branch.child, around.within(branch.statements)),
                        )
                        for branch in branches
                    )
                )
            case Band():
                return self.band(tree, (1,) * len(tree.members), around)

    def band(self, band: Band, tiled: tuple[int, ...], around: Around) -> Tree:
        """Map a band of points, some of which may be tiled further out: by those sizes."""
        match band.child:
            case _ if _is_last(band):
                return self._points(band, tiled, around)
            case Sequence() if (sunk := self._sunk(band, tiled, around)) is not None:
                return sunk
            case Band() if (through := self._through(band, tiled, around)) is not None:
                return through
            case _:
                return self._plain(band, around)

    def _plain(self, band: Band, around: Around) -> Tree:
        """Leave a band as it is, its outermost coincident loop apart, and go on below."""
        members, parallel = self._shared(band.members, around.parallel)
        below = replace(around.inside(band.members, band.statements), parallel=parallel)
        return Band(band.statements, members, self.tree(band.child, below))

    def _sunk(self, band: Band, tiled: tuple[int, ...], around: Around) -> Tree | None:
        """Tile a band and sink its points into the sequence below, or return None."""
        assert isinstance(band.child, Sequence)
        if not self.mapping.sink or self.mapping.tile == ():
            return None
        group = {
            name: place
            for place, branch in enumerate(band.child.branches)
            for name in branch.statements
        }
        if any(group[p.dependence.source] > group[p.dependence.sink] for p in around.pairs):
            return None
        pattern = self.mapping.tile or (_SINKING,)
        sizes = tuple(
            1 if done > 1 else size
            for done, size in zip(tiled, sizes_for(pattern, len(band.members)), strict=True)
        )
        outer = tiles(band.members, sizes)
        outer, parallel = self._shared(coincident_first(outer), around.parallel)
        now = tuple(max(pair) for pair in zip(tiled, sizes, strict=True))
        inner = replace(around, parallel=parallel)
        branches = tuple(
            self._branch(band, branch, now, inner.within(branch.statements))
            for branch in band.child.branches
        )
        below = Sequence(branches)
        return Band(band.statements, outer, below) if outer else below

    def _through(self, band: Band, tiled: tuple[int, ...], around: Around) -> Tree | None:
        """Let the points of coincident members run inside the band below, or return None."""
        assert isinstance(band.child, Band)
        statements, child = band.statements, band.child
        if not self.mapping.sink or self.mapping.tile == ():
            return None
        moving = [place for place, member in enumerate(band.members) if member.coincident]
        staying = tuple(member for member in band.members if not member.coincident)
        inside = around.inside(band.members, statements)
        if not moving or not staying or self._is_rewarding(child, inside):
            return None
        below = around.inside(staying, statements)
        points = tuple(band.members[place] for place in moving)
        inner = Band(statements, below.reviewed((*points, *child.members), statements), child.child)
        before = tuple(tiled[place] for place in moving)
        rest = (1,) * len(child.members)
        sizes = (_SINKING,) * len(moving)
        if self.mapping.tile is not None:
            whole = sizes_for(self.mapping.tile, len(band.members))
            sizes = tuple(whole[place] for place in moving)
        elif _is_last(inner):
            arrangement = self.arranger.arrangement(inner, below)
            if not arrangement.is_rewarding:
                return None
            found = self._sizes(inner, arrangement, (*before, *rest), below)[: len(moving)]
            sizes = found if any(size > 1 for size in found) else sizes
        sizes = tuple(1 if done > 1 else size for done, size in zip(before, sizes, strict=True))
        outer, parallel = self._shared(tiles(points, sizes), around.parallel)
        now = tuple(max(pair) for pair in zip(before, sizes, strict=True))
        tree: Tree = self.band(inner, (*now, *rest), replace(below, parallel=parallel))
        tree = Band(statements, staying, tree)
        return Band(statements, outer, tree) if outer else tree

    def _is_rewarding(self, band: Band, around: Around) -> bool:
        """Whether a band as it is runs in vectors, if that can be said already."""
        return _is_last(band) and self.arranger.arrangement(band, around).is_rewarding

    def _branch(self, band: Band, branch: Branch, tiled: tuple[int, ...], around: Around) -> Branch:
        """Return a branch with the points of the band above moved into it."""
        points = tuple(
            restricted(member, band.statements, branch.statements) for member in band.members
        )
        points = around.reviewed(points, branch.statements)
        match branch.child:
            case Band(_, members, child) if all(
                weakly_ordered(around.pairs, branch.statements, member.rows, around.parameters)
                for member in members
            ):
                joined = around.reviewed((*points, *members), branch.statements)
                sizes = (*tiled, *(1,) * len(members))
                merged = Band(branch.statements, joined, child)
                return Branch(branch.statements, self.band(merged, sizes, around))
            case child:
                merged = Band(branch.statements, points, child)
                return Branch(branch.statements, self.band(merged, tiled, around))

    def _points(self, band: Band, tiled: tuple[int, ...], around: Around) -> Tree:
        """Map a band below which there are no more loops."""
        arrangement = self.arranger.arrangement(band, around)
        sizes = self._sizes(band, arrangement, tiled, around)
        outer: list[tuple[Member, ...]] = []
        parallel = around.parallel
        for level in self._tiles(band, sizes, around):
            level, parallel = self._shared(level, parallel)
            outer.append(level)
        inner = self.with_parallel(self.arranger.tree(band, arrangement), parallel=parallel)
        for level in reversed(outer):
            inner = Band(band.statements, level, inner)
        return inner

    def with_parallel(self, tree: Tree, *, parallel: bool) -> Tree:
        """Make the outermost coincident loop on every way down parallel, unless one around is."""
        match tree:
            case Leaf():
                return tree
            case Sequence(branches):
                return Sequence(
                    tuple(
                        Branch(
                            branch.statements, self.with_parallel(branch.child, parallel=parallel)
                        )
                        for branch in branches
                    )
                )
            case Band(statements, members, child):
                members, parallel = self._shared(members, parallel)
                below = self.with_parallel(child, parallel=parallel)
                return Band(statements, members, below) if members else below

    def _sizes(
        self,
        band: Band,
        arrangement: Arrangement,
        tiled: tuple[int, ...],
        around: Around,
    ) -> tuple[int, ...]:
        """Return the tile sizes of the members that are not tiled yet; 1 for the others."""
        members, chosen = band.members, arrangement.roles
        if self.mapping.tile is not None:
            sizes = sizes_for(self.mapping.tile, len(members))
        else:
            element = max(
                self.scop.array(access.array).type.size
                for name in band.statements
                for access in (
                    self.scop.statement(name).write,
                    *self.scop.statement(name).reads,
                )
            )
            rows = [member.rows for member in members]
            moves = table(self.scop, band.statements, around.rows, rows, self.packing)
            sizes = tile_sizes(
                members,
                moves,
                chosen,
                element,
                self.machine,
                rewarding=arrangement.is_rewarding,
            )
        new = self._new_directions(band, around)
        sizes = tuple(
            size if place in new and tiled[place] == 1 else 1 for place, size in enumerate(sizes)
        )
        if around.parallel or not self._shares() or any(size > 1 for size in sizes):
            return sizes
        # What is parallel must not be what runs in vectors: a loop has one duty.
        busy = (chosen.vector, chosen.jammed)
        coincident = [place for place, member in enumerate(members) if member.coincident]
        if coincident and all(place in busy for place in coincident):
            first = coincident[0]
            size = _SWEEP if first == chosen.vector else _SINKING
            return tuple(size if place == first else 1 for place in range(len(members)))
        return sizes

    def _new_directions(self, band: Band, around: Around) -> frozenset[int]:
        """Return the members that are a loop of some statement: no combination of those before.

        Tiling the others would cut the same points once more.
        """
        found: set[int] = set()
        for place, name in enumerate(band.statements):
            before = [row.iterators for row in around.rows[name]]
            own = [member.rows[place].iterators for member in band.members]
            found.update(independent(own, before))
        return frozenset(found)

    def _tiles(
        self, band: Band, sizes: tuple[int, ...], around: Around
    ) -> tuple[tuple[Member, ...], ...]:
        """Return the bands of tiles around the points, the outermost first."""
        members = list(band.members)
        if not any(size > 1 for size in sizes):
            return ()
        alone = not any(member.coincident for member in members)
        wave = (
            self.mapping.wavefront
            and alone
            and not around.parallel
            and self._shares()
            and sum(size > 1 for size in sizes) > 1
        )
        shapes = list(members)
        if wave and self.mapping.diamond:
            first, second, *_ = (place for place, size in enumerate(sizes) if size > 1)
            steep = diamond(
                members[first], members[second], band.statements, around.pairs, around.parameters
            )
            if steep is not None:
                shapes[first], shapes[second] = members[second], steep
                # Only tiles as wide one way as the other have corners that meet.
                sizes = tuple(
                    sizes[second] if place == first else size for place, size in enumerate(sizes)
                )
        levels = [tiles(shapes, sizes)]
        if self.mapping.outer:
            factors = sizes_for(self.mapping.outer, len(members))
            larger = [
                size * factor if size > 1 and factor > 1 else 1
                for size, factor in zip(sizes, factors, strict=True)
            ]
            if any(size > 1 for size in larger):
                levels.insert(0, tiles(shapes, larger))
        outermost = levels[0]
        levels[0] = (
            wavefront(outermost) if wave and len(outermost) > 1 else coincident_first(outermost)
        )
        return tuple(levels)

    def _shared(
        self, members: tuple[Member, ...], parallel: bool
    ) -> tuple[tuple[Member, ...], bool]:
        """Make the outermost coincident member parallel, unless a loop around is."""
        if parallel or not self._shares():
            return members, parallel
        for place, member in enumerate(members):
            if member.coincident and member.duty == ALONE:
                own = replace(member, duty=self._parallel())
                return (*members[:place], own, *members[place + 1 :]), True
        return members, False

    def _shares(self) -> bool:
        return self.mapping.shares

    def _parallel(self) -> Parallel:
        return Parallel(self.mapping.parallel is Sharing.DYNAMIC)


def _is_last(band: Band) -> bool:
    """Whether there are no more loops below a band."""
    match band.child:
        case Leaf():
            return True
        case Sequence(branches):
            return all(isinstance(branch.child, Leaf) for branch in branches)
        case Band():
            return False
