"""Does a program that nobody wrote on purpose ever compute something else than gcc makes of it?

Mutant k is a kernel of the suite or a random program, in whose region one to three things were
changed: numbers, names, operators, words that go, lines that go, come twice or change places. It is
refused with a sentence, or runs, in its own order, and under isl's schedule and the default
mapping: both compute what gcc's code computes from the same text. The seed and k say all::

    python benchmarks/mutants.py --count 2000
    python benchmarks/mutants.py --seed 0 --mutant 1234    # one of them, with its text

An error of polygym's own, a crash of its code or another result ends in the exit code 1, and the
text of each is printed. A program that gcc refuses, of which gcc's code crashes, whose code takes
too long to make or to run, or of which nothing is left, is counted and no failure.
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import polybench
from polybench import Dataset
from polygym.errors import InputError, LimitError
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import Program, load_program, load_scop
from polygym.programs.generate import source_of_name
from polygym.runtime.evaluation.c_compilers import (
    compile_with,
    compiler_path,
    missing_compiler_note,
)
from polygym.runtime.evaluation.compiler import CompileFailure, Compiler
from polygym.runtime.worker.outcome import OutcomeStatus, ProblemError
from polygym.runtime.worker.timing import MeasureOptions, Repetition, TimeLimit
from polygym.runtime.worker.worker import Worker

SINGLE_MEASUREMENT = MeasureOptions(
    Repetition(minimum=1, minimum_seconds=0.0), TimeLimit(factor=30.0, floor=0.5)
)
RANDOM_PROGRAMS = 30
PER_PROCESS = 25  # one after the other, with one worker

# Words that may stand for each other.
INTERCHANGEABLE = (
    ("+", "-", "*", "/"),
    ("<", "<=", ">", ">=", "==", "!="),
    ("%", "/"),
    ("+=", "-=", "*=", "="),
)
KEYWORDS = {"for", "if", "else", "int", "float", "double"}
TOKEN = re.compile(r"\d+\.\d+|\w+|[-+*/<>=!]=|\+\+|--|&&|\|\||\s+|[^\w\s]")

Change = Callable[[str, np.random.Generator], str]

INTERNAL = "internal error"
OUTSIDE = "out of range"  # a subscript that leaves its array, which C does not define
CRASH = "crash of gcc's"  # what gcc makes of it leaves its arrays, which C does not define
EXPECTED_STATUSES = {
    OUTSIDE,
    CRASH,
    "refused",
    "refused by gcc",
    "too much",
    "timeout",
    "empty",
    "ok",
}
SLOW = {"LimitError", "Timeout", "MemoryError", "WrongLoopsError"}  # no code, with a reason


# C leaves open whether a product that is added is rounded before. Where that makes a difference as
# large as a wrong output, which begins with the cancellation of all digits, one of both agrees, or
# both sides are told to round.
ROUNDINGS = ((), ("-ffp-contract=off",))
ROUNDED = "#pragma STDC FP_CONTRACT OFF\n"


@dataclass(frozen=True, slots=True)
class OriginalProgram:
    """A program: its text up to what may be changed, that, and the rest; and its sizes."""

    name: str
    prefix: str
    region: str
    suffix: str
    sizes: tuple[tuple[str, int], ...]


@cache
def original_programs() -> tuple[OriginalProgram, ...]:
    """Return the kernels and the first random programs, small."""
    result = []
    names = [kernel.name for kernel in polybench.KERNELS]
    for name in [*names, *(f"random:{seed}" for seed in range(RANDOM_PROGRAMS))]:
        if name in names:
            program = load_program(name, dataset=Dataset.MINI)
            text, sizes = Path(program.scop.file).read_text(), program.parameters
        else:
            text = source_of_name(name)
            sizes = tuple(
                (parameter.name, 7 + place)
                for place, parameter in enumerate(load_scop(name).parameters)
            )
        first = text.rindex("#pragma scop") + len("#pragma scop")
        last = text.rindex("#pragma endscop")
        result.append(OriginalProgram(name, text[:first], text[first:last], text[last:], sizes))
    return tuple(result)


def mutate(region: str, rng: np.random.Generator) -> str:
    """Return a region with one to three changes."""
    for _ in range(int(rng.integers(1, 4))):
        region = CHANGES[int(rng.integers(len(CHANGES)))](region, rng)
    return region


def _change_number(region: str, rng: np.random.Generator) -> str:
    def other(word: str, _: list[str]) -> str:
        return str(rng.choice([0, 1, 2, 3, int(word) + 1, 2 * int(word), max(0, int(word) - 1)]))

    return _replace_token(region, rng, str.isdigit, other)


def _change_name(region: str, rng: np.random.Generator) -> str:
    def other(_: str, words: list[str]) -> str:
        return str(rng.choice([word for word in words if _is_name(word)]))

    return _replace_token(region, rng, _is_name, other)


def _is_name(word: str) -> bool:
    return word.isidentifier() and word not in KEYWORDS


def _change_operator(region: str, rng: np.random.Generator) -> str:
    def other(word: str, _: list[str]) -> str:
        return str(rng.choice(next(group for group in INTERCHANGEABLE if word in group)))

    return _replace_token(
        region, rng, lambda word: any(word in group for group in INTERCHANGEABLE), other
    )


def _without_token(region: str, rng: np.random.Generator) -> str:
    return _replace_token(region, rng, lambda word: not word.isspace(), lambda *_: "")


def _change_lines(region: str, rng: np.random.Generator) -> str:
    lines = region.splitlines(keepends=True) or [""]
    place, other = (int(n) for n in rng.integers(0, len(lines), 2))
    match int(rng.integers(3)):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lines[place])
        case _:
            lines[place], lines[other] = lines[other], lines[place]
    return "".join(lines)


def _replace_token(
    region: str,
    rng: np.random.Generator,
    is_wanted: Callable[[str], bool],
    other: Callable[[str, list[str]], str],
) -> str:
    """Return a region in which one of the words that are wanted is another."""
    words = TOKEN.findall(region)
    places = [place for place, word in enumerate(words) if is_wanted(word)]
    if not places:
        return region
    place = int(rng.choice(places))
    words[place] = other(words[place], words)
    return "".join(words)


# What leaves most programs as they can be comes more often.
CHANGES: tuple[Change, ...] = (
    *(_change_number, _change_name, _change_operator) * 3,
    *(_change_lines, _change_lines, _without_token),
)


class MutantWorker:
    """What one process has: a compiler, and a worker that runs what it makes."""

    def __init__(self) -> None:
        self.compiler = Compiler(20.0)
        self.worker = Worker()

    def close(self) -> None:
        """End the processes."""
        self.compiler.close()
        self.worker.close()

    def outcome_of(self, path: Path, sizes: dict[str, int]) -> tuple[str, str]:
        """Return the status of a mutant, and what there is to say."""
        try:
            used = {parameter.name for parameter in load_scop(str(path)).parameters}
            given = {name: value for name, value in sizes.items() if name in used}
            program = load_program(str(path), parameters=given)
        except LimitError as error:
            return "too much", str(error)
        except InputError as error:
            return "refused", str(error)
        except Exception as error:
            return INTERNAL, f"{type(error).__name__}: {error}"
        try:
            return self.run(program) if program.scop.statements else ("empty", "")
        except ProblemError as error:
            return (OUTSIDE if OUTSIDE in str(error) else INTERNAL), str(error)
        except LimitError as error:
            return "too much", str(error)
        except Exception as error:
            return INTERNAL, f"{type(error).__name__}: {error}"

    def run(self, program: Program) -> tuple[str, str]:
        """Run a program under isl's schedule, and what gcc makes of it, beside its own order."""
        problem = self.compiler.compile_problem(program)
        code = self.compiler.compile_schedule(program, isl_schedule(program.scop), DEFAULT_MAPPING)
        if isinstance(code, CompileFailure):
            is_slow = code.error_type in SLOW
            return "too much" if is_slow else INTERNAL, f"{code.error_type}: {code.reason}"
        with closing(self.worker.open(problem, SINGLE_MEASUREMENT.repetition)) as session:
            outcome = session.measure(code, SINGLE_MEASUREMENT)
            if outcome.status is not OutcomeStatus.OK:
                return outcome.status.value, f"under isl's schedule: {outcome}"
            said = []
            for flags in ROUNDINGS:
                try:
                    theirs = compile_with("gcc", program, 1, flags)
                except InputError as error:
                    return "refused by gcc", str(error)
                outcome = session.measure(theirs, SINGLE_MEASUREMENT)
                if outcome.status is OutcomeStatus.OK:
                    return "ok", ""
                said.append(f"gcc {' '.join(flags)}: {outcome}")
            is_crash = outcome.status is OutcomeStatus.CRASH
            return CRASH if is_crash else outcome.status.value, "; ".join(said)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant, and what became of it."""

    number: int
    name: str
    status: str
    detail: str
    text: str
    seconds: float


def run_mutants(seed: int, numbers: range) -> list[Mutant]:
    """Make mutants, and see what becomes of each."""
    result = []
    hand = MutantWorker()
    try:
        for number in numbers:
            rng = np.random.default_rng([seed, number])
            program = original_programs()[int(rng.integers(len(original_programs())))]
            text = f"{program.prefix}{mutate(program.region, rng)}{program.suffix}"
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "mutant.c")
                path.write_text(text)
                start = time.monotonic()
                status, detail = hand.outcome_of(path, dict(program.sizes))
                if status == OutcomeStatus.WRONG_OUTPUT.value:
                    path.write_text(ROUNDED + text)
                    status, detail = hand.outcome_of(path, dict(program.sizes))
            passed = time.monotonic() - start
            result.append(Mutant(number, program.name, status, detail, text, passed))
    finally:
        hand.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--mutant", type=int, help="play one, and print it")
    options = parser.parse_args()
    if compiler_path("gcc") is None:
        sys.exit(missing_compiler_note("gcc"))
    if options.mutant is not None:
        (mutant,) = run_mutants(options.seed, range(options.mutant, options.mutant + 1))
        print(f"{mutant.text}\n{mutant.name}: {mutant.status}: {mutant.detail}")
        sys.exit(mutant.status not in EXPECTED_STATUSES)
    counts: collections.Counter[str] = collections.Counter()
    slowest = 0.0
    parts = [
        range(first, min(first + PER_PROCESS, options.count))
        for first in range(0, options.count, PER_PROCESS)
    ]
    pool = ProcessPoolExecutor(options.processes, mp_context=get_context("spawn"))
    with pool:
        for mutants in pool.map(partial(run_mutants, options.seed), parts):
            for mutant in mutants:
                counts[mutant.status] += 1
                slowest = max(slowest, mutant.seconds)
                if mutant.status not in EXPECTED_STATUSES:
                    print(
                        f"\n{mutant.status.upper()}: mutant {mutant.number} of {mutant.name}: "
                        f"{mutant.detail}"
                    )
                    print(f"{mutant.text}\n", flush=True)
            total = sum(counts.values())
            print(f"{total:6}  {dict(counts)}, slowest {slowest:.1f} s", flush=True)
    sys.exit(bool(set(counts) - EXPECTED_STATUSES))


if __name__ == "__main__":
    main()
