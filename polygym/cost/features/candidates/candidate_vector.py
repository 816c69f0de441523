"""The features of a candidate: all statements' nests, added up, each with its share of the work.

The options of a mapping as numbers: features for a model of one program alone.

Features mean the same for every program, and leave out what mostly does not matter. What does in
one program its own measurements show: that it wants tiles of 48, or its iterations dealt out
statically. Numbers of a mapping mean nothing for another program, so no other model reads them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from polygym.codegen.coalescing.transform import coalesce_loops
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import BandMember, Tree, independent_groups, loop_paths
from polygym.codegen.tree.ir import SequenceNode as Branches
from polygym.codegen.tree.planning.plan import packing_in, plan_tree
from polygym.codegen.tree.planning_memo import PlanningMemo
from polygym.cost.features.candidates.loop_tree import LoopTree, StatementLeaf, build_loop_tree
from polygym.cost.features.candidates.nest_vectors import (
    NEST_COLUMNS,
    StatementArrays,
    nest_columns,
)
from polygym.cost.features.candidates.private_arrays import with_private_arrays
from polygym.cost.features.loops.column_names import (
    RELATION_COLUMNS,
    TRAFFIC_COLUMNS,
    NestFootprint,
    context_rows,
    signed_log,
)
from polygym.cost.features.loops.nests import (
    NO_PACKABLE_ARRAYS,
    Floats,
    PackableArrays,
    PackableByStatement,
    StatementNest,
    packable_arrays,
    statements_in_independent_tiles,
)
from polygym.cost.features.loops.planned_nests import planned_nest
from polygym.cost.features.statements.statement_work import StatementWork, work_of_statements
from polygym.errors import PolygymError
from polygym.ir.scop import Scop
from polygym.lru_cache import REMEMBERED_PROGRAMS, LruCache
from polygym.mapping.knobs import COLUMNS
from polygym.mapping.machine import Machine, this_machine
from polygym.mapping.mapping import Mapping
from polygym.mapping.sizes import Sizes, constant_at
from polygym.poly.legality import LegalSchedule

FEATURE_NAMES = (
    *(f"{name}_sum" for name in NEST_COLUMNS),
    *(f"{name}_main" for name in NEST_COLUMNS),
    *RELATION_COLUMNS,
    "statements",
    "total_cycles",
    "total_operations",
    *(f"total_{name}" for name in TRAFFIC_COLUMNS),
)
"""What the columns of :attr:`CandidateFeatures.vector` are."""

# What is remembered of a schedule: of as many plans, and of as many nests.
_MAX_PLANS = 512
_MAX_NESTS = 4096

_CYCLES = NEST_COLUMNS.index("cycles")
_TOTALS = [_CYCLES, NEST_COLUMNS.index("operations"), *map(NEST_COLUMNS.index, TRAFFIC_COLUMNS)]


@dataclass(frozen=True, eq=False)
class CandidateFeatures:
    """The features of a candidate: one vector, and what its loops are worked out from if asked.

    ``statement_nests`` are the loops of each statement, ``nest_columns`` has a row for each.
    """

    vector: Floats
    tree: Tree
    nests: tuple[StatementNest, ...]
    nest_columns: Floats

    @property
    def heaviest_footprint(self) -> NestFootprint:
        """What the loops of the heaviest statement touch."""
        return NestFootprint.of(self.nests[int(self.nest_columns[:, _CYCLES].argmax())])

    @property
    def context(self) -> Floats:
        """The loop context of the heaviest statement, a row for every loop."""
        return context_rows(self.heaviest_footprint)

    @property
    def statements(self) -> tuple[StatementLeaf, ...]:
        """What is known of every statement."""
        return tuple(
            StatementLeaf(nest.work.name, NestFootprint.of(nest), known)
            for nest, known in zip(self.nests, self.nest_columns, strict=True)
        )

    @property
    def loop_tree(self) -> LoopTree:
        """The loops and statements of the planned tree, with a row for each."""
        return build_loop_tree(self.tree, self.statements)


@dataclass(slots=True, eq=False)
class _PlannedCandidate:
    """A planned tree with the loops of its statements, and the features once they are known."""

    tree: Tree
    nests: tuple[StatementNest, ...]
    threads: int
    features: CandidateFeatures | None = None


class FeatureExtractor:
    """A schedule at given sizes, and what is remembered of it under all mappings.

    A search that looks at many has one of these for every schedule.
    """

    def __init__(self, legal: LegalSchedule, sizes: Sizes, machine: Machine | None = None) -> None:
        """Build the schedule's tree, and look at the statements.

        Raises:
            LimitError: isl would take too long.
        """
        legal = coalesce_loops(legal)  # as code generation does
        self._legal, self._sizes = legal, sizes
        self._machine = machine or this_machine()
        self._memory = _plan_memo(legal.scop, tuple(sizes.items()), self._machine)
        self._tree = build_tree(legal, self._memory)
        seen = with_private_arrays(legal.scop, self._tree)
        self._works = work_of_statements(seen, sizes)
        self._work_of = {work.name: work for work in self._works}
        self._statements = _statement_arrays(self._works)
        # What is private is so under some schedules alone.
        self._nests_known = _plan_memo(seen, tuple(sizes.items()), self._machine)
        self._parts = independent_groups(
            self._tree, tuple(part.statement for part in legal.schedule.statements)
        )
        self._answers = LruCache[Mapping, _PlannedCandidate](_MAX_PLANS)
        self._columns: dict[tuple[StatementNest, int], tuple[Floats, Floats]] = {}

    def features(
        self, mappings: Iterable[Mapping], is_stopped: Callable[[], bool] = lambda: False
    ) -> list[CandidateFeatures | PolygymError]:
        """Return the features under mappings, which are quicker together than one by one.

        An error stands in the place of what isl would take too long for. ``is_stopped`` is asked
        before each; those that come after it says so are left out.
        """
        candidates: list[_PlannedCandidate | PolygymError] = []
        for mapping in mappings:
            if is_stopped():
                break
            try:
                candidates.append(self._answers.get(mapping, partial(self._plan, mapping)))
            except PolygymError as error:
                candidates.append(error)
        self._compute_features(
            dict.fromkeys(
                candidate for candidate in candidates if isinstance(candidate, _PlannedCandidate)
            )
        )
        return [_features_or_error(candidate) for candidate in candidates]

    def features_of(self, mapping: Mapping) -> CandidateFeatures | PolygymError:
        """Return the features under one mapping, or what isl would take too long for."""
        (features,) = self.features([mapping])
        return features

    def _plan(self, mapping: Mapping) -> _PlannedCandidate:
        """Return the loops that a mapping makes of the schedule."""
        tree = plan_tree(self._tree, self._legal, mapping, self._machine, self._sizes, self._memory)
        nests = dict(self._nests(tree, tuple(self._work_of), mapping.pack))
        return _PlannedCandidate(
            tree, tuple([nests[work.name] for work in self._works]), mapping.threads
        )

    def _nests(
        self, tree: Tree, statements: tuple[str, ...], pack: bool
    ) -> tuple[tuple[str, StatementNest], ...]:
        """Return the loops of statements that have no loop around this tree; some may be packed."""
        return self._nests_known.get_or_compute(
            ("nests", tree, statements, self._legal.schedule.parameters, self._parts, pack),
            lambda: tuple(self._compute_nests(tree, statements, pack)),
        )

    def _compute_nests(
        self, tree: Tree, statements: tuple[str, ...], pack: bool
    ) -> Iterator[tuple[str, StatementNest]]:
        if isinstance(tree, Branches):
            for branch in tree.branches:
                yield from self._nests(branch.child, branch.statements, pack)
            return
        packs, free = self._packable_arrays(pack), statements_in_independent_tiles(tree)
        for name, members in loop_paths(tree, statements):
            yield (
                name,
                self._nest(name, members, packs.get((name, name in free), NO_PACKABLE_ARRAYS)),
            )

    def _nest(
        self, name: str, members: tuple[BandMember, ...], packs: PackableArrays
    ) -> StatementNest:
        """Return the loops of a statement."""
        parameters, sizes = self._legal.schedule.parameters, self._sizes
        return self._nests_known.get_or_compute(
            ("nest", name, members, parameters, packs),
            lambda: _statement_nest(self._work_of[name], members, parameters, sizes, packs),
        )

    def _packable_arrays(self, pack: bool) -> PackableByStatement:
        """Return what statements may read copies of, where they may."""
        groups, scop, memory = self._parts, self._legal.scop, self._memory
        return memory.get_or_compute(
            ("packable", groups, pack),
            lambda: packable_arrays(packing_in(groups, scop, pack, self._sizes, memory)),
        )

    def _compute_features(self, planned: Iterable[_PlannedCandidate]) -> None:
        """Work out the features of candidates, all of them together."""
        if len(self._columns) > _MAX_NESTS:
            self._columns.clear()
        left = [
            planned_candidate for planned_candidate in planned if planned_candidate.features is None
        ]
        new: dict[tuple[StatementNest, int], int] = {}
        for candidate in left:
            for place, own in enumerate(candidate.nests):
                if (own, candidate.threads) not in self._columns:
                    new[own, candidate.threads] = place
        if new:
            nests, threads = zip(*new, strict=True)
            floats = nest_columns(self._statements.select(tuple(new.values())), nests, threads)
            self._columns.update(zip(new, zip(*floats, strict=True), strict=True))
        for candidate in left:
            rows = [self._columns[own, candidate.threads] for own in candidate.nests]
            known, related = (np.array(part) for part in zip(*rows, strict=True))
            candidate.features = CandidateFeatures(
                _combine_statements(known, related), candidate.tree, candidate.nests, known
            )


def statement_nests(legal: LegalSchedule, tree: Tree, sizes: Sizes) -> tuple[StatementNest, ...]:
    """Return the loops of every statement in a planned tree, without what they pack."""
    works, parameters = work_of_statements(legal.scop, sizes), legal.schedule.parameters
    members = dict(loop_paths(tree, tuple(work.name for work in works)))
    return tuple(_statement_nest(work, members[work.name], parameters, sizes) for work in works)


def _statement_nest(
    work: StatementWork,
    members: tuple[BandMember, ...],
    parameters: tuple[str, ...],
    sizes: Sizes,
    packs: PackableArrays = NO_PACKABLE_ARRAYS,
) -> StatementNest:
    offsets = [
        [constant_at(part.rows[0], parameters, sizes) for part in member.terms]
        for member in members
    ]
    return planned_nest(work, members, offsets, packs)


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def _plan_memo(_scop: Scop, _sizes: tuple[tuple[str, int], ...], _machine: Machine) -> PlanningMemo:
    """Return what is remembered of plans for a program at given sizes on a machine."""
    return PlanningMemo()


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def _statement_arrays(works: tuple[StatementWork, ...]) -> StatementArrays:
    """Return what a program's statements do, together; of one program there are many schedules."""
    return StatementArrays.of(works)


