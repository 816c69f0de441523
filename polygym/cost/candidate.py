"""The features of a candidate: all statements' nests, added up, each with its share of the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from polygym.compiler.codegen.common.consulted import Answers
from polygym.compiler.codegen.common.machine import Machine, this_machine
from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.codegen.common.sizes import Sizes, constant_at
from polygym.compiler.codegen.trees.build import build_tree
from polygym.compiler.codegen.trees.memory import Memory
from polygym.compiler.codegen.trees.plan import packing_in, plan
from polygym.compiler.codegen.trees.tree import Member, Tree, parts, paths
from polygym.compiler.codegen.trees.tree import Sequence as Branches
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.legality import LegalSchedule
from polygym.cost.columns import KNOWLEDGE, RELATIONS, TRAFFIC, Touched, context, slog
from polygym.cost.loop_tree import LoopTree, Statement, loop_tree
from polygym.cost.nest_columns import Statements, columns
from polygym.cost.nests import Floats, Nest
from polygym.cost.own_memory import settled
from polygym.cost.packable import NOTHING, Packable, Packs, in_free_tiles, packable
from polygym.cost.planned import nest
from polygym.cost.reach import Work, reach
from polygym.errors import PolygymError

NAMES = (
    *(f"{name}_sum" for name in KNOWLEDGE),
    *(f"{name}_main" for name in KNOWLEDGE),
    *RELATIONS,
    "statements",
    "total_cycles",
    "total_operations",
    *(f"total_{name}" for name in TRAFFIC),
)
"""What the columns of :attr:`Features.vector` are."""

# What is remembered of a schedule: of as many plans, and of as many nests.
_MOST_PLANS = 512
_MOST_NESTS = 4096

_CYCLES = KNOWLEDGE.index("cycles")
_TOTALS = [_CYCLES, KNOWLEDGE.index("operations"), *map(KNOWLEDGE.index, TRAFFIC)]


@dataclass(frozen=True, eq=False)
class Features:
    """The features of a candidate: one vector, and what its loops are worked out from if asked.

    ``nests`` are the loops of each statement, ``knowledge`` has a row for each.
    """

    vector: Floats
    planned: Tree
    nests: tuple[Nest, ...]
    knowledge: Floats

    @property
    def heaviest(self) -> Touched:
        """What the loops of the heaviest statement touch."""
        return Touched.of(self.nests[int(self.knowledge[:, _CYCLES].argmax())])

    @property
    def context(self) -> Floats:
        """The loop context of the heaviest statement, a row for every loop."""
        return context(self.heaviest)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What is known of every statement."""
        return tuple(
            Statement(nest.work.name, Touched.of(nest), known)
            for nest, known in zip(self.nests, self.knowledge, strict=True)
        )

    @property
    def loops(self) -> LoopTree:
        """The loops and statements of the planned tree, with a row for each."""
        return loop_tree(self.planned, self.statements)


@dataclass(slots=True, eq=False)
class _Planned:
    """A planned tree with the loops of its statements, and the features once they are known."""

    tree: Tree
    nests: tuple[Nest, ...]
    threads: int
    features: Features | None = None


