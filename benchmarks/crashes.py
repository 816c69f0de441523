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
import json
import multiprocessing
import os
import queue
import sys
import time
from dataclasses import asdict
from pathlib import Path

from crash_study.cases import DEFECTS, RUNS, CrashRun, CrashWorker, work
from crash_study.journal import CrashJournal

import polybench
from polygym.durations import parse_duration
from polygym.errors import PolygymError


def run_cases(options: argparse.Namespace, kernels: list[str], journal: CrashJournal) -> None:
    """Give cases to processes until enough runs are counted, something is wrong, or Ctrl-C."""
    context = multiprocessing.get_context("spawn")
    cases, results = context.Queue(), context.Queue()
    settings = (options.seed, kernels, options.compile_time_limit)
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
                crash_run = results.get(timeout=5.0)
            except queue.Empty:
                if not all(process.is_alive() for process in processes):
                    sys.exit("a process of this benchmark has ended by itself")
                continue
            if isinstance(crash_run, CrashRun):
                journal.add(crash_run)
                if crash_run.is_bad and not options.keep_going:
                    break
            else:
                journal.finish(crash_run)
                cases.put(next(upcoming))
            if time.monotonic() - report > options.report:
                report = time.monotonic()
                total = sum(journal.counts.values())
                rate = (total - before) / (report - start)
                print(f"{total:7} runs  {rate:5.2f}/s  {dict(journal.counts)}", flush=True)
            if options.time_limit and time.monotonic() - start > options.time_limit:
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
    parser.add_argument("--time-limit", type=parse_duration, metavar="DURATION")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernels", default="", help="names with commas between; all")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--compile-time-limit", type=parse_duration, default="15s")
    parser.add_argument("--out", type=Path, help="a folder for the journal and what failed")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument(
        "--report", type=parse_duration, default="30s", help="time between two lines"
    )
    parser.add_argument("--case", type=int, help="play one case and print what becomes of it")
    options = parser.parse_args()
    known = [kernel.name for kernel in polybench.KERNELS]
    kernels = [name for name in options.kernels.split(",") if name] or known
    if unknown := set(kernels) - set(known):
        sys.exit(f"unknown kernels: {', '.join(sorted(unknown))}")
    if options.case is not None:
        hand = CrashWorker(options.seed, kernels, options.compile_time_limit)
        try:
            crash_runs = list(hand.runs(options.case))
        finally:
            hand.close()
        for run in crash_runs:
            print(json.dumps(asdict(run), indent=1))
        sys.exit(any(run.is_bad for run in crash_runs))
    setting = {"seed": options.seed, "kernels": kernels, "runs": RUNS}
    journal = CrashJournal(options.out, setting, resume=options.resume)
    run_cases(options, kernels, journal)
    sys.exit(bool(set(journal.counts) & DEFECTS))


if __name__ == "__main__":
    try:
        main()
    except PolygymError as error:
        sys.exit(f"error: {error}")
