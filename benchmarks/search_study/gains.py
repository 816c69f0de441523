"""Gains of a search over its start, and over isl's schedule under the default mapping.

The search is that of `polygym tune` from what that begins with: the automatic schedule, with
storage and cuts as the models of cost have them. In the end four run in turn, in one process: the
original order, isl's schedule of the program as it is written, the start, and the best. All ratios
are of these times, since the best of many candidates also is the luckiest one. The search has
measured its best five beside the start as well, and keeps the start where nothing is faster by more
than noise: then the gain is 1.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import log
from pathlib import Path
from typing import TypeAlias

from polygym.autoschedule.storage_choice import best_variant
from polygym.cli.output.limits import limit_under
from polygym.errors import PolygymError
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.programs import Program
from polygym.runtime.evaluation import Evaluation, rounds_within
from polygym.runtime.evaluation.compilation import compile_problem, compile_schedule
from polygym.runtime.worker.outcome import Ok
from polygym.runtime.worker.timing import GENEROUS_LIMIT, MeasureOptions
from polygym.runtime.worker.worker import Worker
from polygym.search import SearchPlan, tune
from search_study.candidate_timing import check_tuned
from search_study.curves import interval
from search_study.journal import append_line, read_lines
from search_study.programs import load_study_program
from search_study.version import code_version, versions_note

POPULATION = 32

# The race at the end takes about so long, if that is enough for so many rounds.
_SECONDS = 4.0
_MIN_ROUNDS, _MAX_ROUNDS = 3, 25


@dataclass(frozen=True)
class Gain:
    """Seconds of the original order, of isl's schedule, the start and the best, run in turn.

    ``limit`` is below what any of them can take. ``gain`` is how many times faster than the start
    the search itself has measured the best, 1 if that is the start. ``tried`` is how many
    candidates there were: all that a search begins with are tried, however few trials it has.
    ``version`` is that of polygym, empty where it is not known.
    """

    program: str
    dataset: str
    threads: int
    trials: int
    search: str
    seed: int
    original: float
    isl: float
    start: float
    best: float
    limit: float
    gain: float
    tried: int
    seconds: float
    strategy: str
    splitting: str
    storage: str
    schedule: str
    mapping: str
    version: str = ""

    @property
    def ratios(self) -> list[float]:
        """The best over the start, isl's schedule, the original order; the share of the limit."""
        if self.gain == 1:  # both times are of the same code
            best = min(self.start, self.best)
            return [1.0, *(other / best for other in (self.isl, self.original, self.limit))]
        return [other / self.best for other in (self.start, self.isl, self.original, self.limit)]


GainKey: TypeAlias = tuple[str, str, int, int, str, int]
"""Program, sizes, threads, trials, which search, seed."""


def gain_key(gain: Gain) -> GainKey:
    """Return what was asked for."""
    return (gain.program, gain.dataset, gain.threads, gain.trials, gain.search, gain.seed)


def measure_gain(
    name: str,
    dataset: str,
    threads: int,
    trials: int,
    search: str,
    seed: int,
    report_progress: Callable[[int], None],
) -> Gain:
    """Search, and return what that has gained; ``report_progress`` hears how many trials there are.

    Raises:
        PolygymError: the program cannot be read or run, code crashed, or an output was wrong.
    """
    began = time.monotonic()
    population = min(POPULATION, trials)
    plan = SearchPlan(trials, population, search, seed)
    program, usual = load_study_program(name, dataset), replace(DEFAULT_MAPPING, threads=threads)
    variant = best_variant(program, usual, DEFAULT_MEMORY_LIMIT)
    result = tune(
        variant, usual, plan, on_progress=lambda progress: report_progress(progress.tried)
    )
    if result.interrupted:
        raise KeyboardInterrupt
    check_tuned(name, result)
    if not result.initial.is_ok:
        raise PolygymError(
            f"{name}: expected the start to run, found: {result.initial.status.value}"
        )
    took = time_interleaved(program, variant, result.initial, result.best, usual)
    return Gain(
        name, dataset, threads, trials, search, seed,
        original=took["original"],
        isl=took["isl"],
        start=took["start"],
        best=took["best"],
        limit=limit_under(usual, program).seconds,
        gain=round(result.gain, 4),
        tried=result.tried,
        seconds=round(time.monotonic() - began, 1),
        strategy=str(result.source),
        splitting=str(variant.splitting),
        storage=str(variant.storage),
        schedule=str(result.best.schedule),
        mapping=str(result.best.mapping),
        version=code_version(),
    )  # fmt: skip


def time_interleaved(
    program: Program,
    stored: Program,
    start: Evaluation,
    best: Evaluation,
    default_mapping: MachineMapping,
) -> Mapping[str, float]:
    """Return the least seconds of each, run in turn on the same buffers.

    Raises:
        PolygymError: one of them does not run to the original's outputs.
    """
    runners: dict[str, tuple[Program, Schedule, MachineMapping]] = {
        "isl": (program, isl_schedule(program.scop), default_mapping),
        "start": (stored, start.schedule, start.mapping),
        "best": (stored, best.schedule, best.mapping),
    }
    problem = compile_problem(program)
    code = {name: compile_schedule(*runner) for name, runner in runners.items()}
    once = start.baseline_seconds + start.seconds + best.seconds
    rounds = rounds_within(_SECONDS, once, _MIN_ROUNDS, _MAX_ROUNDS)
    with Worker() as worker:
        session = worker.open(problem)
        outcomes = session.measure_together(
            (problem.original, *code.values()), rounds, MeasureOptions(time_limit=GENEROUS_LIMIT)
        )
        session.close()
    took = {}
    for name, outcome in zip(("original", *code), outcomes, strict=True):
        if not isinstance(outcome, Ok):
            raise PolygymError(f"{program.name}, {name}: expected it to run, found: {outcome}")
        took[name] = outcome.best
    return took


def read_gains(path: Path) -> dict[GainKey, Gain]:
    """Return what an earlier run has found."""
    return {gain_key(gain): gain for _, gain in read_lines(path, lambda data: Gain(**data))}


def append_gain(path: Path, gain: Gain) -> None:
    """Add a row to a file."""
    append_line(path, json.dumps(asdict(gain)))


def gains_table(rows: Sequence[Gain]) -> str:
    """Return a table in Markdown, the geometric means of programs in the last row.

    Times are milliseconds. A program counts once, with the means of its seeds.
    """
    times = ("original", "isl", "start", "best")
    heads = ("program", *times, "gain", "over isl", "over original", "of limit", "tried", "s")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    logs: dict[str, list[list[float]]] = {}
    for gain in rows:
        label = gain.program if gain.seed == 0 else f"{gain.program}, seed {gain.seed}"
        spent = [f"{1e3 * getattr(gain, name):.3g}" for name in times]
        ratios = [f"{ratio:.3g}" for ratio in gain.ratios]
        cells = (label, *spent, *ratios, str(gain.tried), f"{gain.seconds:.0f}")
        lines.append(f"| {' | '.join(cells)} |")
        logs.setdefault(gain.program, []).append([log(ratio) for ratio in gain.ratios])
    if logs:
        each = [
            [sum(own) / len(own) for own in zip(*seeds, strict=True)] for seeds in logs.values()
        ]
        means = [str(interval(column)) for column in zip(*each, strict=True)]
        lines.append(f"| geometric mean | | | | | {' | '.join(means)} | | |")
    return "\n".join(lines) + versions_note(row.version for row in rows)
