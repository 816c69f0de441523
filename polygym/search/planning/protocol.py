"""Protocol of planning: what a planner asks of a state space, and its result.

A *system* has states, what each can become in one step, and what each costs: terms under rules,
tensor graphs under substitutions, schedules under decisions. The searches of this package take any,
and count alike: a state is *looked at* when its cost, or what a value function expects of it, is
asked for the first time.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from polygym.errors import InputError
from polygym.pickling import pickle_by_name

State = TypeVar("State")
_State_contra = TypeVar("_State_contra", contravariant=True)

Values: TypeAlias = NDArray[np.float64]


class RewriteSystem(Protocol[State]):
    """States, steps between them, and costs."""

    def successors(self, state: State) -> Sequence[State]:
        """Return what a state can become in one step, always in the same order."""

    def cost(self, state: State) -> float:
        """Return what a state costs; the searches look for the least."""

    def key(self, state: State) -> Hashable:
        """Return what is equal for states that are the same."""

    def features(self, state: State) -> Any:
        """Return what a value function looks at."""


class ValueFunction(Protocol[_State_contra]):
    """Says how much less may be found behind states."""

    def __call__(self, states: Sequence[_State_contra], horizon: int) -> Values:
        """Return by how much the cost is expected to fall.

        A row a state, a column for each number of steps that are left, from 0 to the horizon.
        """


@pickle_by_name
@dataclass(frozen=True, slots=True)
class PlanningLimits:
    """How much a search may do: steps from the start, states looked at.

    ``batch`` is how many states a value function is asked for at once, at least.
    """

    horizon: int = 10
    max_states: int = 5000
    batch: int = 16

    def __post_init__(self) -> None:
        """Refuse what is not positive."""
        for name in ("horizon", "max_states", "batch"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise InputError(f"a search's {name}: expected 1 or more, found {number!r}")


@pickle_by_name
@dataclass(frozen=True, slots=True)
class PlanningResult(Generic[State]):
    """The best state that was found, and the way there.

    ``states`` are those on the way, the start first; ``steps`` are the numbers of the
    successors that were taken. ``states_seen`` and ``expanded`` count states; ``is_complete`` says
    that there was nothing else to find within the horizon.
    """

    states: tuple[State, ...]
    steps: tuple[int, ...]
    initial_cost: float
    cost: float
    states_seen: int
    expanded: int
    is_complete: bool = False

    @property
    def best(self) -> State:
        """The best state."""
        return self.states[-1]


def check_values(values: Values, count: int, horizon: int) -> Values:
    """Return what a value function said, which must have the right shape."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (count, horizon + 1):
        raise InputError(
            f"a value function: expected {count} rows of {horizon + 1} numbers, found the shape "
            f"{array.shape}"
        )
    return array
