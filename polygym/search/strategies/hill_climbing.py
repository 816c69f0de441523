"""The search for the mapping of a few good schedules: which tiles, how many copies, and so on.

Three stages, each of which needs what the ones before have shown:

1. every schedule under the mapping to start from;
2. the two that did best under a few mappings that differ from it in one idea (no tiles, small ones,
   half the vectors, ...);
3. a climb: a pair (schedule, mapping) among the best four, the better the likelier, with one or two
   of the mapping's entries changed, or with another of the schedules.

What is tried depends on the times that were measured, which differ from run to run. The random
search of trial k are ``default_rng([seed, 2**32, k])``.
"""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as Dictionary

import numpy as np

from polygym.mapping.mapping import Mapping
from polygym.poly.schedule import Schedule
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.search.strategies.neighborhood import initial_variants, mutate_mapping, sample_parent

_STREAM = 2**32
_VARIED_SCHEDULES = 2
_ATTEMPTS = 200
_OTHER_SCHEDULE = 0.15
_SECOND_CHANGE = 0.3


def climb(
    schedules: Sequence[Schedule],
    start: Mapping,
    seed: int,
    indices: range,
    evaluate: Callable[[Schedule, Mapping], Evaluation],
    known: Dictionary[MappedSchedule, Evaluation],
) -> Iterator[Evaluation]:
    """Yield what becomes of one pair after the other, until there is nothing new to try.

    ``known`` has the pairs that need no measuring, from which the climb begins as well.
    """
    evaluations = dict(known)
    for index in indices:
        rng = np.random.default_rng([seed, _STREAM, index])
        choice = _next_choice(schedules, start, evaluations, rng)
        if choice is None:
            return
        evaluations[choice] = evaluate(*choice)
        yield evaluations[choice]


def _next_choice(
    schedules: Sequence[Schedule],
    start: Mapping,
    evaluations: Dictionary[MappedSchedule, Evaluation],
    rng: np.random.Generator,
) -> MappedSchedule | None:
    """Return the pair to try next, None if chance finds no new one."""
    for schedule in schedules:
        if (schedule, start) not in evaluations:
            return (schedule, start)
    begun = sorted(schedules, key=lambda candidate: -evaluations[candidate, start].speedup)
    for schedule in begun[:_VARIED_SCHEDULES]:
        for mapping in initial_variants(start):
            if (schedule, mapping) not in evaluations:
                return (schedule, mapping)
    own = [mapped_schedule for mapped_schedule in evaluations if mapped_schedule[0] in schedules]
    own.sort(key=lambda pair: -evaluations[pair].speedup)
    for _ in range(_ATTEMPTS):
        schedule, mapping = own[sample_parent(len(own), rng)]
        if len(schedules) > 1 and rng.random() < _OTHER_SCHEDULE:
            schedule = schedules[int(rng.integers(len(schedules)))]
        else:
            mapping = mutate_mapping(mapping, rng)
            if rng.random() < _SECOND_CHANGE:
                mapping = mutate_mapping(mapping, rng)
        if (schedule, mapping) not in evaluations:
            return (schedule, mapping)
    return None
