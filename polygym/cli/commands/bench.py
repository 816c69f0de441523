"""``polygym bench``: several schedules of several programs, measured side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import click

from polybench import Dataset
from polygym.cli.answer import Answer
from polygym.cli.benching import ORIGINAL, How, measured
from polygym.cli.entries import (
    Entry,
    mean_of_limit,
    mean_speedup,
    print_entries,
)
from polygym.cli.interrupts import INTERRUPTED, as_exceptions
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
from polygym.cli.outputs import remark_on
from polygym.cli.schedules import is_automatic, said_in, schedule_maker
from polygym.cli.splitting import Cutter, program_in_pieces, split_option
from polygym.cli.storing import StorageChoice, storage_options, with_storage
from polygym.cli.text import listed, shorten
from polygym.compiler.codegen.common.mapping import DEFAULT, TOLERANCE
from polygym.compiler.codegen.common.mapping import Mapping as MachineMapping
from polygym.compiler.storage.plan import KEEP
from polygym.errors import InputError, SourceError
from polygym.measure.evaluation.foreign import FOREIGN, compared
from polygym.measure.machine.kept import peaks_of
from polygym.measure.worker.foreign_load import ForeignLoad, LoadWatch
from polygym.measure.worker.outcome import Ok
from polygym.measure.worker.timing import this_machine
from polygym.measure.worker.worker import Worker
from polygym.programs import Program, load_program
from polygym.programs.selection import selected
from polygym.search.sweep.rows import LIMIT

_LLVM = "llvm-O3"
_ISL = "isl"
_HELP = """Measure schedules of programs in turn, and print ratios and their geometric mean.

The schedules of one program run round robin in one process, by one clock, each checked against
the original order's output. The original order is compiled by LLVM -O3 as it stands; all others run
under --mapping and with --threads. With the automatic schedule it is decided where values are kept
and statements are cut as well, and files of schedules say it. --storage or --split say it instead,
for all but the original order; --storage keep is as the source has it. Exit code 1: one of them
failed. Ctrl-C prints what there is.

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


@click.command(
    "bench", help=_HELP, epilog=f"{TARGET_HELP.replace('TARGET', 'Each target')} {EXCLUSION_HELP}"
)
@click.argument("targets", nargs=-1, required=True, metavar="KERNEL|GLOB|CATEGORY|FILE.c|!...")
@click.option(
    "--schedules",
    multiple=True,
    default=("original,isl,auto",),
    metavar="NAME[,NAME]",
    help="original, isl, auto (decided by models of cost), files with schedules, or isl "
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
@split_option(
    "decided for auto, unless --storage is given; what its file has for a file; else none"
)
@storage_options("model for auto, unless --split is given; what its file has for a file; else keep")
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
    storage_limit: int | None,
    mapping: MachineMapping | None,
    threads: int,
    as_json: bool,
) -> Answer:
    """Load all programs, measure one after the other, and report what was measured."""
    schedule_names, compilers = _contenders(schedules, against)
    limited = LIMIT in listed(against)
    check_figure(figure, limited=limited)
    is_said = cutter is not None or storage is not None
    how = How(
        {name: schedule_maker(name) for name in schedule_names},
        compilers,
        chosen_mapping(mapping, DEFAULT, threads),
        repeat,
        limited,
        frozenset() if is_said else frozenset(filter(is_automatic, schedule_names)),
        storage_limit,
        _homes_in_files(schedule_names, cutter, storage, storage_limit),
    )
    programs = {
        target: with_storage(
            program_in_pieces(program, cutter), storage, storage_limit, mapping=how.mapping
        )
        for target, program in _load(selected(targets), region, dataset, parameters).items()
    }
    found = _measured(programs, how)
    if figure is not None:
        draw_limits(figure, found.results, str(dataset or Dataset.LARGE))
    if as_json:
        return Answer(found.code, _report(found, programs, dataset, how))
    _print(found, programs, how)
    return Answer(found.code)


@dataclass(slots=True)
class _Found:
    """What came of the programs so far: a row of entries each, and what there is to say beside."""

    results: list[tuple[Entry, ...]] = field(default_factory=list)
    unlimited: dict[str, str] = field(default_factory=dict)
    endless: dict[str, list[str]] = field(default_factory=dict)
    load: ForeignLoad | None = None
    interrupted: bool = False

    @property
    def entries(self) -> list[Entry]:
        """All of them, program by program."""
        return [entry for row in self.results for entry in row]

    @property
    def code(self) -> int:
        """What the command ends with."""
        if self.interrupted:
            return INTERRUPTED
        all_ran = all(isinstance(entry.outcome, Ok) for entry in self.entries)
        return 0 if all_ran and not self.unlimited else 1

    def of(self, name: str) -> list[Entry]:
        """Return the entries of a contender."""
        return [entry for entry in self.entries if entry.schedule == name]