class Candidates:
    """A schedule at given sizes, and what is remembered of it under all mappings.

    A search that looks at many has one of these for every schedule.
    """

    def __init__(self, legal: LegalSchedule, sizes: Sizes, machine: Machine | None = None) -> None:
        """Build the schedule's tree, and look at the statements.

        Raises:
            LimitError: isl would take too long.
        """
        self._legal, self._sizes = legal, sizes
        self._machine = machine or this_machine()
        self._memory = _memory(legal.scop, tuple(sizes.items()), self._machine)
        self._tree = build_tree(legal, self._memory)
        seen = settled(legal.scop, self._tree)
        self._works = reach(seen, sizes)
        self._work_of = {work.name: work for work in self._works}
        self._statements = _statements(self._works)
        # What is private is so under some schedules alone.
        self._nests_known = _memory(seen, tuple(sizes.items()), self._machine)
        self._parts = parts(self._tree, tuple(part.statement for part in legal.schedule.statements))
        self._answers: Answers[_Planned] = Answers(_MOST_PLANS)
        self._columns: dict[tuple[Nest, int], tuple[Floats, Floats]] = {}

    def features(
        self, mappings: Iterable[Mapping], is_over: Callable[[], bool] = lambda: False
    ) -> list[Features | PolygymError]:
        """Return the features under mappings, which are quicker together than one by one.

        An error stands in the place of what isl would take too long for. ``is_over`` is asked
        before each; those that come after it says so are left out.
        """
        found: list[_Planned | PolygymError] = []
        for mapping in mappings:
            if is_over():
                break
            try:
                found.append(self._answers.of(mapping, self._planned))
            except PolygymError as error:
                found.append(error)
        self._look_at(dict.fromkeys(one for one in found if isinstance(one, _Planned)))
        return [_done(one) for one in found]

    def _planned(self, mapping: Mapping) -> _Planned:
        """Return the loops that a mapping makes of the schedule."""
        tree = plan(self._tree, self._legal, mapping, self._machine, self._sizes, self._memory)
        found = dict(self._nests(tree, tuple(self._work_of), mapping.pack))
        return _Planned(tree, tuple([found[work.name] for work in self._works]), mapping.threads)

    def _nests(
        self, tree: Tree, statements: tuple[str, ...], pack: bool
    ) -> tuple[tuple[str, Nest], ...]:
        """Return the loops of statements that have no loop around this tree; some may be packed."""
        return self._nests_known.of(
            ("nests", tree, statements, self._legal.schedule.parameters, self._parts, pack),
            lambda: tuple(self._found(tree, statements, pack)),
        )

    def _found(
        self, tree: Tree, statements: tuple[str, ...], pack: bool
    ) -> Iterator[tuple[str, Nest]]:
        if isinstance(tree, Branches):
            for branch in tree.branches:
                yield from self._nests(branch.child, branch.statements, pack)
            return
        packs, free = self._packs(pack), in_free_tiles(tree)
        for name, members in paths(tree, statements):
            yield name, self._nest(name, members, packs.get((name, name in free), NOTHING))

    def _nest(self, name: str, members: tuple[Member, ...], packs: Packable) -> Nest:
        """Return the loops of a statement."""
        parameters, sizes = self._legal.schedule.parameters, self._sizes
        return self._nests_known.of(
            ("nest", name, members, parameters, packs),
            lambda: _nest(self._work_of[name], members, parameters, sizes, packs),
        )

    def _packs(self, pack: bool) -> Packs:
        """Return what statements may read copies of, where they may."""
        groups, scop, memory = self._parts, self._legal.scop, self._memory
        return memory.of(
            ("packable", groups, pack),
            lambda: packable(packing_in(groups, scop, pack, self._sizes, memory)),
        )

    def _look_at(self, planned: Iterable[_Planned]) -> None:
        """Work out the features of candidates, all of them together."""
        if len(self._columns) > _MOST_NESTS:
            self._columns.clear()
        left = [one for one in planned if one.features is None]
        new: dict[tuple[Nest, int], int] = {}
        for one in left:
            for place, own in enumerate(one.nests):
                if (own, one.threads) not in self._columns:
                    new[own, one.threads] = place
        if new:
            nests, threads = zip(*new, strict=True)
            found = columns(self._statements.taken(tuple(new.values())), nests, threads)
            self._columns.update(zip(new, zip(*found, strict=True), strict=True))
        for one in left:
            rows = [self._columns[own, one.threads] for own in one.nests]
            known, related = (np.array(part) for part in zip(*rows, strict=True))
            one.features = Features(_together(known, related), one.tree, one.nests, known)


def nests(legal: LegalSchedule, tree: Tree, sizes: Sizes) -> tuple[Nest, ...]:
    """Return the loops of every statement in a planned tree, without what they pack."""
    works, parameters = reach(legal.scop, sizes), legal.schedule.parameters
    members = dict(paths(tree, tuple(work.name for work in works)))
    return tuple(_nest(work, members[work.name], parameters, sizes) for work in works)


def _nest(
    work: Work,
    members: tuple[Member, ...],
    parameters: tuple[str, ...],
    sizes: Sizes,
    packs: Packable = NOTHING,
) -> Nest:
    offsets = [
        [constant_at(part.rows[0], parameters, sizes) for part in member.parts]
        for member in members
    ]
    return nest(work, members, offsets, packs)


@lru_cache(maxsize=16)
def _memory(_scop: Scop, _sizes: tuple[tuple[str, int], ...], _machine: Machine) -> Memory:
    """Return what is remembered of plans for a program at given sizes on a machine."""
    return Memory()


@lru_cache(maxsize=16)
def _statements(works: tuple[Work, ...]) -> Statements:
    """Return what a program's statements do, together; of one program there are many schedules."""
    return Statements.of(works)


@lru_cache(maxsize=16)
def _candidates(
    legal: LegalSchedule, sizes: tuple[tuple[str, int], ...], machine: Machine
) -> Candidates:
    return Candidates(legal, dict(sizes), machine)


def features(
    legal: LegalSchedule, mapping: Mapping, sizes: Sizes, machine: Machine | None = None
) -> Features:
    """Return the features of a legal schedule under a mapping at given sizes.

    Raises:
        LimitError: isl would take too long.
    """
    known = _candidates(legal, tuple(sizes.items()), machine or this_machine())
    (found,) = known.features([mapping])
    if isinstance(found, PolygymError):
        raise found
    return found


def _done(one: _Planned | PolygymError) -> Features | PolygymError:
    if isinstance(one, PolygymError):
        return one
    assert one.features is not None
    return one.features


def _together(known: Floats, related: Floats) -> Floats:
    """Add statements up, each with its share of the work."""
    cycles = known[:, _CYCLES]
    weights = np.exp2(cycles - cycles.max())
    weights /= weights.sum()
    totals = slog(np.sum(np.exp2(known[:, _TOTALS]) - 1.0, axis=0))
    main = int(cycles.argmax())
    return np.concatenate(
        [weights @ known, known[main], weights @ related, [float(len(known))], totals]
    )
