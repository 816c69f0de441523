"""Measuring one program for ``bench``: all contenders compiled, then run in turn by one clock.

Limits in ``polygym bench --against limit``: as entries, in entries, and as a picture.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from polygym.cli.failures import error_report
from polygym.cli.interrupts import interrupts_deferred
from polygym.cli.options.schedules import ResolvedSchedule, ScheduleMaker, automatic_schedule
from polygym.cli.output.array_figures import array_figures, non_finite_arrays
from polygym.cli.output.bench_table import BenchEntry, Json, speedup_of
from polygym.cli.output.console import shorten
from polygym.cli.output.limits import limit_under
from polygym.cost.limit.bound import Limit
from polygym.errors import InputError, PolygymError
from polygym.files import create_folder, write_atomically
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.poly.dependences import dependences
from polygym.poly.transform.splitting.conditions import NO_SPLITTING
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.poly.transform.storage.plan import SOURCE_STORAGE
from polygym.programs import Program
from polygym.runtime.evaluation.c_compilers import C_COMPILERS, better_outcome, compile_fairly
from polygym.runtime.evaluation.compilation import compile_problem, compile_schedule
from polygym.runtime.evaluation.time_limits import code_within
from polygym.runtime.worker.outcome import Ok, Outcome, ProblemError
from polygym.runtime.worker.problem import CompiledProgram, Problem
from polygym.runtime.worker.timing import GENEROUS_LIMIT, MeasureOptions, Repetition
from polygym.runtime.worker.worker import Worker
from polygym.search.sweep.rows import LIMIT

ORIGINAL = "original"
"""What the order of the text is called among the contenders."""


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """How every program is measured: its schedules, other compilers, the mapping, the rounds.

    If it is ``limited``, the limit of every program is computed, too. ``decides`` has the names of
    the schedules with which storage and cuts are decided, for arrays of ``memory_limit`` bytes,
    ``variants`` those from files, with what cuts a program and stores its values as a file says.
    """

    schedules: Mapping[str, ScheduleMaker]
    compilers: tuple[str, ...]
    mapping: MachineMapping
    repeat: int
    limited: bool = False
    decides: frozenset[str] = frozenset()
    memory_limit: int = DEFAULT_MEMORY_LIMIT
    variants: Mapping[str, Callable[[Program], Program]] = field(default_factory=dict)

    @property
    def contenders(self) -> tuple[str, ...]:
        """The names of all that run, in the order of the columns."""
        return (*self.schedules, *self.compilers)


@dataclass(slots=True)
class CompiledContenders:
    """What there is to say about contenders, by name: texts, why there is no code, choices.

    ``programs`` has the program of each schedule, cut and stored as that has it.
    """

    texts: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    choices: dict[str, dict[str, Any]] = field(default_factory=dict)
    programs: dict[str, Program] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


def bench_program(
    worker: Worker, label: str, program: Program, options: BenchOptions
) -> tuple[tuple[BenchEntry, ...], list[str]]:
    """Measure all schedules of one program; what fails is an entry that says so.

    With them come the names of the output arrays in which not all values are finite.
    """
    endless: list[str] = []
    outcomes: dict[str, Outcome] = {}
    said = CompiledContenders()
    candidates: dict[str, CompiledProgram] = {}
    try:
        problem, candidates = _compile(program, options, said)
        try:
            session = worker.open(problem, Repetition(minimum=1))
            programs = tuple(candidates.values())
            measured = session.measure_together(
                programs, options.repeat, MeasureOptions(time_limit=GENEROUS_LIMIT)
            )
            outcomes = dict(zip(candidates, measured, strict=True))
            _choose_better(options.compilers, outcomes, said)
            endless = non_finite_arrays(array_figures(program, session))
            session.close()
        except ProblemError as error:
            outcomes = dict.fromkeys(candidates, error.outcome)
    except (PolygymError, MemoryError, RecursionError) as error:
        said.errors = dict.fromkeys(options.contenders, error_report(error).message)
    base = outcomes.get(ORIGINAL)
    entries = tuple(
        BenchEntry(
            label,
            name,
            said.texts.get(name, ""),
            outcomes.get(name),
            said.errors.get(name, ""),
            speedup_of(base, outcomes.get(name)),
            said.notes.get(name, ""),
            said.choices.get(name),
            variant=_variant_of(
                said.programs.get(name, program), name in options.schedules and name != ORIGINAL
            ),
        )
        for name in options.contenders
    )
    return entries, endless


def _variant_of(program: Program, is_of_it: bool) -> dict[str, str]:
    """Return where a contender's program is cut and keeps its values, else that it does not."""
    cuts, plan = (
        (program.splitting, program.storage) if is_of_it else (NO_SPLITTING, SOURCE_STORAGE)
    )
    return {"splitting": str(cuts), "storage": str(plan)}


