"""``polygym bench``: several schedules of several programs, measured side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import click

from polybench import Dataset
from polygym.cli.answer import Answer
from polygym.cli.entries import (
    LIMIT,
    Entry,
    mean_of_limit,
    mean_speedup,
    print_entries,
    ratio,
)
from polygym.cli.failures import failure_of
from polygym.cli.interrupts import INTERRUPTED, as_exceptions, held_back
from polygym.cli.limited import check_figure, draw_limits, limit_entries, with_limit
from polygym.cli.limits import disturbance
from polygym.cli.options import (
    EXCLUSION_HELP,
    TARGET_HELP,
    chosen_mapping,
    found_compilers,
    function_option,
    json_option,
    mapping_options,
    size_options,
)
from polygym.cli.output import progress, say, say_foreign_load, working
from polygym.cli.outputs import figures_of, not_finite, remark_on
from polygym.cli.schedules import Given, Maker, schedule_maker
from polygym.cli.splitting import Cutter, program_in_pieces, split_option
from polygym.cli.storing import StorageChoice, storage_options, with_storage
from polygym.cli.text import listed, shorten
from polygym.compiler.codegen.common.mapping import DEFAULT, TOLERANCE
from polygym.compiler.codegen.common.mapping import Mapping as MachineMapping
from polygym.compiler.poly.dependences import dependences
from polygym.errors import InputError, PolygymError, SourceError
from polygym.measure.evaluation.compiling import compile_problem, compile_schedule
from polygym.measure.evaluation.foreign import FOREIGN, compared, compile_foreign
from polygym.measure.evaluation.patience import code_within
from polygym.measure.machine.kept import peaks_of
from polygym.measure.worker.foreign_load import ForeignLoad, LoadWatch
from polygym.measure.worker.options import MeasureOptions
from polygym.measure.worker.outcome import Ok, Outcome, ProblemError
from polygym.measure.worker.problem import CompiledProgram, Problem
from polygym.measure.worker.timing import PATIENT, Repetition, this_machine
from polygym.measure.worker.worker import Worker
from polygym.programs import Program, load_program
from polygym.programs.selection import selected

_ORIGINAL = "original"
_LLVM = "llvm-O3"
_ISL = "isl"
_HELP = """Measure schedules of programs in turn, and print ratios and their geometric mean.

The schedules of one program run round robin in one process, by one clock, each checked against
the original order's output. The original order is compiled by LLVM -O3 as it stands; all others run
under --mapping and with --threads. Exit code 1: one of them failed. Ctrl-C prints what there is.

--against adds other contenders: isl (its schedule), clang and gcc (-O3 -march=native), and polly
(clang with Polly: tiled, parallel, the same threads), from the program's own C file. One that is
not installed is left out with a word. With other compilers outputs are compared to a relative 1e-6.
And limit: a time below which no code of the program runs on this machine (docs/limit.md).

\b
Examples:
  polygym bench gemm mvt atax --schedules original,isl
  polygym bench stencils --dataset medium --json > stencils.json
  polygym bench my.c --schedules isl,mine.json
  polygym bench floyd-warshall --split auto
  polygym bench my.c --schedules isl --schedules '{ S[i,j] -> [j,i] }'
  polygym bench all --threads 2 --against isl,clang,gcc,polly
  polygym bench 'all,!stencils,!ludcmp'
  polygym bench blas --threads 2 --against limit --figure limits.png
