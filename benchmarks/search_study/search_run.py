"""One search of the study: the same start and the same clock for every contender.

``naive`` starts with the order of the text without any mapping but threads, and goes on with random
mappings; ``default`` starts with what `polygym tune` starts with, every schedule of isl's under the
default mapping.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from polygym.cost.models.cost_model import CostModel
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.strategy import ORIGINAL
from polygym.search.strategies.candidates import (
    Candidate,
    ScheduleSource,
    SearchSpace,
    schedules_of,
)
from polygym.search.strategies.feature_cache import FeatureCache
from polygym.search.strategies.random_search import GeneticSearch
from search_study.candidate_timing import candidate_clock
from search_study.contenders import CONTENDERS
from search_study.journal import SearchRecord, SearchTask
from search_study.programs import load_study_program
from search_study.version import search_version

STARTS = ("naive", "default")
SCHEDULE_SECONDS = 20.0
GENERATION = 32


def task_rng(task: SearchTask) -> np.random.Generator:
    """Return the random choices of a search: the same for all contenders, others for every program.

    If they fell alike for all programs, a mapping that is good for many and comes early by luck
    would count as often as there are programs.
    """
    return np.random.default_rng([task.seed, zlib.crc32(task.program.encode())])


def run_search(
    task: SearchTask,
    prior_model: tuple[CostModel, bool] | None,
    report_progress: Callable[[int], None],
) -> SearchRecord:
    """Search, and return what became of every trial; ``report_progress`` hears how many there are.

    Raises:
        PolygymError: the program cannot be read, its original order cannot be run, or an output
            was wrong.
    """
    began = time.monotonic()
    program = load_study_program(task.program, task.setting.dataset)
    threads, sizes = task.setting.threads, dict(program.parameters)
    ways: dict[ScheduleSource, Schedule] = dict(schedules_of(program.scop, SCHEDULE_SECONDS))
    start = replace(DEFAULT_MAPPING, threads=threads)
    genes = SearchSpace.for_program(program.scop, tuple(ways), sizes, start)
    begin = (
        [Candidate(ORIGINAL, replace(SEQUENTIAL_MAPPING, threads=threads))]
        if ORIGINAL in ways
        else []
    )
    if task.setting.start == "default":
        begin = [Candidate(way, start) for way in ways] + begin
    search = CONTENDERS[task.contender].search(
        genes,
        begin,
        task_rng(task),
        lambda wants: FeatureCache(program.scop, sizes, ways, wants),
        prior_model,
    )
    speedups: list[float] = []
    tried: list[tuple[Schedule, str]] = []
    with candidate_clock(task.program, program, threads) as measured:
        while (left := task.setting.trials - len(speedups)) > 0:
            size = min(left, GENERATION if isinstance(search, GeneticSearch) else search.batch_size)
            part = search.ask(size)[:size]
            if not part:
                break  # nothing that is new
            choices = [(ways[proposal.source], proposal.mapping) for proposal in part]
            evaluations = measured.times(choices)
            for candidate, choice, evaluation in zip(part, choices, evaluations, strict=True):
                search.tell(candidate, evaluation.speedup)
                speedups.append(round(evaluation.speedup, 4))
                tried.append((choice[0], str(choice[1])))
            report_progress(len(speedups))
    schedules = list(dict.fromkeys(schedule for schedule, _ in tried))
    place = {schedule: number for number, schedule in enumerate(schedules)}
    return SearchRecord(
        task,
        tuple(speedups),
        round(time.monotonic() - began, 1),
        tuple(map(str, schedules)),
        tuple((place[schedule], mapping) for schedule, mapping in tried),
        search_version(),
    )
