"""From the tree of a schedule to the tree of a mapping: every transformation, in its place.

The walk goes down the tree with the pairs of instances that no loop further out orders. What it
does to a band depends on what stands below:

* a sequence with further loops: the band is tiled, and its points *sink* into the branches, if
  dependences allow it (:mod:`polygym.compiler.codegen.trees.sink`);
* the bands of a sum over several loops: its element is held through all of them
  (:mod:`polygym.compiler.codegen.trees.reduction`);
* a band, in which nothing would run in vectors: the band is tiled in its coincident members, and
  their points run *through* the others into the band below
  (:mod:`polygym.compiler.codegen.trees.through`);
* a sum whose terms may be taken in any order: those that need nothing of their tile run before it
  (:mod:`polygym.compiler.codegen.trees.free_terms`);
* a sequence under loops of which only the inner ones may sink: all are tiled, and the outer
  ones stay above it (:mod:`polygym.compiler.codegen.trees.sink_partly`);
* nothing but statements, parted in one step or in several: it is tiled, its points get their order
  and their annotations (:mod:`polygym.compiler.codegen.trees.points`), others in tiles in which
  nothing but sums waits (:mod:`polygym.compiler.codegen.trees.free_tiles`);
* anything else: it is tiled if sizes are asked for, or if a wavefront gives threads what they need;
  its points stay above what is below.

The tiles themselves are made in one place, :mod:`polygym.compiler.codegen.trees.levels`, and the
outermost coincident loop on every way down becomes parallel
(:mod:`polygym.compiler.codegen.trees.share`), and, where terms may be added in any order, loops
that wait for sums alone (:mod:`polygym.compiler.codegen.trees.share_sums`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polygym.compiler.codegen.common.machine import Machine
from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.codegen.common.packable import Packing, packing_of
from polygym.compiler.codegen.common.sizes import Sizes, known_sizes
from polygym.compiler.codegen.trees.free_terms import free_terms, terms_of
from polygym.compiler.codegen.trees.free_tiles import FreeTiles, free_tiles, may_have_free_tiles
from polygym.compiler.codegen.trees.levels import levels
from polygym.compiler.codegen.trees.memory import NOTHING, Memory
from polygym.compiler.codegen.trees.point_order import loops_of, reordered
from polygym.compiler.codegen.trees.points import Arrangement, arranged, arrangement
from polygym.compiler.codegen.trees.reduction import Reduction, reduction
from polygym.compiler.codegen.trees.setting import Setting
from polygym.compiler.codegen.trees.share import Threads
from polygym.compiler.codegen.trees.share_sums import SumThreads
from polygym.compiler.codegen.trees.sink import Sunk, sink
from polygym.compiler.codegen.trees.sink_partly import PartlySunk, sink_partly
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.through import Through, run_through
from polygym.compiler.codegen.trees.tile_choice import (
    SINKING,
    sizes_above,
    sizes_of_free,
    sizes_of_points,
    sizes_partly,
    sizes_with_free,
    sizes_with_terms,
)
from polygym.compiler.codegen.trees.tree import (
    Band,
    Branch,
    Leaf,
    Member,
    Sequence,
    Tree,
    in_a_row,
    is_last,
    parts,
)
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.isl_budget import bounded
from polygym.compiler.poly.legality import LegalSchedule


def plan(
    tree: Tree,
    legal: LegalSchedule,
    mapping: Mapping,
    machine: Machine,
    sizes: Sizes | None = None,
    memory: Memory = NOTHING,
    *,
    in_order: bool = False,
) -> Tree:
    """Return the tree of loops that a mapping makes of a schedule's tree.

    ``memory`` is that of earlier plans for the same program at the same sizes on the same machine.
    With ``in_order`` no terms of sums run before their tile.
    """
    known, parameters = known_sizes(legal.scop, sizes), legal.schedule.parameters
    threads = Threads(legal.scop, mapping, parameters, known, memory)
    if mapping.leaves_order:
        return threads.inside(tree, parallel=False) if mapping.shares else tree
    names = tuple(part.statement for part in legal.schedule.statements)
    loops = memory.of(("loops", tree, names), lambda: loops_of(tree, names))
    if mapping.only_reorders:
        tree = reordered(tree, mapping, loops)
        return threads.inside(tree, parallel=False) if mapping.shares else tree
    with bounded("mapping the schedule to the machine"):
        around = Surroundings.of(legal, memory)
        groups = memory.of(("parts", tree, names), lambda: parts(tree, names))
        packing = packing_in(groups, legal.scop, mapping.pack, sizes, memory)
        setting = Setting(legal.scop, mapping, machine, packing, known, memory, loops)
        found = _Planner(setting, threads, in_order).tree(tree, around)
        if not (mapping.reassociate and mapping.shares) or known is None:
            return found
        sums = SumThreads(legal.scop, mapping, parameters, known, machine.level_2 // 2)
        return sums.inside(found, around.pairs)


def packing_in(
    groups: tuple[frozenset[str], ...],
    scop: Scop,
    pack: bool,
    sizes: Sizes | None,
    memory: Memory,
) -> Packing | None:
    """Return what may be packed in a schedule's parts, if anything; it is remembered."""
    return memory.of(("packing", groups, pack), lambda: packing_of(scop, sizes, groups, pack=pack))


