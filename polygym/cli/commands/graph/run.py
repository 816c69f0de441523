"""``polygym graph run``: a model compiled and run, and where its time goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from polygym.cli.commands.graph.options import shape_option, threads_option
from polygym.cli.options.common import json_option, seed_option
from polygym.cli.options.values import choice_option, count_option
from polygym.cli.output import console

if TYPE_CHECKING:
    from polygym.graphs.execution.timing.step_profile import StepProfile


@click.command("run")
@click.argument("model", metavar="MODEL")
@shape_option
@threads_option
@count_option("--top", most=1000, default=12, help="Number of the most expensive rows to show.")
@choice_option(
    "--by",
    choices=["step", "operator"],
    default="step",
    help="A row for every step, or for all of one operator.",
)
@seed_option("Weights of the library's models, and the inputs.")
@json_option
def command(
    model: str,
    shapes: Mapping[str, Sequence[int]],
    threads: int,
    top: int,
    by: str,
    seed: int,
    as_json: bool,
) -> console.CommandResult:
    """Compile MODEL, run it on random inputs, and say where its time goes.

    SHARE OF LIMIT is how near a row comes to the time below which this machine does not do it, once
    `polygym machine` has measured what the machine does at most.
    """
    from polygym.graphs.execution import compile_model
    from polygym.graphs.execution.timing.step_profile import profile_steps, totals_by_operator
    from polygym.graphs.ir.graph import random_inputs
    from polygym.graphs.saved_model import open_source
    from polygym.runtime.peaks import cached_peaks

    source = open_source(model, shapes, seed)
    compiled = compile_model(source.model, threads=threads)
    arrays = random_inputs(source.graph, seed + 1)
    peaks = cached_peaks(threads)
    steps = profile_steps(compiled.steps, compiled.profile(*arrays), peaks)
    operators = totals_by_operator(steps)
    total = sum(profile.seconds for profile in steps)
    if as_json:
        return console.CommandResult(
            document={
                "model": model,
                "threads": threads,
                "seconds": total,
                "steps": [_entry(step_profile, total) for step_profile in steps],
                "operators": [_entry(operator, total) for operator in operators],
            }
        )
    console.heading(
        f"{model}: {console.format_seconds(total)} in {len(steps)} steps, {threads} threads"
    )
    rows = operators if by == "operator" else steps
    _print(sorted(rows, key=lambda row: -row.seconds)[:top], total)
    if peaks is None:
        console.write_text(
            f"  the limits are not known: polygym machine --threads {threads} measures them"
        )
    return console.CommandResult()


def _entry(profile: StepProfile, total: float) -> dict[str, Any]:
    return {
        "step": profile.label,
        "count": profile.count,
        "seconds": profile.seconds,
        "share": profile.seconds / total if total else 0.0,
        "operations": profile.operations,
        "gflops": profile.rate / 1e9,
        "bytes": profile.bytes,
        "limit_seconds": profile.limit,
        "share_of_limit": profile.of_limit,
    }


def _print(rows: Sequence[StepProfile], total: float) -> None:
    console.print_table(
        ("STEP", "TIMES", "TIME", "SHARE", "GFLOP/S", "MB", "SHARE OF LIMIT"),
        [
            (
                profile.label,
                str(profile.count),
                console.format_seconds(profile.seconds),
                f"{profile.seconds / total:.1%}",
                f"{profile.rate / 1e9:.1f}",
                f"{profile.bytes / 1e6:.2f}",
                "-" if profile.of_limit is None else f"{profile.of_limit:.0%}",
            )
            for profile in rows
        ],
        "lrrrrrr",
    )
