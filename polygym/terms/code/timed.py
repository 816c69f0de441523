"""Programs of one result, timed in turn by the measuring worker, on data of its own.

The first is what the others must agree with: rewriting changes the order of sums, so to a relative
tolerance. All are compiled in the same way and run in one process, one after the other, round by
round: what slows the machine down for a while slows all of them down.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from polygym.compiler.codegen.common.mapping import SEQUENTIAL
from polygym.compiler.codegen.pipeline import compile_program, lower
from polygym.compiler.frontend.c import parse_text
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.evaluate import evaluate
from polygym.compiler.poly.gathers import complaints
from polygym.compiler.poly.legality import LegalSchedule
from polygym.errors import InputError
from polygym.measure.worker.options import MeasureOptions
from polygym.measure.worker.outcome import Ok, Outcome, ProblemError
from polygym.measure.worker.problem import Buffer, CompiledProgram, Problem
from polygym.measure.worker.timing import ONCE, PATIENT
from polygym.measure.worker.worker import Worker
from polygym.pickles import pickled_by_name
from polygym.terms.code.build import USUALLY, Options, ordered, scop_of
from polygym.terms.code.data import NAME, data_source
from polygym.terms.code.emit import written
from polygym.terms.code.interface import Code
from polygym.terms.code.layout import C_TYPES
from polygym.terms.language.program import Program

__all__ = ["TOLERANCE", "USUAL", "Race", "Runner", "raced", "sizes_for"]

TOLERANCE = 1e-9
"""How far results may be apart, relative to their size: sums have another order."""

USUAL = 16
"""What a size is that nobody gave: what the static cost takes vectors for."""


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Runner:
    """What became of a program: its C text, the seconds of every round, or what went wrong."""

    code: str
    schedule: str
    samples: tuple[float, ...]
    trouble: str = ""

    @property
    def seconds(self) -> float | None:
        """The usual time of a run; None if it did not run."""
        return statistics.median(self.samples) if self.samples else None


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Race:
    """Programs at some sizes, in the order in which they were given."""

    sizes: tuple[tuple[str, int], ...]
    runners: tuple[Runner, ...]

    def ratio(self, number: int = -1) -> float | None:
        """Return how many times faster one is than the first: the median over rounds."""
        first, other = self.runners[0].samples, self.runners[number].samples
        if not first or len(first) != len(other):
            return None
        return statistics.median(one / two for one, two in zip(first, other, strict=True))

    def to_json(self) -> dict[str, Any]:
        """Return all that was found."""
        return {
            "sizes": dict(self.sizes),
            "programs": [
                {
                    "code": one.code,
                    "schedule": one.schedule,
                    "seconds": one.seconds,
                    "samples": list(one.samples),
                    "trouble": one.trouble,
                }
                for one in self.runners
            ],
            "speedup": self.ratio(),
        }


def sizes_for(program: Program, given: Mapping[str, int]) -> dict[str, int]:
    """Return a value for every size and Integer of a program, :data:`USUAL` where none is given.

    Raises:
        InputError: a name is none of them.
    """
    names = [name for name, kind in program.inputs if str(kind) == "Integer"]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InputError(
            f"a size: expected one of {', '.join(names) or '(none)'}, found {unknown[0]}"
        )
    return {name: given.get(name, USUAL) for name in names}


def raced(
    programs: Sequence[Program],
    sizes: Mapping[str, int],
    rounds: int = 11,
    options: Options = USUALLY,
    worker: Worker | None = None,
) -> Race:
    """Run programs in turn, so many rounds, and return their times.

    Raises:
        InputError: one cannot be compiled.
        ProblemError: the first one fails as it runs.
    """
    known = sizes_for(programs[0], sizes)
    codes = [written(program, known) for program in programs]
    made = [_made(code, options) for code in codes]
    problem, compiled = _problem(codes, made)
    if worker is not None:
        outcomes = _measured(worker, problem, compiled, rounds)
    else:
        with Worker() as own:
            outcomes = _measured(own, problem, compiled, rounds)
    runners = tuple(
        Runner(code.text, how, one.samples)
        if isinstance(one, Ok)
        else Runner(code.text, how, (), str(one))
        for code, (_, _, how), one in zip(codes, made, outcomes, strict=True)
    )
    return Race(tuple(known.items()), runners)


def _measured(
    worker: Worker, problem: Problem, compiled: Sequence[CompiledProgram], rounds: int
) -> tuple[Outcome, ...]:
    try:
        session = worker.open(problem, ONCE)
    except ProblemError as error:
        raise InputError(f"the program that is timed: {error}") from None
    return session.measure_together(compiled, rounds, MeasureOptions(time_limit=PATIENT))


def _made(code: Code, options: Options) -> tuple[Scop, bytes, str]:
    """Return the program, its machine code, and in whose order it is."""
    scop = scop_of(code)
    schedule = ordered(scop, options.schedule)
    loops = lower(LegalSchedule(scop, schedule), options.mapping, {})
    how = "of the text" if schedule == original(scop) else "of isl"
    return scop, compile_program(loops), how


def _problem(
    codes: Sequence[Code], made: Sequence[tuple[Scop, bytes, str]]
) -> tuple[Problem, list[CompiledProgram]]:
    """Return the memory of all programs together, with the data, and the programs in it."""
    names = {one.name: one.name for code in codes for one in (*code.inputs, *code.results)}
    buffers: dict[str, Buffer] = {}
    inputs = {one.name for one in codes[0].inputs}
    for one in (*codes[0].inputs, *codes[0].results):
        elements = prod(one.extents)
        kind = C_TYPES[one.kind]
        is_input = one.name in inputs
        buffers[one.name] = Buffer(one.name, kind, elements, not is_input, is_input)
    compiled = []
    for number, (scop, object_code, _) in enumerate(made):
        found = []
        for array in scop.arrays:
            name = names.get(array.name, f"{array.name} of program {number + 1}")
            elements = prod(evaluate(extent, {}) for extent in array.extents)
            buffers.setdefault(name, Buffer(name, array.type, elements, compared=False))
            found.append(name)
        compiled.append((object_code, found, complaints(scop, {})))
    places = {name: at for at, name in enumerate(buffers)}
    programs = [
        CompiledProgram(
            object_code,
            tuple(places[name] for name in found),
            (),
            TOLERANCE,
            said,
        )
        for object_code, found, said in compiled
    ]
    filling = parse_text(data_source(codes[0]), file="<data>", function=NAME)
    data = CompiledProgram(
        compile_program(lower(LegalSchedule(filling, original(filling)), SEQUENTIAL, {})),
        tuple(places[array.name] for array in filling.arrays),
    )
    return Problem(tuple(buffers.values()), data, programs[0]), programs
