"""Numbers of searches: how good the best is after n trials, and how many it takes to be good.

The best is what a search takes for it; where that was measured again
(:mod:`search_study.remeasurement`), its speed then counts.

All comparisons are within a program, a seed and a kind of machine, in ratios, of which there is the
geometric mean; its interval comes from drawing programs with replacement, since seeds of one
program are no new programs. *The best known* of a program is the best that any search has found on
that kind of machine. What random search and models have after n trials does not depend on how many
they were given, so one of 256 trials stands beside the first 256 of one of 512. (Genes do not go on
from a generation that the end has cut off, and what has learned from searches of other programs has
learned from those of its own length.)

Example: with random search a program's best is 2x after 64 trials and 3x after 128, with a model 3x
after 64: a ratio of 1.5 after as many trials, and of 1 beside twice as many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from search_study.journal import SearchRecord

STEPS = (8, 16, 32, 64, 128, 256, 512, 1024)
NEAR_BEST = 0.95
_WORST = 1e-3  # the best of a search in which nothing ran
_BOOTSTRAP_SAMPLES = 2000


class RunKey(NamedTuple):
    """A program and a seed, on a kind of machine."""

    program: str
    seed: int
    machine: str

    @property
    def program_on_machine(self) -> tuple[str, str]:
        """What has a best that is known: a program on a kind of machine."""
        return self.program, self.machine


Runs = Mapping[RunKey, Sequence[float]]
"""The best so far after every trial that a search was given."""

BestKnown = Mapping[tuple[str, str], float]
"""The best that is known, by program and kind of machine."""


@dataclass(frozen=True)
class RatioInterval:
    """A geometric mean with the interval in which it lies nine times in ten."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return all three."""
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


def best_so_far(searches: Iterable[SearchRecord]) -> dict[str, dict[RunKey, list[float]]]:
    """Return the best so far of every contender's searches.

    One that ran out of new candidates keeps its best; of two of the same the longer one counts.
    Where what a search held was measured again, that is how good it is.
    """
    result: dict[str, dict[RunKey, list[float]]] = defaultdict(dict)
    for record in searches:
        task = record.task
        key, trials = RunKey(task.program, task.seed, task.setting.machine), task.setting.trials
        best = held_speedups(record) or [0.0]
        best += best[-1:] * (trials - len(best))
        if len(best) > len(result[task.contender].get(key, ())):
            result[task.contender][key] = best
    return dict(result)


def held_speedups(search: SearchRecord) -> list[float]:
    """Return after every trial how good the candidate is that a search takes for its best.

    Example: trials of 1x, 3x, 2x and 4x leave it with 1x, 3x, 3x and 4x; if the second and the
    fourth are 2.5x and 2.4x when they are measured again, with 1x, 2.5x, 2.5x and 2.4x.
    """
    again = dict(search.again or ())
    best = now = 0.0
    result = []
    for place, speedup in enumerate(search.speedups):
        if speedup > best:
            best, now = speedup, again.get(place, speedup)
        result.append(now)
    return result


def mean_ratio(own: Runs, at: int, other: Runs, other_at: int) -> RatioInterval | None:
    """Return how good the best of ``at`` trials is beside the other's of ``other_at``.

    None where no program has both.
    """
    logs: dict[str, list[float]] = defaultdict(list)
    for key in sorted(
        own.keys() & other.keys()
    ):  # in order, as the interval's random draws need it
        if len(own[key]) < at or len(other[key]) < other_at:
            continue
        here, there = max(_WORST, own[key][at - 1]), max(_WORST, other[key][other_at - 1])
        logs[key.program].append(log(here / there))
    return interval([fmean(values) for values in logs.values()]) if logs else None


def interval(logs: Sequence[float]) -> RatioInterval:
    """Return the geometric mean of programs' ratios, and where it lies if others are drawn."""
    values = np.array(logs)
    rng = np.random.default_rng(0)
    drawn = values[rng.integers(len(values), size=(_BOOTSTRAP_SAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(drawn, (0.05, 0.95))
    return RatioInterval(exp(fmean(logs)), exp(float(low)), exp(float(high)))


def best_known(runs: Mapping[str, Runs]) -> dict[tuple[str, str], float]:
    """Return the best that anyone has found, by program and kind of machine."""
    result: dict[tuple[str, str], float] = defaultdict(float)
    for own in runs.values():
        for key, curve in own.items():
            result[key.program_on_machine] = max(result[key.program_on_machine], *curve)
    return dict(result)


def trials_until(own: Runs, known: BestKnown, share: float = NEAR_BEST) -> float | None:
    """Return the median of the trials until a search has that share of the best known.

    It is infinite where half of them never have it.
    """
    needed = [
        next((k for k, v in enumerate(curve, 1) if v >= share * known[key.program_on_machine]), inf)
        for key, curve in own.items()
    ]
    return median(needed) if needed else None


def curve(own: Runs, known: BestKnown, trials: int) -> list[float]:
    """Return after every trial the geometric mean of the shares of the best known.

    Searches that were given fewer trials are left out.
    """
    rows = [
        [
            log(max(_WORST, value) / max(_WORST, known[key.program_on_machine]))
            for value in run[:trials]
        ]
        for key, run in own.items()
        if len(run) >= trials
    ]
    return [exp(value) for value in np.mean(rows, axis=0)] if rows else []


def band(own: Runs, known: BestKnown, trials: int) -> tuple[list[float], list[float]]:
    """Return the least and the greatest curve of a seed."""
    seeds = sorted({key.seed for key, run in own.items() if len(run) >= trials})
    rows = [
        curve({key: run for key, run in own.items() if key.seed == seed}, known, trials)
        for seed in seeds
    ]
    return list(np.min(rows, axis=0)), list(np.max(rows, axis=0))