"""

_Makers: TypeAlias = Mapping[str, Maker]


@dataclass(frozen=True, slots=True)
class _How:
    """How every program is measured: its schedules, other compilers, the mapping, the rounds.

    If it is ``limited``, the limit of every program is computed, too.
    """

    makers: _Makers
    compilers: tuple[str, ...]
    mapping: MachineMapping
    repeat: int
    limited: bool = False

    @property
    def contenders(self) -> tuple[str, ...]:
        """The names of all that run, in the order of the columns."""
        return (*self.makers, *self.compilers)


@dataclass(slots=True)
class _Said:
    """What there is to say about contenders, by name: texts, why there is no code, choices."""

    texts: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    choices: dict[str, dict[str, Any]] = field(default_factory=dict)


@click.command(
    "bench", help=_HELP, epilog=f"{TARGET_HELP.replace('TARGET', 'Each target')} {EXCLUSION_HELP}"
)
@click.argument("targets", nargs=-1, required=True, metavar="KERNEL|GLOB|CATEGORY|FILE.c|!...")
@click.option(
    "--schedules",
    multiple=True,
    default=("original,isl,auto",),
    metavar="NAME[,NAME]",
    help="original, isl, auto (one of a few by a model of cost), files with schedules, or isl "
    "text; may be repeated. Ratios are to the original order, which is always measured. (Default: "
    "original,isl,auto.)",
)
@click.option(
    "--against",
    metavar="NAME[,NAME]",
    default="",
    help="llvm-O3 (the original order, always measured), isl, clang, gcc, polly, limit.",
)
@click.option(
    "--figure",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.png|.svg",
    help="Draw which share of its limit each program reaches; needs --against limit.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    default=4,
    show_default=True,
    help="Rounds; each runs every schedule once.",
)
@function_option
@size_options
@split_option
@storage_options
@mapping_options
@json_option
def command(
    targets: tuple[str, ...],
    region: str | None,
    schedules: tuple[str, ...],
    against: str,
    figure: Path | None,
    repeat: int,
    dataset: Dataset | None,
    parameters: dict[str, int],
    cutter: Cutter | None,
    storage: StorageChoice | None,
    storage_limit: int,
    mapping: MachineMapping | None,
    threads: int,
    as_json: bool,
) -> Answer:
    """Load all programs, measure one after the other, and report what was measured."""
    schedule_names, compilers = _contenders(schedules, against)
    limited = LIMIT in listed(against)
    check_figure(figure, limited=limited)
    how = _How(
        {name: schedule_maker(name) for name in schedule_names},
        compilers,
        chosen_mapping(mapping, DEFAULT, threads),
        repeat,
        limited,
    )
    names = how.contenders
    results: list[tuple[Entry, ...]] = []
    unlimited: dict[str, str] = {}
    endless: dict[str, list[str]] = {}
    programs = {
        target: with_storage(program_in_pieces(program, cutter), storage, storage_limit)
        for target, program in _load(selected(targets), region, dataset, parameters).items()
    }
    if limited:
        with working("measuring the machine"):
            peaks_of(how.mapping.threads)
    interrupted, machine, load = False, LoadWatch(), None
    try:
        with as_exceptions(), Worker() as worker, progress(list(programs), "measuring") as labels:
            for label in labels:
                row, arrays = _measure(worker, label, programs[label], how)
                if limited:
                    row = with_limit(row, programs[label], how.mapping, unlimited)
                results.append(row)
                if arrays:
                    endless[label] = arrays
                load = machine.load()
    except KeyboardInterrupt:
        interrupted = True
    entries = [entry for row in results for entry in row]
    all_ran = all(isinstance(entry.outcome, Ok) for entry in entries) and not unlimited
    code = INTERRUPTED if interrupted else 0 if all_ran else 1
    means = {
        name: mean_speedup([entry for entry in entries if entry.schedule == name]) for name in names
    }
    if figure is not None:
        draw_limits(figure, results, str(dataset or Dataset.LARGE))
    if as_json:
        report = _report(entries, means, endless, dataset, how, load, interrupted)
        if limited:
            report["entries"] += limit_entries(results, unlimited)
            report["of_limit"] = {
                name: mean_of_limit([entry for entry in entries if entry.schedule == name])
                for name in names
            }
        report["splittings"] = {label: str(one.splitting) for label, one in programs.items()}
        report["storage"] = {label: str(one.storage) for label, one in programs.items()}
        return Answer(code, report)
    print_entries(results, names, means)
    for label, program in programs.items():
        if program.splitting.statements:
            say(f"{label}, but for the original order, split: {program.splitting}")
        if not program.storage.keeps:
            say(f"{label}, but for the original order, storage: {program.storage}")
    for label, arrays in endless.items():
        say(f"{label}: {remark_on(arrays)}")
    for label, reason in unlimited.items():
        say(f"{label}, {LIMIT}: {reason}", err=True)
    if limited and (warning := disturbance(peaks_of(how.mapping.threads))):
        say(warning, err=True)
    if how.mapping.caveat:
        say(how.mapping.caveat)
    ran = [one.schedule for one in entries if one.outcome is not None]
    if note := compared([name for name in how.compilers if name in ran]):
        say(note)
    say_foreign_load(load)
    if interrupted:
        say("interrupted", err=True)
    return Answer(code)


def _contenders(schedules: Sequence[str], against: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the schedules and the other compilers that are to be measured."""
    named = listed(against)
    known = (_LLVM, _ISL, *FOREIGN, LIMIT)
    for name in named:
        if name not in known:
            raise InputError(f"--against: expected {', '.join(known)}, found {shorten(name)!r}")
    extra = (_ISL,) if _ISL in named else ()
    return _names((*schedules, *extra)), found_compilers(name for name in named if name in FOREIGN)


