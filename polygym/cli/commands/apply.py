"""``polygym apply``: the user's file, changed to call the fast loops."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from polybench import Dataset
from polygym.cli.execution import export_session
from polygym.cli.options import common
from polygym.cli.options.variants import VariantOptions
from polygym.cli.output import console
from polygym.errors import InputError
from polygym.export.applying import (
    ApplyKind,
    apply_export,
    build_lines,
    lost_kernels,
    unified_diff,
)
from polygym.export.c_compiler import user_compiler
from polygym.gpu.mapping.device_mapping import DeviceMapping
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.mapping.mapping import parse_mapping

_HELP = """Change a C file so that its region calls the fast loops, and write what it needs.

PROGRAM is a C file, which gets the schedule of --schedule, or `best.json` of `polygym optimize`,
which has its own. The changed copy goes to --out with the loops beside it, as C or as an object.
The program is then built with

\b
  gcc -O3 -march=native -fopenmp DIR/*.c -lm        (--kind c)
  gcc -O3 -fopenmp DIR/FILE.c DIR/F_kernel.o -lm    (--kind object)

The loops of the source stay in the file, for arrays that overlap and for sizes that the program
does not admit. --diff prints the change and writes nothing; --write changes the file itself and
puts the loops beside it (undo: `patch -R` with the diff, which is printed). The lines for Make,
CMake and Meson are printed.

A file with several regions is changed region by region: with --write, or with the changed copy as
PROGRAM and the same --out.

\b
Examples:
  polygym apply blur.c -p n=2000 --kind c --out fast
  polygym apply found/best.json --diff
  polygym apply found/best.json --file moved/blur.c --write
  polygym apply blur.c -p n=2000 --kind object --write
  polygym apply fast/blur.c --function sharpen --out fast
"""


@click.command("apply", help=_HELP, epilog=common.PROGRAM_HELP)
@export_session.target_options
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in ApplyKind]),
    default=ApplyKind.C.value,
    show_default=True,
    help="The loops as C, or as an object.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder of the changed copy and the loops.",
)
@click.option("--diff", "shows_diff", is_flag=True, help="Print the change as a unified diff.")
@click.option("--write", "in_place", is_flag=True, help="Change the file itself.")
@export_session.export_options
def command(
    target: str,
    region: str | None,
    dataset: Dataset | None,
    parameters: dict[str, int],
    schedule_text: str,
    c_file: str | None,
    kind: str,
    out: Path | None,
    shows_diff: bool,
    in_place: bool,
    sizes: tuple[tuple[tuple[str, int], ...], ...],
    cpus: tuple[str, ...],
    assume_disjoint: bool,
    no_measure: bool,
    variant: VariantOptions,
    mapping: MachineMapping | DeviceMapping | None,
    threads: int,
    as_json: bool,
) -> console.CommandResult:
    """Generate the code, change the file or a copy of it, and measure the loops."""
    if isinstance(mapping, DeviceMapping):
        mapping = parse_mapping(str(mapping))  # which says where a GPU is of use
    if (out is not None) + in_place + shows_diff != 1:
        raise click.UsageError("expected one of --out DIR, --write and --diff.")
    chosen = export_session.resolve_target(
        target,
        export_session.TargetOptions(
            region, dataset, parameters, schedule_text, variant, mapping, threads, c_file
        ),
    )
    if in_place and chosen.is_source_changed and c_file is None:
        file = chosen.program.as_written.file
        raise InputError(
            f"{target}: expected the C file as it was, found that {file} has changed since; "
            f"--file {file} changes it nevertheless"
        )
    form, compiler = ApplyKind(kind), user_compiler()
    export = export_session.prepare(chosen, None, sizes, cpus, assume_disjoint)
    if export.embedding is None:
        raise InputError(f"{target}: expected the path of a C file, or a result of one")
    source = Path(export.embedding.scop.file)
    difference = unified_diff(export, out or source.parent)
    if shows_diff:
        return console.answer(
            as_json, {"diff": difference}, lambda: click.echo(difference, nl=False)
        )
    folder = source.parent if out is None else out
    result = export_session.measured(
        export, compiler, as_c=form is ApplyKind.C, is_wanted=not no_measure
    )
    export = export_session.with_timing(export, result.times)
    lost = () if in_place else lost_kernels(export, folder)
    files = apply_export(export, form, folder)
    lines = build_lines(export, form, folder)
    replaced = _replaced_text(folder / source.name, lost)
    document = {
        "files": [str(path) for path in files],
        "diff": difference,
        "build": lines,
        "notes": [
            text for text in (chosen.note, replaced, *export.plan.notes, result.note) if text
        ],
        **result.to_json(),
    }

    def show() -> None:
        if in_place:
            click.echo(difference, nl=False)
        _print(files, lines)
        if replaced:
            console.write_wrapped(f"warning: {replaced}", err=True)
        export_session.print_times(result)

    return console.answer(as_json, document, show, int(result.failed))


def _replaced_text(copy: Path, lost: Sequence[str]) -> str:
    """Return the sentence about kernels that a copy does not call any more."""
    if not lost:
        return ""
    return (
        f"{copy} called {', '.join(lost)}, and does not any more; to have all, change the copy "
        f"again: polygym apply {copy} --out {copy.parent}"
    )


def _print(files: Sequence[Path], lines: Mapping[str, str]) -> None:
    """Print the files, the lines that build them, and the heading of the times."""
    console.heading("Files")
    for path in files:
        console.write_text(f"  {path}")
    for tool, text in lines.items():
        console.heading(f"\n{tool}")
        click.echo("\n".join(f"  {line}" for line in text.splitlines()))
    console.heading("\nTimes")
