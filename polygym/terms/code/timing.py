"""Programs of one result, timed in turn by the measuring worker, on data of its own.

The first is what the others must agree with: rewriting changes the order of sums, so to a relative
tolerance. All are compiled in the same way and run in one process, one after the other, round by
round: what slows the machine down for a while slows all of them down.

Data follows a rule, the same on every machine. Element (i₀, i₁, …) of argument p comes from w = (1
+ 3·p + Σ_k (2k + 1)·i_k). A Float is (w mod 97 + 1) / 97, in (0, 1]: products do not overflow and
divisors are not 0. An Integer is w mod s, s being the least size of any vector, so that it is a
valid subscript; a truth value is w mod 2.

The clock as a cost: what a term costs is how long it runs, at given sizes on this machine.

The same interface as :class:`polygym.terms.cost.StaticCost` has, so that whatever takes a cost
takes this one. A term is timed once; times are kept in the user's cache folder for this kind of
machine and this version of what makes code.

What cannot be compiled, or fails as it runs, costs infinitely much.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

from polygym.codegen.pipeline import compile_program, lower
from polygym.errors import InputError, PolygymError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.mapping import SEQUENTIAL_MAPPING
from polygym.pickling import pickle_by_name
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.legality import LegalSchedule
from polygym.poly.may_accesses import out_of_range_messages
from polygym.poly.scheduling.baselines import original_schedule
from polygym.rewrite.term import Term
from polygym.runtime.worker.outcome import Ok, Outcome, ProblemError
from polygym.runtime.worker.problem import Buffer, CompiledProgram, Problem
from polygym.runtime.worker.timing import GENEROUS_LIMIT, ONCE, MeasureOptions
from polygym.runtime.worker.worker import Worker
from polygym.tc.measured_times import MeasuredTimes, user_measured_times
from polygym.terms.code.c_values import C_TYPES, TermCode
from polygym.terms.code.emitter import emit_code
from polygym.terms.code.kernel_build import DEFAULT_OPTIONS, CodeOptions, schedule_code, scop_of
from polygym.terms.language.program import TermProgram
from polygym.terms.language.types import BOOL, FLOAT, INTEGER

TOLERANCE = 1e-9
"""How far results may be apart, relative to their size: sums have another order."""

DEFAULT_SIZE = 16
"""What a size is that nobody gave: what the static cost takes vectors for."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ProgramTiming:
    """What became of a program: its C text, the seconds of every round, or what went wrong."""

    code: str
    schedule: str
    samples: tuple[float, ...]
    failure: str = ""

    @property
    def seconds(self) -> float | None:
        """The usual time of a run; None if it did not run."""
        return statistics.median(self.samples) if self.samples else None


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TimingComparison:
    """Programs at some sizes, in the order in which they were given."""

    sizes: tuple[tuple[str, int], ...]
    timings: tuple[ProgramTiming, ...]

    def speedup(self, number: int = -1) -> float | None:
        """Return how many times faster one is than the first: the median over rounds."""
        first, other = self.timings[0].samples, self.timings[number].samples
        if not first or len(first) != len(other):
            return None
        return statistics.median(before / after for before, after in zip(first, other, strict=True))

    def to_json(self) -> dict[str, Any]:
        """Return all that was found."""
        return {
            "sizes": dict(self.sizes),
            "programs": [
                {
                    "code": timing.code,
                    "schedule": timing.schedule,
                    "seconds": timing.seconds,
                    "samples": list(timing.samples),
                    "failure": timing.failure,
                }
                for timing in self.timings
            ],
            "speedup": self.speedup(),
        }


def sizes_for(program: TermProgram, given: Mapping[str, int]) -> dict[str, int]:
    """Return a value for every size and Integer of a program; the default is :data:`DEFAULT_SIZE`.

    Raises:
        InputError: a name is none of them.
    """
    known = sizes_named(program, given)
    names = [name for name, kind in program.inputs if kind == INTEGER]
    return {name: known.get(name, DEFAULT_SIZE) for name in names}


