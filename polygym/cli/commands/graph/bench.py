"""``polygym graph bench``: models beside other libraries, in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from polygym.cli.commands.graph.options import shape_option, threads_option
from polygym.cli.options.common import json_option, seed_option
from polygym.cli.options.values import duration_option
from polygym.cli.output import console
from polygym.errors import InputError

if TYPE_CHECKING:
    from polygym.graphs.benchmark import BenchmarkResult


@click.command("bench")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@shape_option
@threads_option
@click.option(
    "--against",
    default="torch,onnxruntime",
    show_default=True,
    metavar="NAME,...",
    help="torch, torch.compile, onnxruntime, unfused (a kernel for every operator).",
)
@duration_option("--time-limit", default="10s", help="Duration of the rounds of a model.")
@seed_option("Weights of the library's models, and the inputs.")
@json_option
def command(
    models: Sequence[str],
    shapes: Mapping[str, Sequence[int]],
    threads: int,
    against: str,
    time_limit: float,
    seed: int,
    as_json: bool,
) -> console.CommandResult:
    """Run each MODEL beside other libraries, in turn, and compare results and times.

    A folder of `polygym graph optimize` runs as it was optimised; others run it as it is too.
    """
    from polygym.graphs.benchmark import Backend, BenchmarkEntry, ModelBenchmark, run_benchmark

    # A library is of an export, which `graph export` compares.
    others = (Backend.POLYGYM, Backend.LIBRARY)
    known = [backend.value for backend in Backend if backend not in others]
    names = console.listed(against)
    for name in names:
        if name not in known:
            raise InputError(
                f"--against: expected some of {', '.join(known)}, found {console.shorten(name)!r}"
            )
    documents: list[dict[str, Any]] = []
    entries = (BenchmarkEntry("polygym"), *(BenchmarkEntry(name, Backend(name)) for name in names))
    for model in models:
        done = run_benchmark(ModelBenchmark(model, entries, threads, seed, shapes, 101, time_limit))
        documents.append({"model": model, "threads": threads, "entries": _results(done)})
        if not as_json:
            _print_times(model, documents[-1]["entries"])
    is_fine = all(
        not entry["problem"]
        for document in documents
        for name, entry in document["entries"].items()
        if name == "polygym"
    )
    return console.CommandResult(0 if is_fine else 1, documents if as_json else None)


def _results(done: Mapping[str, BenchmarkResult]) -> dict[str, Any]:
    own = done["polygym"]
    result: dict[str, Any] = {}
    for name, benchmark_result in done.items():
        problem = benchmark_result.problem
        if not problem and not benchmark_result.is_correct:
            problem = f"another result: {benchmark_result.error:.2g} off"
        result[name] = {
            "seconds": benchmark_result.seconds,
            "error": benchmark_result.error,
            "problem": problem,
            "ratio": benchmark_result.seconds / own.seconds
            if benchmark_result.seconds and own.seconds
            else None,
        }
    return result


def _print_times(model: str, entries: Mapping[str, Any]) -> None:
    console.heading(model)
    rows = []
    for name, entry in entries.items():
        if entry["problem"]:
            rows.append((name, "-", "-", entry["problem"]))
        else:
            rows.append(
                (name, console.format_seconds(entry["seconds"]), f"{entry['ratio']:.2f}", "")
            )
    console.print_table(("LIBRARY", "TIME", "SPEEDUP OF POLYGYM", ""), rows, "lrrl")
