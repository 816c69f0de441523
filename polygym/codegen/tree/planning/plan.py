"""From the tree of a schedule to the tree of a mapping: every transformation, in its place.

The walk goes down the tree with the pairs of instances that no loop further out orders. What it
does to a band depends on what stands below:

* a sequence with further loops: the band is tiled, and its points *sink* into the branches, if
  dependences allow it (``sink_points``);
* the bands of a sum over several loops: its element is held through all of them
  (``plan_nested_reduction``);
* a band, in which nothing would run in vectors: the band is tiled in its coincident members, and
  their points run *through* the others into the band below
  (:mod:`polygym.codegen.tree.transforms.sinking`);
* a sum whose terms may be taken in any order: those that need nothing of their tile run before it
  (``find_early_terms``);
* a sequence under loops of which only the inner ones may sink: all are tiled, and the outer
  ones stay above it (:mod:`polygym.codegen.tree.transforms.sinking`);
* nothing but statements, parted in one step or in several: it is tiled, its points get their order
  and their annotations (:mod:`polygym.codegen.tree.inner_loops.arrangement`), others in tiles in
  which nothing but sums waits (``find_independent_tiles``);
* loops with bounds that are read from memory: the points run as they are, in threads at most
  (:mod:`polygym.codegen.tree.analysis.data_bounds`);
* anything else: it is tiled if sizes are asked for, or if a wavefront gives threads what they need;
  its points stay above what is below.

The tiles themselves are made in one place, ``tile_bands``, and the
outermost coincident loop on every way down becomes parallel
(:mod:`polygym.codegen.tree.transforms.parallelization`), and, where terms may be taken in any
order, loops that wait for sums alone (:mod:`polygym.codegen.tree.transforms.parallel_reductions`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polygym.codegen.common.loop_annotation import ScalarReplacement, SplitAccumulators
from polygym.codegen.common.packing_candidates import PackingCandidates, packing_candidates
from polygym.codegen.common.reductions import is_order_independent, row_sum_operator
from polygym.codegen.loopir.pass_types import CodegenRequest, Pass, Representation
from polygym.codegen.recurrences.early_reduction_terms.analysis import (
    early_terms_candidate,
    find_early_terms,
)
from polygym.codegen.recurrences.independent_tiles.analysis import (
    IndependentTiles,
    find_independent_tiles,
    may_have_independent_tiles,
)
from polygym.codegen.tree.analysis.data_bounds import members_around_data_bounds
from polygym.codegen.tree.analysis.loop_order import loops_of, reorder_bands
from polygym.codegen.tree.analysis.planner_context import PlannerContext
from polygym.codegen.tree.analysis.scalar_replacement import replaceable
from polygym.codegen.tree.inner_loops.arrangement import (
    Arrangement,
    apply_arrangement,
    choose_arrangement,
)
from polygym.codegen.tree.inner_loops.nested_reduction import NestedReduction, plan_nested_reduction
from polygym.codegen.tree.ir import (
    Band,
    BandMember,
    Branch,
    Leaf,
    SequenceNode,
    Tree,
    flatten_sequences,
    independent_groups,
    is_innermost,
    with_annotation,
)
from polygym.codegen.tree.loop_context import LoopContext
from polygym.codegen.tree.planning import tile_sizes
from polygym.codegen.tree.planning.tile_sizes import TiledBand
from polygym.codegen.tree.planning_memo import NO_MEMO, PlanningMemo
from polygym.codegen.tree.transforms.parallel_reductions import ReductionParallelizer
from polygym.codegen.tree.transforms.parallelization import Parallelizer
from polygym.codegen.tree.transforms.sinking import (
    InwardInterchange,
    PartlySunk,
    SunkBranch,
    interchange_inward,
    sink_partly,
    sink_points,
)
from polygym.codegen.tree.transforms.tiling import tile_bands, tile_members
from polygym.ir.scop import Scop
from polygym.mapping.machine import Machine, this_machine
from polygym.mapping.mapping import Mapping
from polygym.mapping.sizes import Sizes, known_sizes
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.legality import LegalSchedule

_ROW_CHAINS = 4  # a row is short, and an addition takes four cycles


def plan_tree(
    tree: Tree,
    legal: LegalSchedule,
    mapping: Mapping,
    machine: Machine,
    sizes: Sizes | None = None,
    memo: PlanningMemo = NO_MEMO,
    *,
    keep_order_in_tiles: bool = False,
) -> Tree:
    """Return the tree of loops that a mapping makes of a schedule's tree.

    ``memo`` is that of earlier plans for the same program at the same sizes on the same machine.
    With ``keep_order_in_tiles`` no terms of sums run before their tile, and no tile has strips.
    """
    known, parameters = known_sizes(legal.scop, sizes), legal.schedule.parameters
    threads = Parallelizer(legal.scop, mapping, parameters, known, memo)
    if mapping.keeps_schedule_order:
        return threads.parallelize_tree(tree, parallel=False) if mapping.is_parallel else tree
    names = tuple(part.statement for part in legal.schedule.statements)
    loops = memo.get_or_compute(("loops", tree, names), lambda: loops_of(tree, names))
    if mapping.only_permutes_bands:
        tree = reorder_bands(tree, mapping, loops)
        return threads.parallelize_tree(tree, parallel=False) if mapping.is_parallel else tree
    with bounded_operations("mapping the schedule to the machine"):
        around = LoopContext.of(legal, memo)
        groups = memo.get_or_compute(
            ("parts", tree, names), lambda: independent_groups(tree, names)
        )
        packing = packing_in(groups, legal.scop, mapping.pack, sizes, memo)
        setting = PlannerContext(legal.scop, mapping, machine, packing, known, memo, loops)
        result = _TreePlanner(setting, threads, keep_order_in_tiles).tree(tree, around)
        if not mapping.is_parallel or known is None:
            return result
        sums = ReductionParallelizer(legal.scop, mapping, parameters, known, machine.level_2 // 2)
        return sums.parallelize_tree(result, around)


def packing_in(
    groups: tuple[frozenset[str], ...],
    scop: Scop,
    pack: bool,
    sizes: Sizes | None,
    memo: PlanningMemo,
) -> PackingCandidates | None:
    """Return what may be packed in a schedule's parts, if anything; it is remembered."""
    return memo.get_or_compute(
        ("packing", groups, pack), lambda: packing_candidates(scop, sizes, groups, pack=pack)
    )


