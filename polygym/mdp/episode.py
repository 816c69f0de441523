"""An episode: a program's space is constructed, then explored, and ends with a schedule.

Actions are numbers: 0 next_dim, 1 next_dep, 2 select_dep, and 3 + X for select_coeffX. An episode
is an immutable value; :meth:`Episode.after` returns the next one. What is costly (dependences,
generators) is remembered in the :class:`Task`, which all episodes of a program share.

Where the options say so (:class:`~polygym.mdp.task_options.MappingDecisions`) an episode goes on:
the mapping is decided question by question (:mod:`polygym.mdp.mapping_decisions`), and instead of a
space it may begin with a schedule that is there, which is edited (:mod:`polygym.mdp.editing`). The
actions behind the coefficients are their answers: ``first_answer`` is *use default* (in an edit:
drop it, or edit no more), the next one ends the episode with everything as it is, and the others
choose.

With a ``storage_limit`` an episode begins before that: it is decided where statements are cut and
values are kept (:mod:`polygym.mdp.storage_decisions`), and the episode goes on with the task of the
program that results, :meth:`Task.task_with_storage`. Then ``first_answer`` is *keep*.

With ``transformations`` an episode is another process: every action is a step of
:mod:`polygym.mdp.transforming`, until one of them is *stop*.

An action outside of the mask never raises. It has one of two meanings, and both cost:

* it leads to an invalid state (an empty polyhedron, vertices that are all 0): the episode ends as
  :attr:`Phase.INVALID`;
* the state does not offer it (a coefficient while constructing, say): nothing changes but the count
  of such actions, and with the hundredth the episode ends as invalid too, so that every episode
  ends. One exception: next_dep beyond the number of moves that the mask grants still moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.lru_cache import LruCache
from polygym.mapping.mapping import Mapping
from polygym.mapping.sizes import Sizes
from polygym.mdp import exploration as exploring
from polygym.mdp.construction import (
    ConstructionAction,
    ConstructionRules,
    ConstructionState,
    EmptyPolyhedron,
    UnavailableAction,
)
from polygym.mdp.editing import BACK, EditState
from polygym.mdp.exploration import ExplorationState, ZeroPoint
from polygym.mdp.mapping_decisions import (
    ANSWERS,
    MOST_NESTS,
    MOST_VALUES,
    USE_DEFAULT,
    USE_DEFAULT_FOR_ALL,
    MappingState,
)
from polygym.mdp.nest_shapes import NestShape, nest_shapes
from polygym.mdp.storage_decisions import StorageOptions, StorageState
from polygym.mdp.task_options import CONSTRUCTION_ACTIONS, Phase, TaskOptions
from polygym.mdp.transforming import StepOffer, offer_of
from polygym.poly.legality import LegalSchedule, is_legal
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule, schedule_by
from polygym.poly.scheduling.strategy import FixedStrategy, ScheduleStrategy
from polygym.poly.spaces.construction import SpaceDimension
from polygym.poly.spaces.exploration import complete_schedule
from polygym.poly.spaces.polyhedra import RowPolyhedra
from polygym.poly.transform.splitting.apply import apply_splitting
from polygym.poly.transform.splitting.conditions import NO_SPLITTING, Splitting
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.plan import StoragePlan
from polygym.transformations.state import TransformProgram, TransformState

MOST_ILLEGAL_ACTIONS = 100

# What an episode remembers of itself.
_MEMO_FIELDS = ("_mask", "_completed", "offer")


@dataclass(frozen=True, eq=False)
class Task:
    """A program to schedule, with everything that is computed once for it.

    ``source_task`` is the task of the program as it was before anything was decided of its storage.
    """

    scop: Scop
    options: TaskOptions = field(default_factory=TaskOptions)
    sizes: Sizes = field(default_factory=dict)
    source_task: Task | None = None
    _nests: LruCache[Schedule, tuple[NestShape, ...]] = field(
        default_factory=lambda: LruCache(256), init=False, repr=False
    )
    _legal: LruCache[Schedule, bool] = field(
        default_factory=lambda: LruCache(4096), init=False, repr=False
    )

    @cached_property
    def polyhedra(self) -> RowPolyhedra:
        """The polyhedra of the program's rows."""
        return RowPolyhedra(self.scop, self.options.limits)

    @cached_property
    def rules(self) -> ConstructionRules:
        """The rules of the construction."""
        return ConstructionRules.of(self.polyhedra, self.options.max_dimensions)

    _tasks_with_storage: LruCache[tuple[Splitting, StoragePlan], Task] = field(
        default_factory=lambda: LruCache(64), init=False, repr=False
    )

    def start(self) -> Episode:
        """Return a new episode."""
        if self.options.transformations is not None:
            return self._first_transforming
        if self.options.storage_limit is None:
            return self.first_episode()
        storing = StorageState(self.storage_options)
        first = Episode(self, Phase.STORE, self.rules.initial(), storage_state=storing)
        return first._continue_after_storage()

    @cached_property
    def storage_options(self) -> StorageOptions:
        """What there is to decide about the program's storage."""
        limit = self.options.storage_limit
        assert limit is not None
        return StorageOptions(self.scop, self.sizes, limit)

    def task_with_storage(self, splitting: Splitting, storage: StoragePlan) -> Task:
        """Return the task of the program as it was decided to divide and to store it.

        Raises:
            LimitError: isl would take too long.
        """
        written = self if self.source_task is None else self.source_task
        if splitting == NO_SPLITTING and storage.is_source:
            return written

        def make() -> Task:
            scop = apply_plan(apply_splitting(written.scop, splitting), storage)
            return Task(scop, written.options, written.sizes, written)

        return written._tasks_with_storage.get((splitting, storage), make)

    @cached_property
    def transform_program(self) -> TransformProgram:
        """The program whose loops are transformed, with what is known of it."""
        options = self.options.transformations
        assert options is not None
        return TransformProgram(self.scop, self.sizes, options.memory_limit)

    @cached_property
    def _first_transforming(self) -> Episode:
        options = self.options.transformations
        assert options is not None
        schedule = None
        if options.initial_schedule is not None:
            schedule = self._schedule_of(options.initial_schedule, options.mapping)
        state = self.transform_program.start(options.mapping, schedule)
        first = Episode(self, Phase.TRANSFORM, self.rules.initial())
        return replace(first, transform_state=state)

    def first_episode(self) -> Episode:
        """Return the episode in which nothing has been decided but where values are kept."""
        first = Episode(self, Phase.CONSTRUCT, self.rules.initial())
        decides = self.options.mapping_decisions
        if decides is None or decides.initial_schedule is None:
            return first
        editing = EditState(self.initial_schedule, MOST_VALUES, self.scop, adopts=decides.adopts)
        return replace(first, phase=Phase.EDIT, edit_state=editing)

    @cached_property
    def initial_schedule(self) -> Schedule:
        """The schedule that episodes begin to edit; the original order where isl gives up."""
        decides = self.options.mapping_decisions
        assert decides is not None
        assert decides.initial_schedule is not None
        return self._schedule_of(decides.initial_schedule, decides.mapping)

    def _schedule_of(self, strategy: ScheduleStrategy, mapping: Mapping) -> Schedule:
        """Return the schedule of a strategy; the original order where isl gives up."""
        try:
            schedule = schedule_by(self._resolved(strategy, mapping), self.scop)
        except (InputError, LimitError):
            schedule = original_schedule(self.scop)
        return LegalSchedule(self.scop, schedule).schedule

    @cached_property
    def initial_strategy(self) -> FixedStrategy:
        """The strategy whose schedule episodes begin to edit, or to transform."""
        decides = self.options.mapping_decisions or self.options.transformations
        assert decides is not None
        assert decides.initial_schedule is not None
        return self._resolved(decides.initial_schedule, decides.mapping)

    def _resolved(self, strategy: ScheduleStrategy, mapping: Mapping) -> FixedStrategy:
        from polygym.autoschedule.schedule_choice import resolved_strategy

        return resolved_strategy(strategy, self.scop, self.sizes, mapping)

    def nests(self, schedule: Schedule) -> tuple[NestShape, ...]:
        """Return the nests of a legal schedule about which mappings are decided."""

        def find() -> tuple[NestShape, ...]:
            return nest_shapes(LegalSchedule(self.scop, schedule), self.sizes, MOST_NESTS)

        return self._nests.get(schedule, find)

    def is_legal(self, schedule: Schedule) -> bool:
        """Whether a schedule is proved to be legal; what takes isl too long is not."""

        def find() -> bool:
            try:
                return is_legal(self.scop, schedule)
            except LimitError:
                return False

        return self._legal.get(schedule, find)


