"""``polygym graph export``: a model as a C library or an ONNX file, compared and timed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polygym.cli.commands.graph.options import shape_option, teller, threads_option
from polygym.cli.options.common import json_option, seed_option
from polygym.cli.output import console
from polygym.export.cpu_levels import NATIVE

if TYPE_CHECKING:
    from polygym.graphs.export.measuring import ExportCheck
    from polygym.graphs.saved_model import ModelSource

_ONNX = "onnx"

_HELP = """Write MODEL for programs that have no polygym: as a C library, or as an ONNX file.

MODEL is written as it is: what `polygym graph optimize --out fast` has found is in the folder fast.

\b
Kinds:
  shared   NAME.so, NAME.h, NAME.safetensors in the folder --out
  static   the same as NAME.a
  object   the same as NAME.o
  onnx     the file --out; weights above 1 GiB are in a file beside it

A library has the kernels that polygym measures. It needs neither polygym nor Python, and reads its
weights once; give each thread a context. The header says what the functions take:

\b
  NAME *model;
  if (NAME_create("NAME.safetensors", &model) == 0) {
    int code = NAME_run(model, x, y);   /* 0, or NAME_message(code) */
    NAME_destroy(model);
  }

The export is run beside polygym, in turn, and its results are compared. Exit code 0, also where it
is slower (a warning says so); 1: its results are wrong, or it does not run.

\b
Examples:
  polygym graph export fast --kind onnx --out fast.onnx
  polygym graph export fast --out lib --name bert --threads 2
                                     cc main.c lib/bert.so -fopenmp
  polygym graph export model.onnx --kind static --cpu x86-64-v3 --out lib
"""


@click.command("export", help=_HELP)
@click.argument("model", metavar="MODEL")
@shape_option
@click.option(
    "--kind",
    type=click.Choice(["shared", "static", "object", _ONNX]),
    default="shared",
    show_default=True,
    help="The kind of file.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="PATH",
    help="The folder of a library, which is made if there is none, or the ONNX file.",
)
@click.option("--name", metavar="NAME", help="What names in C begin with. (Default: the model's.)")
@click.option(
    "--cpu",
    "cpus",
    multiple=True,
    metavar="LEVEL",
    help="The processor: native, x86-64, x86-64-v2, -v3 or -v4. Several: the library has code for "
    "each, and takes the best that runs. (Default: native.)",
)
@threads_option
@click.option("--no-measure", is_flag=True, help="Do not run what was written.")
@seed_option("Weights of the library's models, and the inputs of runs.")
@json_option
def command(
    model: str,
    shapes: Mapping[str, Sequence[int]],
    kind: str,
    out: Path,
    name: str | None,
    cpus: tuple[str, ...],
    threads: int,
    no_measure: bool,
    seed: int,
    as_json: bool,
) -> console.CommandResult:
    """Write the files, and run them."""
    from polygym.graphs.saved_model import open_source

    if kind == _ONNX and (name or cpus):
        raise click.UsageError("--name and --cpu are for libraries: an ONNX file takes neither")
    tell = teller(as_json)
    source = open_source(model, shapes, seed)
    asked = _Request(source, shapes, seed, threads, not no_measure)
    if kind == _ONNX:
        files, check = _write_onnx(asked, out)
    else:
        files, check = _write_library(asked, kind, out, name, cpus or (NATIVE,), tell)
    document: dict[str, Any] = {
        "model": model,
        "kind": kind,
        "threads": threads,
        "files": [str(path) for path in files],
        **_results(check),
    }
    code = int(bool(document["problem"]))
    if as_json:
        return console.CommandResult(code, document)
    console.heading(f"{model} as {kind}")
    for path in files:
        console.write_text(f"  {path}")
    _print_check(document, "onnxruntime" if kind == _ONNX else "exported")
    if kind != _ONNX and check is not None and check.is_slower and not document["problem"]:
        console.write_text(
            f"  warning: the export takes {document['ratio']:.2f} times as long as in polygym",
            fg="yellow",
        )
    return console.CommandResult(code)


@dataclass(frozen=True, slots=True)
class _Request:
    """The model, and how it is run afterwards."""

    source: ModelSource
    shapes: Mapping[str, Sequence[int]]
    seed: int
    threads: int
    is_run: bool


def _write_onnx(asked: _Request, out: Path) -> tuple[Sequence[Path], ExportCheck | None]:
    from polygym.graphs.benchmark import Backend
    from polygym.graphs.export.measuring import check_export
    from polygym.graphs.export.onnx_file import write_checked

    files = write_checked(asked.source.model, out)
    if not asked.is_run:
        return files, None
    with console.spinner("running both"):
        target, threads = asked.source.target, asked.threads
        return files, check_export(
            target, asked.shapes, asked.seed, threads, Backend.ONNXRUNTIME, out
        )


def _write_library(
    asked: _Request, kind: str, out: Path, name: str | None, cpus: tuple[str, ...], tell: Any
) -> tuple[Sequence[Path], ExportCheck | None]:
    from polygym.export.c_compiler import user_compiler
    from polygym.graphs.export.measuring import check_library
    from polygym.graphs.export.plan import c_name
    from polygym.graphs.export.writing import LibraryKind, LibraryOptions, write_library

    source, compiler = asked.source, user_compiler()
    own = c_name(source.graph.name) if name is None else name
    options = LibraryOptions(own, LibraryKind(kind), cpus, asked.threads)

    def progress(done: int, count: int) -> None:
        if done == count or done % 50 == 0:
            tell(f"{done} of {count} steps are compiled")

    made = write_library(source.model, out, options, compiler, progress)
    files = (made.code, made.header, made.weights)
    if not asked.is_run:
        return files, None
    assert compiler is not None, "a library is written with one"
    with console.spinner("running both"):
        return files, check_library(
            source.target, asked.shapes, asked.seed, asked.threads, made, compiler
        )


def _results(check: ExportCheck | None) -> dict[str, Any]:
    if check is None:
        return {"problem": "", "own_seconds": None, "seconds": None, "ratio": None, "error": None}
    return {
        "problem": check.problem,
        "own_seconds": check.own.seconds,
        "seconds": check.exported.seconds,
        "ratio": check.ratio,
        "error": check.exported.error,
    }


def _print_check(document: Mapping[str, Any], title: str) -> None:
    from polygym.graphs.benchmark import TOLERANCE

    if document["problem"]:
        console.write_text(f"  {document['problem']}", fg="red")
        return
    if document["seconds"] is None:
        return
    console.write_text(
        f"  results differ by {document['error']:.2g} of the largest (tolerance {TOLERANCE:g})"
    )
    console.write_text(
        f"  in polygym {console.format_seconds(document['own_seconds'])}, {title} "
        f"{console.format_seconds(document['seconds'])}"
    )
