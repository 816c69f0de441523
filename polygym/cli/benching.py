"""Measuring one program for ``bench``: all contenders compiled, then run in turn by one clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from polygym.cli.entries import Entry, ratio
from polygym.cli.failures import failure_of
from polygym.cli.interrupts import held_back
from polygym.cli.outputs import figures_of, not_finite
from polygym.cli.schedules import Given, Maker, begun
from polygym.compiler.codegen.common.mapping import Mapping as MachineMapping
from polygym.compiler.poly.dependences import dependences
from polygym.compiler.poly.splitting.cuts import WHOLE
from polygym.compiler.storage.plan import KEEP
from polygym.errors import PolygymError
from polygym.measure.evaluation.compiling import compile_problem, compile_schedule
from polygym.measure.evaluation.foreign import FOREIGN, compile_foreign
from polygym.measure.evaluation.patience import code_within
from polygym.measure.worker.options import MeasureOptions
from polygym.measure.worker.outcome import Outcome, ProblemError
from polygym.measure.worker.problem import CompiledProgram, Problem
from polygym.measure.worker.timing import PATIENT, Repetition
from polygym.measure.worker.worker import Worker
from polygym.programs import Program

ORIGINAL = "original"
"""What the order of the text is called among the contenders."""


@dataclass(frozen=True, slots=True)
class How:
    """How every program is measured: its schedules, other compilers, the mapping, the rounds.

    If it is ``limited``, the limit of every program is computed, too. ``decides`` has the names of
    the schedules with which storage and cuts are decided, for arrays of ``storage_limit`` bytes,
    ``homes`` those from files, with what cuts a program and stores its values as a file says.
    """

    makers: Mapping[str, Maker]
    compilers: tuple[str, ...]
    mapping: MachineMapping
    repeat: int
    limited: bool = False
    decides: frozenset[str] = frozenset()
    storage_limit: int | None = None
    homes: Mapping[str, Callable[[Program], Program]] = field(default_factory=dict)

    @property
    def contenders(self) -> tuple[str, ...]:
        """The names of all that run, in the order of the columns."""
        return (*self.makers, *self.compilers)


@dataclass(slots=True)
class Said:
    """What there is to say about contenders, by name: texts, why there is no code, choices.

    ``programs`` has the program of each schedule, cut and stored as that has it.
    """

    texts: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    choices: dict[str, dict[str, Any]] = field(default_factory=dict)
    programs: dict[str, Program] = field(default_factory=dict)


def measured(
    worker: Worker, label: str, program: Program, how: How
) -> tuple[tuple[Entry, ...], list[str]]:
    """Measure all schedules of one program; what fails is an entry that says so.

    With them come the names of the output arrays in which not all values are finite.
    """
    endless: list[str] = []
    outcomes: dict[str, Outcome] = {}
    said = Said()
    candidates: dict[str, CompiledProgram] = {}
    try:
        problem, candidates = _compile(program, how, said)
        try:
            session = worker.open(problem, Repetition(minimum=1))
            programs = tuple(candidates.values())
            found = session.measure_together(
                programs, how.repeat, MeasureOptions(time_limit=PATIENT)
            )
            outcomes = dict(zip(candidates, found, strict=True))
            endless = not_finite(figures_of(program, session))
            session.close()
        except ProblemError as error:
            outcomes = dict.fromkeys(candidates, error.outcome)
    except (PolygymError, MemoryError, RecursionError) as error:
        said.errors = dict.fromkeys(how.contenders, failure_of(error).message)
    base = outcomes.get(ORIGINAL)
    entries = tuple(
        Entry(
            label,
            name,
            said.texts.get(name, ""),
            outcomes.get(name),
            said.errors.get(name, ""),
            ratio(base, outcomes.get(name)),
            how.mapping.simplified(candidates[name].done)
            if name in candidates and name != ORIGINAL
            else "",
            said.choices.get(name),
            home=_home(said.programs.get(name, program), name in how.makers and name != ORIGINAL),
        )
        for name in how.contenders
    )
    return entries, endless


def _home(program: Program, is_of_it: bool) -> dict[str, str]:
    """Return where a contender's program is cut and keeps its values, else that it does not."""
    cuts, plan = (program.splitting, program.storage) if is_of_it else (WHOLE, KEEP)
    return {"splitting": str(cuts), "storage": str(plan)}


def _compile(program: Program, how: How, said: Said) -> tuple[Problem, dict[str, CompiledProgram]]:
    """Compile all contenders; add what there is to say about them."""
    with held_back():
        dependences(program.scop)  # what all of them need
    problem = code_within(lambda: compile_problem(program))
    candidates = {}
    for name, make in how.makers.items():
        try:
            given, own, found = code_within(partial(_generated, program, name, make, how))
            said.texts[name] = str(given.schedule)
            if (choice := given.to_json()) is not None:
                said.choices[name] = choice
            said.programs[name] = own
            if isinstance(found, str):
                said.errors[name] = found
            else:
                candidates[name] = found or problem.original
        except (PolygymError, MemoryError, RecursionError) as error:
            said.errors[name] = failure_of(error).message
    for name in how.compilers:
        said.texts[name] = " ".join(FOREIGN[name].flags(how.mapping.threads))
        try:
            with held_back():
                candidates[name] = compile_foreign(name, program, how.mapping.threads)
        except PolygymError as error:
            said.errors[name] = failure_of(error).message
    return problem, candidates


def _generated(
    program: Program, name: str, make: Maker, how: How
) -> tuple[Given, Program, CompiledProgram | str | None]:
    """Return a schedule, its program, and its code or why there is none; of the original one is."""
    sizes = dict(program.parameters)
    if name == ORIGINAL:
        return make(program.written, sizes, how.mapping), program, None
    if name in how.decides:
        given = begun(program, how.mapping, how.storage_limit)
    else:
        program = how.homes[name](program) if name in how.homes else program
        given = make(program.scop, sizes, how.mapping)
    if given.beginning is not None:
        program = given.beginning.program
    try:
        return given, program, compile_schedule(program, given.schedule, how.mapping)
    except (PolygymError, MemoryError, RecursionError) as error:
        return given, program, failure_of(error).message