def _names(schedules: Sequence[str]) -> tuple[str, ...]:
    """Return what the options name, each once; the original order comes first in any case."""
    names = [name for text in schedules for name in _split(text)]
    if not names:
        raise InputError("--schedules: expected at least one name")
    return tuple(dict.fromkeys([_ORIGINAL, *names]))


def _split(text: str) -> list[str]:
    """Split at the commas that stand outside brackets.

    >>> _split("isl, { S[i,j] -> [j,i] },x.json")
    ['isl', '{ S[i,j] -> [j,i] }', 'x.json']
    """
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _load(
    targets: Sequence[str], region: str | None, dataset: Dataset | None, parameters: dict[str, int]
) -> dict[str, Program]:
    """Load every program, so that one that is refused costs no measuring."""
    programs: dict[str, Program] = {}
    with progress(targets, "reading") as chosen:
        for target in chosen:
            try:
                programs[target] = load_program(
                    target, function=region, dataset=dataset, parameters=parameters
                )
            except SourceError:  # says where by itself
                raise
            except InputError as error:
                if str(error).startswith(target):
                    raise
                raise InputError(f"{target}: {error}") from None
    return programs


def _measure(
    worker: Worker, label: str, program: Program, how: _How
) -> tuple[tuple[Entry, ...], list[str]]:
    """Measure all schedules of one program; what fails is an entry that says so.

    With them come the names of the output arrays in which not all values are finite.
    """
    endless: list[str] = []
    outcomes: dict[str, Outcome] = {}
    said = _Said()
    candidates: dict[str, CompiledProgram] = {}
    try:
        problem, candidates = _compile(program, how, said)
        try:
            session = worker.open(problem, Repetition(minimum=1))
            programs = tuple(candidates.values())
            measured = session.measure_together(
                programs, how.repeat, MeasureOptions(time_limit=PATIENT)
            )
            outcomes = dict(zip(candidates, measured, strict=True))
            endless = not_finite(figures_of(program, session))
            session.close()
        except ProblemError as error:
            outcomes = dict.fromkeys(candidates, error.outcome)
    except (PolygymError, MemoryError, RecursionError) as error:
        said.errors = dict.fromkeys(how.contenders, failure_of(error).message)
    base = outcomes.get(_ORIGINAL)
    entries = tuple(
        Entry(
            label,
            name,
            said.texts.get(name, ""),
            outcomes.get(name),
            said.errors.get(name, ""),
            ratio(base, outcomes.get(name)),
            how.mapping.simplified(candidates[name].done)
            if name in candidates and name != _ORIGINAL
            else "",
            said.choices.get(name),
        )
        for name in how.contenders
    )
    return entries, endless


def _compile(
    program: Program, how: _How, said: _Said
) -> tuple[Problem, dict[str, CompiledProgram]]:
    """Compile all contenders; add what there is to say about them."""
    with held_back():
        dependences(program.scop)  # what all of them need
    problem = code_within(lambda: compile_problem(program))
    candidates = {}
    for name, make in how.makers.items():
        try:
            given, found = code_within(
                partial(_generated, program, make, how.mapping, name == _ORIGINAL)
            )
            said.texts[name] = str(given.schedule)
            if (choice := given.to_json()) is not None:
                said.choices[name] = choice
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
    program: Program, make: Maker, mapping: MachineMapping, is_original: bool
) -> tuple[Given, CompiledProgram | str | None]:
    """Return a schedule with its code or why there is none; of the original there is code."""
    given = make(
        program.written if is_original else program.scop, dict(program.parameters), mapping
    )
    if is_original:
        return given, None
    try:
        return given, compile_schedule(program, given.schedule, mapping)
    except (PolygymError, MemoryError, RecursionError) as error:
        return given, failure_of(error).message


def _report(
    entries: Sequence[Entry],
    means: Mapping[str, float | None],
    endless: Mapping[str, list[str]],
    dataset: Dataset | None,
    how: _How,
    load: ForeignLoad | None,
    interrupted: bool,
) -> dict[str, Any]:
    """Return everything that `--json` prints."""
    return {
        "dataset": str(dataset or Dataset.LARGE),
        "repeat": how.repeat,
        "mapping": str(how.mapping),
        "tolerance": how.mapping.tolerance,
        "caveat": how.mapping.caveat,
        "tolerance_of_compilers": TOLERANCE if how.compilers else None,
        "interrupted": interrupted,
        "foreign_load": None if load is None else load.to_json(),
        "entries": [entry.to_json() for entry in entries],
        "geometric_mean": dict(means),
        "not_finite": dict(endless),
        "machine": asdict(this_machine()),
    }
