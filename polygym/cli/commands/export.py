"""``polygym export``: a schedule as object code, a library, C, LLVM IR or a Python module."""

from pathlib import Path

import click

from polybench import Dataset
from polygym.cli.execution import export_session
from polygym.cli.execution.device_session import DeviceTarget, export_for_device
from polygym.cli.options import common
from polygym.cli.options.variants import VariantOptions
from polygym.cli.output import console
from polygym.export.c_compiler import user_clang, user_compiler
from polygym.export.device_export import DeviceExportKind
from polygym.export.writing import ExportKind, write_export
from polygym.gpu.mapping.device_mapping import DeviceMapping
from polygym.gpu.ptx.compile_ptx import DEFAULT_ARCHITECTURE
from polygym.mapping.mapping import Mapping

_HELP = """Write the fast loops of a program as code that links into your own program.

PROGRAM may also be `best.json` of `polygym optimize`, which has a schedule and a mapping; other
programs get those of --schedule.

\b
Kinds:
  object   F.o and F.h: your whole file, with the function F made fast
  static   the same as F.a
  shared   the same as F.so
  c        F.c: one C file, your file and the loops, for gcc and clang;
           F_kernel_CPU.c: with several --cpu, the loops for each
  llvm     F.ll: the same as LLVM IR, by clang; F_kernel.ll: measured loops;
           F_CPU.ll: with --cpu, the loops for each, linked with F.ll
  python   F.py and the loops as a shared library: a function on NumPy arrays
  ptx      F.ptx, F.json: with --mapping device=cuda, kernels for NVIDIA GPUs
           and the sizes of -p, and what to launch
  cubin    the same as machine code of one kind of GPU, by NVIDIA's ptxas
  cuda     the same as F.cu, CUDA C++ for nvcc

The function keeps its name and its signature. It runs the fast loops where they are known to be
right: for sizes that the program admits, and arrays that do not overlap. Otherwise it runs the
loops of the source. It is specialised for the sizes of -p and of each --sizes, and right for all
others. Exported code needs neither polygym nor Python; with threads, link with -fopenmp. The
compiler is $CC with $CFLAGS, else cc, gcc or clang; without one, the loops, their header and the
changed C file are written.

The code is measured as it is exported, and compared with the source. Exit code 0, also where it is
slower than in polygym (a warning says so); 1: its output is wrong.

\b
Examples:
  polygym optimize blur.c -p n=2000 --out found
  polygym export found/best.json --kind object --out lib
  polygym export gemm -d large --threads 2 --kind shared --out lib
  polygym export my.c -p n=512 --sizes n=1024 --cpu x86-64-v3 --out lib
  polygym export gemm -d large --mapping device=cuda --kind ptx --out lib
"""


@click.command("export", help=_HELP, epilog=common.PROGRAM_HELP)
@export_session.target_options
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in (*ExportKind, *DeviceExportKind)]),
    default=ExportKind.OBJECT.value,
    show_default=True,
    help="The kind of code.",
)
@click.option(
    "--gpu",
    "architecture",
    metavar="ARCH",
    default=DEFAULT_ARCHITECTURE,
    show_default=True,
    help="The GPUs that PTX or machine code is for; later ones can run PTX.",
)
@click.option(
    "--name", metavar="NAME", help="Another name for the function, to link it beside the source."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="The folder of the files; created if it does not exist.",
)
@export_session.export_options
def command(
    target: str,
    region: str | None,
    dataset: Dataset | None,
    parameters: dict[str, int],
    schedule_text: str,
    c_file: str | None,
    kind: str,
    architecture: str,
    name: str | None,
    out: Path,
    sizes: tuple[tuple[tuple[str, int], ...], ...],
    cpus: tuple[str, ...],
    assume_disjoint: bool,
    no_measure: bool,
    variant: VariantOptions,
    mapping: Mapping | DeviceMapping | None,
    threads: int,
    as_json: bool,
) -> console.CommandResult:
    """Generate the code, write it, and measure it."""
    if isinstance(mapping, DeviceMapping):
        asked = DeviceTarget(
            target, region, dataset, parameters, schedule_text, variant, architecture
        )
        return export_for_device(asked, mapping, kind, name, out, as_json=as_json)
    if kind in {own.value for own in DeviceExportKind}:
        raise click.UsageError(f"--kind {kind}: expected with --mapping device=cuda.")
    compiler = user_compiler()
    chosen = export_session.resolve_target(
        target,
        export_session.TargetOptions(
            region, dataset, parameters, schedule_text, variant, mapping, threads, c_file
        ),
    )
    export = export_session.prepare(chosen, name, sizes, cpus, assume_disjoint)
    form = ExportKind(kind)
    clang = user_clang() if form is ExportKind.LLVM else None
    result = export_session.measured(
        export,
        clang or compiler,
        as_c=form is ExportKind.C or clang is not None,
        is_wanted=not no_measure,
    )
    export = export_session.with_timing(export, result.times)
    with console.spinner("writing code"):
        written = write_export(export, form, out, compiler)
    document = {
        "function": export.function,
        "kernel": export.plan.name,
        "kind": kind,
        "schedule": str(export.schedule),
        "mapping": str(export.mapping),
        "files": [str(path) for path in written.files],
        "notes": [
            text for text in (chosen.note, written.note, *export.plan.notes, result.note) if text
        ],
        "compiler": None if compiler is None else compiler.version,
        **result.to_json(),
    }

    def show() -> None:
        console.heading(f"{export.function}: {chosen.program.name}")
        for line in export.details():
            console.write_text(f"  {line}")
        for text in (chosen.note, written.note):
            if text:
                console.write_text(f"  {text}")
        console.heading("\nFiles")
        for path in written.files:
            console.write_text(f"  {path}")
        console.heading("\nTimes")
        export_session.print_times(result)

    return console.answer(as_json, document, show, int(result.failed))
