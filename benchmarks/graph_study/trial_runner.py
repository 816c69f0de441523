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

from graph_study.clocks import study_clock
from graph_study.plan import StudyMethod, Trial
from polygym.graphs.benchmark import Backend, BenchmarkEntry, ModelBenchmark, run_benchmark
from polygym.graphs.ir.text import graph_text
from polygym.graphs.measured_costs import PlanCosts
from polygym.graphs.optimization import (
    AnyCosts,
    OptimizationOptions,
    OptimizationResult,
    optimize_by_backtracking,
    optimize_graph,
    result_summary,
)
from polygym.graphs.saved_model import open_source
from polygym.rewrite.egraph import CycleFilter, SaturationLimits
from polygym.rewrite.extraction import CycleConstraints
from polygym.rewrite.rule import Rule

__all__ = ["StudySettings", "run_trial"]

_TIMES = ("seconds", "exploration_seconds", "extraction_seconds", "seconds_to_best")
_SHORT_TRIAL, _MAX_RUNS = 3.0, 5
"""Trials are run again while they took less than so many seconds, at most so often."""


_RUNS, _RUN_SECONDS = 5, 2.0
"""Runs end to end of a model, and how long one of them calls its graphs."""


@dataclass(frozen=True, slots=True)
class StudySettings:
    """What all trials have in common."""

    costs: AnyCosts
    rules: Sequence[Rule]
    size: str
    threads: int
    seconds: float
    seed: int = 0


def run_trial(
    trial: Trial, setting: StudySettings, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Return what a trial finds; ``runs`` says of how many its times are the least."""
    row = _run_once(trial, setting, progress)
    row["clock"], row["runs"] = study_clock(setting.costs).value, 1
    if trial.method != StudyMethod.SATURATION.value or isinstance(setting.costs, PlanCosts):
        return row
    # What met a limit may be another answer the next time.
    end = time.monotonic() + min(_SHORT_TRIAL, setting.seconds) - row["seconds"]
    while row["runs"] < _MAX_RUNS and time.monotonic() < end:
        again = _run_once(trial, setting, progress)
        for kept, other in ((row, again), (row["cpu"], again["cpu"])):
            for name in _TIMES:
                kept[name] = min(kept[name], other[name])
        row["runs"] += 1
    return row


def _run_once(
    trial: Trial, setting: StudySettings, progress: Callable[[str], None] | None
) -> dict[str, Any]:
    target = f"{trial.model}:{setting.size}"
    match StudyMethod(trial.method):
        case StudyMethod.SATURATION | StudyMethod.RACE | StudyMethod.RUNS:
            result = _run_saturation(trial, target, setting, progress)
        case StudyMethod.BACKTRACKING:
            result = _run_backtracking(trial, target, setting, progress)
        case other:
            assert_never(other)
    row = {"trial": trial.to_json(), **result_summary(result, setting.costs)}
    if trial.method == StudyMethod.RACE.value:
        row["race"] = _run_benchmark(target, result, setting)
    if trial.method == StudyMethod.RUNS.value:
        other = _run_backtracking(trial, target, setting, progress)
        row["backtracking_cost"] = other.cost
        row["speedups"] = _speedups(target, result, other, setting)
    return row


def _run_saturation(
    trial: Trial, target: str, setting: StudySettings, progress: Callable[[str], None] | None
) -> OptimizationResult:
    options = OptimizationOptions(
        SaturationLimits(seconds=setting.seconds, k_multi=trial.k_multi),
        CycleFilter(trial.cycles),
        cycle_constraints=CycleConstraints(trial.order),
        extraction_seconds=setting.seconds,
    )
    graph = open_source(target).graph
    return optimize_graph(graph, setting.costs, options, setting.rules, progress)


def _run_backtracking(
    trial: Trial, target: str, setting: StudySettings, progress: Callable[[str], None] | None
) -> OptimizationResult:
    return optimize_by_backtracking(
        open_source(target).graph,
        setting.costs,
        setting.rules,
        trial.alpha,
        trial.iterations,
        setting.seconds,
        progress,
    )


def _speedups(
    target: str, ours: OptimizationResult, theirs: OptimizationResult, setting: StudySettings
) -> dict[str, Any]:
    """Return the time of the start by that of each graph, run by run; a run is a process.

    A graph that is the start's, or the other method's, is not timed twice.
    """
    before = graph_text(ours.before)
    texts = {"saturation": graph_text(ours.after), "backtracking": graph_text(theirs.after)}
    entries = [BenchmarkEntry("before")]
    for name, text in texts.items():
        if text not in (before, *(entry.graph for entry in entries)):
            entries.append(BenchmarkEntry(name, graph=text))
    names = {entry.graph: entry.name for entry in entries} | {before: "before"}
    result: dict[str, Any] = {"seconds": [], **{name: [] for name in texts}, "problems": []}
    for run in range(_RUNS):
        asked = ModelBenchmark(
            target, tuple(entries), setting.threads, setting.seed + run, rounds=31,
            seconds=min(_RUN_SECONDS, setting.seconds),
        )  # fmt: skip
        done = run_benchmark(asked)
        for entry in entries:
            if not done[entry.name].is_correct:
                problem = done[entry.name].problem or f"{done[entry.name].error:.2g} off"
                result["problems"].append(f"{entry.name}: {problem}")
        result["seconds"].append(done["before"].seconds)
        for name, text in texts.items():
            first, last = done["before"].seconds, done[names[text]].seconds
            result[name].append(first / last if first and last else None)
    return result


def _run_benchmark(
    target: str, result: OptimizationResult, setting: StudySettings
) -> dict[str, Any]:
    others = (Backend.UNFUSED, Backend.TORCH, Backend.TORCH_COMPILE, Backend.ONNXRUNTIME)
    entries = [BenchmarkEntry("before")]
    if result.is_changed:
        entries.append(BenchmarkEntry("after", graph=graph_text(result.after)))
    entries += [BenchmarkEntry(literal.value, literal) for literal in others]
    asked = ModelBenchmark(
        target, tuple(entries), setting.threads, setting.seed, rounds=31, seconds=setting.seconds
    )
    return {
        name: {
            "seconds": benchmark_result.seconds,
            "samples": list(benchmark_result.samples),
            "error": benchmark_result.error,
            "problem": benchmark_result.problem,
        }
        for name, benchmark_result in run_benchmark(asked).items()
    }
