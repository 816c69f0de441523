"""An episode: a program's space is constructed, then explored, and ends with a schedule.

Actions are numbers: 0 next_dim, 1 next_dep, 2 select_dep, and 3 + X for select_coeffX. An episode
is an immutable value; :meth:`Episode.after` returns the next one. What is costly (dependences,
generators) is remembered in the :class:`Task`, which all episodes of a program share.

Where the options say so (:class:`Decides`) an episode goes on: the mapping is decided question by
question (:mod:`polygym.episodes.decisions`), and instead of a space it may begin with a schedule
that is there, which is edited (:mod:`polygym.episodes.editing`). The actions behind the
coefficients are their answers: ``first_answer`` is *as the model says* (in an edit: drop it, or
edit no more), the next one ends the episode with everything as it is, and the others choose.

With a ``storage_limit`` an episode begins before that: it is decided where statements are cut and
values are kept (:mod:`polygym.episodes.storing`), and the episode goes on with the task of the
program that results, :meth:`Task.of`. Then ``first_answer`` is *keep*.

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

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.codegen.common.sizes import Sizes
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import original, schedule_by
from polygym.compiler.poly.legality import LegalSchedule, is_legal
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.spaces.completion import complete
from polygym.compiler.poly.spaces.construct import Dimension
from polygym.compiler.poly.spaces.polyhedra import Polyhedra
from polygym.compiler.poly.splitting.cuts import Splitting
from polygym.compiler.poly.splitting.split import split
from polygym.compiler.poly.strategy import Settled
from polygym.compiler.storage.apply import applied
from polygym.compiler.storage.plan import StoragePlan
from polygym.episodes import exploration as exploring
from polygym.episodes.construction import (
    Construction,
    ConstructionAction,
    ConstructionRules,
    Emptied,
    Refused,
)
from polygym.episodes.decisions import ANSWERS, CHOICES, DONE, MODEL, NESTS, Deciding
from polygym.episodes.editing import BACK, Editing
from polygym.episodes.exploration import Exploration, NoPoint
from polygym.episodes.nest_shapes import NestShape, nest_shapes
from polygym.episodes.storing import Homes, Storing
from polygym.episodes.task_options import (
    CONSTRUCTION_ACTIONS,
    Phase,
    TaskOptions,
)
from polygym.errors import InputError, LimitError
from polygym.lru import Memory

MOST_ILLEGAL_ACTIONS = 100

# What an episode remembers of itself.
_REMEMBERED = ("_mask", "_completed")


@dataclass(frozen=True, eq=False)
class Task:
    """A program to schedule, with everything that is computed once for it.

    ``written`` is the task of the program as it was before anything was decided of its storage.
    """

    scop: Scop
    options: TaskOptions = field(default_factory=TaskOptions)
    sizes: Sizes = field(default_factory=dict)
    written: Task | None = None
    _nests: Memory[Schedule, tuple[NestShape, ...]] = field(
        default_factory=lambda: Memory(256), init=False, repr=False
    )
    _legal: Memory[Schedule, bool] = field(
        default_factory=lambda: Memory(4096), init=False, repr=False
    )

    @cached_property
    def polyhedra(self) -> Polyhedra:
        """The polyhedra of the program's rows."""
        return Polyhedra(self.scop, self.options.limits)

    @cached_property
    def rules(self) -> ConstructionRules:
        """The rules of the construction."""
        return ConstructionRules.of(self.polyhedra, self.options.max_dimensions)

    _others: Memory[tuple[Splitting, StoragePlan], Task] = field(
        default_factory=lambda: Memory(64), init=False, repr=False
    )

    def start(self) -> Episode:
        """Return a new episode."""
        if self.options.storage_limit is None:
            return self.first()
        storing = Storing(self.homes)
        first = Episode(self, Phase.STORE, self.rules.initial(), storing=storing)
        return first._go_on_if_stored()

    @cached_property
    def homes(self) -> Homes:
        """What there is to decide about the program's storage."""
        limit = self.options.storage_limit
        assert limit is not None
        return Homes(self.scop, self.sizes, limit)

    def of(self, storing: Storing) -> Task:
        """Return the task of the program as it was decided to store it.

        Raises:
            LimitError: isl would take too long.
        """
        written = self if self.written is None else self.written
        if storing.changes_nothing:
            return written

        def make() -> Task:
            scop = applied(split(written.scop, storing.cuts), storing.plan)
            return Task(scop, written.options, written.sizes, written)

        return written._others.get((storing.cuts, storing.plan), make)

    def first(self) -> Episode:
        """Return the episode in which nothing has been decided but where values are kept."""
        first = Episode(self, Phase.CONSTRUCT, self.rules.initial())
        decides = self.options.decides
        if decides is None or decides.start is None:
            return first
        return replace(first, phase=Phase.EDIT, editing=Editing(self.beginning, CHOICES, self.scop))

    @cached_property
    def beginning(self) -> Schedule:
        """The schedule that episodes begin to edit; the original order where isl gives up."""
        try:
            found = schedule_by(self.begins, self.scop)
        except (InputError, LimitError):
            found = original(self.scop)
        return LegalSchedule(self.scop, found).schedule

    @cached_property
    def begins(self) -> Settled:
        """The strategy whose schedule episodes begin to edit."""
        decides = self.options.decides
        assert decides is not None
        assert decides.start is not None
        from polygym.episodes.automatic import settled

        return settled(decides.start, self.scop, self.sizes, decides.mapping)

    def nests(self, schedule: Schedule) -> tuple[NestShape, ...]:
        """Return the nests of a legal schedule about which mappings are decided."""
        return self._nests.get(
            schedule,
            lambda: nest_shapes(LegalSchedule(self.scop, schedule), self.sizes, NESTS),
        )

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

    ``dimensions`` are the space's so far; ``illegal`` counts actions that were not offered;
    ``reason`` says why an invalid episode is. Without slots, since it remembers its mask: a step
    asks for it several times.
    """

    task: Task
    phase: Phase
    construction: Construction
    dimensions: tuple[Dimension, ...] = ()
    exploration: Exploration = field(default_factory=Exploration)
    actions: tuple[int, ...] = ()
    illegal: int = 0
    reason: str = ""
    editing: Editing | None = None
    deciding: Deciding | None = None
    storing: Storing | None = None

    def _with(self, **changes: Any) -> Episode:
        """Return the episode with other fields, as ``dataclasses.replace`` does in more time.

        What was remembered of the old one is not what there is to say of the new one.
        """
        found = object.__new__(Episode)
        found.__dict__.update(self.__dict__, **changes)
        for name in _REMEMBERED:
            found.__dict__.pop(name, None)
        return found

    @property
    def is_over(self) -> bool:
        """Whether no action is left."""
        return self.phase in (Phase.COMPLETE, Phase.INVALID)

    def mask(self) -> tuple[bool, ...]:
        """Return which actions are allowed; none is after the end."""
        return self._mask

    @cached_property
    def _mask(self) -> tuple[bool, ...]:
        options = self.task.options
        construct: tuple[bool, ...] = (False,) * CONSTRUCTION_ACTIONS
        explore: tuple[bool, ...] = (False,) * (options.max_coefficient + 1)
        if self.phase is Phase.CONSTRUCT:
            construct = self.task.rules.mask(self.construction)
        elif self.phase is Phase.EXPLORE:
            explore = exploring.mask(self.dimensions, self.exploration, options.max_coefficient)
        return construct + explore + self._answers()

    def _answers(self) -> tuple[bool, ...]:
        """Return which of the answers are allowed, if there are any."""
        options = self.task.options
        if options.decides is None and options.storage_limit is None:
            return ()
        if self.phase is Phase.STORE and self.storing is not None:
            return self.storing.mask()
        if self.phase is Phase.EDIT and self.editing is not None:
            back, *others = self.editing.mask(self.task.is_legal)
            return (back, True, *others)
        if self.phase is Phase.MAP and self.deciding is not None:
            return self.deciding.mask()
        return (False,) * ANSWERS

    def after(self, action: int) -> Episode:
        """Return the episode after an action."""
        if self.is_over:
            raise InputError("an episode that has ended: expected a reset, found another action")
        if not 0 <= action < self.task.options.actions:
            raise InputError(
                f"an action: expected 0 to {self.task.options.actions - 1}, found {action}"
            )
        taken = self._with(actions=(*self.actions, action))
        if self.phase is Phase.CONSTRUCT and action < CONSTRUCTION_ACTIONS:
            return taken._construct(ConstructionAction(action), self.mask()[action])
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
        if self.editing is not None:
            return self.editing.schedule
        if self.phase not in (Phase.COMPLETE, Phase.MAP):
            raise InputError(
                f"the schedule of an episode: expected a complete one, found {self.phase.value}"
            )
        return self._completed

    @property
    def mapping(self) -> Mapping | None:
        """The mapping as far as it is decided; None where none is."""
        if self.deciding is not None:
            return self.deciding.mapping
        decides = self.task.options.decides
        return None if decides is None else decides.mapping

    @cached_property
    def _completed(self) -> Schedule:
        polyhedra = self.task.polyhedra
        return complete(
            self.task.scop,
            self.exploration.points,
            all_carried=not polyhedra.never_carried,
        )

    def _construct(self, action: ConstructionAction, allowed: bool) -> Episode:
        rules = self.task.rules
        step = rules.step(self.construction, action)
        if isinstance(step, Emptied):
            return self._with(phase=Phase.INVALID, reason=step.reason)
        if isinstance(step, Refused):
            return self._refused(step.reason)
        if not allowed and action is not ConstructionAction.NEXT_DEP:
            return self._refused("the dimensions that remain would not be enough")
        episode = self if allowed else self._refused("the dependences have been looked at")
        if episode.is_over:
            return episode
        episode = episode._with(construction=step)
        return episode._close_dimensions()

    def _close_dimensions(self) -> Episode:
        """Compute the generators of dimensions that are decided now, and go on to explore."""
        rules, state = self.task.rules, self.construction
        dimensions = list(self.dimensions)
        for number in range(len(dimensions) + 1, rules.closed(state) + 1):
            left, carried = rules.left(state, number), rules.selected(state, number)
            dimensions.append(
                Dimension(carried, left, self.task.polyhedra.generators(left, carried))
            )
        episode = self._with(dimensions=tuple(dimensions))
        if not rules.is_accepting(state):
            return episode
        return episode._with(
            phase=Phase.EXPLORE, exploration=exploring.start(dimensions)
        )._finish_if_done()

    def _explore(self, coefficient: int) -> Episode:
        step = exploring.step(self.dimensions, self.exploration, coefficient)
        if isinstance(step, NoPoint):
            return self._with(phase=Phase.INVALID, reason=step.reason)
        return self._with(exploration=step)._finish_if_done()

    def _finish_if_done(self) -> Episode:
        if exploring.is_finished(self.dimensions, self.exploration):
            return self._begin_to_decide()
        return self

    def _begin_to_decide(self) -> Episode:
        """Go on with the mapping, if there is one to be decided."""
        decides, ready = self.task.options.decides, self._with(phase=Phase.COMPLETE)
        if decides is None:
            return ready
        try:
            nests = self.task.nests(ready.schedule())
        except LimitError:  # numbers too large for a schedule: the end of the episode says so
            return ready
        deciding = Deciding(decides.mapping, nests, version=decides.questions)
        return self._with(phase=Phase.MAP, deciding=deciding)

    def _answer(self, answer: int) -> Episode:
        """Take an answer, which is allowed, in an edit or to a question."""
        if self.phase is Phase.STORE:
            return self._store(answer)
        if self.phase is Phase.MAP:
            assert self.deciding is not None
            deciding = self.deciding.after(answer)
            phase = Phase.COMPLETE if deciding.question is None else Phase.MAP
            return self._with(deciding=deciding, phase=phase)
        assert self.editing is not None
        if answer == DONE:
            return self._with(phase=Phase.COMPLETE)
        if answer == MODEL and self.editing.is_at_rest:
            return self._begin_to_decide()
        edited = self.editing.after(BACK if answer == MODEL else answer - 1)
        return self._with(editing=edited)

    def _store(self, answer: int) -> Episode:
        """Decide what the answer says of storage, and look at the program that results."""
        assert self.storing is not None
        storing = self.storing.after(answer)
        try:
            task = self.task.of(storing)
            construction = task.rules.initial()
        except LimitError as error:
            return self._with(storing=storing, phase=Phase.INVALID, reason=str(error))
        found = self._with(task=task, construction=construction, storing=storing)
        return found._go_on_if_stored()

    def _go_on_if_stored(self) -> Episode:
        """Go on with a schedule where nothing is left to be decided about storage."""
        assert self.storing is not None
        if not self.storing.is_over:
            return self
        first = self.task.first()
        return replace(first, actions=self.actions, illegal=self.illegal, storing=self.storing)

    def _refused(self, reason: str) -> Episode:
        illegal = self.illegal + 1
        if illegal < MOST_ILLEGAL_ACTIONS:
            return self._with(illegal=illegal)
        return self._with(
            illegal=illegal,
            phase=Phase.INVALID,
            reason=f"{MOST_ILLEGAL_ACTIONS} actions that were not offered; the last one: {reason}",
        )
