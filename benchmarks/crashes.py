"""Does a legal schedule ever crash, or compute something else? Random ones by the ten thousands.

Case k is a kernel, a random legal schedule of it, and several *runs* of that schedule: sizes (mini,
small, medium), a mapping (the default, none, anything) and one or two threads. All of it comes from
the seed and k, so a case plays again. Every process has a compiler and a worker of its own::

    python benchmarks/crashes.py --count 100000 --out crashes    # stops at the first that fails
    python benchmarks/crashes.py --count 100000 --out crashes --resume
    python benchmarks/crashes.py --seed 0 --case 1234            # one case again

``--out`` gets ``journal.jsonl``, a line for every run, and for each that fails a file with its
schedule and the command that runs it again. A crash, a wrong output or an error of polygym's own
ends everything with the exit code 1 (with ``--keep-going``, at the end). What is too slow, or out
of isl's reach, is counted and no failure. Kernels of few statements, whose code is made in less
time, come more often.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import os
import queue
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import polybench
from polybench import Dataset
from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.poly.baselines import isl_schedule, original
from polygym.compiler.poly.schedule import Schedule
from polygym.episodes.kernels import Source, subject
from polygym.episodes.policies import play, policy
from polygym.episodes.task_options import Phase, TaskOptions
from polygym.errors import LimitError, PolygymError
from polygym.measure.evaluation.compiler import Compiler, NotCompiled
from polygym.measure.worker.options import MeasureOptions
from polygym.measure.worker.outcome import Status
from polygym.measure.worker.session import Session
from polygym.measure.worker.timing import Repetition, TimeLimit
from polygym.measure.worker.worker import Worker
from polygym.programs import Program, load_program, load_scop

SIZES = (Dataset.MINI, Dataset.SMALL, Dataset.MEDIUM)
POLICIES = ("bias_coeff_0", "bias_coeff_0", "uniform", "bias_select_dep")
RUNS = 4  # of each schedule
# So many statements all cases of one kernel together have, which follow each other while its
# programs are open.
TOGETHER = 48
OPEN = 12

ONCE = Repetition(minimum=1, minimum_seconds=0.0)
LIMIT = TimeLimit(factor=30.0, floor=0.1)

# What is no answer but a defect: of these and crashes and wrong outputs there must be none.
INTERNAL = "internal error"
BAD = {Status.CRASH.value, Status.WRONG_OUTPUT.value, INTERNAL}
# Errors in generating code that are answers.
EXPECTED = {"LimitError", "WrongLoopsError", "InputError", "Timeout", "MemoryError"}


@dataclass(frozen=True)
class Run:
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
        return self.status in BAD

    def line(self) -> str:
        """Return it as a line of the journal; schedules are kept of failures alone."""
        found = asdict(self)
        if not self.is_bad:
            del found["schedule"]
        return json.dumps({key: value for key, value in found.items() if value != ""})


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
    for name in ("wavefront", "diamond", "sink", "separate", "registers", "pack"):
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
    return max(3, TOGETHER // len(load_scop(kernel).statements))


class Hand:
    """What one process has: programs, a compiler, a worker, and sessions that are open."""

    def __init__(self, seed: int, kernels: list[str], compile_seconds: float) -> None:
        self.seed = seed
        self.turns = [name for name in kernels for _ in range(_cases_together(name))]
        self.compiler = Compiler(compile_seconds)
        self.worker = Worker()
        self.open: collections.OrderedDict[tuple[str, Dataset], tuple[Program, Session]] = (
            collections.OrderedDict()
        )

    def runs(self, case: int) -> Iterator[Run]:
        """Play a case."""
        generator = np.random.default_rng([self.seed, case])
        kernel = self.turns[case % len(self.turns)]
        try:
            schedule = self.schedule(kernel, generator)
        except LimitError as error:
            yield Run(case, 0, kernel, "", "", "no schedule", type(error).__name__, "", 0.0)
            return
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
            yield Run(case, 0, kernel, "", "", INTERNAL, detail, "", 0.0)
            return
        if schedule is None:
            yield Run(case, 0, kernel, "", "", "no schedule", "", "", 0.0)
            return
        for number in range(RUNS):
            dataset = SIZES[generator.choice(len(SIZES), p=[0.25, 0.25, 0.5])]
            mapping = random_mapping(generator)
            start = time.monotonic()
            status, detail = self.run(kernel, dataset, schedule, mapping)
            passed = round(time.monotonic() - start, 3)
            yield Run(
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
        """Return a legal schedule; None where the dice lead to none."""
        about = subject(Source(kernel, None, Dataset.MINI, ()), TaskOptions())
        kind = generator.random()
        if kind < 0.02:
            return original(about.program.scop)
        if kind < 0.05:
            return isl_schedule(about.program.scop)
        choose = policy(str(generator.choice(POLICIES)))
        episode = play(about.task.start(), choose, generator)
        return None if episode.phase is Phase.INVALID else episode.schedule()

    def run(self, kernel: str, dataset: Dataset, schedule: Schedule, text: str) -> tuple[str, str]:
        """Compile and run a schedule; return the status, and more where it is not ok."""
        mapping = parse_mapping(text)
        program, session = self.session(kernel, dataset)
        compiled = self.compiler.compile_schedule(program, schedule, mapping)
        if isinstance(compiled, NotCompiled):
            detail = f"{compiled.error_type}: {compiled.reason}"
            if compiled.error_type == "Crash":
                return Status.CRASH.value, detail
            expected = compiled.error_type in EXPECTED
            return Status.DOES_NOT_COMPILE.value if expected else INTERNAL, detail
        outcome = session.measure(compiled, MeasureOptions(ONCE, LIMIT))
        simplified = "" if compiled.done == mapping else "simplified"
        return outcome.status.value, simplified if outcome.status is Status.OK else str(outcome)

    def session(self, kernel: str, dataset: Dataset) -> tuple[Program, Session]:
        """Return a program, open in the worker; the last few stay open."""
        key = (kernel, dataset)
        if key not in self.open:
            program = load_program(kernel, dataset=dataset)
            problem = self.compiler.compile_problem(program)
            self.open[key] = (program, self.worker.open(problem, ONCE))
            if len(self.open) > OPEN:
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
    hand = Hand(*settings)
    try:
        while (case := cases.get()) is not None:
            for run in hand.runs(case):
                results.put(run)
            results.put(case)
            if os.getppid() != parent:
                return
    finally:
        hand.close()


class Journal:
    """The lines of all runs; a case is done when its line says so."""

    def __init__(self, folder: Path | None, setting: dict[str, Any], *, resume: bool) -> None:
        self.folder = folder
        self.done: set[int] = set()
        self.counts: collections.Counter[str] = collections.Counter()
        self.bad: list[Run] = []
        self.file = None
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "journal.jsonl"
        if path.exists():
            if not resume:
                sys.exit(f"{path} exists: --resume goes on with it")
            self._read(path, setting)
            self.file = path.open("a")
        else:
            self.file = path.open("w")
            self._write(json.dumps({"setting": setting}))

    def _read(self, path: Path, setting: dict[str, Any]) -> None:
        """Count what is there, but for what belongs to a case that was not finished."""
        whole, end = [], 0
        with path.open("rb") as file:
            for line in file:
                try:
                    whole.append(json.loads(line))
                except ValueError:
                    break  # a line cut off
                end += len(line)
        os.truncate(path, end)
        if not whole or whole[0].get("setting") != setting:
            sys.exit(f"{path}: expected the setting {setting}, found {whole[:1]}")
        self.done = {entry["done"] for entry in whole if "done" in entry}
        for entry in whole:
            if entry.get("case") in self.done:
                self.counts[entry["status"]] += 1

    def add(self, run: Run) -> None:
        """Count a run and write it down."""
        self.counts[run.status] += 1
        self._write(run.line())
        if run.is_bad:
            self.bad.append(run)
            self._report(run)

    def finish(self, case: int) -> None:
        """Note that all runs of a case are there."""
        self.done.add(case)
        self._write(json.dumps({"done": case}))

    def _write(self, line: str) -> None:
        if self.file is not None:
            self.file.write(line + "\n")
            self.file.flush()

    def _report(self, run: Run) -> None:
        name = f"{run.kernel}-{run.case}-{run.number}"
        print(
            f"\n{run.status.upper()}: case {run.case}, {run.kernel} {run.dataset} under "
            f"{run.mapping}: {run.detail}\n  {run.schedule}",
            flush=True,
        )
        if self.folder is not None and run.schedule:
            (self.folder / f"{name}.isl").write_text(f"{run.schedule}\n")
            (self.folder / f"{name}.sh").write_text(
                f"polygym run {run.kernel} --dataset {run.dataset} --mapping '{run.mapping}' "
                f'--schedule "$(cat {name}.isl)"\n'
            )


def search(options: argparse.Namespace, kernels: list[str], journal: Journal) -> None:
    """Give cases to processes until enough runs are counted, something is wrong, or Ctrl-C."""
    context = multiprocessing.get_context("spawn")
    cases, results = context.Queue(), context.Queue()
    settings = (options.seed, kernels, options.compile_seconds)
    processes = [
        context.Process(target=work, args=(settings, cases, results, os.getpid()), daemon=False)
        for _ in range(options.processes)
    ]
    for process in processes:
        process.start()
    upcoming = (case for case in iter(range(10**9)) if case not in journal.done)
    for _ in range(2 * options.processes):
        cases.put(next(upcoming))
    start = report = time.monotonic()
    before = sum(journal.counts.values())
    try:
        while sum(journal.counts.values()) < options.count:
            try:
                found = results.get(timeout=5.0)
            except queue.Empty:
                if not all(process.is_alive() for process in processes):
                    sys.exit("a process of this benchmark has ended by itself")
                continue
            if isinstance(found, Run):
                journal.add(found)
                if found.is_bad and not options.keep_going:
                    break
            else:
                journal.finish(found)
                cases.put(next(upcoming))
            if time.monotonic() - report > options.report:
                report = time.monotonic()
                total = sum(journal.counts.values())
                rate = (total - before) / (report - start)
                print(f"{total:7} runs  {rate:5.2f}/s  {dict(journal.counts)}", flush=True)
            if options.minutes and time.monotonic() - start > 60 * options.minutes:
                break
    except KeyboardInterrupt:
        print("interrupted; --resume goes on")
    finally:
        for process in processes:
            process.terminate()  # what it has started sees that it has gone
        for process in processes:
            process.join()
    total, passed = sum(journal.counts.values()), time.monotonic() - start
    print(f"{total} runs, {(total - before) / passed:.2f}/s: {dict(journal.counts)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1000, help="runs, of all calls together")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after so long")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernels", default="", help="names with commas between; all")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--compile-seconds", type=float, default=15.0)
    parser.add_argument("--out", type=Path, help="a folder for the journal and what failed")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--report", type=float, default=30.0, help="seconds between two lines")
    parser.add_argument("--case", type=int, help="play one case and print what becomes of it")
    options = parser.parse_args()
    known = [kernel.name for kernel in polybench.KERNELS]
    kernels = [name for name in options.kernels.split(",") if name] or known
    if unknown := set(kernels) - set(known):
        sys.exit(f"unknown kernels: {', '.join(sorted(unknown))}")
    if options.case is not None:
        hand = Hand(options.seed, kernels, options.compile_seconds)
        try:
            found = list(hand.runs(options.case))
        finally:
            hand.close()
        for run in found:
            print(json.dumps(asdict(run), indent=1))
        sys.exit(any(run.is_bad for run in found))
    setting = {"seed": options.seed, "kernels": kernels, "runs": RUNS}
    journal = Journal(options.out, setting, resume=options.resume)
    search(options, kernels, journal)
    sys.exit(bool(set(journal.counts) & BAD))


if __name__ == "__main__":
    try:
        main()
    except PolygymError as error:
        sys.exit(f"error: {error}")
