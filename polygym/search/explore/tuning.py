"""The search for the mapping of a few good schedules: which tiles, how many copies, and so on.

Three stages, each of which needs what the ones before have shown:

1. every schedule under the mapping to start from;
2. the two that did best under a few mappings that differ from it in one idea (no tiles, small ones,
   half the vectors, ...);
3. a climb: a pair (schedule, mapping) among the best four, the better the likelier, with one or two
   of the mapping's entries changed, or with another of the schedules.

What is tried depends on the times that were measured, which differ from run to run. The dice of
trial k are ``default_rng([seed, 2**32, k])``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as Dictionary

import numpy as np

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.poly.schedule import Schedule
from polygym.measure.evaluation import Evaluation
from polygym.measure.evaluation.evaluator import Choice
from polygym.search.explore.neighbourhood import changed, ideas, place_of_parent

_STREAM = 2**32
_COMPARED = 2
_ATTEMPTS = 200
_OTHER_SCHEDULE = 0.15
_SECOND_CHANGE = 0.3


def tune(
    schedules: Sequence[Schedule],
    start: Mapping,
    seed: int,
    indices: range,
    evaluate: Callable[[Schedule, Mapping], Evaluation],
    known: Dictionary[Choice, Evaluation],
) -> Iterator[Evaluation]:
    """Yield what becomes of one pair after the other, until there is nothing new to try.

    ``known`` has the pairs that need no measuring, from which the climb begins as well.
    """
    found = dict(known)
    for index in indices:
        dice = np.random.default_rng([seed, _STREAM, index])
        choice = _next(schedules, start, found, dice)
        if choice is None:
            return
        found[choice] = evaluate(*choice)
        yield found[choice]


def _next(
    schedules: Sequence[Schedule],
    start: Mapping,
    found: Dictionary[Choice, Evaluation],
    dice: np.random.Generator,
) -> Choice | None:
    """Return the pair to try next, None if chance finds no new one."""
    for schedule in schedules:
        if (schedule, start) not in found:
            return (schedule, start)
    begun = sorted(schedules, key=lambda one: -found[one, start].speedup)
    for schedule in begun[:_COMPARED]:
        for mapping in ideas(start):
            if (schedule, mapping) not in found:
                return (schedule, mapping)
    own = [one for one in found if one[0] in schedules]
    own.sort(key=lambda one: -found[one].speedup)
    for _ in range(_ATTEMPTS):
        schedule, mapping = own[place_of_parent(len(own), dice)]
        if len(schedules) > 1 and dice.random() < _OTHER_SCHEDULE:
            schedule = schedules[int(dice.integers(len(schedules)))]
        else:
            mapping = changed(mapping, dice)
            if dice.random() < _SECOND_CHANGE:
                mapping = changed(mapping, dice)
        if (schedule, mapping) not in found:
            return (schedule, mapping)
    return None
