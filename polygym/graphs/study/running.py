"""One trial of the study, run; what it found as values of JSON.

Saturation under costs that are not measured says the same every time, so that a short one is run
several times: what a row says of its times is the least of them. Rules are read and patterns are
compiled but once in a process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from polygym.graphs.backtracked import backtracked
from polygym.graphs.costs import Costs, Measured
from polygym.graphs.ir.text import text_of
from polygym.graphs.optimize import Optimized, Options, optimize, summary
from polygym.graphs.race import Entrant, Race, Runner, race
from polygym.graphs.sources import open_source
from polygym.graphs.study.plan import Method, Trial
from polygym.graphs.study.times import clock_of
from polygym.rewrite.egraph import CycleFilter, Limits
from polygym.rewrite.extraction import CycleConstraints
from polygym.rewrite.rule import Rule

__all__ = ["Setting", "run_trial"]

_TIMES = ("seconds", "exploration_seconds", "extraction_seconds", "seconds_to_best")
_SHORT, _MOST_RUNS = 3.0, 5
"""Trials are run again while they took less than so many seconds, at most so often."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all trials have in common."""

    costs: Costs
    rules: Sequence[Rule]
    size: str
    threads: int
    seconds: float
    seed: int = 0


def run_trial(
    trial: Trial, setting: Setting, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Return what a trial finds; ``runs`` says of how many its times are the least."""
    row = _ran(trial, setting, progress)
    row["clock"], row["runs"] = clock_of(setting.costs).value, 1
    if trial.method != Method.SATURATION.value or isinstance(setting.costs, Measured):
        return row
    # What met a limit may be another answer the next time.
    end = time.monotonic() + min(_SHORT, setting.seconds) - row["seconds"]
    while row["runs"] < _MOST_RUNS and time.monotonic() < end:
        again = _ran(trial, setting, progress)
        for kept, other in ((row, again), (row["cpu"], again["cpu"])):
            for name in _TIMES:
                kept[name] = min(kept[name], other[name])
        row["runs"] += 1
    return row


def _ran(trial: Trial, setting: Setting, progress: Callable[[str], None] | None) -> dict[str, Any]:
    target = f"{trial.model}:{setting.size}"
    match Method(trial.method):
        case Method.SATURATION | Method.RACE:
            found = _saturated(trial, target, setting, progress)
        case Method.BACKTRACKING:
            graph = open_source(target).graph
            found = backtracked(
                graph,
                setting.costs,
                setting.rules,
                trial.alpha,
                trial.iterations,
                setting.seconds,
                progress,
            )
        case other:
            assert_never(other)
    row = {"trial": trial.to_json(), **summary(found, setting.costs)}
    if trial.method == Method.RACE.value:
        row["race"] = _raced(target, found, setting)
    return row


def _saturated(
    trial: Trial, target: str, setting: Setting, progress: Callable[[str], None] | None
) -> Optimized:
    options = Options(
        Limits(seconds=setting.seconds, k_multi=trial.k_multi),
        CycleFilter(trial.cycles),
        order=CycleConstraints(trial.order),
        extraction_seconds=setting.seconds,
    )
    graph = open_source(target).graph
    return optimize(graph, setting.costs, options, setting.rules, progress)


def _raced(target: str, found: Optimized, setting: Setting) -> dict[str, Any]:
    others = (Runner.UNFUSED, Runner.TORCH, Runner.TORCH_COMPILE, Runner.ONNXRUNTIME)
    entrants = [Entrant("before")]
    if found.is_changed:
        entrants.append(Entrant("after", graph=text_of(found.after)))
    entrants += [Entrant(one.value, one) for one in others]
    asked = Race(
        target, tuple(entrants), setting.threads, setting.seed, rounds=31, seconds=setting.seconds
    )
    return {
        name: {
            "seconds": one.seconds,
            "samples": list(one.samples),
            "error": one.error,
            "trouble": one.trouble,
        }
        for name, one in race(asked).items()
    }