def _compile(
    program: Program, how: BenchOptions, said: CompiledContenders
) -> tuple[Problem, dict[str, CompiledProgram]]:
    """Compile all contenders; add what there is to say about them."""
    with interrupts_deferred():
        dependences(program.scop)  # what all of them need
    problem = code_within(lambda: compile_problem(program))
    candidates = {}
    for name, make in how.schedules.items():
        try:
            given, own, compiled_program = code_within(
                partial(_compile_contender, program, name, make, how)
            )
            said.texts[name] = str(given.schedule)
            if (choice := given.to_json()) is not None:
                said.choices[name] = choice
            said.programs[name] = own
            if isinstance(compiled_program, str):
                said.errors[name] = compiled_program
                continue
            candidates[name] = compiled_program or problem.original
            if name != ORIGINAL:
                applied = candidates[name].applied_mapping
                said.notes[name] = _mapping_of(given, how).simplification_note(applied)
        except (PolygymError, MemoryError, RecursionError) as error:
            said.errors[name] = error_report(error).message
    for name in how.compilers:
        said.texts[name] = " ".join(C_COMPILERS[name].flags(how.mapping.threads))
        try:
            with interrupts_deferred():
                codes = compile_fairly(name, program, how.mapping.threads)
            candidates |= dict(zip((name, _restricted(name)), codes, strict=False))
        except PolygymError as error:
            said.errors[name] = error_report(error).message
    return problem, candidates


def _restricted(name: str) -> str:
    """Return the name of a compiler's code of the file with ``restrict``."""
    return f"{name} restrict"


def _choose_better(
    compilers: Sequence[str], outcomes: dict[str, Outcome], said: CompiledContenders
) -> None:
    """Leave of each compiler the better code, and say so where it is that with ``restrict``."""
    for name in compilers:
        if (other := outcomes.pop(_restricted(name), None)) is not None:
            plain = outcomes[name]
            outcomes[name] = better_outcome((plain, other))
            if outcomes[name] is other and other is not plain:
                said.texts[name] += ", restrict"


def _compile_contender(
    program: Program, name: str, make: ScheduleMaker, how: BenchOptions
) -> tuple[ResolvedSchedule, Program, CompiledProgram | str | None]:
    """Return a schedule, its program, and its code or why there is none; of the original one is."""
    sizes = dict(program.parameters)
    if name == ORIGINAL:
        return make(program.as_written, sizes, how.mapping), program, None
    if name in how.decides:
        given = automatic_schedule(program, how.mapping, how.memory_limit)
    else:
        program = how.variants[name](program) if name in how.variants else program
        given = make(program.scop, sizes, how.mapping)
    if given.variant is not None:
        program = given.variant.program
    try:
        compiled = compile_schedule(program, given.schedule, _mapping_of(given, how))
        return given, program, compiled
    except (PolygymError, MemoryError, RecursionError) as error:
        return given, program, error_report(error).message


def _mapping_of(given: ResolvedSchedule, how: BenchOptions) -> MachineMapping:
    """Return the mapping that is asked for: the automatic choice may be another one's."""
    return how.mapping if given.confirmed is None else given.confirmed.mapping


def limit_entries(
    results: Sequence[Sequence[BenchEntry]], unlimited: Mapping[str, str]
) -> list[Json]:
    """Return the entries of the limits themselves; ``unlimited`` says of some why there is none."""
    return [
        _limit_entry(
            bench_entry.program,
            bench_entry.limit,
            unlimited.get(bench_entry.program, ""),
            bench_entry.outcome,
        )
        for bench_entry, *_ in results
    ]


def check_figure(figure: Path | None, *, limited: bool) -> None:
    """Refuse a figure of nothing, or of another kind."""
    if figure is not None and not limited:
        raise click.UsageError("--figure draws shares of the limit: it needs --against limit.")
    if figure is not None and figure.suffix.lower() not in (".png", ".svg"):
        raise InputError(
            f"--figure: expected a name that ends in .png or .svg, found {shorten(figure.name)}"
        )


def add_limits(
    row: tuple[BenchEntry, ...],
    program: Program,
    mapping: MachineMapping,
    unlimited: dict[str, str],
) -> tuple[BenchEntry, ...]:
    """Return the entries of a program with its limit; why there is none is added, by program."""
    try:
        limit = limit_under(mapping, program)
    except PolygymError as error:
        unlimited[row[0].program] = error_report(error).message
        return row
    return tuple(replace(entry, limit=limit) for entry in row)


def draw_limits(figure: Path, results: Sequence[Sequence[BenchEntry]], size: str) -> None:
    """Write the picture of all programs under their roofs."""
    from polygym.pictures.charts.limit_shares import LimitShares, limit_shares_picture

    shown = []
    for row in results:
        shares = {
            bench_entry.schedule: bench_entry.share_of_limit
            for bench_entry in row
            if bench_entry.share_of_limit is not None
        }
        if row[0].limit is not None and shares:
            named = {shorten(name, 24): value for name, value in shares.items()}
            shown.append(LimitShares(row[0].program, named, row[0].limit.bottleneck.value))
    picture = limit_shares_picture(shown, size)
    is_png = figure.suffix.lower() == ".png"
    create_folder(figure.parent, "--figure")
    write_atomically(figure, picture.png if is_png else picture.svg)


def _limit_entry(program: str, limit: Limit | None, error: str, original: Outcome | None) -> Json:
    """Return the entry of the limit itself: no code, but a time below which there is none."""
    result = None if limit is None else limit.to_json()
    best = original.best if isinstance(original, Ok) else None
    return {
        "program": program,
        "schedule": LIMIT,
        "status": "error" if limit is None else LIMIT,
        "error": error or None,
        "seconds": None if limit is None else limit.seconds,
        "speedup": best / limit.seconds if best and limit and limit.seconds else None,
        "limit": result,
    }
