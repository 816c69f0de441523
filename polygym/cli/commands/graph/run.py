"""``polygym graph run``: a model compiled and run, and where its time goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from polygym.cli.answer import Answer
from polygym.cli.commands.graph.options import shape_option, threads_option
from polygym.cli.options import json_option, seed_option
from polygym.cli.output import heading, seconds
from polygym.cli.tables import print_table


@click.command("run")
@click.argument("model")
@shape_option
@threads_option
@click.option("--top", type=click.IntRange(1, 1000), default=12, show_default=True, metavar="N",
              help="How many of the dearest steps are shown.")  # fmt: skip
@seed_option("Weights of the library's models, and the inputs.")
@json_option
def command(
    model: str,
    shapes: Mapping[str, Sequence[int]],
    threads: int,
    top: int,
    seed: int,
    as_json: bool,
) -> Answer:
    """Compile MODEL, run it on random inputs, and say where its time goes, step by step."""
    from polygym.graphs.ir.model import random_inputs
    from polygym.graphs.running import compile_model
    from polygym.graphs.sources import open_source

    source = open_source(model, shapes, seed)
    compiled = compile_model(source.model, threads=threads)
    arrays = random_inputs(source.graph, seed + 1)
    times = compiled.profile(*arrays)
    rows = sorted(zip(compiled.steps, times, strict=True), key=lambda row: -row[1])
    total = sum(times)
    if as_json:
        steps = [
            {
                "step": step.label,
                "seconds": time,
                "operations": step.operations,
                "bytes": step.bytes,
            }
            for step, time in zip(compiled.steps, times, strict=True)
        ]
        return Answer(document={"model": model, "seconds": total, "steps": steps})
    heading(f"{model}: {seconds(total)} in {len(rows)} steps, {threads} threads")
    print_table(
        ("STEP", "TIME", "SHARE", "GFLOP/S"),
        [
            (
                step.label,
                seconds(time),
                f"{100 * time / total:.1f} %",
                f"{step.operations / time / 1e9:.1f}",
            )
            for step, time in rows[:top]
        ],
        "lrrr",
    )
    return Answer()
