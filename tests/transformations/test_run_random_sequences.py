"""Random legal sequences of steps, compiled and run: each leaves the outputs of the source."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from polygym.errors import IllegalScheduleError
from polygym.mapping.mapping import parse_mapping
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import Program, load_program
from polygym.programs.stored_program import apply_splitting_to, with_storage_plan
from polygym.runtime.evaluation import Evaluation, EvaluationOptions, Evaluator
from polygym.runtime.evaluation.compiler import Compiler
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.runtime.worker.worker import Worker
from polygym.transformations.loop_tree import with_loop_body
from polygym.transformations.parsing import parse_step
from polygym.transformations.state import TransformProgram, TransformState
from polygym.transformations.steps import Contract, SplitIndexSet, Store
from tests.transformations.by_force import PROGRAMS, program_named, walk_states

THREADS = parse_mapping("threads=2")
PATIENT = EvaluationOptions(threads=2, compile_seconds=120.0, timeout_factor=1e6)
OTHERS = tuple(f"{kind}:{seed}" for seed in range(10, 40) for kind in ("random", "scalars"))

Run = Callable[[Program, TransformState], Evaluation]


@lru_cache(maxsize=256)
def small_program(name: str) -> Program:
    """Return a kernel at MINI sizes, or a random program at sizes as small."""
    program = program_named(name)
    if ":" not in name:
        return program
    sizes = {parameter: 18 + 3 * k for k, (parameter, _) in enumerate(program.parameters)}
    return load_program(name, parameters=sizes)


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Return a function that runs a state's program; one worker and one compiler do it."""
    compiler = Compiler(PATIENT.compile_seconds, PATIENT.compile_memory)
    with Worker() as worker, closing(compiler):

        def evaluate(program: Program, state: TransformState) -> Evaluation:
            own = with_storage_plan(apply_splitting_to(program, state.splitting), state.storage)
            assert own.as_written == program.scop
            evaluator = Evaluator(own, PATIENT, worker=worker, compiler=compiler)
            return evaluator.evaluate(state.schedule, state.mapping)

        yield evaluate


def check_run(run: Run, program: Program, state: TransformState) -> None:
    """Check that a state compiles and that its outputs are those of the source."""
    result = run(program, state)
    texts = "; ".join(map(str, state.steps))
    assert result.status is OutcomeStatus.OK, (
        f"{texts}: {result.error_type} {result.error_details}; {state.schedule}; {state.mapping}"
    )
    assert result.samples


def last_of_walk(program: Program, seed: int, length: int, start: bool = False) -> TransformState:
    """Return the last state of a random walk, from the source's order or from isl's."""
    schedule = isl_schedule(program.scop) if start else None
    first = TransformProgram(program.scop, dict(program.parameters)).start(THREADS, schedule)
    states = walk_states(first, np.random.default_rng(seed), length)
    assert len(states) > 1
    return states[-1]


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", PROGRAMS)
def test_random_sequences(name: str, seed: int, run: Run) -> None:
    program = small_program(name)
    check_run(run, program, last_of_walk(program, seed, 8))


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
def test_sequences_from_schedules_of_isl(name: str, run: Run) -> None:
    program = small_program(name)
    check_run(run, program, last_of_walk(program, 1, 5, start=True))


@pytest.mark.parametrize("name", ["symm", "gemver", "floyd-warshall", "jacobi-1d", "scalars:2"])
def test_sequences_that_store_and_divide(name: str, run: Run) -> None:
    """Two steps about the program first, of those that it has, and then steps about loops."""
    program = small_program(name)
    generator = np.random.default_rng(8)
    first = TransformProgram(program.scop, dict(program.parameters)).start(THREADS)
    about_program = (SplitIndexSet, Store, Contract)
    stored = walk_states(first, generator, 2, lambda step: isinstance(step, about_program))[-1]
    assert stored.steps
    moved = walk_states(stored, generator, 5, lambda step: not isinstance(step, about_program))[-1]
    assert len(moved.steps) > len(stored.steps)
    check_run(run, program, stored)
    check_run(run, program, moved)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("gemm", ["distribute L1 before L3", "interchange L3 L4", "tile L5 L4 L3 16 16 8",
                  "vectorize L4", "parallel L5 static"]),
        ("jacobi-1d", ["fuse L2 L3 shift 1", "skew L2 L1 2", "tile L1 L2 8 16"]),
        ("seidel-2d", ["skew L2 L1 1", "skew L3 L1 1", "skew L3 L2 1", "tile L1 L2 L3 4 8 8"]),
        ("mvt", ["store S0:x1=expand:i,j", "store S1:x2=expand:j", "reverse L1"]),
        ("trisolv", ["split S1: 2*j < i", "distribute L1 before L2"]),
        ("floyd-warshall", ["mapping S0:tile=8", "split S0: i = k", "tile L3 16"]),
    ],
)  # fmt: skip
def test_sequences_by_hand(name: str, texts: list[str], run: Run) -> None:
    program = small_program(name)
    state = TransformProgram(program.scop, dict(program.parameters)).start(THREADS)
    for text in texts:
        state = state.after(parse_step(text))
    check_run(run, program, state)


def test_a_state_that_no_step_leads_to_is_refused(run: Run) -> None:
    """The runner checks the order once more: here S0 scales C after S1 has added to it."""
    program = small_program("gemm")
    state = TransformProgram(program.scop, dict(program.parameters)).start(THREADS)
    (outer,) = state.tree.nests
    swapped = with_loop_body(outer, outer.body[::-1])
    broken = replace(state, tree=state.tree.with_body((swapped,)))
    with pytest.raises(IllegalScheduleError, match="breaks the"):
        run(program, broken)


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", [*PROGRAMS, *OTHERS])
def test_many_random_sequences(name: str, run: Run) -> None:
    """As many sequences of up to 16 steps as take a minute, each state on the way run too."""
    program = small_program(name)
    until = time.monotonic() + 60
    seed = 100
    while time.monotonic() < until and seed < 160:
        first = TransformProgram(program.scop, dict(program.parameters)).start(THREADS)
        generator = np.random.default_rng(seed)
        states = walk_states(first, generator, int(generator.integers(4, 17)))
        for state in states[1::4]:
            check_run(run, program, state)
        check_run(run, program, states[-1])
        seed += 1
    assert seed > 100
