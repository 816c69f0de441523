"""The automatic schedule: of a few that a program has without a search, the one that is promised.

isl's usual schedule is what there is to begin with. It is departed from where two models of cost
expect another one of a few (:func:`polygym.poly.scheduling.alternatives.default_candidates`) to be
faster under the mapping, at the program's sizes, on this machine: boosted trees
(:mod:`polygym.cost.models`) and a network (:mod:`polygym.autoschedule.weights`), which
have learned from other programs, measured on other machines. With a and b what they expect, as
powers of two beside isl's usual schedule, the promise is

    √(a·b) where both are above 0, else the smaller one,

and the greatest promise is taken if it is more than :data:`LEAST_GAIN`; otherwise isl's usual
stays. So one model alone changes nothing, and where both know of no difference nothing changes
either.

Of a program whose plan calls arrays private only those schedules are candidates under which some
are (:mod:`polygym.cost.features.candidates.private_arrays`), if there are any: the others have it
as if it were expanded.

Example, atax at LARGE: trees say 2^0.68, the network 2^0.46 for isl's schedule without fusion; the
promise is 0.56, and it is taken.

On 287 cases of random programs with scalars, as written and in their other storage variants, in two
threads, models that had not seen them gain 1.34 in geometric mean where the best of the few would
gain 1.47, and lose more than 5 % in 3. If a promise of 0.25 were enough it would be 1.37, and 7;
what is within a standard error (here 3 %) is no reason to be bolder.

Nothing is run, nothing depends on names, and every candidate is legal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import inf
from typing import Any

import numpy as np

from polygym.autoschedule import weights as networks
from polygym.autoschedule.weights import ensemble_gain, ensemble_scores
from polygym.cost.features.candidates.candidate_vector import FeatureExtractor
from polygym.cost.features.candidates.private_arrays import has_private_arrays
from polygym.cost.features.loops.nests import Floats
from polygym.cost.models import pretrained as trees
from polygym.errors import InputError, LimitError, PolygymError
from polygym.ir.scop import PRIVATE_STORAGE_CLASSES, Scop
from polygym.mapping.machine import Machine, this_machine
from polygym.mapping.mapping import Mapping
from polygym.mapping.sizes import Sizes
from polygym.pickling import pickle_by_name
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.alternatives import default_candidates
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.strategy import (
    ISL,
    ORIGINAL,
    AutomaticStrategy,
    FixedStrategy,
    ScheduleStrategy,
)
from polygym.runtime.evaluation.forked_timeout import never_stopped
from polygym.runtime.evaluation.time_limits import schedule_within, schedules_within

LEAST_GAIN = 0.45
"""What has to be promised: 2^0.45 is a third faster."""

_CAUTION = 0.0  # two models that have to agree are careful enough


@pickle_by_name
@dataclass(frozen=True, slots=True)
class RankedSchedule:
    """A candidate: what is promised of it beside the usual schedule, as a power of two.

    It is None where its loops are out of reach, or where there is no model.
    """

    strategy: FixedStrategy
    schedule: Schedule
    predicted_gain: float | None


@pickle_by_name
@dataclass(frozen=True, slots=True)
class AutomaticSchedule:
    """The candidates, the usual one first, and which of them is taken."""

    ranking: tuple[RankedSchedule, ...]
    chosen: int

    @property
    def strategy(self) -> FixedStrategy:
        """The strategy that is taken."""
        return self.ranking[self.chosen].strategy

    @property
    def schedule(self) -> Schedule:
        """Its schedule."""
        return self.ranking[self.chosen].schedule

    @property
    def note(self) -> str:
        """A sentence where isl was given up on; "" otherwise."""
        if self.strategy != ORIGINAL or len(self.ranking) > 1:
            return ""
        return "isl found no schedule within its time: the order of the source is kept"

    def to_json(self) -> dict[str, Any]:
        """Return what was taken, the ranking, and which models were asked."""
        return {
            "strategy": str(self.strategy),
            "least": LEAST_GAIN,
            "models": {"trees": trees.pretrained_digest(), "network": networks.weights_digest()},
            "ranking": [
                {
                    "strategy": str(schedule.strategy),
                    "schedule": str(schedule.schedule),
                    "predicted_gain": None
                    if schedule.predicted_gain is None
                    else round(schedule.predicted_gain, 4),
                }
                for schedule in self.ranking
            ],
        }


def choose_schedule(
    scop: Scop, sizes: Sizes, mapping: Mapping, machine: Machine | None = None
) -> AutomaticSchedule:
    """Return the few candidates of a program under a mapping, ranked; it is remembered.

    Loops are planned for ``machine``, for this one if none is given.

    Where isl has no usual schedule, the first that there is stands in for it. Without all sizes
    nothing is promised.
    """
    return _choose_schedule(scop, tuple(sorted(sizes.items())), mapping, machine or this_machine())


@lru_cache(maxsize=64)
def _choose_schedule(
    scop: Scop, sizes: tuple[tuple[str, int], ...], mapping: Mapping, machine: Machine
) -> AutomaticSchedule:
    schedules = default_candidates(scop)
    promises = _gains_of_schedules(
        scop, list(schedules.values()), PlanningTarget(dict(sizes), mapping, machine)
    )
    ranking = tuple(
        RankedSchedule(strategy, schedule, promise)
        for (strategy, schedule), promise in zip(schedules.items(), promises, strict=True)
    )
    return AutomaticSchedule(
        ranking, _best_candidate(promises, _candidates(scop, list(schedules.values())))
    )


@dataclass(frozen=True, slots=True)
class PlanningTarget:
    """For what loops are planned."""

    sizes: Sizes
    mapping: Mapping
    machine: Machine


def _candidates(scop: Scop, schedules: list[Schedule]) -> list[int]:
    """Return the places of the schedules among which one is taken, in order."""
    every = list(range(len(schedules)))
    if all(array.storage_class not in PRIVATE_STORAGE_CLASSES for array in scop.arrays):
        return every
    return [
        place for place in every if has_private_arrays(LegalSchedule(scop, schedules[place]))
    ] or every


def _best_candidate(gains: list[float | None], candidates: list[int]) -> int:
    """Return the place of the greatest promise that is enough, the first of equals.

    Without one that is enough it is 0; where that is no candidate, the best that there is.
    """
    first = candidates[0]
    best, taken = LEAST_GAIN if first == 0 else -inf, first
    for place in candidates:
        promise = gains[place]
        if promise is not None and promise > best:
            best, taken = promise, place
    return taken


def _gains_of_schedules(
    scop: Scop, schedules: list[Schedule], setting: PlanningTarget
) -> list[float | None]:
    """Return what is promised of schedules beside the first one."""
    nothing: list[float | None] = [None] * len(schedules)
    has_sizes = {parameter.name for parameter in scop.parameters} <= set(setting.sizes)
    if len(schedules) == 1 or not has_sizes:
        return nothing
    return predicted_gains(
        [features_of(LegalSchedule(scop, schedule), setting) for schedule in schedules]
    )


def predicted_gains(features: list[Floats | None]) -> list[float | None]:
    """Return what is promised of candidates beside the first one, by their features."""
    result: list[float | None] = [None] * len(features)
    model = trees.pretrained_inference()
    if model is None or not networks.weights_digest() or features[0] is None:
        return result
    there = [place for place, floats in enumerate(features) if floats is not None]
    vectors = np.array([features[place] for place in there])
    scores = ensemble_scores(vectors, networks.shipped_weights().candidate_network, model)
    for place, score in zip(there, scores, strict=True):
        result[place] = ensemble_gain(score, scores[0], _CAUTION)
    return result


def features_of(legal: LegalSchedule, setting: PlanningTarget) -> Floats | None:
    """Return the features of a schedule under the mapping; None where they are out of reach."""
    try:
        known = FeatureExtractor(legal, setting.sizes, setting.machine)
        (features,) = known.features([setting.mapping])
    except PolygymError:
        return None
    return None if isinstance(features, PolygymError) else features.vector


def resolved_strategy(
    strategy: ScheduleStrategy, scop: Scop, sizes: Sizes, mapping: Mapping
) -> FixedStrategy:
    """Return the strategy that one stands for."""
    if isinstance(strategy, AutomaticStrategy):
        return choose_schedule(scop, sizes, mapping).strategy
    return strategy


def choose_schedule_within(
    scop: Scop,
    sizes: Sizes,
    mapping: Mapping,
    is_stopped: Callable[[], bool] = never_stopped,
    machine: Machine | None = None,
) -> AutomaticSchedule:
    """Return the result of :func:`choose_schedule`, within a limit of time.

    Beyond it isl's usual schedule is all that there is, and if there is no time for that, the order
    of the source.

    Raises:
        StoppedError: ``is_stopped`` said so meanwhile.
    """
    try:
        return schedules_within(
            partial(choose_schedule, scop, sizes, mapping, machine), scop, is_stopped
        )
    except LimitError:
        strategy: FixedStrategy = ISL
        try:
            schedule = schedule_within(ISL, scop, is_stopped)
        except (InputError, LimitError):
            strategy, schedule = ORIGINAL, original_schedule(scop)
        return AutomaticSchedule((RankedSchedule(strategy, schedule, None),), 0)


def resolved_schedule_within(
    strategy: ScheduleStrategy,
    scop: Scop,
    sizes: Sizes,
    mapping: Mapping,
    is_stopped: Callable[[], bool] = never_stopped,
    machine: Machine | None = None,
) -> Schedule:
    """Return the schedule of any strategy for a program under a mapping, with time limits.

    Loops are planned for ``machine``, for this one if none is given.

    Raises:
        StoppedError: ``is_stopped`` said so meanwhile.
        InputError: isl finds none of the kind.
        LimitError: it would take too long.
    """
    if isinstance(strategy, AutomaticStrategy):
        return choose_schedule_within(scop, sizes, mapping, is_stopped, machine).schedule
    return schedule_within(strategy, scop, is_stopped)