def sizes_named(program: TermProgram, given: Mapping[str, int]) -> Mapping[str, int]:
    """Return sizes and Integers that are given by name.

    Raises:
        InputError: a name is none of the program's.
    """
    names = [name for name, kind in program.inputs if kind == INTEGER]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InputError(
            f"a size: expected one of {', '.join(names) or '(none)'}, found {unknown[0]}"
        )
    return given


def compare_timings(
    programs: Sequence[TermProgram],
    sizes: Mapping[str, int],
    rounds: int = 11,
    options: CodeOptions = DEFAULT_OPTIONS,
    worker: Worker | None = None,
) -> TimingComparison:
    """Run programs in turn, so many rounds, and return their times.

    Raises:
        InputError: one cannot be compiled.
        ProblemError: the first one fails as it runs.
    """
    known = sizes_for(programs[0], sizes)
    codes = [emit_code(program, known) for program in programs]
    made = [_compile_code(code, options) for code in codes]
    problem, compiled = _problem(codes, made)
    if worker is not None:
        outcomes = _measure_rounds(worker, problem, compiled, rounds)
    else:
        with Worker() as own:
            outcomes = _measure_rounds(own, problem, compiled, rounds)
    runners = tuple(
        ProgramTiming(code.text, how, outcome.samples)
        if isinstance(outcome, Ok)
        else ProgramTiming(code.text, how, (), str(outcome))
        for code, (_, _, how), outcome in zip(codes, made, outcomes, strict=True)
    )
    return TimingComparison(tuple(known.items()), runners)


def _measure_rounds(
    worker: Worker, problem: Problem, compiled: Sequence[CompiledProgram], rounds: int
) -> tuple[Outcome, ...]:
    try:
        session = worker.open(problem, ONCE)
    except ProblemError as error:
        raise InputError(f"the program that is timed: {error}") from None
    return session.measure_together(compiled, rounds, MeasureOptions(time_limit=GENEROUS_LIMIT))


def _compile_code(code: TermCode, options: CodeOptions) -> tuple[Scop, bytes, str]:
    """Return the program, its machine code, and in whose order it is."""
    scop = scop_of(code)
    schedule = schedule_code(scop, options.schedule)
    loops = lower(LegalSchedule(scop, schedule), options.mapping, {})
    how = "of the text" if schedule == original_schedule(scop) else "of isl"
    return scop, compile_program(loops), how


def _problem(
    codes: Sequence[TermCode], made: Sequence[tuple[Scop, bytes, str]]
) -> tuple[Problem, list[CompiledProgram]]:
    """Return the memory of all programs together, with the data, and the programs in it."""
    names = {array.name: array.name for code in codes for array in (*code.inputs, *code.results)}
    buffers: dict[str, Buffer] = {}
    inputs = {array.name for array in codes[0].inputs}
    for carray in (*codes[0].inputs, *codes[0].results):
        elements = prod(carray.shape)
        kind = C_TYPES[carray.kind]
        is_input = carray.name in inputs
        buffers[carray.name] = Buffer(carray.name, kind, elements, not is_input, is_input)
    compiled = []
    for number, (scop, object_code, _) in enumerate(made):
        buffer_names = []
        for array in scop.arrays:
            name = names.get(array.name, f"{array.name} of program {number + 1}")
            elements = prod(evaluate_extent(extent, {}) for extent in array.extents)
            buffers.setdefault(name, Buffer(name, array.type, elements, compared=False))
            buffer_names.append(name)
        compiled.append((object_code, buffer_names, out_of_range_messages(scop, {})))
    places = {name: at for at, name in enumerate(buffers)}
    programs = [
        CompiledProgram(
            object_code, tuple(places[name] for name in buffer_names), (), TOLERANCE, said
        )
        for object_code, buffer_names, said in compiled
    ]
    filling = parse_text(data_source(codes[0]), file="<data>", function=NAME)
    data = CompiledProgram(
        compile_program(
            lower(LegalSchedule(filling, original_schedule(filling)), SEQUENTIAL_MAPPING, {})
        ),
        tuple(places[array.name] for array in filling.arrays),
    )
    return Problem(tuple(buffers.values()), data, programs[0]), programs


