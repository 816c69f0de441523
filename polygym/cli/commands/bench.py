"""``polygym bench``: several schedules of several programs, measured side by side."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import click

from polybench import Dataset
from polygym.cli.execution import benching
from polygym.cli.interrupts import EXIT_INTERRUPTED, interrupts_raise
from polygym.cli.options import common
from polygym.cli.options.schedules import is_automatic, schedule_maker, text_in_file
from polygym.cli.options.values import count_option, file_option
from polygym.cli.options.variants import VariantOptions, variant_options
from polygym.cli.output import console
from polygym.cli.output.array_figures import non_finite_remark
from polygym.cli.output.bench_table import (
    BenchEntry,
    mean_of_limit,
    mean_speedup,
    print_entries,
)
from polygym.cli.output.limits import busy_machine_note
from polygym.errors import InputError, SourceError
from polygym.mapping.mapping import DEFAULT_MAPPING, TOLERANCE
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.poly.transform.storage.plan import SOURCE_STORAGE
from polygym.programs import Program, load_program
from polygym.programs.comma_lists import split_at_commas
from polygym.programs.selection import is_file, select_programs
from polygym.runtime.evaluation.c_compilers import C_COMPILERS, tolerance_note
from polygym.runtime.peaks.calibration import peaks_for
from polygym.runtime.worker.background_load import BackgroundLoad, LoadMonitor
from polygym.runtime.worker.outcome import Ok
from polygym.runtime.worker.timing import describe_host
from polygym.runtime.worker.worker import Worker
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
(clang with Polly: tiled, parallel, the same threads), from the program's own C file: as it stands
and with restrict at its array arguments, of which the better counts. One that is not installed is
left out with a word. With other compilers outputs are compared to a relative 1e-6. And limit: a
time below which no code of the program runs on this machine (docs/explanation/limit.md).

\b
Examples:
  polygym bench gemm mvt atax --schedules original,isl
  polygym bench stencils --dataset medium --json > stencils.json
  polygym bench my.c --schedules isl,mine.json
  polygym bench my.c:12 my.c:40 --threads 2
  polygym bench floyd-warshall --split auto
  polygym bench my.c --schedules isl --schedules '{ S[i,j] -> [j,i] }'
  polygym bench all --threads 2 --against isl,clang,gcc,polly
  polygym bench 'all,!stencils,!ludcmp'
  polygym bench blas --threads 2 --against limit --figure limits.png
"""


@click.command("bench", help=_HELP, epilog=f"{common.PROGRAM_HELP} {common.EXCLUSION_HELP}")
@click.argument("targets", nargs=-1, required=True, metavar="PROGRAM...")
@click.option(
    "--schedules",
    multiple=True,
    default=("original,isl,auto",),
    metavar="SCHEDULE,...",
    help="original, isl, auto (decided by models of cost), files with schedules, or isl "
    "text; may be repeated. Ratios are to the original order, which is always measured. (Default: "
    "original,isl,auto.)",
)
@click.option(
    "--against",
    metavar="NAME,...",
    default="",
    help="llvm-O3 (the original order, always measured), isl, clang, gcc, polly, limit.",
)
@file_option(
    "--figure",
    help="Draw which share of its limit each program reaches; needs --against limit.",
)
@count_option("--repeat", most=1000, default=4, help="Rounds; each runs every schedule once.")
@common.function_option
@common.size_options
@variant_options(
    "decided for auto, unless --storage is given; what its file has for a file; else none",
    "model for auto, unless --split is given; what its file has for a file; else keep",
)
@common.mapping_options
@common.json_option
def command(
    targets: tuple[str, ...],
    region: str | None,
    schedules: tuple[str, ...],
    against: str,
    figure: Path | None,
    repeat: int,
    dataset: Dataset | None,
    parameters: dict[str, int],
    variant: VariantOptions,
    mapping: MachineMapping | None,
    threads: int,
    as_json: bool,
) -> console.CommandResult:
    """Load all programs, measure one after the other, and report what was measured."""
    schedule_names, compilers = _contenders(schedules, against)
    limited = LIMIT in console.listed(against)
    benching.check_figure(figure, limited=limited)
    how = benching.BenchOptions(
        {name: schedule_maker(name) for name in schedule_names},
        compilers,
        common.resolve_mapping(mapping, DEFAULT_MAPPING, threads),
        repeat,
        limited,
        frozenset() if variant.is_given else frozenset(filter(is_automatic, schedule_names)),
        variant.memory_limit,
        _variants_in_files(schedule_names, variant),
    )
    programs = {
        target: variant.apply(program, mapping=how.mapping)
        for target, program in _load(select_programs(targets), region, dataset, parameters).items()
    }
    results = _measured(programs, how)
    if figure is not None:
        benching.draw_limits(figure, results.results, str(dataset or Dataset.LARGE))
    document = _report(results, programs, dataset, how)
    return console.answer(as_json, document, lambda: _print(results, programs, how), results.code)