@dataclass(frozen=True)
class Episode:
    """A state of both processes, and how it was reached.

    ``dimensions`` are the space's so far; ``illegal_count`` counts actions that were not offered;
    ``reason`` says why an invalid episode is. Without slots, since it remembers its mask: a step
    asks for it several times.
    """

    task: Task
    phase: Phase
    construction: ConstructionState
    dimensions: tuple[SpaceDimension, ...] = ()
    exploration: ExplorationState = field(default_factory=ExplorationState)
    actions: tuple[int, ...] = ()
    illegal_count: int = 0
    reason: str = ""
    edit_state: EditState | None = None
    mapping_state: MappingState | None = None
    storage_state: StorageState | None = None
    transform_state: TransformState | None = None

    def _replace(self, **changes: Any) -> Episode:
        """Return the episode with other fields, as ``dataclasses.replace`` does in more time.

        What was remembered of the old one is not what there is to say of the new one.
        """
        episode = object.__new__(Episode)
        episode.__dict__.update(self.__dict__, **changes)
        for name in _MEMO_FIELDS:
            episode.__dict__.pop(name, None)
        return episode

    @property
    def is_over(self) -> bool:
        """Whether no action is left."""
        return self.phase in (Phase.COMPLETE, Phase.INVALID)

    @property
    def is_space_complete(self) -> bool:
        """Whether no vertex or ray of the dimensions so far was left out by a limit."""
        return all(dimension.generators.is_complete for dimension in self.dimensions)

    def mask(self) -> tuple[bool, ...]:
        """Return which actions are allowed; none is after the end."""
        return self._mask

    @cached_property
    def _mask(self) -> tuple[bool, ...]:
        options = self.task.options
        if options.transformations is not None:
            offered = self.offer.mask() if self.phase is Phase.TRANSFORM else ()
            return offered + (False,) * (options.actions - len(offered))
        construct: tuple[bool, ...] = (False,) * CONSTRUCTION_ACTIONS
        explore: tuple[bool, ...] = (False,) * (options.max_coefficient + 1)
        if self.phase is Phase.CONSTRUCT:
            construct = self.task.rules.mask(self.construction)
        elif self.phase is Phase.EXPLORE:
            explore = exploring.coefficient_mask(
                self.dimensions, self.exploration, options.max_coefficient
            )
        return construct + explore + self._answers()

    def _answers(self) -> tuple[bool, ...]:
        """Return which of the answers are allowed, if there are any."""
        options = self.task.options
        if options.mapping_decisions is None and options.storage_limit is None:
            return ()
        if self.phase is Phase.STORE and self.storage_state is not None:
            return self.storage_state.mask()
        if self.phase is Phase.EDIT and self.edit_state is not None:
            back, *others = self.edit_state.mask(self.task.is_legal)
            return (back, True, *others)
        if self.phase is Phase.MAP and self.mapping_state is not None:
            return self.mapping_state.mask()
        return (False,) * ANSWERS

    def after(self, action: int) -> Episode:
        """Return the episode after an action."""
        if self.is_over:
            raise InputError("an episode that has ended: expected a reset, found another action")
        if not 0 <= action < self.task.options.actions:
            raise InputError(
                f"an action: expected 0 to {self.task.options.actions - 1}, found {action}"
            )
        taken = self._replace(actions=(*self.actions, action))
        if self.phase is Phase.CONSTRUCT and action < CONSTRUCTION_ACTIONS:
            return taken._construct(ConstructionAction(action), self.mask()[action])
        if self.phase is Phase.TRANSFORM:
            return taken._transform(action, self.offer)
        first_answer = self.task.options.first_answer
        if self.phase is Phase.EXPLORE and CONSTRUCTION_ACTIONS <= action < first_answer:
            return taken._explore(action - CONSTRUCTION_ACTIONS)
        if self.phase in (Phase.STORE, Phase.EDIT, Phase.MAP) and action >= first_answer:
            if not self.mask()[action]:
                return taken._refused("the question has no such answer")
            return taken._answer(action - first_answer)
        return taken._refused(f"the process is at {self.phase.value}")

    def schedule(self) -> Schedule:
        """Return the schedule of a complete episode, with inner dimensions where it leaves ties.

        While a mapping is decided there is one already, and where one is edited always.
        """
        if self.transform_state is not None:
            return self.transform_state.schedule
        if self.edit_state is not None:
            return self.edit_state.schedule
        if self.phase not in (Phase.COMPLETE, Phase.MAP):
            raise InputError(
                f"the schedule of an episode: expected a complete one, found {self.phase.value}"
            )
        return self._completed

    @property
    def mapping(self) -> Mapping | None:
        """The mapping as far as it is decided; None where none is."""
        if self.transform_state is not None:
            return self.transform_state.mapping
        if self.mapping_state is not None:
            return self.mapping_state.mapping
        decides = self.task.options.mapping_decisions
        return None if decides is None else decides.mapping

    @property
    def stored_as(self) -> tuple[Splitting, StoragePlan] | None:
        """How statements are divided and arrays are stored, if an episode decides that."""
        state = self.storage_state or self.transform_state
        return None if state is None else (state.splitting, state.storage)

    @property
    def transform_steps_left(self) -> int:
        """How many steps of a transformation an episode has left."""
        options = self.task.options.transformations
        assert options is not None
        return max(0, options.max_steps - (len(self.actions) - self.illegal_count))

    @cached_property
    def offer(self) -> StepOffer:
        """The steps that a program may be transformed by next; see the process of that name."""
        assert self.transform_state is not None
        most = self.task.options.actions
        return offer_of(self.transform_state, most, self.transform_steps_left)

    def _transform(self, action: int, offer: StepOffer) -> Episode:
        """Take a step of a transformation."""
        if not offer.is_allowed(action):
            return self._refused(offer.reason(action))
        try:
            state = offer.after(action)
            task = self.task.task_with_storage(state.splitting, state.storage)
        except (InputError, LimitError) as error:
            return self._refused(str(error))
        phase = Phase.COMPLETE if state.is_over else Phase.TRANSFORM
        return self._replace(transform_state=state, task=task, phase=phase)

    @cached_property
    def _completed(self) -> Schedule:
        polyhedra = self.task.polyhedra
        all_carried, points = not polyhedra.never_carried, self.exploration.points
        return complete_schedule(self.task.scop, points, all_carried=all_carried)

    def _construct(self, action: ConstructionAction, allowed: bool) -> Episode:
        rules = self.task.rules
        step = rules.step(self.construction, action)
        if isinstance(step, EmptyPolyhedron):
            return self._replace(phase=Phase.INVALID, reason=step.reason)
        if isinstance(step, UnavailableAction):
            return self._refused(step.reason)
        if not allowed and action is not ConstructionAction.NEXT_DEP:
            return self._refused("the dimensions that remain would not be enough")
        episode = self if allowed else self._refused("the dependences have been looked at")
        if episode.is_over:
            return episode
        episode = episode._replace(construction=step)
        return episode._close_dimensions()

    def _close_dimensions(self) -> Episode:
        """Compute the generators of dimensions that are decided now, and go on to explore."""
        rules, state = self.task.rules, self.construction
        dimensions = list(self.dimensions)
        for number in range(len(dimensions) + 1, rules.decided_dimensions(state) + 1):
            left, carried = rules.remaining(state, number), rules.selected(state, number)
            generators = self.task.polyhedra.generators(left, carried)
            dimensions.append(SpaceDimension(carried, left, generators))
        episode = self._replace(dimensions=tuple(dimensions))
        if not rules.is_accepting(state):
            return episode
        first = exploring.initial_exploration(dimensions)
        return episode._replace(phase=Phase.EXPLORE, exploration=first)._finish_if_done()

    def _explore(self, coefficient: int) -> Episode:
        step = exploring.explore_step(self.dimensions, self.exploration, coefficient)
        if isinstance(step, ZeroPoint):
            return self._replace(phase=Phase.INVALID, reason=step.reason)
        return self._replace(exploration=step)._finish_if_done()

    def _finish_if_done(self) -> Episode:
        if exploring.is_exploration_finished(self.dimensions, self.exploration):
            return self._start_mapping()
        return self

    def _start_mapping(self) -> Episode:
        """Go on with the mapping, if there is one to be decided."""
        decides, ready = self.task.options.mapping_decisions, self._replace(phase=Phase.COMPLETE)
        if decides is None:
            return ready
        try:
            nests = self.task.nests(ready.schedule())
        except LimitError:  # numbers too large for a schedule: the end of the episode says so
            return ready
        deciding = MappingState(decides.mapping, nests)
        return self._replace(phase=Phase.MAP, mapping_state=deciding)

    def _answer(self, answer: int) -> Episode:
        """Take an answer, which is allowed, in an edit or to a question."""
        if self.phase is Phase.STORE:
            return self._store(answer)
        if self.phase is Phase.MAP:
            assert self.mapping_state is not None
            deciding = self.mapping_state.after(answer)
            phase = Phase.COMPLETE if deciding.question is None else Phase.MAP
            return self._replace(mapping_state=deciding, phase=phase)
        assert self.edit_state is not None
        if answer == USE_DEFAULT_FOR_ALL:
            return self._replace(phase=Phase.COMPLETE)
        if answer == USE_DEFAULT and self.edit_state.is_between_edits:
            return self._start_mapping()
        edited = self.edit_state.after(BACK if answer == USE_DEFAULT else answer - 1)
        return self._replace(edit_state=edited)

    def _store(self, answer: int) -> Episode:
        """Decide what the answer says of storage, and look at the program that results."""
        assert self.storage_state is not None
        storing = self.storage_state.after(answer)
        try:
            task = self.task.task_with_storage(storing.splitting, storing.storage)
            construction = task.rules.initial()
        except LimitError as error:
            return self._replace(storage_state=storing, phase=Phase.INVALID, reason=str(error))
        episode = self._replace(task=task, construction=construction, storage_state=storing)
        return episode._continue_after_storage()

    def _continue_after_storage(self) -> Episode:
        """Go on with a schedule where nothing is left to be decided about storage."""
        assert self.storage_state is not None
        if not self.storage_state.is_over:
            return self
        return self.task.first_episode()._replace(
            actions=self.actions, illegal_count=self.illegal_count, storage_state=self.storage_state
        )

    def _refused(self, reason: str) -> Episode:
        illegal = self.illegal_count + 1
        if illegal < MOST_ILLEGAL_ACTIONS:
            return self._replace(illegal_count=illegal)
        reason = f"{MOST_ILLEGAL_ACTIONS} actions that were not offered; the last one: {reason}"
        return self._replace(illegal_count=illegal, phase=Phase.INVALID, reason=reason)
