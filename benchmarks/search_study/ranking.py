"""Of many random schedules the one ranked first, nothing measured, beside the best of them.

Policies play legal schedules of a kernel, the model of random programs ranks them under the default
mapping, and the first is measured beside others that are chosen at random among them, isl's
schedule and that of the policy ``earliest``. The *share* is the first one's speed over the best of
the random ones that were measured; with all of them measured it is what it says, with fewer it is a
little too good, since the best may not be among them. What has no time (there is no code, or it was
cut off when it had taken five times as long as the best) counts as a thousandth of the original
order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import log
from pathlib import Path
from typing import TypeAlias

import numpy as np

from polygym.cost.features.candidates.candidate_vector import candidate_features
from polygym.cost.models.cost_model import CostModel
from polygym.errors import PolygymError
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.episode import Task
from polygym.mdp.policies.registry import DETERMINISTIC, POLICIES
from polygym.mdp.task_options import TaskOptions
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.strategy import ISL
from polygym.programs import Program
from polygym.search.strategies.candidates import schedules_of
from polygym.search.strategies.samplers import make_sampler, schedule_or_reason
from search_study.candidate_timing import candidate_clock
from search_study.curves import RatioInterval, interval
from search_study.journal import append_line, read_lines
from search_study.programs import load_study_program
from search_study.search_run import SCHEDULE_SECONDS
from search_study.version import code_version, versions_note

KERNELS = (
    "2mm", "3mm", "atax", "cholesky", "correlation", "doitgen", "fdtd-2d", "gemm", "gesummv",
    "heat-3d", "jacobi-1d", "mvt", "seidel-2d", "symm", "syrk", "trisolv",
)  # fmt: skip
"""Kernels that are no test kernels, and of which policies find enough schedules."""

_FAILED_SPEEDUP = 1e-3  # what has no time
_BATCH = 32
_RANDOM_POLICIES = [name for name in POLICIES if name not in DETERMINISTIC]


@dataclass(frozen=True)
class RankingResult:
    """Speedups over the original order; 0 where there is none.

    ``schedules`` is how many different ones there were, ``rank_schedules`` of how many there are
    features. ``version`` is that of polygym, empty where it is not known.
    """

    program: str
    dataset: str
    threads: int
    count: int
    seed: int
    measured: int
    schedules: int
    ranked: int
    first: float
    others: tuple[float, ...]
    isl: float
    earliest: float
    version: str = ""

    @property
    def best(self) -> float:
        """The best of the random ones that were measured."""
        return max((self.first, *self.others))


RankingKey: TypeAlias = tuple[str, str, int, int, int, int]
"""Program, sizes, threads, how many are played, the seed, how many are measured."""


def ranking_key(ranking: RankingResult) -> RankingKey:
    """Return what was asked for."""
    return (
        ranking.program,
        ranking.dataset,
        ranking.threads,
        ranking.count,
        ranking.seed,
        ranking.measured,
    )


def rank_schedules(
    name: str,
    dataset: str,
    threads: int,
    count: int,
    seed: int,
    measured: int,
    model: CostModel,
    report_progress: Callable[[str], None],
) -> RankingResult:
    """Rank random schedules of a program, and measure some of them.

    Raises:
        PolygymError: its original order cannot be run, there are no features of any schedule, or
            an output was wrong.
    """
    program = load_study_program(name, dataset)
    mapping = replace(DEFAULT_MAPPING, threads=threads)
    played = _policy_schedules(program, count, seed)
    sizes = scop_sizes(program.scop, dict(program.parameters))
    scored: dict[Schedule, float] = {}
    for number, schedule in enumerate(played):
        try:
            seen = candidate_features(LegalSchedule(program.scop, schedule), mapping, sizes)
        except PolygymError:
            continue
        scored[schedule] = float(model.scores(seen.vector[None]).mean())
        report_progress(f"{number + 1} of {len(played)} schedules ranked")
    if not scored:
        raise PolygymError(f"{name}: expected schedules that have features, found none")
    first = max(scored, key=lambda candidate: scored[candidate])
    rest = [candidate for candidate in played if candidate != first]
    rng = np.random.default_rng([seed, 1])
    others = [rest[int(place)] for place in rng.permutation(len(rest))[:measured]]
    by_isl = list(schedules_of(program.scop, SCHEDULE_SECONDS, (ISL,)).values())
    earliest = _schedules_of_policy("earliest", program, 1, seed)
    known = _speedups(program, threads, [[first, *by_isl, *earliest], others], report_progress)
    return RankingResult(
        name, dataset, threads, count, seed, measured, len(played), len(scored),
        first=known[first],
        others=tuple(known[candidate] for candidate in others),
        isl=known[by_isl[0]] if by_isl else 0.0,
        earliest=known[earliest[0]] if earliest else 0.0,
        version=code_version(),
    )  # fmt: skip


def _policy_schedules(program: Program, count: int, seed: int) -> list[Schedule]:
    """Return different legal schedules, those that random policies find in turn."""
    each = -(-count // len(_RANDOM_POLICIES))
    schedules = [
        schedule
        for name in _RANDOM_POLICIES
        for schedule in _schedules_of_policy(name, program, each, seed)
    ]
    return list(dict.fromkeys(schedules))


def _schedules_of_policy(name: str, program: Program, count: int, seed: int) -> list[Schedule]:
    task = Task(program.scop, TaskOptions())
    play = make_sampler(name, task, dict(program.parameters), DEFAULT_MAPPING)
    schedules = [schedule_or_reason(play(seed, index)) for index in range(count)]
    return [schedule for schedule in schedules if isinstance(schedule, Schedule)]


def _speedups(
    program: Program,
    threads: int,
    schedules: Sequence[Sequence[Schedule]],
    report_progress: Callable[[str], None],
) -> dict[Schedule, float]:
    """Return how fast schedules are beside the original order; 0 for what fails.

    Those of the first part are waited for, the others cut off when they are far from the best.
    """
    mapping = replace(DEFAULT_MAPPING, threads=threads)
    first, others = (list(dict.fromkeys(part)) for part in schedules)
    rest = [candidate for candidate in others if candidate not in first]
    result: dict[Schedule, float] = {}
    parts = [first, *(rest[begin : begin + _BATCH] for begin in range(0, len(rest), _BATCH))]
    with candidate_clock(program.scop.name, program, threads) as measured:
        for number, part in enumerate(parts):
            evaluations = measured.times(
                [(candidate, mapping) for candidate in part], no_cutoff=number == 0
            )
            for schedule, evaluation in zip(part, evaluations, strict=True):
                result[schedule] = round(evaluation.speedup, 4)
            report_progress(f"{len(result)} of {len(first) + len(rest)} measured")
    return result


def read_rankings(path: Path) -> dict[RankingKey, RankingResult]:
    """Return what an earlier run has found."""
    lines = read_lines(
        path, lambda data: RankingResult(**{**data, "others": tuple(data["others"])})
    )
    return {ranking_key(result): result for _, result in lines}


def append_ranking(path: Path, ranking: RankingResult) -> None:
    """Add a line to a file."""
    append_line(path, json.dumps(asdict(ranking)))


def ranking_table(rows: Sequence[RankingResult]) -> str:
    """Return a table in Markdown: shares by program, and their geometric means with intervals."""
    heads = "schedules", "measured", "best", "ranked first", "isl", "earliest", "one at random"
    lines = [f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    shares: dict[str, list[list[float]]] = {}
    for result in rows:
        own = [result.first, result.isl, result.earliest]
        logs = [
            log(max(_FAILED_SPEEDUP, speedup) / max(_FAILED_SPEEDUP, result.best))
            for speedup in own
        ]
        of_random = [
            log(max(_FAILED_SPEEDUP, speedup) / max(_FAILED_SPEEDUP, result.best))
            for speedup in result.others
        ]
        logs.append(float(np.mean(of_random)) if of_random else 0.0)
        shares.setdefault(result.program, []).append(logs)
        cells = " | ".join(f"{float(np.exp(value)):.2f}" for value in logs)
        lines.append(
            f"| {result.program}, seed {result.seed} | {result.schedules} | "
            f"{1 + len(result.others)} | {result.best:.2f}x | {cells} |"
        )
    if shares:
        means = np.array([np.mean(own, axis=0) for own in shares.values()])
        whole: list[RatioInterval] = [interval(list(map(float, column))) for column in means.T]
        lines.append(f"| geometric mean | | | | {' | '.join(map(str, whole))} |")
    return "\n".join(lines) + versions_note(ranking_result.version for ranking_result in rows)
