"""Cases: a kernel, a random legal schedule of it, and several runs of that schedule.

All of a case comes from the seed and its number, so it plays again.
"""

from __future__ import annotations

import collections
import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from polybench import Dataset
from polygym.errors import LimitError
from polygym.mapping.mapping import parse_mapping
from polygym.mdp.policies.registry import play_episode, policy_named
from polygym.mdp.problems.loading import ProgramSource, problem_of
from polygym.mdp.task_options import Phase, TaskOptions
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import Program, load_program, load_scop
from polygym.runtime.evaluation.compiler import CompileFailure, Compiler
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.runtime.worker.timing import MeasureOptions, Repetition, TimeLimit
from polygym.runtime.worker.worker import Session, Worker

SIZES = (Dataset.MINI, Dataset.SMALL, Dataset.MEDIUM)
POLICIES = ("bias_coeff_0", "bias_coeff_0", "uniform", "bias_select_dep")
RUNS = 4  # of each schedule
# So many statements all cases of one kernel together have, which follow each other while its
# programs are open.
CONSECUTIVE_CASES = 48
OPEN_SESSIONS = 12

SINGLE_RUN = Repetition(minimum=1, minimum_seconds=0.0)
LIMIT = TimeLimit(factor=30.0, floor=0.1)

# What is no answer but a defect: of these and crashes and wrong outputs there must be none.
INTERNAL = "internal error"
DEFECTS = {OutcomeStatus.CRASH.value, OutcomeStatus.WRONG_OUTPUT.value, INTERNAL}
# Errors in generating code that are answers.
EXPECTED_ERRORS = {"LimitError", "WrongLoopsError", "InputError", "Timeout", "MemoryError"}


@dataclass(frozen=True)
class CrashRun:
    """One run: what was asked for, and what became of it."""

    case: int
    number: int
    kernel: str
    dataset: str
    mapping: str
    status: str
    detail: str
    schedule: str
    seconds: float

    @property
    def is_bad(self) -> bool:
        """Whether it shows a defect of polygym."""
        return self.status in DEFECTS

    def line(self) -> str:
        """Return it as a line of the journal; schedules are kept of failures alone."""
        result = asdict(self)
        if not self.is_bad:
            del result["schedule"]
        return json.dumps({key: value for key, value in result.items() if value != ""})


def random_mapping(generator: np.random.Generator) -> str:
    """Return the text of a mapping: the default, none, or anything, in one or two threads."""
    threads = f" threads={generator.choice([1, 2])}"
    kind = generator.random()
    if kind < 0.4:
        return "default" + threads
    if kind < 0.55:
        return "sequential parallel=dynamic" + threads

    def sizes() -> str:
        count = generator.integers(0, 4)
        return "x".join(str(n) for n in generator.choice([1, 2, 5, 8, 16, 32, 64], count)) or "off"

    words = [f"parallel={generator.choice(['dynamic', 'static'])}"]
    if generator.random() < 0.7:
        words.append(f"tile={sizes()}")
    if generator.random() < 0.3:
        words.append(f"outer_tile={sizes()}")
    for name in ("wavefront", "diamond", "sink", "separate", "scalar_replacement", "pack"):
        words.append(f"{name}={generator.choice(['on', 'on', 'off'])}")
    if generator.random() < 0.7:
        words.append(f"vector_bits={generator.choice(['off', '128', '256', '512'])}")
    if generator.random() < 0.7:
        words.append(f"vector_copies={generator.choice([1, 2, 3])}")
    if generator.random() < 0.7:
        words.append(f"unroll_jam={generator.choice([1, 2, 3, 5])}")
    if generator.random() < 0.4:
        loops = generator.permutation(4)[: generator.integers(1, 4)] + 1
        words.append(f"order={'x'.join(str(n) for n in loops)}")
    return " ".join(words) + threads