def _measured(programs: Mapping[str, Program], how: How) -> _Found:
    """Measure one program after the other; Ctrl-C leaves what there is."""
    if how.limited:
        with working("measuring the machine"):
            peaks_of(how.mapping.threads)
    found, machine = _Found(), LoadWatch()
    try:
        with as_exceptions(), Worker() as worker, progress(list(programs), "measuring") as labels:
            for label in labels:
                row, arrays = measured(worker, label, programs[label], how)
                if how.limited:
                    row = with_limit(row, programs[label], how.mapping, found.unlimited)
                found.results.append(row)
                if arrays:
                    found.endless[label] = arrays
                found.load = machine.load()
    except KeyboardInterrupt:
        found.interrupted = True
    return found


def _print(found: _Found, programs: Mapping[str, Program], how: How) -> None:
    """Print the table, and what has to be said about it."""
    names = how.contenders
    print_entries(found.results, names, {name: mean_speedup(found.of(name)) for name in names})
    for label, program in programs.items():
        if program.splitting.statements:
            say(f"{label}, but for the original order, split: {program.splitting}")
        if not program.storage.keeps:
            say(f"{label}, but for the original order, storage: {program.storage}")
    for entry in found.entries:
        if entry.schedule in {*how.decides, *how.homes} and (words := _decided(entry)):
            say(f"{entry.program}, {entry.schedule}: {words}")
    for label, arrays in found.endless.items():
        say(f"{label}: {remark_on(arrays)}")
    for label, reason in found.unlimited.items():
        say(f"{label}, {LIMIT}: {reason}", err=True)
    if how.limited and (warning := disturbance(peaks_of(how.mapping.threads))):
        say(warning, err=True)
    if how.mapping.caveat:
        say(how.mapping.caveat)
    ran = [one.schedule for one in found.entries if one.outcome is not None]
    if note := compared([name for name in how.compilers if name in ran]):
        say(note)
    say_foreign_load(found.load)
    if found.interrupted:
        say("interrupted", err=True)


def _decided(entry: Entry) -> str:
    """Return where the program of an entry is cut and keeps its values; "" where as written."""
    cuts, plan = entry.home["splitting"], entry.home["storage"]
    words = (cuts and f"split {cuts}", plan if plan != str(KEEP) else "")
    return ", ".join(filter(None, words))


def _contenders(schedules: Sequence[str], against: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the schedules and the other compilers that are to be measured."""
    named = listed(against)
    known = (_LLVM, _ISL, *FOREIGN, LIMIT)
    for name in named:
        if name not in known:
            raise InputError(f"--against: expected {', '.join(known)}, found {shorten(name)!r}")
    extra = (_ISL,) if _ISL in named else ()
    return _names((*schedules, *extra)), found_compilers(name for name in named if name in FOREIGN)


def _homes_in_files(
    names: Sequence[str], cutter: Cutter | None, storage: StorageChoice | None, limit: int | None
) -> dict[str, Callable[[Program], Program]]:
    """Return what cuts programs and stores their values as the files of schedules say.

    Options that are given say it instead.
    """

    def at_home(name: str, program: Program) -> Program:
        cuts = program.splitting if cutter is not None else None
        plan = program.storage if storage is not None else None
        return with_storage(program_in_pieces(program, cuts, name), plan, limit, name)

    if cutter is not None and storage is not None:
        return {}
    said = (name for name in names if said_in(name, "splitting") or said_in(name, "storage"))
    return {name: partial(at_home, name) for name in said}


def _names(schedules: Sequence[str]) -> tuple[str, ...]:
    """Return what the options name, each once; the original order comes first in any case."""
    names = [name for text in schedules for name in _split(text)]
    if not names:
        raise InputError("--schedules: expected at least one name")
    return tuple(dict.fromkeys([ORIGINAL, *names]))


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


def _report(
    found: _Found, programs: Mapping[str, Program], dataset: Dataset | None, how: How
) -> dict[str, Any]:
    """Return everything that `--json` prints."""
    names = how.contenders
    limits: dict[str, Any] = {}
    entries = [entry.to_json() for entry in found.entries]
    if how.limited:
        entries += limit_entries(found.results, found.unlimited)
        limits = {"of_limit": {name: mean_of_limit(found.of(name)) for name in names}}
    return {
        "dataset": str(dataset or Dataset.LARGE),
        "repeat": how.repeat,
        "mapping": str(how.mapping),
        "tolerance": how.mapping.tolerance,
        "caveat": how.mapping.caveat,
        "tolerance_of_compilers": TOLERANCE if how.compilers else None,
        "interrupted": found.interrupted,
        "foreign_load": None if found.load is None else found.load.to_json(),
        "entries": entries,
        "geometric_mean": {name: mean_speedup(found.of(name)) for name in names},
        **limits,
        "not_finite": dict(found.endless),
        "splittings": {label: str(one.splitting) for label, one in programs.items()},
        "storage": {label: str(one.storage) for label, one in programs.items()},
        "machine": asdict(this_machine()),
    }
