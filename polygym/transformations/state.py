"""States of a transformed program: its loop tree, its mapping, its storage, and how it came about.

A state is a value. :meth:`TransformState.after` returns the next one or refuses a step with the
reason, and :meth:`TransformState.legal` decides many steps at once. Every state stands for a legal
schedule: a step about the order of instances is allowed only where the resulting schedule respects
all dependences, and a step about the mapping only where every order that it permits does::

    tile L1 L2       each of the loops can be moved outermost among them
    unroll_jam L1    L1 can be moved innermost
    vectorize L2     L2 can be moved innermost and reversed there
    parallel L1      L1 can be reversed

A loop that can be reversed carries no dependence: a distance of at least 1 would become negative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, assert_never

from polygym.errors import IllegalScheduleError, InputError, LimitError
from polygym.ir.scop import Scop
from polygym.lru_cache import LruCache
from polygym.mapping.knob_domains import WorkSharing
from polygym.mapping.mapping import (
    DEFAULT_MAPPING,
    Mapping,
    nests_of,
    parse_mapping,
    require_statements,
)
from polygym.poly.legality import Violation, find_violation
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.splitting.apply import apply_splitting, pieces_by_statement
from polygym.poly.transform.splitting.conditions import (
    NO_SPLITTING,
    Splitting,
    parse_splitting,
)
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT, new_array_bytes
from polygym.poly.transform.storage.plan import (
    SOURCE_STORAGE,
    StorageEntry,
    StoragePlan,
    parse_storage,
    plan_of,
)
from polygym.transformations.edge_rows import EdgeRows
from polygym.transformations.legality import LegalityTables, legality_tables
from polygym.transformations.loop_marks import (
    Marks,
    mapping_of,
    with_marks,
    without_in_nest,
)
from polygym.transformations.loop_tree import (
    Body,
    Loop,
    LoopTree,
    Node,
    StatementNode,
    loop_tree_of,
)
from polygym.transformations.steps import (
    Contract,
    Distribute,
    Fuse,
    Interchange,
    MappingStep,
    Parallelize,
    Reorder,
    Reverse,
    SetMapping,
    SetSchedule,
    Shift,
    Skew,
    SplitIndexSet,
    Step,
    Stop,
    Store,
    Tile,
    Undo,
    UnrollJam,
    Vectorize,
)
from polygym.transformations.tree_steps import (
    UnavailableStepError,
    apply_tree_step,
    expect_chain,
    loop_named,
    with_chain_order,
)

T = TypeVar("T")

_TREE_STEPS = (Interchange, Fuse, Distribute, Reorder, Skew, Reverse, Shift)
_MAPPING_STEPS = (Tile, UnrollJam, Vectorize, Parallelize)

LARGEST_NUMBER = 256
"""Schedules with larger numbers than this are refused: isl would take too long for their code."""

_OVER = "expected no step after stop"


class IllegalStepError(IllegalScheduleError):
    """A step that would break a dependence."""

    def __init__(self, message: str, violation: Violation | None = None) -> None:
        super().__init__(message)
        self.violation = violation


@dataclass(frozen=True, eq=False)
class TransformProgram:
    """A program with its sizes, and what is computed once for all its states.

    New arrays may take ``memory_limit`` bytes.
    """

    scop: Scop
    sizes: Dictionary[str, int] = field(default_factory=dict)
    memory_limit: int = DEFAULT_MEMORY_LIMIT
    _versions: LruCache[tuple[Splitting, StoragePlan], ProgramVersion] = field(
        default_factory=lambda: LruCache(64), init=False, repr=False
    )

    _memo: LruCache[object, Any] = field(
        default_factory=lambda: LruCache(256), init=False, repr=False
    )

    def memo(self, key: object, find: Callable[[], T]) -> T:
        """Return an answer about the program, which is found once."""
        answer: T = self._memo.get(key, find)
        return answer

    def version(
        self, splitting: Splitting = NO_SPLITTING, storage: StoragePlan = SOURCE_STORAGE
    ) -> ProgramVersion:
        """Return the program with divided statements and other storage.

        Raises:
            InputError: it does not fit the program, or is not proved to be right.
            LimitError: it would take too long to find out.
        """

        def make() -> ProgramVersion:
            scop = apply_splitting(self.scop, splitting)
            if not storage.is_source:
                scop = apply_plan(scop, replace(storage, has_contraction=False))
            return ProgramVersion(scop)

        return self._versions.get((splitting, replace(storage, has_contraction=False)), make)

    def bytes_of(self, entry: StorageEntry) -> int:
        """Return the bytes of the new arrays of one entry, which is proved to be right.

        Raises:
            InputError: it is not.
            LimitError: it would take too long to find out.
        """

        def find() -> int | InputError | LimitError:
            try:
                scop = apply_plan(self.scop, plan_of([entry]))
                _with_copies(loop_tree_of(original_schedule(self.scop)), scop, self.scop)
            except (InputError, LimitError) as error:
                return error
            return self._bytes(scop)

        result = self.memo(("bytes", entry), find)
        if isinstance(result, int):
            return result
        raise result

    def bytes_for(self, version: ProgramVersion) -> int:
        """Return the bytes of the new arrays of a version."""
        return self._bytes(version.scop)

    def _bytes(self, scop: Scop) -> int:
        known = {parameter.name for parameter in scop.parameters} <= set(self.sizes)
        return new_array_bytes(scop, self.sizes) or 0 if known else 0

    def memory_error(self, step: Step, taken: int) -> UnavailableStepError:
        """Return the error of a step that takes too much memory."""
        return UnavailableStepError(
            f"{step}: expected at most {self.memory_limit:,} bytes of new arrays, found {taken:,}"
        )

    def start(
        self, mapping: Mapping = DEFAULT_MAPPING, schedule: Schedule | None = None
    ) -> TransformState:
        """Return the state before any step: the order of the source, or a legal schedule."""
        first = original_schedule(self.scop) if schedule is None else schedule
        return TransformState(self, loop_tree_of(first), mapping)


class ProgramVersion:
    """A program at one state of its storage; its tables are computed when they are needed."""

    def __init__(self, scop: Scop) -> None:
        self.scop = scop
        self.edge_rows = EdgeRows(scop)

    @cached_property
    def tables(self) -> LegalityTables:
        """The generators of its dependences."""
        return legality_tables(self.scop)


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """The answer about one step: whether it is allowed, else why it is not.

    ``is_illegal`` distinguishes a broken dependence from a step that has no meaning here. ``state``
    is the result where it is known already.
    """

    is_allowed: bool
    reason: str = ""
    is_illegal: bool = False
    state: TransformState | None = None


@dataclass(frozen=True)
class TransformState:
    """A legal schedule as a loop tree, with marks, a mapping and storage.

    ``steps`` leads here from the start; ``previous`` is the state before the last of them.
    """

    program: TransformProgram
    tree: LoopTree
    base: Mapping = DEFAULT_MAPPING
    marks: Marks = ()
    splitting: Splitting = NO_SPLITTING
    storage: StoragePlan = SOURCE_STORAGE
    steps: tuple[Step, ...] = ()
    previous: TransformState | None = field(default=None, compare=False, repr=False)
    is_over: bool = False

    @property
    def version(self) -> ProgramVersion:
        """The program as it is stored here."""
        return self.program.version(self.splitting, self.storage)

    @property
    def scop(self) -> Scop:
        """The program as it is stored here, with its statements divided."""
        return self.version.scop

    @property
    def schedule(self) -> Schedule:
        """The schedule."""
        return self.tree.schedule

    @cached_property
    def mapping(self) -> Mapping:
        """The mapping with all marks."""
        return mapping_of(self.tree, self.marks, self.base, self.band_positions)

    @cached_property
    def band_positions(self) -> dict[str, int]:
        """The position of each loop in its permutable band."""
        return self.version.tables.band_positions(self.tree)

    # One step

    def after(self, step: Step) -> TransformState:
        """Return the state after a step.

        Raises:
            UnavailableStepError: the step has no meaning here.
            IllegalStepError: it would break a dependence; the message has an example.
        """
        if self.is_over:
            raise UnavailableStepError(_OVER)
        match step:
            case Undo() | Stop() | SetMapping() | SetSchedule():
                return self._by_hand(step)
            case SplitIndexSet() | Store() | Contract():
                return self._stored(step)
            case _:
                (verdict,) = self.verdicts([step])
                if verdict.state is not None:
                    return verdict.state
                assert not verdict.is_allowed
                if not verdict.is_illegal:
                    raise UnavailableStepError(verdict.reason)
                raise self._illegal(step)

    def verdicts(self, steps: Sequence[Step]) -> list[StepVerdict]:
        """Decide steps, all those about the order of instances with one test of their schedules."""
        if self.is_over:
            return [StepVerdict(False, _OVER)] * len(steps)
        result: list[StepVerdict | None] = [None] * len(steps)
        needed: list[tuple[int, LoopTree]] = []
        trees: dict[int, LoopTree] = {}
        for place, step in enumerate(steps):
            if not isinstance(step, (*_TREE_STEPS, *_MAPPING_STEPS)):
                result[place] = self._verdict_alone(step)
                continue
            try:
                if isinstance(step, _TREE_STEPS):
                    tree = apply_tree_step(self.tree, step, self.version.edge_rows)
                    if tree.shape == self.tree.shape:
                        raise UnavailableStepError(f"{step}: it would change nothing")
                    _expect_small(tree, step)
                    trees[place] = tree
                    needed.append((place, tree))
                else:
                    needed += [(place, tree) for tree in self._permitted_trees(step)]
                    if self._marked(step) == self.marks:
                        raise UnavailableStepError(f"{step}: it would change nothing")
                    trees[place] = self.tree
            except UnavailableStepError as error:
                result[place] = StepVerdict(False, str(error))
        legal = self.version.tables.are_legal([tree for _, tree in needed], self.tree)
        illegal = {
            place for (place, _), is_legal in zip(needed, legal, strict=True) if not is_legal
        }
        for place, tree in trees.items():
            step = steps[place]
            if place in illegal:
                result[place] = StepVerdict(False, f"{step}: it breaks a dependence", True)
            else:
                result[place] = StepVerdict(True, state=self._moved(step, tree))
        return [verdict for verdict in result if verdict is not None]

    def _verdict_alone(self, step: Step) -> StepVerdict:
        """Decide a step that is not about loops."""
        match step:
            case Store(entry) if self.splitting == NO_SPLITTING:
                return self._store_verdict(step, entry)
            case SplitIndexSet() if self.splitting == NO_SPLITTING and self.storage.is_source:
                refusal = self.program.memo(step, lambda: self._refusal(step))
                return StepVerdict(not refusal, refusal)
            case _:
                pass
        try:
            return StepVerdict(True, state=self.after(step))
        except IllegalStepError as error:
            return StepVerdict(False, str(error), True)
        except (InputError, LimitError) as error:
            return StepVerdict(False, str(error))

    def _refusal(self, step: Step) -> str:
        try:
            self.after(step)
        except (InputError, LimitError) as error:
            return str(error)
        return ""

    def _store_verdict(self, step: Store, text: str) -> StepVerdict:
        """Decide a step about storage by the proof for its array alone.

        Each array gets a storage of its own, and an order that respects all dependences respects
        those that are left, so the program that results need not be looked at yet.
        """
        program = self.program
        try:
            storage = self._storage_with(step, parse_storage(text))
            taken = sum(program.bytes_of(entry) for entry in storage.entries)
        except (InputError, LimitError) as error:
            return StepVerdict(False, str(error))
        if taken > program.memory_limit:
            return StepVerdict(False, str(program.memory_error(step, taken)))
        return StepVerdict(True)

    def _moved(self, step: Step, tree: LoopTree) -> TransformState:
        """Return the state after a step that is allowed."""
        marks = self.marks
        match step:
            case Tile() | UnrollJam() | Vectorize() | Parallelize():
                marks = self._marked(step)
            case _:
                pass
        return self._next(step, tree=tree, marks=marks)

    def _next(self, step: Step, **changes: Any) -> TransformState:
        return replace(self, **changes, steps=(*self.steps, step), previous=self)

    # Steps about the mapping

    def _permitted_trees(self, step: MappingStep) -> list[LoopTree]:
        """Return trees that are all legal if and only if the step is."""
        tree = self.tree
        match step:
            case Tile(loops, sizes):
                return self._tile_trees(loops, sizes)
            case UnrollJam(name):
                chain = self._innermost_chain(name, step)
                if len(chain) < 2:
                    raise UnavailableStepError(f"{step}: expected a loop with a loop in it")
                return [with_chain_order(tree, chain, (*range(1, len(chain)), 0))]
            case Vectorize(name, bits):
                if bits == 0:
                    loop_named(tree, name)
                    return []
                chain = self._innermost_chain(name, step)
                moved = with_chain_order(tree, chain, (*range(1, len(chain)), 0))
                return [moved, apply_tree_step(moved, Reverse(name), self.version.edge_rows)]
            case Parallelize(name, sharing):
                loop_named(tree, name)
                if self.base.threads == 1:
                    raise UnavailableStepError(f"{step}: expected several threads, found 1")
                if sharing is WorkSharing.OFF:
                    return []
                self._expect_outermost_parallel(name, step)
                return [apply_tree_step(tree, Reverse(name), self.version.edge_rows)]
            case _:
                assert_never(step)

    def _expect_outermost_parallel(self, name: str, step: Step) -> None:
        outer = self.tree.paths[name]
        reversed_ = [
            apply_tree_step(self.tree, Reverse(loop.name), self.version.edge_rows) for loop in outer
        ]
        for loop, is_parallel in zip(
            outer, self.version.tables.are_legal(reversed_, self.tree), strict=True
        ):
            if is_parallel:
                raise UnavailableStepError(
                    f"{step}: expected the outermost parallel loop, found {loop.name} around it"
                )

    def _tile_trees(self, loops: tuple[str, ...], sizes: tuple[int, ...]) -> list[LoopTree]:
        for name in loops:
            loop_named(self.tree, name)
        if len(set(loops)) < len(loops):
            raise UnavailableStepError(f"tile {' '.join(loops)}: expected every loop once")
        if len(loops) == 1:
            return []
        ordered = sorted(loops, key=lambda name: len(self.tree.paths[name]))
        chain = expect_chain(self.tree, ordered[0], ordered[-1])
        names = [loop.name for loop in chain]
        missing = [name for name in loops if name not in names]
        if missing:
            raise UnavailableStepError(
                f"tile {' '.join(loops)}: expected loops of one perfect nest, {', '.join(names)}; "
                f"found {', '.join(missing)}"
            )
        places = [place for place, name in enumerate(names) if name in loops]
        return [
            with_chain_order(
                self.tree, chain, (place, *(k for k in range(len(chain)) if k != place))
            )
            for place in places[1:]
        ]

    def _innermost_chain(self, name: str, step: Step) -> tuple[Loop, ...]:
        loop_named(self.tree, name)
        chain = self.tree.chain(name)
        if any(isinstance(node, Loop) for node in chain[-1].body):
            raise UnavailableStepError(
                f"{step}: expected only loops right inside each other in {name}, found loops "
                "beside other nodes"
            )
        return chain

    def _marked(self, step: MappingStep) -> Marks:
        """Return the marks with those of a step."""
        tree, marks = self.tree, self.marks
        match step:
            case Tile(loops, sizes):
                for name, size in zip(loops, sizes, strict=True):
                    marks = with_marks(marks, name, tile=size)
            case UnrollJam(name, count):
                marks = without_in_nest(marks, tree.nest_of(name), tree, jam=None)
                marks = with_marks(marks, name, jam=count)
            case Vectorize(name, bits):
                nest = tree.nest_of(name)
                marks = without_in_nest(marks, nest, tree, is_vector_loop=False, vector_bits=None)
                marks = with_marks(marks, name, is_vector_loop=bits != 0, vector_bits=bits)
            case Parallelize(name, sharing):
                marks = without_in_nest(marks, tree.nest_of(name), tree, sharing=None)
                marks = with_marks(marks, name, sharing=sharing)
        return marks

    # Steps about the program

    def _stored(self, step: SplitIndexSet | Store | Contract) -> TransformState:
        try:
            match step:
                case SplitIndexSet(cuts):
                    return self._split(step, parse_splitting(cuts))
                case Store(entry):
                    return self._with_entry(step, parse_storage(entry))
                case Contract():
                    if not self.storage.entries or self.storage.has_contraction:
                        raise UnavailableStepError(
                            "contract: expected an array that is expanded and not contracted"
                        )
                    storage = replace(self.storage, has_contraction=True)
                    return self._next(step, storage=storage)
        except LimitError as error:
            raise UnavailableStepError(f"{step}: {error}") from None

    def _split(self, step: Step, cuts: Splitting) -> TransformState:
        if not self.storage.is_source:
            raise UnavailableStepError(f"{step}: expected to divide statements before storing")
        splitting = self.splitting
        for name, conditions in cuts.statements:
            if splitting.conditions(name):
                raise UnavailableStepError(f"{step}: {name} has been divided already")
            splitting = splitting.with_first_conditions(name, conditions)
        if splitting == self.splitting:
            raise UnavailableStepError(f"{step}: expected a condition, found none")
        pieces = pieces_by_statement(self.program.scop, splitting)
        version = self.program.version(splitting, self.storage)
        by_name = {name: tuple(piece.name for piece in pieces[name]) for name, _ in cuts.statements}
        if all(by_name[name] == (name,) for name in by_name):
            raise UnavailableStepError(f"{step}: all instances are on one side")
        return self._next(
            step,
            splitting=splitting,
            tree=_divided(self.tree, by_name, version.scop),
            base=_with_nests_of_pieces(self.base, by_name),
        )

    def _with_entry(self, step: Step, plan: StoragePlan) -> TransformState:
        storage = self._storage_with(step, plan)
        version = self.program.version(self.splitting, storage)
        taken = self.program.bytes_for(version)
        if taken > self.program.memory_limit:
            raise self.program.memory_error(step, taken)
        source = self.program.version(self.splitting).scop
        tree = _with_copies(self.tree, version.scop, source)
        if not version.tables.are_legal([tree])[0]:
            violation = find_violation(version.scop, tree.schedule)
            raise IllegalStepError(f"{step}: {violation}", violation)
        return self._next(step, storage=storage, tree=tree)

    def _storage_with(self, step: Step, plan: StoragePlan) -> StoragePlan:
        """Return the storage with one entry more."""
        if len(plan.entries) != 1 or plan.dead or plan.copies or plan.overlapped_tile:
            raise UnavailableStepError(
                f"{step}: expected one of ARRAY=expand, ARRAY=private:LOOPS and ARRAY=rename"
            )
        entries = (*self.storage.entries, *plan.entries)
        storage = plan_of(entries, has_contraction=self.storage.has_contraction)
        if storage == self.storage:
            raise UnavailableStepError(f"{step}: it would change nothing")
        return storage

    # Steps by hand

    def _by_hand(self, step: Undo | Stop | SetMapping | SetSchedule) -> TransformState:
        match step:
            case Undo():
                if self.previous is None:
                    raise UnavailableStepError("undo: expected a step to take back, found none")
                return self.previous
            case Stop():
                return self._next(step, is_over=True)
            case SetMapping(options):
                base = parse_mapping(f"{self.base} {options}")
                require_statements(base.nests, self.scop)
                if base.threads != self.base.threads:
                    raise UnavailableStepError(
                        f"{step}: expected threads={self.base.threads}, found {base.threads}"
                    )
                if base.reassociate != self.base.reassociate:
                    raise UnavailableStepError(f"{step}: reassociation cannot be changed here")
                if base == self.base:
                    raise UnavailableStepError(f"{step}: it would change nothing")
                return self._next(step, base=base)
            case SetSchedule(text):
                schedule = parse_schedule(text, self.scop)
                violation = find_violation(self.scop, schedule)
                if violation is not None:
                    raise IllegalStepError(f"{step}: {violation}", violation)
                tree = loop_tree_of(schedule, self.tree.next_number)
                return self._next(step, tree=tree, marks=())

    def _illegal(self, step: Step) -> IllegalStepError:
        """Return the error of a step that breaks a dependence, with an example."""
        for tree in self.trees_of(step):
            try:
                violation = find_violation(self.scop, tree.schedule)
            except LimitError:
                continue
            if violation is not None:
                order = "" if isinstance(step, _TREE_STEPS) else "it permits an order in which "
                return IllegalStepError(f"{step}: {order}{violation}", violation)
        return IllegalStepError(f"{step}: not proved to be legal within the limits of isl")

    def trees_of(self, step: Step) -> list[LoopTree]:
        """Return the trees that must be legal for a step about loops."""
        if isinstance(step, _TREE_STEPS):
            return [apply_tree_step(self.tree, step, self.version.edge_rows)]
        if isinstance(step, _MAPPING_STEPS):
            return self._permitted_trees(step)
        return []


def _expect_small(tree: LoopTree, step: Step) -> None:
    largest = max(
        (
            abs(value)
            for loop in tree.loops
            for row in loop.rows
            for value in (*row.iterators, *row.parameters, row.constant)
        ),
        default=0,
    )
    if largest > LARGEST_NUMBER:
        raise UnavailableStepError(
            f"{step}: expected numbers up to {LARGEST_NUMBER} in the schedule, found {largest}"
        )


def _with_nests_of_pieces(mapping: Mapping, pieces: Dictionary[str, tuple[str, ...]]) -> Mapping:
    """Return a mapping in which the pieces of a statement have the options of its nest."""
    entries = {
        piece: dict(own) for name, own in mapping.nests for piece in pieces.get(name, (name,))
    }
    return replace(mapping, nests=nests_of(entries))


def _divided(tree: LoopTree, pieces: Dictionary[str, tuple[str, ...]], scop: Scop) -> LoopTree:
    """Return a tree in which statements are replaced by their pieces, with the same rows."""

    def names_of(statements: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(piece for name in statements for piece in pieces.get(name, (name,)))

    def inside(body: Body) -> Body:
        result: list[Node] = []
        for node in body:
            if isinstance(node, StatementNode):
                result += map(StatementNode, pieces.get(node.name, (node.name,)))
                continue
            rows = tuple(
                row
                for name, row in zip(node.statements, node.rows, strict=True)
                for _ in pieces.get(name, (name,))
            )
            result.append(Loop(node.name, names_of(node.statements), rows, inside(node.body)))
        return tuple(result)

    return LoopTree(tree.parameters, _iterators(scop), inside(tree.body), tree.next_number)


def _with_copies(tree: LoopTree, scop: Scop, source: Scop) -> LoopTree:
    """Return a tree with the statements that copy arrays, before or behind everything else.

    ``source`` has the statements that copy nothing. Copies of other arrays may be there already.

    Raises:
        UnavailableStepError: the new statements stand elsewhere, or others are gone.
    """
    known = {name for name, _ in tree.iterators}
    sources = {statement.name for statement in source.statements}
    own = {statement.name for statement in scop.statements}
    if not known <= own:
        raise UnavailableStepError(
            "a storage plan that changes statements, found loops around them"
        )
    fresh = loop_tree_of(original_schedule(scop), tree.next_number)
    before: list[Node] = []
    behind: list[Node] = []
    place = before
    for node in fresh.body:
        is_new = [name not in known for name in node.statements]
        if all(is_new):
            place.append(node)
        elif any(is_new):
            raise UnavailableStepError("a storage plan: expected copies outside of all loops")
        elif not sources.isdisjoint(node.statements):
            place = behind
    body = (*before, *tree.body, *behind)
    return LoopTree(tree.parameters, _iterators(scop), body, fresh.next_number)


def _iterators(scop: Scop) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((statement.name, statement.iterators) for statement in scop.statements)
