"""What an episode may be doing, how large its processes are, and what is decided in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.poly.spaces.polyhedra import Limits
from polygym.compiler.poly.strategy import Strategy
from polygym.episodes.construction import ConstructionAction
from polygym.episodes.decisions import ANSWERS, VERSION
from polygym.errors import InputError
from polygym.pickles import pickled_by_name

CONSTRUCTION_ACTIONS = len(ConstructionAction)

# Sums of coefficients times entries of generators have to stay small numbers.
LARGEST_COEFFICIENT = 1_000


class Phase(Enum):
    """What an episode is doing."""

    STORE = "store"
    CONSTRUCT = "construct"
    EXPLORE = "explore"
    EDIT = "edit"
    MAP = "map"
    COMPLETE = "complete"
    INVALID = "invalid"


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Decides:
    """What is decided beside a schedule: a mapping, which begins with one.

    With ``start`` the schedule of that strategy is edited; without, one is built from nothing.
    Where it is to be chosen among a few, it is chosen for that mapping. ``questions`` is the
    version of what is asked about the mapping.
    """

    mapping: Mapping
    start: Strategy | None = None
    questions: int = VERSION


@pickled_by_name
@dataclass(frozen=True, slots=True)
class TaskOptions:
    """The size of the processes: coefficients 0 … ``max_coefficient``, dimensions, limits.

    ``decides`` has what is decided beside a schedule, if anything is. With a ``storage_limit`` it
    is decided beforehand where values are kept; new arrays may take so many bytes.
    """

    max_coefficient: int = 2
    max_dimensions: int = 4
    limits: Limits = field(default_factory=Limits)
    decides: Decides | None = None
    storage_limit: int | None = None

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
    def first_answer(self) -> int:
        """The number of the first answer, behind all actions that build a schedule."""
        return CONSTRUCTION_ACTIONS + self.max_coefficient + 1

    @property
    def actions(self) -> int:
        """The number of actions."""
        has_answers = self.decides is not None or self.storage_limit is not None
        return self.first_answer + (ANSWERS if has_answers else 0)
