"""``polygym export`` and ``polygym apply`` at work: what is exported, measured, reported."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from polybench import Dataset
from polygym.cli.execution.resolved_program import resolve_program
from polygym.cli.options import common
from polygym.cli.options.values import combined, parsed_by, read_small_file
from polygym.cli.options.variants import VariantOptions, variant_options
from polygym.cli.output import console
from polygym.errors import InputError, PolygymError
from polygym.export.c_compiler import UserCompiler
from polygym.export.cpu_levels import NATIVE, cpu_names
from polygym.export.exporting import Export, ExportOptions, prepare_export, sizes_of
from polygym.export.measuring import (
    SLOWER,
    SLOWER_THAN_SOURCE,
    ExportTimes,
    measure_export,
    timing_line,
)
from polygym.mapping.mapping import Mapping
from polygym.mdp.records import episode_record
from polygym.poly.schedule import Schedule
from polygym.programs import Program, load_program
from polygym.programs.sizes import parse_sizes
from polygym.runtime.worker.background_load import BackgroundLoad, LoadMonitor
from polygym.runtime.worker.outcome import Ok, outcome_to_json

_OF_PROGRAM = {
    "--function": "region",
    "-d": "dataset",
    "-p": "parameters",
    "--schedule": "schedule_text",
}


def _parsed_sizes(values: Sequence[str]) -> tuple[tuple[tuple[str, int], ...], ...]:
    return tuple(tuple(parse_sizes(value).items()) for value in values)


target_options = combined(
    common.program_argument,
    common.function_option,
    common.size_options,
    click.option(
        "--schedule",
        "schedule_text",
        default="auto",
        show_default=True,
        metavar="SCHEDULE",
        help="The schedule, as `polygym run` takes it.",
    ),
    common.moved_file_option,
)
"""Options of ``export`` and ``apply`` about the program."""

export_options = combined(
    click.option(
        "--sizes",
        multiple=True,
        metavar="NAME=VALUE,...",
        callback=parsed_by(_parsed_sizes),
        help="Further sizes for which the code is made fast; may be repeated.",
    ),
    click.option(
        "--cpu",
        "cpus",
        multiple=True,
        metavar="LEVEL",
        default=(NATIVE,),
        show_default=True,
        help=f"A processor that the code is for: {', '.join(cpu_names())}. With several, the code "
        "asks for the processor as it runs; on any other, the loops of the source run.",
    ),
    click.option(
        "--assume-disjoint",
        is_flag=True,
        help="Leave out the check that no array that is written overlaps another one.",
    ),
    click.option("--no-measure", is_flag=True, help="Do not measure the code as it is exported."),
    variant_options("decided with --schedule auto", "decided with --schedule auto"),
    common.exported_mapping_options,
    common.json_option,
)
"""Options of ``export`` and ``apply`` about the code."""


@dataclass(frozen=True, slots=True)
class ExportTarget:
    """What is to be exported: a program with a schedule and a mapping.

    ``is_source_changed`` says that the C file of a result is another one now.
    """

    program: Program
    schedule: Schedule
    mapping: Mapping
    is_source_changed: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """How a command line names the program and its schedule."""

    region: str | None
    dataset: Dataset | None
    parameters: dict[str, int]
    schedule: str
    variant: VariantOptions
    mapping: Mapping | None
    threads: int
    file: str | None = None


def resolve_target(target: str, options: TargetOptions) -> ExportTarget:
    """Return the program of a result, or a program with the schedule that the options ask for."""
    if target.endswith(common.RESULT_SUFFIX):
        return _recorded(target, options)
    if options.file is not None:
        raise click.UsageError(f"--file: expected with a result (best.json), found {target}.")
    program = load_program(
        target, function=options.region, dataset=options.dataset, parameters=options.parameters
    )
    resolved = resolve_program(
        program, options.schedule, options.variant, options.mapping, options.threads
    )
    return ExportTarget(resolved.program, resolved.given.schedule, resolved.mapping)


def _recorded(target: str, options: TargetOptions) -> ExportTarget:
    """Return what a result of ``polygym optimize`` has found."""
    _expect_no_program_options()
    record = episode_record.read_record(read_small_file(target, "a result"), target)
    flags = common.given_flags(options.file or episode_record.recorded_file(record))
    folder = Path(target).parent
    played = episode_record.replay_record(record, target, options.file, flags, folder)
    if played.schedule is None:
        raise InputError(f"{target}: expected a result with a schedule, found an unfinished one")
    note = f"{target}: the C file has changed since" if played.is_source_changed else ""
    recorded = played.evaluation_options.mapping
    context = click.get_current_context()
    is_given = context.get_parameter_source("threads") is not click.core.ParameterSource.DEFAULT
    threads = options.threads if is_given else recorded.threads
    mapping = common.resolve_mapping(options.mapping, recorded, threads)
    return ExportTarget(played.program, played.schedule, mapping, played.is_source_changed, note)


def _expect_no_program_options() -> None:
    """Refuse options about what a result says itself."""
    context = click.get_current_context()
    for option, name in _OF_PROGRAM.items():
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option}: expected without it, since a result has its own.")


def prepare(
    target: ExportTarget,
    name: str | None,
    sizes: Sequence[tuple[tuple[str, int], ...]],
    cpus: Sequence[str],
    assumes_disjoint: bool,
) -> Export:
    """Generate the code of an export for the sizes of the program and further ones."""
    program = target.program
    all_sizes = [program.parameters, *(sizes_of(values, program) for values in sizes)]
    known = {name for name, _ in program.parameters}
    for values in sizes:
        for size, _ in values:
            if size not in known:
                listed = ", ".join(sorted(known)) or "(none)"
                raise InputError(f"--sizes {size}: expected one of the parameters {listed}")
    options = ExportOptions(name, tuple(dict.fromkeys(all_sizes)), tuple(cpus), assumes_disjoint)
    with console.spinner("generating code"):
        return prepare_export(program, target.schedule, target.mapping, options)


@dataclass(frozen=True, slots=True)
class MeasuredExport:
    """The times of an export, or the sentence about why there are none.

    ``load`` is how busy the machine was with other processes meanwhile.
    """

    times: ExportTimes | None
    note: str = ""
    load: BackgroundLoad | None = None

    @property
    def failed(self) -> bool:
        """Whether the exported code ran and did not come to a correct end."""
        return self.times is not None and not isinstance(self.times.exported, Ok)

    def to_json(self) -> dict[str, Any]:
        """Return what documents say of the times."""
        if self.times is None:
            return {"measured": None}
        times = self.times
        outcomes = {"source": times.source, "polygym": times.own, "exported": times.exported}
        return {
            "measured": {name: outcome_to_json(outcome) for name, outcome in outcomes.items()},
            "ratio": times.ratio,
            "background_load": None if self.load is None else self.load.to_json(),
        }


def measured(
    export: Export, compiler: UserCompiler | None, *, as_c: bool, is_wanted: bool
) -> MeasuredExport:
    """Return the times of an export, or the sentence about why there are none."""
    if export.is_source:
        note = "nothing is faster than the source: its loops stay as they are"
        return MeasuredExport(None, note)
    if not is_wanted:
        return MeasuredExport(None, "not measured: --no-measure")
    if compiler is None:
        note = "not measured as exported: no C compiler was found (CC, cc, gcc, clang)"
        return MeasuredExport(None, note)
    if export.local_plan is None:
        names = ", ".join(level.name for level, _ in export.plans)
        return MeasuredExport(None, f"not measured: this machine's processor is none of {names}")
    if as_c and export.plan.threads > 1 and compiler.is_clang:
        note = "not measured as exported: threads by clang need its own library, libomp"
        return MeasuredExport(None, note)
    machine = LoadMonitor()
    try:
        with console.spinner("measuring the exported code"):
            times = measure_export(export, compiler, as_c=as_c)
    except PolygymError as error:
        return MeasuredExport(None, f"not measured as exported: {error}")
    return MeasuredExport(times, "", machine.load())


def with_timing(export: Export, times: ExportTimes | None) -> Export:
    """Return an export whose files say what was measured."""
    return export if times is None else replace(export, timing=timing_line(times))


def print_times(result: MeasuredExport) -> None:
    """Print the times; warn where the exported code is slower than it was, or than the source."""
    times = result.times
    if times is None:
        console.write_text(result.note)
        return
    for name, outcome in (
        ("source", times.source),
        ("in polygym", times.own),
        ("as exported", times.exported),
    ):
        shown = console.format_seconds(outcome.best) if isinstance(outcome, Ok) else ""
        console.write_text(f"  {name:12} {shown or outcome.status.value}")
    if times.ratio is not None and times.ratio > SLOWER:
        console.write_text(
            f"warning: the exported code takes {times.ratio:.2f} times as long as what was "
            "measured in polygym",
            err=True,
        )
    if times.slowdown is not None and times.slowdown > SLOWER_THAN_SOURCE:
        console.write_text(
            f"warning: the exported code takes {times.slowdown:.2f} times as long as the source; "
            "`polygym optimize` keeps the source where nothing is faster",
            err=True,
        )
    console.report_background_load(result.load)