@dataclass(slots=True)
class _BenchResults:
    """What came of the programs so far: a row of entries each, and what there is to say beside."""

    results: list[tuple[BenchEntry, ...]] = field(default_factory=list)
    unlimited: dict[str, str] = field(default_factory=dict)
    endless: dict[str, list[str]] = field(default_factory=dict)
    load: BackgroundLoad | None = None
    interrupted: bool = False

    @property
    def entries(self) -> list[BenchEntry]:
        """All of them, program by program."""
        return [entry for row in self.results for entry in row]

    @property
    def code(self) -> int:
        """What the command ends with."""
        if self.interrupted:
            return EXIT_INTERRUPTED
        all_ran = all(isinstance(entry.outcome, Ok) for entry in self.entries)
        return 0 if all_ran and not self.unlimited else 1

    def of(self, name: str) -> list[BenchEntry]:
        """Return the entries of a contender."""
        return [entry for entry in self.entries if entry.schedule == name]


def _measured(programs: Mapping[str, Program], how: benching.BenchOptions) -> _BenchResults:
    """Measure one program after the other; Ctrl-C leaves what there is."""
    if how.limited:
        with console.spinner("measuring the machine"):
            peaks_for(how.mapping.threads)
    results, machine = _BenchResults(), LoadMonitor()
    try:
        with (
            interrupts_raise(),
            Worker() as worker,
            console.progress(list(programs), "measuring") as labels,
        ):
            for label in labels:
                row, arrays = benching.bench_program(worker, label, programs[label], how)
                if how.limited:
                    row = benching.add_limits(row, programs[label], how.mapping, results.unlimited)
                results.results.append(row)
                if arrays:
                    results.endless[label] = arrays
                results.load = machine.load()
    except KeyboardInterrupt:
        results.interrupted = True
    return results


def _print(
    result: _BenchResults, programs: Mapping[str, Program], how: benching.BenchOptions
) -> None:
    """Print the table, and what has to be said about it."""
    names = how.contenders
    means = {name: mean_speedup(result.of(name)) for name in names}
    print_entries(result.results, names, means, how.mapping)
    for label, program in programs.items():
        if program.splitting.statements:
            console.write_text(f"{label}, but for the original order, split: {program.splitting}")
        if not program.storage.is_source:
            console.write_text(f"{label}, but for the original order, storage: {program.storage}")
    for entry in result.entries:
        if entry.schedule in {*how.decides, *how.variants} and (words := _decided(entry)):
            console.write_text(f"{entry.program}, {entry.schedule}: {words}")
    for label, arrays in result.endless.items():
        console.write_text(f"{label}: {non_finite_remark(arrays)}")
    for label, reason in result.unlimited.items():
        console.write_text(f"{label}, {LIMIT}: {reason}", err=True)
    if how.limited and (warning := busy_machine_note(peaks_for(how.mapping.threads))):
        console.write_text(warning, err=True)
    if how.mapping.timing_caveat:
        console.write_text(how.mapping.timing_caveat)
    ran = [
        bench_entry.schedule for bench_entry in result.entries if bench_entry.outcome is not None
    ]
    if note := tolerance_note([name for name in how.compilers if name in ran]):
        console.write_text(note)
    console.report_background_load(result.load)
    if result.interrupted:
        console.write_text("interrupted", err=True)


