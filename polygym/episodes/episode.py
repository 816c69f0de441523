"""An episode: a program's space is constructed, then explored, and ends with a schedule.

Actions are numbers: 0 next_dim, 1 next_dep, 2 select_dep, and 3 + X for select_coeffX. An episode
is an immutable value; :meth:`Episode.after` returns the next one. What is costly (dependences,
generators) is remembered in the :class:`Task`, which all episodes of a program share.

An action outside of the mask never raises. It has one of two meanings, and both cost:

* it leads to an invalid state (an empty polyhedron, vertices that are all 0): the episode ends as
  :attr:`Phase.INVALID`;
* the state does not offer it (a coefficient while constructing, say): nothing changes but the count
  of such actions, and with the hundredth the episode ends as invalid too, so that every episode
  ends. One exception: next_dep beyond the number of moves that the mask grants still moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.spaces.completion import complete
from polygym.compiler.poly.spaces.construct import Dimension
from polygym.compiler.poly.spaces.polyhedra import Limits, Polyhedra
from polygym.episodes import exploration as exploring
from polygym.episodes.construction import (
    Construction,
    ConstructionAction,
    ConstructionRules,
    Emptied,
    Refused,
)
from polygym.episodes.exploration import Exploration, NoPoint
from polygym.errors import InputError
from polygym.pickles import pickled_by_name

CONSTRUCTION_ACTIONS = len(ConstructionAction)
MOST_ILLEGAL_ACTIONS = 100

# Sums of coefficients times entries of generators have to stay small numbers.
LARGEST_COEFFICIENT = 1_000


class Phase(Enum):
    """What an episode is doing."""

    CONSTRUCT = "construct"
    EXPLORE = "explore"
    COMPLETE = "complete"
    INVALID = "invalid"


@pickled_by_name
@dataclass(frozen=True, slots=True)
class TaskOptions:
    """The size of the processes: coefficients 0 … ``max_coefficient``, dimensions, limits."""

    max_coefficient: int = 2
    max_dimensions: int = 4
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        """Refuse numbers that make no process."""
        if not 1 <= self.max_coefficient <= LARGEST_COEFFICIENT:
            raise InputError(
                f"max_coefficient: expected 1 to {LARGEST_COEFFICIENT}, found "
                f"{self.max_coefficient}"
            )
        if not 1 <= self.max_dimensions <= 32:
            raise InputError(f"max_dimensions: expected 1 to 32, found {self.max_dimensions}")

    @property
    def actions(self) -> int:
        """The number of actions."""
        return CONSTRUCTION_ACTIONS + self.max_coefficient + 1


@dataclass(frozen=True, eq=False)
class Task:
    """A program to schedule, with everything that is computed once for it."""

    scop: Scop
    options: TaskOptions = TaskOptions()

    @cached_property
    def polyhedra(self) -> Polyhedra:
        """The polyhedra of the program's rows."""
        return Polyhedra(self.scop, self.options.limits)

    @cached_property
    def rules(self) -> ConstructionRules:
        """The rules of the construction."""
        return ConstructionRules.of(self.polyhedra, self.options.max_dimensions)

    def start(self) -> Episode:
        """Return a new episode."""
        return Episode(self, Phase.CONSTRUCT, self.rules.initial())


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
        return construct + explore

    def after(self, action: int) -> Episode:
        """Return the episode after an action."""
        if self.is_over:
            raise InputError("an episode that has ended: expected a reset, found another action")
        if not 0 <= action < self.task.options.actions:
            raise InputError(
                f"an action: expected 0 to {self.task.options.actions - 1}, found {action}"
            )
        taken = replace(self, actions=(*self.actions, action))
        if self.phase is Phase.CONSTRUCT and action < CONSTRUCTION_ACTIONS:
            return taken._construct(ConstructionAction(action), self.mask()[action])
        if self.phase is Phase.EXPLORE and action >= CONSTRUCTION_ACTIONS:
            return taken._explore(action - CONSTRUCTION_ACTIONS)
        return taken._refused(f"the process is at {self.phase.value}")

    def schedule(self) -> Schedule:
        """Return the schedule of a complete episode, with inner dimensions where it leaves ties."""
        if self.phase is not Phase.COMPLETE:
            raise InputError(
                f"the schedule of an episode: expected a complete one, found {self.phase.value}"
            )
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
            return replace(self, phase=Phase.INVALID, reason=step.reason)
        if isinstance(step, Refused):
            return self._refused(step.reason)
        if not allowed and action is not ConstructionAction.NEXT_DEP:
            return self._refused("the dimensions that remain would not be enough")
        episode = self if allowed else self._refused("the dependences have been looked at")
        if episode.is_over:
            return episode
        episode = replace(episode, construction=step)
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
        episode = replace(self, dimensions=tuple(dimensions))
        if not rules.is_accepting(state):
            return episode
        return replace(
            episode, phase=Phase.EXPLORE, exploration=exploring.start(dimensions)
        )._finish_if_done()

    def _explore(self, coefficient: int) -> Episode:
        step = exploring.step(self.dimensions, self.exploration, coefficient)
        if isinstance(step, NoPoint):
            return replace(self, phase=Phase.INVALID, reason=step.reason)
        return replace(self, exploration=step)._finish_if_done()

    def _finish_if_done(self) -> Episode:
        if exploring.is_finished(self.dimensions, self.exploration):
            return replace(self, phase=Phase.COMPLETE)
        return self

    def _refused(self, reason: str) -> Episode:
        illegal = self.illegal + 1
        if illegal < MOST_ILLEGAL_ACTIONS:
            return replace(self, illegal=illegal)
        return replace(
            self,
            illegal=illegal,
            phase=Phase.INVALID,
            reason=f"{MOST_ILLEGAL_ACTIONS} actions that were not offered; the last one: {reason}",
        )
