"""The process that transforms a program: its actions are steps on named loops.

A state offers a finite list of steps in a fixed order (:mod:`polygym.transformations.candidates`):
action k is the k-th of them, 0 *stop* and 1 *undo*. Those that are legal are allowed; the offer
explains why another is not. Where a state offers more than an episode has actions, the last ones of
the most frequent kinds are left out. When all steps of an episode are taken, *stop* alone is
allowed.

Example, gemm in the order of the text: 2 ``fuse L2 L3``, …, ``distribute L1 before L3`` …
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from polygym.transformations.candidates import candidate_steps
from polygym.transformations.state import StepVerdict, TransformState
from polygym.transformations.steps import Step

STEPS_VERSION = 2
"""The version of the list of steps; a record of another version has other actions."""

STOP_ACTION = 0
NO_STEPS_LEFT = "all steps of this episode are taken: stop"
NOT_OFFERED = "the state offers no step with this number"


@dataclass(frozen=True, slots=True)
class StepOffer:
    """The steps of a state with a verdict each; ``is_complete``: none was left out."""

    state: TransformState
    steps: tuple[Step, ...]
    verdicts: tuple[StepVerdict, ...]
    is_complete: bool

    def mask(self) -> tuple[bool, ...]:
        """Return which steps are allowed."""
        return tuple(verdict.is_allowed for verdict in self.verdicts)

    def is_allowed(self, action: int) -> bool:
        """Whether an action is a step that is allowed."""
        return action < len(self.steps) and self.verdicts[action].is_allowed

    def reason(self, action: int) -> str:
        """Return in short why an action is not allowed."""
        return NOT_OFFERED if action >= len(self.steps) else self.verdicts[action].reason

    def after(self, action: int) -> TransformState:
        """Return the state after a step that is allowed.

        Raises:
            InputError: a step about storage cannot be proved together with earlier ones.
            LimitError: it would take too long.
        """
        return self.verdicts[action].state or self.state.after(self.steps[action])


def offer_of(state: TransformState, most_actions: int, steps_left: int) -> StepOffer:
    """Return what a state offers in an episode with so many steps left."""
    steps = candidate_steps(state)
    shown = fair_selection(steps, most_actions)
    if steps_left > 0:
        verdicts = tuple(state.verdicts(shown))
    else:
        refused = StepVerdict(False, NO_STEPS_LEFT)
        verdicts = (*state.verdicts(shown[:1]), *(refused,) * (len(shown) - 1))
    return StepOffer(state, shown, verdicts, len(shown) == len(steps))


def fair_selection(steps: Sequence[Step], most: int) -> tuple[Step, ...]:
    """Return so many steps in their order, of each kind the first ones, of none more than needed.

    Example, at most 4 of three interchanges, two tilings and a stop: two, one, and the stop.
    """
    if len(steps) <= most:
        return tuple(steps)
    counts = Counter(map(type, steps))
    level = max(k for k in range(most + 1) if sum(min(k, n) for n in counts.values()) <= most)
    left = most - sum(min(level, count) for count in counts.values())
    limits = {kind: min(level, count) for kind, count in counts.items()}
    for kind, count in counts.items():
        if left and count > limits[kind]:
            limits[kind] += 1
            left -= 1
    taken = Counter[type]()
    result = []
    for step in steps:
        if taken[type(step)] < limits[type(step)]:
            taken[type(step)] += 1
            result.append(step)
    return tuple(result)