def _decided(entry: BenchEntry) -> str:
    """Return where the program of an entry is cut and keeps its values; "" where as written."""
    cuts, plan = entry.variant["splitting"], entry.variant["storage"]
    words = (cuts and f"split {cuts}", plan if plan != str(SOURCE_STORAGE) else "")
    return ", ".join(filter(None, words))


def _contenders(schedules: Sequence[str], against: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the schedules and the other compilers that are to be measured."""
    named = console.listed(against)
    known = (_LLVM, _ISL, *C_COMPILERS, LIMIT)
    for name in named:
        if name not in known:
            raise InputError(
                f"--against: expected {', '.join(known)}, found {console.shorten(name)!r}"
            )
    extra = (_ISL,) if _ISL in named else ()
    return _names((*schedules, *extra)), common.installed_compilers(
        name for name in named if name in C_COMPILERS
    )


def _variants_in_files(
    names: Sequence[str], given: VariantOptions
) -> dict[str, Callable[[Program], Program]]:
    """Return what cuts programs and stores their values as the files of schedules say.

    Options that are given say it instead.
    """

    def with_storage(name: str, program: Program) -> Program:
        split = None if given.split is None else program.splitting
        storage = None if given.storage is None else program.storage
        return VariantOptions(split, storage, given.storage_limit).apply(program, name)

    if given.split is not None and given.storage is not None:
        return {}
    said = (
        name for name in names if text_in_file(name, "splitting") or text_in_file(name, "storage")
    )
    return {name: partial(with_storage, name) for name in said}


def _names(schedules: Sequence[str]) -> tuple[str, ...]:
    """Return what the options name, each once; the original order comes first in any case."""
    parts = [part.strip() for text in schedules for part in split_at_commas(text)]
    names = [part for part in parts if part]
    if not names:
        raise InputError("--schedules: expected at least one name")
    return tuple(dict.fromkeys([benching.ORIGINAL, *names]))


def _load(
    targets: Sequence[str], region: str | None, dataset: Dataset | None, parameters: dict[str, int]
) -> dict[str, Program]:
    """Load every program, so that one that is refused costs no measuring."""
    programs: dict[str, Program] = {}
    with console.progress(targets, "reading") as chosen:
        for target in chosen:
            try:
                programs[target] = load_program(
                    target,
                    function=region,
                    dataset=dataset,
                    parameters=parameters,
                    compile_commands=common.compile_commands() if is_file(target) else None,
                )
                common.tell_found_region(target, region)
            except SourceError:  # says where by itself
                raise
            except InputError as error:
                if str(error).startswith(target):
                    raise
                raise InputError(f"{target}: {error}") from None
    return programs


def _report(
    result: _BenchResults,
    programs: Mapping[str, Program],
    dataset: Dataset | None,
    how: benching.BenchOptions,
) -> dict[str, Any]:
    """Return everything that `--json` prints."""
    names = how.contenders
    limits: dict[str, Any] = {}
    entries = [entry.to_json() for entry in result.entries]
    if how.limited:
        entries += benching.limit_entries(result.results, result.unlimited)
        limits = {"share_of_limit": {name: mean_of_limit(result.of(name)) for name in names}}
    return {
        "dataset": str(dataset or Dataset.LARGE),
        "repeat": how.repeat,
        "mapping": str(how.mapping),
        "tolerance": how.mapping.tolerance,
        "caveat": how.mapping.timing_caveat,
        "tolerance_of_compilers": TOLERANCE if how.compilers else None,
        "interrupted": result.interrupted,
        "background_load": None if result.load is None else result.load.to_json(),
        "entries": entries,
        "geometric_mean": {name: mean_speedup(result.of(name)) for name in names},
        **limits,
        "not_finite": dict(result.endless),
        "splittings": {label: str(program.splitting) for label, program in programs.items()},
        "storage": {label: str(program.storage) for label, program in programs.items()},
        "machine": asdict(describe_host()),
    }
