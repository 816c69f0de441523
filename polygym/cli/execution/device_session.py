"""``polygym export`` and ``polygym show`` for GPUs: nothing runs, so no GPU is needed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from polybench import Dataset
from polygym.cli.execution.resolved_program import ShownTarget
from polygym.cli.options import common, schedules
from polygym.cli.options.variants import VariantOptions
from polygym.cli.output import console
from polygym.codegen.contraction import legal_with_storage
from polygym.export.device_export import (
    DeviceExport,
    DeviceExportKind,
    export_device,
    write_device_export,
)
from polygym.gpu.mapping.device_mapping import DeviceMapping
from polygym.gpu.mapping.pipeline import map_to_device
from polygym.gpu.ptx.compile_ptx import compile_ptx
from polygym.gpu.ptx.cuda_text import cuda_text
from polygym.gpu.ptx.emit_device import emit_device
from polygym.gpu.ptx.math_library import libdevice_path
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.legality import LegalSchedule
from polygym.programs import load_program
from polygym.runtime.evaluation.time_limits import code_within

_KINDS = [kind.value for kind in DeviceExportKind]
_SCHEDULE = "isl"  # of the schedules that need no measurement, the one with the most parallel loops


@dataclass(frozen=True, slots=True)
class DeviceTarget:
    """A program for a GPU as a command line names it."""

    target: str
    region: str | None
    dataset: Dataset | None
    parameters: dict[str, int]
    schedule: str
    variant: VariantOptions
    architecture: str


def export_for_device(
    asked: DeviceTarget,
    mapping: DeviceMapping,
    kind: str,
    name: str | None,
    out: Path,
    as_json: bool,
) -> console.CommandResult:
    """Write the kernels of a program, and say what they take."""
    if kind not in _KINDS:
        raise click.UsageError(
            f"--mapping {mapping}: expected --kind {', '.join(_KINDS)}, found {kind}."
        )
    if asked.target.endswith(common.RESULT_SUFFIX):
        raise click.UsageError(
            f"--mapping {mapping}: expected a program, found {asked.target}, which was measured "
            "on a CPU."
        )
    program = load_program(
        asked.target,
        function=asked.region,
        dataset=asked.dataset,
        parameters=asked.parameters,
    )
    wanted = _wanted(asked.schedule)
    program = asked.variant.apply(program, wanted, DEFAULT_MAPPING)
    sizes = dict(program.parameters)
    given = schedules.schedule_maker(wanted)(program.scop, sizes, DEFAULT_MAPPING)
    with console.spinner("generating code"):
        export = export_device(
            program,
            given.schedule,
            mapping,
            DeviceExportKind(kind),
            sizes=sizes,
            name=name,
            architecture=asked.architecture,
        )
    files = write_device_export(export, out)
    document = {
        "function": export.function,
        "kind": kind,
        "schedule": str(given.schedule),
        "mapping": str(mapping),
        "architecture": export.code.architecture,
        "files": [str(path) for path in files],
        "kernels": [kernel.name for kernel in export.code.kernels],
        "fallback": export.program.fallback,
    }
    return console.answer(as_json, document, lambda: _print_export(export, program.name, files))


def _print_export(export: DeviceExport, program: str, files: Sequence[Path]) -> None:
    """Print the kernels with what they take, and the files."""
    console.heading(f"{export.function}: {program}")
    console.write_text(f"  mapping: {export.mapping}; GPU: {export.code.architecture} and later")
    _warn(export.program.fallback)
    resources = {} if export.assembled is None else dict(export.assembled.resources)
    for kernel in export.code.kernels:
        threads = "x".join(map(str, kernel.block))
        words = [f"{threads} threads", f"{kernel.shared} bytes shared"]
        if kernel.name in resources:
            words.append(f"{resources[kernel.name].registers} registers")
        console.write_text(f"  {kernel.name}: {', '.join(words)}")
    console.heading("\nFiles")
    for path in files:
        console.write_text(f"  {path}")


def _wanted(schedule: str) -> str:
    """Return the schedule that is asked for, or what ``auto`` stands for here."""
    return _SCHEDULE if schedules.is_automatic(schedule) else schedule


_PASSES = {
    "cuda": "kernels and launches as CUDA C++",
    "kernels": "LLVM IR of the kernels for nvptx64, not yet optimized",
    "ptx": "PTX, optimized by LLVM",
}


def show_for_device(
    shown: ShownTarget,
    schedule_text: str,
    variant: VariantOptions,
    mapping: DeviceMapping,
    after: str | None,
    *,
    as_json: bool,
) -> console.CommandResult:
    """Print the kernels of a program as a text of a kind."""
    form = after or "cuda"
    if form not in _PASSES:
        raise click.UsageError(
            f"--after {form}: expected {', '.join(_PASSES)} with --mapping {mapping}."
        )
    wanted = _wanted(schedule_text)
    sizes = None if shown.sizes is None else dict(shown.sizes)
    stored = variant.resolve(shown.written, wanted, sizes)
    given = schedules.schedule_maker(wanted)(stored.scop, sizes, DEFAULT_MAPPING)
    legal = legal_with_storage(stored.storage, stored.scop, given.schedule)
    fallback, text = code_within(lambda: _device_text(legal, mapping, sizes, form))
    document = {
        "name": stored.scop.name,
        "schedule": str(given.schedule),
        "mapping": str(mapping),
        "after": form,
        "does": _PASSES[form],
        "fallback": fallback,
        "text": text,
    }

    def show() -> None:
        _warn(fallback)
        click.echo(text, nl=False)

    return console.answer(as_json, document, show)


def _warn(fallback: str) -> None:
    """Say on standard error if something slower than the schedule was mapped."""
    if fallback:
        console.write_text(f"  warning: {fallback}", err=True)


def _device_text(
    legal: LegalSchedule, mapping: DeviceMapping, sizes: dict[str, int] | None, form: str
) -> tuple[str, str]:
    """Return why something slower was mapped, if so, and the kernels as a text."""
    device = map_to_device(legal, mapping, sizes)
    match form:
        case "cuda":
            text = cuda_text(device, f"{legal.scop.name}: {legal.schedule}, {mapping}")
        case "kernels":
            text = emit_device(device, libdevice_path())[0]
        case _:
            text = compile_ptx(device).ptx
    return device.fallback, text