def _cases_together(kernel: str) -> int:
    """Return how many cases of a kernel follow each other."""
    return max(3, CONSECUTIVE_CASES // len(load_scop(kernel).statements))


class CrashWorker:
    """What one process has: programs, a compiler, a worker, and sessions that are open."""

    def __init__(self, seed: int, kernels: list[str], compile_seconds: float) -> None:
        self.seed = seed
        self.turns = [name for name in kernels for _ in range(_cases_together(name))]
        self.compiler = Compiler(compile_seconds)
        self.worker = Worker()
        self.open: collections.OrderedDict[tuple[str, Dataset], tuple[Program, Session]] = (
            collections.OrderedDict()
        )

    def runs(self, case: int) -> Iterator[CrashRun]:
        """Play a case."""
        generator = np.random.default_rng([self.seed, case])
        kernel = self.turns[case % len(self.turns)]
        try:
            schedule = self.schedule(kernel, generator)
        except LimitError as error:
            yield CrashRun(case, 0, kernel, "", "", "no schedule", type(error).__name__, "", 0.0)
            return
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
            yield CrashRun(case, 0, kernel, "", "", INTERNAL, detail, "", 0.0)
            return
        if schedule is None:
            yield CrashRun(case, 0, kernel, "", "", "no schedule", "", "", 0.0)
            return
        for number in range(RUNS):
            dataset = SIZES[generator.choice(len(SIZES), p=[0.25, 0.25, 0.5])]
            mapping = random_mapping(generator)
            start = time.monotonic()
            status, detail = self.run(kernel, dataset, schedule, mapping)
            passed = round(time.monotonic() - start, 3)
            yield CrashRun(
                case,
                number,
                kernel,
                dataset.name.lower(),
                mapping,
                status,
                detail,
                str(schedule),
                passed,
            )

    def schedule(self, kernel: str, generator: np.random.Generator) -> Schedule | None:
        """Return a legal schedule; None where the random choices lead to none."""
        about = problem_of(ProgramSource(kernel, None, Dataset.MINI, ()), TaskOptions())
        kind = generator.random()
        if kind < 0.02:
            return original_schedule(about.program.scop)
        if kind < 0.05:
            return isl_schedule(about.program.scop)
        choose = policy_named(str(generator.choice(POLICIES)))
        episode = play_episode(about.task.start(), choose, generator)
        return None if episode.phase is Phase.INVALID else episode.schedule()

    def run(self, kernel: str, dataset: Dataset, schedule: Schedule, text: str) -> tuple[str, str]:
        """Compile and run a schedule; return the status, and more where it is not ok."""
        mapping = parse_mapping(text)
        program, session = self.session(kernel, dataset)
        compiled = self.compiler.compile_schedule(program, schedule, mapping)
        if isinstance(compiled, CompileFailure):
            detail = f"{compiled.error_type}: {compiled.reason}"
            if compiled.error_type == "Crash":
                return OutcomeStatus.CRASH.value, detail
            expected = compiled.error_type in EXPECTED_ERRORS
            return OutcomeStatus.DOES_NOT_COMPILE.value if expected else INTERNAL, detail
        outcome = session.measure(compiled, MeasureOptions(SINGLE_RUN, LIMIT))
        simplified = "" if compiled.applied_mapping == mapping else "simplified"
        return outcome.status.value, simplified if outcome.status is OutcomeStatus.OK else str(
            outcome
        )

    def session(self, kernel: str, dataset: Dataset) -> tuple[Program, Session]:
        """Return a program, open in the worker; the last few stay open."""
        key = (kernel, dataset)
        if key not in self.open:
            program = load_program(kernel, dataset=dataset)
            problem = self.compiler.compile_problem(program)
            self.open[key] = (program, self.worker.open(problem, SINGLE_RUN))
            if len(self.open) > OPEN_SESSIONS:
                self.open.popitem(last=False)[1][1].close()
        self.open.move_to_end(key)
        return self.open[key]

    def close(self) -> None:
        """End the processes."""
        self.compiler.close()
        self.worker.close()


def work(settings: tuple[int, list[str], float], cases: Any, results: Any, parent: int) -> None:
    """Be a process: play cases until there are none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hand = CrashWorker(*settings)
    try:
        while (case := cases.get()) is not None:
            for run in hand.runs(case):
                results.put(run)
            results.put(case)
            if os.getppid() != parent:
                return
    finally:
        hand.close()