NAME = "polygym_data"
_EMPTY_NAME = "polygym_nothing"


def data_source(code: TermCode) -> str:
    """Return the C text of a function that fills the inputs of another."""
    least = min((size for array in code.inputs for size in array.shape), default=1)
    arguments, lines = [], []
    for number, array in enumerate(code.inputs):
        extents = array.extents or (1,)
        sizes = "".join(f"[{size}]" for size in extents)
        arguments.append(f"{C_TYPES[array.kind].value} {array.name}{sizes}")
        counters = [f"i{at}" for at in range(len(extents))]
        for counter, size in zip(counters, extents, strict=True):
            lines.append(f"for (long {counter} = 0; {counter} < {size}; {counter}++)")
        terms = [f"{2 * at + 1} * {counter}" for at, counter in enumerate(counters)]
        rule = " + ".join([str(1 + 3 * number), *terms])
        place = array.name + "".join(f"[{counter}]" for counter in counters)
        if array.kind == FLOAT:
            lines.append(f"{place} = (double)(({rule}) % 97 + 1) / 97;")
        else:
            lines.append(f"{place} = ({rule}) % {2 if array.kind == BOOL else least};")
    if not lines:
        lines = [f"{_EMPTY_NAME} = 0;"]
        declared = f"double {_EMPTY_NAME};\n"
    else:
        declared = ""
    body = "\n".join(lines)
    return (
        f"void {NAME}({', '.join(arguments)})\n{{\n{declared}#pragma scop\n{body}\n"
        "#pragma endscop\n}\n"
    )


FILE = "terms.sqlite"


class MeasuredCost:
    """Microseconds of a program's terms; use as a context to have one process measure them all."""

    def __init__(
        self,
        program: TermProgram,
        sizes: Mapping[str, int],
        options: CodeOptions = DEFAULT_OPTIONS,
        store: MeasuredTimes | None = None,
        rounds: int = 5,
    ) -> None:
        """Take the program's parameters for those of all its terms.

        Raises:
            InputError: a size is none of the program's.
        """
        self._program, self._options, self._rounds = program, options, rounds
        self._sizes = sizes_for(program, sizes)
        threads = options.mapping.threads
        self._store = user_measured_times(FILE, threads) if store is None else store
        self._known: dict[Term, float] = {}
        self._worker = Worker()
        self.timed_now = 0

    def __call__(self, root: Term) -> float:
        """Return the microseconds of a term, which is timed if it never was."""
        result = self._known.get(root)
        if result is None:
            result = self._known[root] = self._found(root)
        return result

    def __enter__(self) -> MeasuredCost:
        """Return the clock."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process that measures."""
        self.close()

    def close(self) -> None:
        """End the process that measures."""
        self._worker.close()

    def _found(self, root: Term) -> float:
        program = self._program.with_body(root)
        try:
            text = emit_code(program, self._sizes).text
        except PolygymError:
            return inf
        words = [text, str(self._options.schedule), str(self._options.mapping)]
        key = hashlib.sha256(json.dumps(words).encode()).hexdigest()
        if key not in self._store:
            self._store.put(key, self._seconds(program))
            self.timed_now += 1
        seconds = self._store.get(key)
        return inf if seconds is None else 1e6 * seconds

    def _seconds(self, program: TermProgram) -> float | None:
        try:
            race = compare_timings(
                [program], self._sizes, self._rounds, self._options, self._worker
            )
        except PolygymError:
            return None
        return min(race.timings[0].samples, default=None)
