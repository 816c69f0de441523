"""Phases of an episode, the sizes of its processes, and the decisions in them."""

from dataclasses import dataclass, field
from enum import Enum

from polygym.errors import InputError
from polygym.mapping.mapping import Mapping
from polygym.mdp.construction import ConstructionAction
from polygym.mdp.mapping_decisions import ANSWERS
from polygym.pickling import pickle_by_name
from polygym.poly.scheduling.strategy import ScheduleStrategy
from polygym.poly.spaces.polyhedra import SpaceLimits
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT

CONSTRUCTION_ACTIONS = len(ConstructionAction)

# Sums of coefficients times entries of generators have to stay small numbers.
MOST_COEFFICIENT = 1_000

MOST_STEPS, MOST_ACTIONS = 64, 384
"""The steps of an episode that transforms a program, and the steps that a state offers, at most."""


class Phase(Enum):
    """What an episode is doing."""

    STORE = "store"
    CONSTRUCT = "construct"
    EXPLORE = "explore"
    EDIT = "edit"
    MAP = "map"
    TRANSFORM = "transform"
    COMPLETE = "complete"
    INVALID = "invalid"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class MappingDecisions:
    """What is decided beside a schedule: a mapping, which begins with one.

    With ``initial_schedule`` the schedule of that strategy is edited; without, one is built from
    nothing. Where it is to be chosen among a few, it is chosen for that mapping. ``adopts`` says
    whether an edit may adopt another of the program's schedules, isl's among them.
    """

    mapping: Mapping
    initial_schedule: ScheduleStrategy | None = None
    adopts: bool = True


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TransformOptions:
    """The process that transforms a program step by step (:mod:`polygym.transformations`).

    It begins with a mapping, and with the schedule of a strategy, None for the source order. An
    episode has at most ``max_steps`` steps, and a state offers at most ``max_actions``. New arrays
    may take ``memory_limit`` bytes.
    """

    mapping: Mapping
    initial_schedule: ScheduleStrategy | None = None
    max_steps: int = MOST_STEPS
    max_actions: int = MOST_ACTIONS
    memory_limit: int = DEFAULT_MEMORY_LIMIT


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TaskOptions:
    """The size of the processes: coefficients 0 … ``max_coefficient``, dimensions, limits.

    ``mapping_decisions`` has what is decided beside a schedule, if anything is. With a
    ``storage_limit`` it is decided beforehand where values are kept; new arrays may take so many
    bytes. With ``transformations`` a program is transformed step by step, and nothing else is done.
    """

    max_coefficient: int = 2
    max_dimensions: int = 4
    limits: SpaceLimits = field(default_factory=SpaceLimits)
    mapping_decisions: MappingDecisions | None = None
    storage_limit: int | None = None
    transformations: TransformOptions | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that make no process."""
        if not 1 <= self.max_coefficient <= MOST_COEFFICIENT:
            raise InputError(
                f"max_coefficient: expected 1 to {MOST_COEFFICIENT}, found {self.max_coefficient}"
            )
        if not 1 <= self.max_dimensions <= 32:
            raise InputError(f"max_dimensions: expected 1 to 32, found {self.max_dimensions}")

    @property
    def first_answer(self) -> int:
        """The number of the first answer, behind all actions that build a schedule."""
        return CONSTRUCTION_ACTIONS + self.max_coefficient + 1

    @property
    def actions(self) -> int:
        """The number of actions."""
        if self.transformations is not None:
            return self.transformations.max_actions
        has_answers = self.mapping_decisions is not None or self.storage_limit is not None
        return self.first_answer + (ANSWERS if has_answers else 0)