@dataclass(frozen=True)
class _TreePlanner:
    """The walk; holds what every step needs to see."""

    context: PlannerContext
    parallelizer: Parallelizer
    keep_order_in_tiles: bool = False

    @property
    def mapping(self) -> Mapping:
        """The mapping."""
        return self.context.mapping

    def tree(self, tree: Tree, loop_context: LoopContext) -> Tree:
        """Return the mapped tree."""
        match tree:
            case Leaf():
                return tree
            case SequenceNode():
                return tree.with_children(
                    lambda branch: self.branch(branch, loop_context.for_branch(branch.statements))
                )
            case Band():
                walk = self.for_nest(tree.statements)
                return walk.band(TiledBand(tree, (1,) * len(tree.members), loop_context))

    def branch(self, branch: Branch, loop_context: LoopContext) -> Tree:
        """Plan a branch of a sequence, once for the options that its nest has."""
        context, tree = self.context, branch.child
        if not isinstance(tree, Band):
            return self.tree(tree, loop_context)
        own = tuple([context.original_loops[name] for name in branch.statements])
        walk = self.for_nest(branch.statements)
        return context.memo.get_or_compute(
            (
                "branch",
                tree,
                loop_context,
                context.packing,
                own,
                self.keep_order_in_tiles,
                walk.mapping,
            ),
            lambda: walk.tree(tree, loop_context),
        )

    def for_nest(self, statements: tuple[str, ...]) -> _TreePlanner:
        """Return the walk with the options of the nest of some statements."""
        if not self.mapping.nests:
            return self
        own = dict(self.mapping.for_nest(statements))
        mapping = replace(self.mapping, nests=(), **own)
        return _TreePlanner(
            self.context.with_mapping(mapping),
            self.parallelizer.with_mapping(mapping),
            self.keep_order_in_tiles,
        )

    def band(self, nest: TiledBand) -> Tree:
        """Map a band of points."""
        band, loop_context = nest.band, nest.loop_context
        members = members_around_data_bounds(self.context.scop, band)
        if members is not None:
            return self._keep_points(
                self._with_registers(replace(band, members=members), loop_context), loop_context
            )
        if is_innermost(band):
            return self._points(nest)
        sinks = self.mapping.sink and self.mapping.is_tiled
        if sinks:
            if (branches := sink_points(band, loop_context)) is not None:
                return self._tile_sunk(nest, branches)
            if (reduction := plan_nested_reduction(band, loop_context, self.context)) is not None:
                return self._tile_reduction(nest, reduction)
            if (through := self._interchange(band, loop_context)) is not None:
                if (interchanged := self._tile_interchanged(nest, through)) is not None:
                    return interchanged
        row = flatten_sequences(band.child)
        if row is None and (first := self._tile_early_terms(nest)) is not None:
            return first
        if sinks and (partly := sink_partly(band, loop_context, self.context)) is not None:
            return self._tile_partly_sunk(nest, partly)
        if row is not None:
            return self._points(replace(nest, band=replace(band, child=row)))
        return self._tile_outer(nest)

    def _points(self, nest: TiledBand) -> Tree:
        """Map a band below which there are no more loops."""
        band, loop_context = nest.band, nest.loop_context
        arrangement, points = self._arrange(band, loop_context)
        if may_have_independent_tiles(band, loop_context, self.context):
            sizes = tile_sizes.independent_tile_sizes(nest, self.context)
            tiles = self._tiles(band, sizes, loop_context)
            free = tiles.levels and find_independent_tiles(
                band, tiles.levels[-1], loop_context, self.context
            )
            if free:
                return tiles.around(
                    self._split_independent(points, band.statements, free, tiles.is_parallel)
                )
        sizes = tile_sizes.point_band_sizes(nest, arrangement, self.context)
        tiles = self._tiles(band, sizes, loop_context)
        if (tiles.is_parallel or not self.mapping.is_parallel) and not self.keep_order_in_tiles:
            strips = tile_sizes.strip_sizes(nest, arrangement, sizes, self.context)
            tiles = tiles.with_level(tile_members(band.members, strips))
        return tiles.around(self.parallelizer.parallelize_tree(points, parallel=tiles.is_parallel))

    def _arrange(self, band: Band, loop_context: LoopContext) -> tuple[Arrangement, Tree]:
        """Return who does what among the points of a band, and their loops."""

        def arrange(setting: PlannerContext) -> tuple[Arrangement, Tree]:
            arrangement = choose_arrangement(band, loop_context, setting)
            return arrangement, apply_arrangement(band, arrangement, setting)

        return self.context.memoized("points", band, loop_context, arrange)

    def _split_independent(
        self, points: Tree, statements: tuple[str, ...], free: IndependentTiles, parallel: bool
    ) -> Tree:
        """Return the loops of tiles that wait for something, and those of the free ones."""
        other = replace(free.predicate, tile_coordinates=free.tile_coordinates, is_complement=True)
        own = apply_arrangement(free.band, free.arrangement, free.context)
        branches = (
            Branch(statements, points, other),
            Branch(free.band.statements, own, free.predicate),
        )
        return self.parallelizer.parallelize_tree(SequenceNode(branches), parallel=parallel)

    def _tile_sunk(self, nest: TiledBand, branches: tuple[SunkBranch, ...]) -> Tree:
        """Tile a band whose points have sunk into the branches."""
        band = nest.band
        count = len(band.members)
        usual = (TUNING.sink_tile,) * count
        if self.mapping.reassociate and count == 1 and not band.members[0].coincident:
            usual = (1,)  # a sum, whose chains are not to be taken together for every tile
        sizes = nest.remaining(self.mapping.tile_for(count) or usual)
        tiles = self._tiles(band, sizes, nest.loop_context)
        inner = nest.loop_context.with_threads(parallel=tiles.is_parallel)
        now = nest.merged(sizes)
        mapped = []
        for sunk in branches:
            names = sunk.band.statements
            own = TiledBand(sunk.band, (*now, *(1,) * sunk.own_members), inner.for_branch(names))
            mapped.append(Branch(names, self.band(own)))
        return tiles.around(SequenceNode(tuple(mapped)))

    def _tile_partly_sunk(self, nest: TiledBand, partly: PartlySunk) -> Tree:
        """Tile a band of which some points stay and the others sink.

        Tiles beside each other may write parts of the same rows, of which processors fetch more
        than is asked for: so a thread gets tiles that follow each other.
        """
        band, staying = nest.band, partly.staying_count
        sizes = tile_sizes.partly_sunk_sizes(nest, self.context)
        contiguous = replace(self.parallelizer, contiguous_chunks=True)
        tiles = replace(self, parallelizer=contiguous)._tiles(band, sizes, nest.loop_context)
        members, parallel = self.parallelizer.parallelize_members(
            band.statements, band.members[:staying], parallel=tiles.is_parallel
        )
        below = partly.loop_context.with_threads(parallel=parallel)
        inner = self.band(TiledBand(partly.sunk_band, nest.merged(sizes)[staying:], below))
        return tiles.around(Band(band.statements, members, inner))

    def _tile_reduction(self, nest: TiledBand, reduction: NestedReduction) -> Tree:
        """Tile the free members of a sum over several loops."""
        names, around, tree = nest.band.statements, nest.loop_context, reduction.tree
        points = tuple(nest.band.members[place] for place in reduction.places)
        free = Band(names, points, tree)
        before = TiledBand(free, tuple(nest.tiled[place] for place in reduction.places), around)
        sizes = tile_sizes.reduction_sizes(reduction, self.mapping, parallel=around.is_parallel)
        tiles = self._tiles(free, before.remaining(sizes), around)
        return tiles.around(self.parallelizer.parallelize_tree(tree, parallel=tiles.is_parallel))

    def _interchange(self, band: Band, loop_context: LoopContext) -> InwardInterchange | None:
        """Let coincident members run inside the band below, unless that has vectors as it is."""
        through = interchange_inward(band, loop_context)
        if through is None:
            return None
        assert isinstance(band.child, Band)
        if not is_innermost(band.child):
            return through
        inside = loop_context.inside_members(band.members, band.statements)
        usual = choose_arrangement(band.child, inside, self.context)
        return None if usual.is_profitable else through

    def _tile_interchanged(self, nest: TiledBand, through: InwardInterchange) -> Tree | None:
        """Tile the members that run inside; None where that gains nothing."""
        inside, below, names = through.inner_band, through.loop_context, nest.band.statements
        moved = through.moved_positions
        points = tuple(nest.band.members[place] for place in moved)
        free = Band(names, points, inside)
        before = TiledBand(free, tuple(nest.tiled[place] for place in moved), nest.loop_context)
        rest = (1,) * (len(inside.members) - len(points))
        sizes = (TUNING.sink_tile,) * len(points)
        if (whole := self.mapping.tile_for(len(nest.band.members))) is not None:
            sizes = tuple(whole[place] for place in moved)
        elif is_innermost(inside):
            arrangement = choose_arrangement(inside, below, self.context)
            if not arrangement.is_profitable:
                return None
            every = TiledBand(inside, (*before.tiled, *rest), below)
            own = tile_sizes.point_band_sizes(every, arrangement, self.context)[: len(points)]
            sizes = own if any(size > 1 for size in own) else sizes
        sizes = before.remaining(sizes)
        tiles = self._tiles(free, sizes, nest.loop_context)
        below = below.with_threads(parallel=tiles.is_parallel)
        tree = self.band(TiledBand(inside, (*before.merged(sizes), *rest), below))
        staying = self.context.in_requested_order(names, through.staying_members)
        return tiles.around(Band(names, staying, tree))

    def _tile_early_terms(self, nest: TiledBand) -> Tree | None:
        """Let terms of a sum run before the rest of their tile; None where that is not possible."""
        band, loop_context = nest.band, nest.loop_context
        if self.keep_order_in_tiles:
            return None
        terms = early_terms_candidate(band, loop_context, self.context)
        if terms is None:
            return None
        sizes = tile_sizes.early_term_sizes(nest, self.context)
        tiles = self._tiles(band, sizes, loop_context)
        waits = self.mapping.is_parallel and not tiles.is_parallel
        if len({*sizes}) > 1 or sizes[0] == 1 or waits:
            return None
        free = find_early_terms(
            band, terms, tiles.levels[-1], sizes[-1], loop_context, self.context
        )
        if free is None:
            return None
        inside = loop_context.inside_members(band.members, band.statements)
        below = inside.with_threads(parallel=tiles.is_parallel)
        rest = Band(band.statements, band.members, self.tree(band.child, below))
        early = apply_arrangement(free.band, free.arrangement, free.context)
        first = Band((terms.name,), (free.tiles,), early)
        branches = (
            Branch((terms.name,), first, free.early_predicate),
            Branch(band.statements, rest, free.late_predicate),
        )
        return tiles.around(SequenceNode(branches))

    def _tile_outer(self, nest: TiledBand) -> Tree:
        """Map a band whose points stay above what is below."""
        band, loop_context = nest.band, nest.loop_context
        sizes = tile_sizes.outer_band_sizes(nest, self.mapping, self.context.scop)
        tiles = self._tiles(band, sizes, loop_context)
        inside = loop_context.with_threads(parallel=tiles.is_parallel)
        return tiles.around(self._keep_points(band, inside))

    def _with_registers(self, band: Band, loop_context: LoopContext) -> Band:
        """Let the last loop of a band hold elements, if there are no more loops below."""
        names, (*others, last) = band.statements, band.members
        if not self.mapping.scalar_replacement or not is_innermost(band):
            return band
        outer = loop_context.inside_members(others, names).rows
        held = replaceable(self.context.scop, names, names, outer)
        if not held:
            return band
        replacement = ScalarReplacement(held, self._row_accumulators(names))
        return replace(band, members=(*others, with_annotation(last, replacement)))

    def _row_accumulators(self, names: tuple[str, ...]) -> SplitAccumulators | None:
        """Return the chains of the sums over a row, None where its terms have an order."""
        statements = [self.context.scop.statement(name) for name in names]
        for statement in statements:
            operator = row_sum_operator(statement)
            if operator is None or not (
                self.mapping.reassociate or is_order_independent(operator, statement.body.type)
            ):
                return None
        return SplitAccumulators(width=1, count=_ROW_CHAINS)

    def _keep_points(self, band: Band, loop_context: LoopContext) -> Tree:
        """Map a band without tiles, vectors or copies: threads alone."""
        ordered = self.context.in_requested_order(band.statements, band.members)
        members, parallel = self.parallelizer.parallelize_members(
            band.statements, ordered, parallel=loop_context.is_parallel
        )
        inside = loop_context.inside_members(band.members, band.statements)
        below = inside.with_threads(parallel=parallel)
        return Band(band.statements, members, self.tree(band.child, below))

    def _tiles(self, band: Band, sizes: tuple[int, ...], loop_context: LoopContext) -> _TileBands:
        """Return the tiles around a band, the outermost coincident one parallel."""
        outer: list[tuple[BandMember, ...]] = []
        parallel = loop_context.is_parallel
        for level in tile_bands(band.members, sizes, band.statements, self.mapping, loop_context):
            level, parallel = self.parallelizer.parallelize_members(
                band.statements, level, parallel=parallel
            )
            outer.append(level)
        return _TileBands(band.statements, tuple(outer), parallel)


@dataclass(frozen=True)
class _TileBands:
    """Bands of tiles, the outermost first; ``is_parallel`` says whether they run in threads."""

    statements: tuple[str, ...]
    levels: tuple[tuple[BandMember, ...], ...]
    is_parallel: bool

    def with_level(self, members: tuple[BandMember, ...]) -> _TileBands:
        """Return the bands with a further one inside, if it has members."""
        return replace(self, levels=(*self.levels, members)) if members else self

    def around(self, tree: Tree) -> Tree:
        """Return the tree with the tiles around it."""
        for level in reversed(self.levels):
            tree = Band(self.statements, level, tree)
        return tree


def _plan(tree: Tree, request: CodegenRequest) -> Tree:
    legal, mapping, in_order = request.legal, request.mapping, request.keeps_order_in_tiles
    return plan_tree(
        tree, legal, mapping, this_machine(), request.sizes, keep_order_in_tiles=in_order
    )


PASS = Pass(
    "plan",
    Representation.TREE,
    "tiles, threads, vectors, unroll-and-jam and scalar replacement, chosen per loop",
    _plan,
)
