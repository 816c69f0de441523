"""Programs after random legal steps: compiled, run once and compared."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from contextlib import closing

import numpy as np

from polygym.agents.experiments.splits import selected_kernels
from polygym.durations import parse_duration
from polygym.mapping.mapping import parse_mapping
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.problems.loading import dataset_named
from polygym.programs import load_program
from polygym.programs.stored_program import apply_splitting_to, with_storage_plan
from polygym.runtime.evaluation.compiler import CompileFailure, Compiler
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.runtime.worker.timing import MeasureOptions, Repetition, TimeLimit
from polygym.runtime.worker.worker import Worker
from polygym.transformations.candidates import candidate_steps, sample_by_kind
from polygym.transformations.state import TransformProgram, TransformState
from polygym.transformations.steps import ProgramStep, Stop, Undo

SINGLE_RUN = Repetition(minimum=1, minimum_seconds=0.0)
LIMIT = TimeLimit(factor=30.0, floor=0.1)

# What is no answer but a defect.
INTERNAL = "internal error"
DEFECTS = {OutcomeStatus.CRASH.value, OutcomeStatus.WRONG_OUTPUT.value, INTERNAL}
EXPECTED_ERRORS = {"LimitError", "WrongLoopsError", "InputError", "Timeout", "MemoryError"}

_LONGEST = 12
_ATTEMPTS = 50


def random_sequence(
    start: TransformState, rng: np.random.Generator, longest: int, *, of_program: bool
) -> TransformState:
    """Return the state after random legal steps, each kind as likely as every other.

    The steps are about the program's storage and index sets, or else about loops and the mapping.
    """
    state = start
    for _ in range(1 + int(rng.integers(longest))):
        offered = [
            step
            for step in candidate_steps(state)
            if isinstance(step, ProgramStep) == of_program and not isinstance(step, (Stop, Undo))
        ]
        for _ in range(_ATTEMPTS if offered else 0):
            step = offered[sample_by_kind(offered, rng)]
            (verdict,) = state.verdicts([step])
            if verdict.is_allowed:
                state = verdict.state or state.after(step)
                break
    return state


def sequences(options: argparse.Namespace) -> int:
    """Run programs after random sequences until enough are counted or the time is over."""
    options.out.mkdir(parents=True, exist_ok=True)
    journal = options.out / f"sequences.{options.part}.jsonl"
    lines = journal.read_text().splitlines() if journal.exists() else []
    done = {(row["program"], row["round"]) for row in map(json.loads, lines)}
    counts = Counter[str]()
    for row in map(json.loads, lines):
        counts.update(row["statuses"])
    deadline = time.monotonic() + parse_duration(options.time_limit)
    kernels = selected_kernels(options.programs)[options.part :: options.parts]
    with journal.open("a") as out, closing(Compiler(60.0)) as compiler, closing(Worker()) as worker:
        for number in range(10**6):
            for kernel in kernels:
                if (kernel, number) in done:
                    continue
                if sum(counts.values()) >= options.count or time.monotonic() > deadline:
                    return finish(counts)
                statuses, failures = sequences_of(kernel, number, options, compiler, worker)
                row = {"program": kernel, "round": number, "statuses": statuses,
                       "failures": failures}  # fmt: skip
                out.write(json.dumps(row) + "\n")
                out.flush()
                counts.update(statuses)
                for failure in failures:
                    print(kernel, failure, file=sys.stderr, flush=True)
    return finish(counts)


def sequences_of(
    kernel: str, number: int, options: argparse.Namespace, compiler: Compiler, worker: Worker
) -> tuple[dict[str, int], list[str]]:
    """Return how one round of sequences of a program ended, and those that are defects."""
    rng = np.random.default_rng([options.seed, number, *kernel.encode()])
    program = load_program(kernel, dataset=dataset_named(options.dataset))
    sizes = scop_sizes(program.scop, dict(program.parameters))
    threads = 1 + int(rng.integers(2))
    start = TransformProgram(program.scop, sizes).start(parse_mapping(f"threads={threads}"))
    counts, failures = Counter[str](), []
    changed = random_sequence(start, rng, 3, of_program=True)
    for begin in (start, changed):
        stored = apply_splitting_to(program, begin.splitting)
        if not begin.storage.is_source:
            stored = with_storage_plan(stored, begin.storage, sys.maxsize)
        session = worker.open(compiler.compile_problem(stored), SINGLE_RUN)
        for _ in range(options.round // 2):
            state = random_sequence(begin, rng, _LONGEST, of_program=False)
            compiled = compiler.compile_schedule(stored, state.schedule, state.mapping)
            if isinstance(compiled, CompileFailure):
                is_known = compiled.error_type in EXPECTED_ERRORS
                status = "does not compile" if is_known else INTERNAL
                detail = f"{compiled.error_type}: {compiled.reason}"
            else:
                outcome = session.measure(compiled, MeasureOptions(SINGLE_RUN, LIMIT))
                status, detail = outcome.status.value, str(outcome)
            counts[status] += 1
            if status in DEFECTS:
                steps = "; ".join(map(str, state.steps))
                failures.append(f"{status}: {detail}: {kernel}, threads={threads}: {steps}")
        session.close()
    return dict(counts), failures


def finish(counts: Counter[str]) -> int:
    """Print the counts; return 1 where something is wrong."""
    print(f"{sum(counts.values()):,} sequences: {dict(counts)}")
    return int(bool(DEFECTS & set(counts)))