@lru_cache(maxsize=16)
def _feature_extractor(
    legal: LegalSchedule, sizes: tuple[tuple[str, int], ...], machine: Machine
) -> FeatureExtractor:
    return FeatureExtractor(legal, dict(sizes), machine)


def candidate_features(
    legal: LegalSchedule, mapping: Mapping, sizes: Sizes, machine: Machine | None = None
) -> CandidateFeatures:
    """Return the features of a legal schedule under a mapping at given sizes.

    Raises:
        LimitError: isl would take too long.
    """
    known = _feature_extractor(legal, tuple(sizes.items()), machine or this_machine())
    features = known.features_of(mapping)
    if isinstance(features, PolygymError):
        raise features
    return features


def _features_or_error(plan: _PlannedCandidate | PolygymError) -> CandidateFeatures | PolygymError:
    if isinstance(plan, PolygymError):
        return plan
    assert plan.features is not None
    return plan.features


def _combine_statements(columns: Floats, relations: Floats) -> Floats:
    """Add statements up, each with its share of the work."""
    cycles = columns[:, _CYCLES]
    weights = np.exp2(cycles - cycles.max())
    weights /= weights.sum()
    totals = signed_log(np.sum(np.exp2(columns[:, _TOTALS]) - 1.0, axis=0))
    main = int(cycles.argmax())
    return np.concatenate(
        [weights @ columns, columns[main], weights @ relations, [float(len(columns))], totals]
    )


MAPPING_COLUMNS = tuple(column.name for _, column in COLUMNS)
"""The names of the columns of :func:`mapping_vector`; -1 stands for a default. Orders begin with
the loop that runs innermost."""


def mapping_vector(mapping: Mapping) -> Floats:
    """Return the numbers of a mapping.

    >>> vector = mapping_vector(Mapping(tile=(32, 8), unroll_jam=4))
    >>> names = ("tile_1", "tile_2", "unroll_jam")
    >>> [float(vector[MAPPING_COLUMNS.index(name)]) for name in names]
    [8.0, 0.0, 4.0]
    """
    return np.array([column(getattr(mapping, knob.name)) for knob, column in COLUMNS], np.float64)
