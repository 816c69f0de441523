"""``polygym export`` for GPUs: nothing runs, so no GPU is needed."""

from dataclasses import dataclass
from pathlib import Path

import click

from polybench import Dataset
from polygym.cli.options import common, schedules
from polygym.cli.options.variants import VariantOptions
from polygym.cli.output import console
from polygym.export.device_export import DeviceExportKind, export_device, write_device_export
from polygym.gpu.mapping.device_mapping import DeviceMapping
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.programs import load_program

_KINDS = [kind.value for kind in DeviceExportKind]
_SCHEDULE = "isl"  # of the schedules that need no measurement, the one with the most parallel loops


@dataclass(frozen=True, slots=True)
class DeviceTarget:
    """How a command line names a program for a GPU."""

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
            f"--mapping {mapping}: expected --kind {' or '.join(_KINDS)}, found {kind}."
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
    wanted = _SCHEDULE if schedules.is_automatic(asked.schedule) else asked.schedule
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
    }

    def show() -> None:
        console.heading(f"{export.function}: {program.name}")
        console.write_text(f"  mapping: {mapping}; GPU: {export.code.architecture} and later")
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

    return console.answer(as_json, document, show)
