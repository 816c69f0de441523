"""One trial of the study, run; what it found as values of JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from polygym.graphs.backtracked import backtracked
from polygym.graphs.costs import Costs
from polygym.graphs.ir.text import text_of
from polygym.graphs.optimize import Optimized, Options, optimize, summary
from polygym.graphs.race import Entrant, Race, Runner, race
from polygym.graphs.sources import open_source
from polygym.graphs.study.plan import Method, Trial
from polygym.rewrite.egraph import CycleFilter, Limits
from polygym.rewrite.extraction import CycleConstraints
from polygym.rewrite.rule import Rule

__all__ = ["Setting", "run_trial"]


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
    """Return what a trial finds."""
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
