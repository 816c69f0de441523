"""``polygym graph tune``: the fastest form of every kernel of models, by the clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from polygym.cli.answer import Answer
from polygym.cli.commands.graph.options import shape_option, threads_option
from polygym.cli.options import json_option, seed_option
from polygym.cli.output import heading, say, seconds
from polygym.cli.tables import print_table

if TYPE_CHECKING:
    from polygym.graphs.running.tuned import TunedChoice, TunedKernel

_HELP = """Find the fastest form of every product and convolution of MODELS on this machine.

The same kernel can be mapped to the machine in several ways, with the same results, bit for bit.
All are timed, one after the other, and the times kept in the user's cache: whatever compiles such
a kernel for as many threads from then on takes the fastest. So are functions of elements in the
kernel of what comes before them, and in one of their own. A model of a hundred different kernels
takes some minutes; an ended search goes on where it was.
"""


@click.command("tune", help=_HELP)
@click.argument("models", nargs=-1, required=True)
@shape_option
@threads_option
@seed_option("Weights of the library's models.")
@json_option
def command(
    models: Sequence[str],
    shapes: Mapping[str, Sequence[int]],
    threads: int,
    seed: int,
    as_json: bool,
) -> Answer:
    """Tune the models, one by one."""
    from polygym.graphs.running.forms import user_forms
    from polygym.graphs.running.tuned import tune, tuned_choices
    from polygym.graphs.sources import open_source

    forms = user_forms(threads)
    documents: list[dict[str, Any]] = []
    for model in models:
        source = open_source(model, shapes, seed)
        found = tune(source.model, forms, threads, None if as_json else _tell)
        choices = tuned_choices(source.model, forms)
        documents.append(_document(model, threads, found, choices))
        if not as_json:
            _print(model, found)
            _print_choices(choices)
    return Answer(document=documents if as_json else None)


def _tell(one: TunedKernel) -> None:
    say(
        f"{one.step.label} {' '.join(one.step.reads)}: {seconds(one.usual)} as usual, "
        f"{seconds(one.best)} as {one.form}",
        err=True,
    )


def _document(
    model: str, threads: int, found: Sequence[TunedKernel], choices: Sequence[TunedChoice]
) -> dict[str, Any]:
    return {
        "model": model,
        "threads": threads,
        "usual_seconds": sum(one.count * one.usual for one in found),
        "seconds": sum(one.count * one.best for one in found),
        "kernels": [
            {
                "step": one.step.label,
                "reads": list(one.step.reads),
                "count": one.count,
                "usual_seconds": one.usual,
                "seconds": one.best,
                "form": one.form,
            }
            for one in found
        ],
        "choices": [
            {
                "step": one.label,
                "fused": one.times.pays,
                "expected": one.expected,
                "seconds_fused": one.times.together,
                "seconds_alone": one.times.alone,
                "seconds_rest": one.times.rest,
            }
            for one in choices
        ],
    }


def _print(model: str, found: Sequence[TunedKernel]) -> None:
    """Print the kernels of which another form is faster, those that gain the most first."""
    usual = sum(one.count * one.usual for one in found)
    best = sum(one.count * one.best for one in found)
    heading(f"{model}: products and convolutions {seconds(usual)} as usual, {seconds(best)} tuned")
    gaining = sorted(
        (one for one in found if one.best < one.usual),
        key=lambda one: one.count * (one.best - one.usual),
    )
    print_table(
        ("STEP", "TIMES", "USUAL", "BEST", "FORM"),
        [
            (
                f"{one.step.label} {' '.join(one.step.reads)}",
                str(one.count),
                seconds(one.usual),
                seconds(one.best),
                one.form,
            )
            for one in gaining
        ],
        "lrrrl",
    )


def _print_choices(choices: Sequence[TunedChoice]) -> None:
    """Print where functions of elements have a kernel of their own, though one was expected."""
    fused = sum(one.times.pays for one in choices)
    say(f"functions of elements: {fused} of {len(choices)} times in the kernel before them")
    surprising = [one for one in choices if one.times.pays != one.expected]
    if surprising:
        print_table(
            ("STEP", "ONE KERNEL", "TWO", "EXPECTED"),
            [
                (
                    one.label,
                    seconds(one.times.together),
                    f"{seconds(one.times.alone)} + {seconds(one.times.rest)}",
                    "one" if one.expected else "two",
                )
                for one in surprising
            ],
            "lrrl",
        )
