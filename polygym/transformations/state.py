"""States of a transformed program: its loop tree, its mapping, its storage, and how it came about.

A state is a value. :meth:`TransformState.after` returns the next one or refuses a step with the
reason, and :meth:`TransformState.verdicts` decides many steps at once. Every state stands for a
legal schedule: a step about the order of instances is allowed only where the resulting schedule
respects all dependences, and a step about the mapping only where every order that it permits does
(:mod:`polygym.transformations.mapping_steps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from polygym.errors import IllegalScheduleError, InputError, LimitError
from polygym.ir.scop import Scop
from polygym.mapping.mapping import (
    DEFAULT_MAPPING,
    Mapping,
    parse_mapping,
    require_statements,
)
from polygym.poly.legality import Violation, find_violation
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.splitting.apply import pieces_by_statement
from polygym.poly.transform.splitting.conditions import (
    NO_SPLITTING,
    Splitting,
    parse_splitting,
)
from polygym.poly.transform.storage.plan import (
    SOURCE_STORAGE,
    StoragePlan,
    parse_storage,
    plan_of,
)
from polygym.transformations.loop_marks import (
    Marks,
    mapping_of,
)
from polygym.transformations.loop_tree import (
    LoopTree,
    loop_tree_of,
)
from polygym.transformations.mapping_steps import (
    PermittedOrder,
    PermittedOrders,
    marked,
    with_marks_of_copies,
)
from polygym.transformations.program import ProgramFacts, ProgramVersion
from polygym.transformations.program_trees import (
    divided_tree,
    with_copies,
    with_nests_of_pieces,
)
from polygym.transformations.steps import (
    Contract,
    Distribute,
    MappingStep,
    Parallelize,
    SetMapping,
    SetSchedule,
    SplitIndexSet,
    Step,
    Stop,
    Store,
    Tile,
    TreeStep,
    Undo,
    UnrollJam,
    Vectorize,
)
from polygym.transformations.tree_regions import is_same_order
from polygym.transformations.tree_steps import (
    UnavailableStepError,
    apply_tree_step,
)

T = TypeVar("T")

LARGEST_NUMBER = 256
"""Schedules with larger numbers than this are refused: isl would take too long for their code."""

_OVER = "expected no step after stop"


class IllegalStepError(IllegalScheduleError):
    """A step that would break a dependence."""

    def __init__(self, message: str, violation: Violation | None = None) -> None:
        super().__init__(message)
        self.violation = violation


@dataclass(frozen=True, eq=False)
class TransformProgram(ProgramFacts):
    """A program with its sizes, whose states begin with the order of the source."""

    def start(
        self, mapping: Mapping = DEFAULT_MAPPING, schedule: Schedule | None = None
    ) -> TransformState:
        """Return the state before any step: the order of the source, or a legal schedule."""
        first = original_schedule(self.scop) if schedule is None else schedule
        return TransformState(self, loop_tree_of(first), mapping)


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

    @cached_property
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

    @cached_property
    def _permitted(self) -> PermittedOrders:
        return PermittedOrders(self.tree, self.version, self.base.threads)

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
        needed: list[tuple[int, PermittedOrder]] = []
        trees: dict[int, LoopTree] = {}
        for place, step in enumerate(steps):
            if not isinstance(step, TreeStep | MappingStep):
                result[place] = self._verdict_alone(step)
                continue
            try:
                if isinstance(step, TreeStep):
                    tree = apply_tree_step(self.tree, step, self.version.edge_rows)
                    if is_same_order(tree, self.tree):
                        raise UnavailableStepError(f"{step}: it would change nothing")
                    _expect_small(tree, step)
                    trees[place] = tree
                    needed.append((place, PermittedOrder(tree)))
                else:
                    needed += [(place, order) for order in self._permitted.of(step)]
                    if marked(self.tree, self.marks, step) == self.marks:
                        raise UnavailableStepError(f"{step}: it would change nothing")
                    trees[place] = self.tree
            except UnavailableStepError as error:
                result[place] = StepVerdict(False, str(error))
        legal = self._permitted.are_legal([order for _, order in needed])
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
            case Store(entry):
                return self._store_verdict(step, entry)
            case SplitIndexSet() if self.storage.is_source:
                key = (step, self.splitting)
                refusal = self.program.memo(key, lambda: self._refusal(step))
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
        try:
            storage = self._storage_with(step, parse_storage(text))
            self._expect_memory(step, storage)
        except (InputError, LimitError) as error:
            return StepVerdict(False, str(error))
        return StepVerdict(True)

    def _expect_memory(self, step: Step, storage: StoragePlan) -> None:
        """Refuse storage that takes more than the limit."""
        taken = sum(self.program.bytes_of(entry, self.splitting) for entry in storage.entries)
        if taken > self.program.memory_limit:
            raise self.program.memory_error(step, taken)

    def _moved(self, step: Step, tree: LoopTree) -> TransformState:
        """Return the state after a step that is allowed."""
        marks = self.marks
        match step:
            case Tile() | UnrollJam() | Vectorize() | Parallelize():
                marks = marked(self.tree, self.marks, step)
            case Distribute():
                marks = with_marks_of_copies(self.tree, marks, tree)
            case _:
                pass
        # Not by replace, which takes longer: each legal step of a state comes here.
        return TransformState(
            self.program, tree, self.base, marks, self.splitting, self.storage,
            (*self.steps, step), self,
        )  # fmt: skip

    def _next(self, step: Step, **changes: Any) -> TransformState:
        return replace(self, **changes, steps=(*self.steps, step), previous=self)

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
            tree=divided_tree(self.tree, by_name, version.scop),
            base=with_nests_of_pieces(self.base, by_name),
        )

    def _with_entry(self, step: Step, plan: StoragePlan) -> TransformState:
        storage = self._storage_with(step, plan)
        version = self.program.version(self.splitting, storage)
        self._expect_memory(step, storage)
        source = self.program.version(self.splitting).scop
        tree = with_copies(self.tree, version.scop, source)
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
                _expect_small(tree, step)
                return self._next(step, tree=tree, marks=())

    def _illegal(self, step: Step) -> IllegalStepError:
        """Return the error of a step that breaks a dependence, with an example."""
        for order in self.orders_of(step):
            try:
                violation = self._permitted.violation(order)
            except LimitError:
                continue
            if violation is not None:
                why = "" if isinstance(step, TreeStep) else self._permitted.reason(step)
                return IllegalStepError(f"{step}: {why}{violation}", violation)
        return IllegalStepError(f"{step}: not proved to be legal within the limits of isl")

    def orders_of(self, step: Step) -> list[PermittedOrder]:
        """Return the orders that must be legal for a step about loops."""
        if isinstance(step, TreeStep):
            return [PermittedOrder(apply_tree_step(self.tree, step, self.version.edge_rows))]
        if isinstance(step, MappingStep):
            return self._permitted.of(step)
        return []


def _expect_small(tree: LoopTree, step: Step) -> None:
    largest = max((nest.largest for nest in tree.nests), default=0)
    if largest > LARGEST_NUMBER:
        raise UnavailableStepError(
            f"{step}: expected numbers up to {LARGEST_NUMBER} in the schedule, found {largest}"
        )
