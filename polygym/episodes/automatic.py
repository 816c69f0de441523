"""The automatic schedule: of a few that a program has without a search, the one that is promised.

isl's usual schedule is what there is to begin with. It is departed from where two models of cost
expect another one of a few (:func:`polygym.compiler.poly.alternatives.few`) to be faster under the
mapping, at the program's sizes, on this machine: boosted trees (:mod:`polygym.cost.shipped`) and a
network (:mod:`polygym.episodes.learned_weights`), which have learned from other programs, measured
on other machines. With a and b what they expect, as powers of two beside isl's usual schedule, the
promise is

    √(a·b) where both are above 0, else the smaller one,

and the greatest promise is taken if it is more than :data:`LEAST`; otherwise isl's usual stays. So
one model alone changes nothing, and where both know of no difference nothing changes either.

Of a program whose plan calls arrays private only those schedules are candidates under which some
are (:mod:`polygym.cost.own_memory`), if there are any: the others have it as if it were expanded.

Example, atax at LARGE: trees say 2^0.68, the network 2^0.46 for isl's schedule without fusion; the
promise is 0.56, and it is taken.

On 287 cases of random programs with scalars, as written and in their other homes, in two threads,
models that had not seen them gain 1.34 in geometric mean where the best of the few would gain 1.47,
and lose more than 5 % in 3. If a promise of 0.25 were enough it would be 1.37, and 7; what is
within a standard error (here 3 %) is no reason to be bolder.

Nothing is run, nothing depends on names, and every candidate is legal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import inf
from typing import Any

import numpy as np

from polygym.compiler.codegen.common.machine import Machine, this_machine
from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.codegen.common.sizes import Sizes
from polygym.compiler.ir.scop import PRIVATE, Scop
from polygym.compiler.poly.alternatives import few
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import ISL, Automatic, Settled, Strategy
from polygym.cost import shipped as trees
from polygym.cost.candidate import Candidates
from polygym.cost.nests import Floats
from polygym.cost.own_memory import has_own
from polygym.episodes import learned_weights as networks
from polygym.episodes.opinions import ahead, scores_of
from polygym.errors import LimitError, PolygymError
from polygym.measure.evaluation.apart import never
from polygym.measure.evaluation.patience import schedule_within, schedules_within
from polygym.pickles import pickled_by_name

LEAST = 0.45
"""What has to be promised: 2^0.45 is a third faster."""

_CAUTION = 0.0  # two models that have to agree are careful enough


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate: what is promised of it beside the usual schedule, as a power of two.

    It is None where its loops are out of reach, or where there is no model.
    """

    strategy: Settled
    schedule: Schedule
    promise: float | None


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Choice:
    """The candidates, the usual one first, and which of them is taken."""

    ranking: tuple[Ranked, ...]
    taken: int

    @property
    def strategy(self) -> Settled:
        """The strategy that is taken."""
        return self.ranking[self.taken].strategy

    @property
    def schedule(self) -> Schedule:
        """Its schedule."""
        return self.ranking[self.taken].schedule

    def to_json(self) -> dict[str, Any]:
        """Return what was taken, the ranking, and which models were asked."""
        return {
            "strategy": str(self.strategy),
            "least": LEAST,
            "models": {"trees": trees.digest(), "network": networks.digest()},
            "ranking": [
                {
                    "strategy": str(one.strategy),
                    "schedule": str(one.schedule),
                    "promise": None if one.promise is None else round(one.promise, 4),
                }
                for one in self.ranking
            ],
        }


def choose(scop: Scop, sizes: Sizes, mapping: Mapping, machine: Machine | None = None) -> Choice:
    """Return the few candidates of a program under a mapping, ranked; it is remembered.

    Loops are planned for ``machine``, for this one if none is given.

    Where isl has no usual schedule, the first that there is stands in for it. Without all sizes
    nothing is promised.
    """
    return _choose(scop, tuple(sorted(sizes.items())), mapping, machine or this_machine())


@lru_cache(maxsize=64)
def _choose(
    scop: Scop, sizes: tuple[tuple[str, int], ...], mapping: Mapping, machine: Machine
) -> Choice:
    found = few(scop)
    promises = _promises(scop, list(found.values()), Setting(dict(sizes), mapping, machine))
    ranking = tuple(
        Ranked(strategy, schedule, promise)
        for (strategy, schedule), promise in zip(found.items(), promises, strict=True)
    )
    return Choice(ranking, _taken(promises, _candidates(scop, list(found.values()))))