@dataclass(frozen=True)
class _Planner:
    """The walk; holds what every step needs to see.

    Bands come with ``tiled``, the sizes of the tiles that their members have further out already.
    """

    setting: Setting
    threads: Threads
    in_order: bool = False

    @property
    def mapping(self) -> Mapping:
        """The mapping."""
        return self.setting.mapping

    def tree(self, tree: Tree, around: Surroundings) -> Tree:
        """Return the mapped tree."""
        match tree:
            case Leaf():
                return tree
            case Sequence():
                return tree.rebuilt(
                    lambda branch: self.branch(branch, around.within(branch.statements))
                )
            case Band():
                own = self.mapping.of_nest(tree.statements)
                walk = self.under(replace(self.mapping, nests=(), **dict(own))) if own else self
                return walk.band(tree, (1,) * len(tree.members), around)

    def branch(self, branch: Branch, around: Surroundings) -> Tree:
        """Return the mapped tree of a branch, which asks the mapping for what matters to it."""
        setting, tree = self.setting, branch.child
        if not isinstance(tree, Band):
            return self.tree(tree, around)
        own = tuple([setting.loops[name] for name in branch.statements])
        return setting.memory.of_mapping(
            ("branch", tree, around, setting.packing, own, self.in_order),
            self.mapping,
            lambda asked: self.under(asked).tree(tree, around),
        )

    def under(self, mapping: Mapping) -> _Planner:
        """Return the same walk under another mapping."""
        if mapping is self.mapping:
            return self
        return _Planner(self.setting.under(mapping), self.threads.under(mapping), self.in_order)

    def _in_turn(self) -> _Planner:
        """Return the same walk where a thread gets iterations that follow each other."""
        return replace(self, threads=replace(self.threads, in_turn=True))

    def band(self, band: Band, tiled: tuple[int, ...], around: Surroundings) -> Tree:
        """Map a band of points."""
        if is_last(band):
            return self._points(band, tiled, around)
        sinks = self.mapping.sink and self.mapping.is_tiled
        if sinks:
            if (branches := sink(band, around)) is not None:
                return self._sunk(band, branches, tiled, around)
            if (found := reduction(band, around, self.setting)) is not None:
                return self._reduced(band, found, tiled, around)
            if (through := self._through(band, around)) is not None:
                ran = self._run_through(band, through, tiled, around)
                if ran is not None:
                    return ran
        row = in_a_row(band.child)
        if row is None and (first := self._terms_first(band, tiled, around)) is not None:
            return first
        if sinks and (partly := sink_partly(band, around, self.setting)) is not None:
            return self._partly(band, partly, tiled, around)
        if row is not None:
            return self._points(replace(band, child=row), tiled, around)
        return self._above(band, tiled, around)

    def _points(self, band: Band, tiled: tuple[int, ...], around: Surroundings) -> Tree:
        """Map a band below which there are no more loops."""
        found, points = self._arranged(band, around)
        if may_have_free_tiles(band, around, self.setting):
            sizes = sizes_with_free(band, tiled, around, self.setting)
            tiles = self._tiles(band, sizes, around)
            free = tiles.levels and free_tiles(band, tiles.levels[-1], around, self.setting)
            if free:
                return tiles.around(self._apart(points, band.statements, free, tiles.parallel))
        sizes = sizes_of_points(band, found, tiled, around, self.setting)
        tiles = self._tiles(band, sizes, around)
        return tiles.around(self.threads.inside(points, parallel=tiles.parallel))

    def _arranged(self, band: Band, around: Surroundings) -> tuple[Arrangement, Tree]:
        """Return who does what among the points of a band, and their loops."""

        def arrange(setting: Setting) -> tuple[Arrangement, Tree]:
            found = arrangement(band, around, setting)
            return found, arranged(band, found, setting)

        return self.setting.remembered("points", band, around, arrange)

    def _apart(
        self, points: Tree, statements: tuple[str, ...], free: FreeTiles, parallel: bool
    ) -> Tree:
        """Return the loops of tiles that wait for something, and those of the free ones."""
        other = replace(free.where, numbers=free.numbers, is_other=True)
        own = arranged(free.band, free.arrangement, free.setting)
        branches = (
            Branch(statements, points, other),
            Branch(free.band.statements, own, free.where),
        )
        return self.threads.inside(Sequence(branches), parallel=parallel)

    def _sunk(
        self, band: Band, branches: tuple[Sunk, ...], tiled: tuple[int, ...], around: Surroundings
    ) -> Tree:
        """Tile a band whose points have sunk into the branches."""
        count = len(band.members)
        usual = (SINKING,) * count
        if self.mapping.reassociate and count == 1 and not band.members[0].coincident:
            usual = (1,)  # a sum, whose chains are not to be taken together for every tile
        sizes = _untiled(self.mapping.tile_for(count) or usual, tiled)
        tiles = self._tiles(band, sizes, around)
        inner = around.with_threads(parallel=tiles.parallel)
        now = _both(tiled, sizes)
        mapped = (
            Branch(
                sunk.band.statements,
                self.band(sunk.band, (*now, *(1,) * sunk.own), inner.within(sunk.band.statements)),
            )
            for sunk in branches
        )
        return tiles.around(Sequence(tuple(mapped)))

    def _partly(
        self, band: Band, partly: PartlySunk, tiled: tuple[int, ...], around: Surroundings
    ) -> Tree:
        """Tile a band of which some points stay and the others sink.

        Tiles beside each other may write parts of the same rows, of which processors fetch more
        than is asked for: so a thread gets tiles that follow each other.
        """
        sizes = sizes_partly(band, tiled, around, self.setting)
        tiles = self._in_turn()._tiles(band, sizes, around)
        members, parallel = self.threads.shared(
            band.statements, band.members[: partly.staying], parallel=tiles.parallel
        )
        below = partly.around.with_threads(parallel=parallel)
        now = _both(tiled, sizes)[partly.staying :]
        return tiles.around(Band(band.statements, members, self.band(partly.rest, now, below)))

    def _reduced(
        self, band: Band, found: Reduction, tiled: tuple[int, ...], around: Surroundings
    ) -> Tree:
        """Tile the free members of a sum over several loops."""
        points = tuple(band.members[place] for place in found.places)
        before = tuple(tiled[place] for place in found.places)
        sizes = sizes_of_free(found, self.mapping, parallel=around.parallel)
        sizes = _untiled(sizes, before)
        tiles = self._tiles(Band(band.statements, points, found.tree), sizes, around)
        return tiles.around(self.threads.inside(found.tree, parallel=tiles.parallel))

    def _through(self, band: Band, around: Surroundings) -> Through | None:
        """Let coincident members run inside the band below, unless that has vectors as it is."""
        through = run_through(band, around)
        if through is None:
            return None
        assert isinstance(band.child, Band)
        inside = around.inside(band.members, band.statements)
        if not is_last(band.child):
            return through
        return None if arrangement(band.child, inside, self.setting).is_rewarding else through

    def _run_through(
        self, band: Band, through: Through, tiled: tuple[int, ...], around: Surroundings
    ) -> Tree | None:
        """Tile the members that run inside; None where that gains nothing."""
        inside, below = through.inside, through.around
        points = tuple(band.members[place] for place in through.moving)
        before = tuple(tiled[place] for place in through.moving)
        rest = (1,) * (len(inside.members) - len(points))
        sizes = (SINKING,) * len(points)
        if (whole := self.mapping.tile_for(len(band.members))) is not None:
            sizes = tuple(whole[place] for place in through.moving)
        elif is_last(inside):
            found = arrangement(inside, below, self.setting)
            if not found.is_rewarding:
                return None
            every = sizes_of_points(inside, found, (*before, *rest), below, self.setting)
            own = every[: len(points)]
            sizes = own if any(size > 1 for size in own) else sizes
        sizes = _untiled(sizes, before)
        tiles = self._tiles(Band(band.statements, points, inside), sizes, around)
        now = _both(before, sizes)
        tree = self.band(inside, (*now, *rest), below.with_threads(parallel=tiles.parallel))
        staying = self.setting.ordered(band.statements, through.staying)
        return tiles.around(Band(band.statements, staying, tree))

    def _terms_first(self, band: Band, tiled: tuple[int, ...], around: Surroundings) -> Tree | None:
        """Let terms of a sum run before the rest of their tile; None where that is not possible."""
        terms = None if self.in_order else terms_of(band, around, self.setting)
        if terms is None:
            return None
        sizes = sizes_with_terms(band, tiled, around, self.setting)
        tiles = self._tiles(band, sizes, around)
        if len({*sizes}) > 1 or sizes[0] == 1 or (self.mapping.shares and not tiles.parallel):
            return None
        free = free_terms(band, terms, tiles.levels[-1], sizes[-1], around, self.setting)
        if free is None:
            return None
        below = around.inside(band.members, band.statements).with_threads(parallel=tiles.parallel)
        rest = Band(band.statements, band.members, self.tree(band.child, below))
        first = Band(
            (terms.name,), (free.tiles,), arranged(free.band, free.arrangement, free.setting)
        )
        branches = (
            Branch((terms.name,), first, free.where),
            Branch(band.statements, rest, free.rest),
        )
        return tiles.around(Sequence(branches))

    def _above(self, band: Band, tiled: tuple[int, ...], around: Surroundings) -> Tree:
        """Map a band whose points stay above what is below."""
        tiles = self._tiles(
            band, sizes_above(band, tiled, around, self.mapping, self.setting.scop), around
        )
        ordered = self.setting.ordered(band.statements, band.members)
        members, parallel = self.threads.shared(band.statements, ordered, parallel=tiles.parallel)
        below = around.inside(band.members, band.statements).with_threads(parallel=parallel)
        return tiles.around(Band(band.statements, members, self.tree(band.child, below)))

    def _tiles(self, band: Band, sizes: tuple[int, ...], around: Surroundings) -> _Tiles:
        """Return the tiles around a band, the outermost coincident one parallel."""
        outer: list[tuple[Member, ...]] = []
        parallel = around.parallel
        for level in levels(band.members, sizes, band.statements, self.mapping, around):
            level, parallel = self.threads.shared(band.statements, level, parallel=parallel)
            outer.append(level)
        return _Tiles(band.statements, tuple(outer), parallel)


@dataclass(frozen=True)
class _Tiles:
    """Bands of tiles, the outermost first; ``parallel`` says whether they run in threads."""

    statements: tuple[str, ...]
    levels: tuple[tuple[Member, ...], ...]
    parallel: bool

    def around(self, tree: Tree) -> Tree:
        """Return the tree with the tiles around it."""
        for level in reversed(self.levels):
            tree = Band(self.statements, level, tree)
        return tree


def _untiled(sizes: tuple[int, ...], tiled: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes with 1 for what is tiled further out."""
    return tuple(1 if done > 1 else size for size, done in zip(sizes, tiled, strict=True))


def _both(tiled: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes of the tiles that members have now, from before or from here."""
    return tuple(max(pair) for pair in zip(tiled, sizes, strict=True))
