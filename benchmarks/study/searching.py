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

from polygym.compiler.codegen.common.mapping import DEFAULT, SEQUENTIAL
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import ORIGINAL
from polygym.cost.model import Model
from polygym.search.tune.candidates import Candidate, Genes, Way, schedules_of
from polygym.search.tune.looked_at import LookedAt
from study.clock import clock
from study.contenders import CONTENDERS
from study.journal import Search, Task
from study.programs import load
from study.version import version

STARTS = ("naive", "default")
SCHEDULE_SECONDS = 20.0
GENERATION = 32


def dice_of(task: Task) -> np.random.Generator:
    """Return the dice of a search: the same for all contenders, others for every program.

    If they fell alike for all programs, a mapping that is good for many and comes early by luck
    would count as often as there are programs.
    """
    return np.random.default_rng([task.seed, zlib.crc32(task.program.encode())])


def searched(task: Task, known: tuple[Model, bool] | None, tell: Callable[[int], None]) -> Search:
    """Search, and return what became of every trial; ``tell`` hears how many there are.

    Raises:
        PolygymError: the program cannot be read, its original order cannot be run, or an output
            was wrong.
    """
    began = time.monotonic()
    program = load(task.program, task.setting.dataset)
    threads, sizes = task.setting.threads, dict(program.parameters)
    ways: dict[Way, Schedule] = dict(schedules_of(program.scop, SCHEDULE_SECONDS))
    start = replace(DEFAULT, threads=threads)
    genes = Genes.of(program.scop, tuple(ways), sizes, start)
    begin = [Candidate(ORIGINAL, replace(SEQUENTIAL, threads=threads))] if ORIGINAL in ways else []
    if task.setting.start == "default":
        begin = [Candidate(way, start) for way in ways] + begin
    search = CONTENDERS[task.contender].search(
        genes, begin, dice_of(task), lambda wants: LookedAt(program.scop, sizes, ways, wants), known
    )
    speedups: list[float] = []
    tried: list[tuple[Schedule, str]] = []
    with clock(task.program, program, threads) as measured:
        while (left := task.setting.trials - len(speedups)) > 0:
            size = min(left, GENERATION if search.is_by_generation else search.at_a_time)
            part = search.generation(size)[:size]
            if not part:
                break  # nothing that is new
            choices = [(ways[one.strategy], one.mapping) for one in part]
            evaluations = measured.times(choices)
            for candidate, choice, evaluation in zip(part, choices, evaluations, strict=True):
                search.learn(candidate, evaluation.speedup)
                speedups.append(round(evaluation.speedup, 4))
                tried.append((choice[0], str(choice[1])))
            tell(len(speedups))
    schedules = list(dict.fromkeys(schedule for schedule, _ in tried))
    place = {schedule: number for number, schedule in enumerate(schedules)}
    return Search(
        task,
        tuple(speedups),
        round(time.monotonic() - began, 1),
        tuple(map(str, schedules)),
        tuple((place[schedule], mapping) for schedule, mapping in tried),
        version(),
    )