@dataclass(frozen=True, slots=True)
class Setting:
    """For what loops are planned."""

    sizes: Sizes
    mapping: Mapping
    machine: Machine


def _candidates(scop: Scop, schedules: list[Schedule]) -> list[int]:
    """Return the places of the schedules among which one is taken, in order."""
    every = list(range(len(schedules)))
    if all(array.storage not in PRIVATE for array in scop.arrays):
        return every
    return [place for place in every if has_own(LegalSchedule(scop, schedules[place]))] or every


def _taken(promises: list[float | None], candidates: list[int]) -> int:
    """Return the place of the greatest promise that is enough, the first of equals.

    Without one that is enough it is 0; where that is no candidate, the best that there is.
    """
    first = candidates[0]
    best, taken = LEAST if first == 0 else -inf, first
    for place in candidates:
        promise = promises[place]
        if promise is not None and promise > best:
            best, taken = promise, place
    return taken


def _promises(scop: Scop, schedules: list[Schedule], setting: Setting) -> list[float | None]:
    """Return what is promised of schedules beside the first one."""
    nothing: list[float | None] = [None] * len(schedules)
    has_sizes = {one.name for one in scop.parameters} <= set(setting.sizes)
    if len(schedules) == 1 or not has_sizes:
        return nothing
    return promised([vector_of(LegalSchedule(scop, one), setting) for one in schedules])


def promised(seen: list[Floats | None]) -> list[float | None]:
    """Return what is promised of candidates beside the first one, by their features."""
    found: list[float | None] = [None] * len(seen)
    model = trees.walked()
    if model is None or not networks.digest() or seen[0] is None:
        return found
    there = [place for place, one in enumerate(seen) if one is not None]
    vectors = np.array([seen[place] for place in there])
    scores = scores_of(vectors, networks.shipped().candidates, model)
    for place, score in zip(there, scores, strict=True):
        found[place] = ahead(score, scores[0], _CAUTION)
    return found


def vector_of(legal: LegalSchedule, setting: Setting) -> Floats | None:
    """Return the features of a schedule under the mapping; None where they are out of reach."""
    try:
        known = Candidates(legal, setting.sizes, setting.machine)
        (found,) = known.features([setting.mapping])
    except PolygymError:
        return None
    return None if isinstance(found, PolygymError) else found.vector


def settled(strategy: Strategy, scop: Scop, sizes: Sizes, mapping: Mapping) -> Settled:
    """Return the strategy that one stands for."""
    if isinstance(strategy, Automatic):
        return choose(scop, sizes, mapping).strategy
    return strategy


def choose_within(
    scop: Scop,
    sizes: Sizes,
    mapping: Mapping,
    is_stopped: Callable[[], bool] = never,
    machine: Machine | None = None,
) -> Choice:
    """Return the same as :func:`choose`, in a process that is ended where isl takes too long.

    Then isl's usual schedule is all that there is, if there is time for that.

    Raises:
        StoppedError: ``is_stopped`` said so meanwhile.
        LimitError: isl would take too long.
    """
    try:
        return schedules_within(partial(choose, scop, sizes, mapping, machine), scop, is_stopped)
    except LimitError:
        usual = schedule_within(ISL, scop, is_stopped)
        return Choice((Ranked(ISL, usual, None),), 0)


def strategy_within(
    strategy: Strategy,
    scop: Scop,
    sizes: Sizes,
    mapping: Mapping,
    is_stopped: Callable[[], bool] = never,
    machine: Machine | None = None,
) -> Schedule:
    """Return the schedule of any strategy for a program under a mapping, with time limits.

    Loops are planned for ``machine``, for this one if none is given.

    Raises:
        StoppedError: ``is_stopped`` said so meanwhile.
        InputError: isl finds none of the kind.
        LimitError: it would take too long.
    """
    if isinstance(strategy, Automatic):
        return choose_within(scop, sizes, mapping, is_stopped, machine).schedule
    return schedule_within(strategy, scop, is_stopped)
