"""``polygym graph tune``: the fastest form of every kernel of models, by the clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from polygym.cli.commands.graph.options import shape_option, threads_option
from polygym.cli.options.common import json_option, seed_option
from polygym.cli.output import console

if TYPE_CHECKING:
    from polygym.graphs.execution.timing.kernel_tuning import TunedFusion, TunedKernel

_HELP = """Find the fastest form of every product and convolution of MODELS on this machine.

The same kernel can be mapped to the machine in several ways, with the same results, bit for bit.
All are timed, one after the other, and the times kept in the user's cache: whatever compiles such
a kernel for as many threads from then on takes the fastest. So are functions of elements in the
kernel of what comes before them, and in one of their own. A model of a hundred different kernels
takes some minutes; an ended search goes on where it was.
"""


@click.command("tune", help=_HELP)
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
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
) -> console.CommandResult:
    """Tune the models, one by one."""
    from polygym.graphs.execution.planning.kernel_variants import user_variants
    from polygym.graphs.execution.timing.kernel_tuning import tune_model, tuned_fusions
    from polygym.graphs.saved_model import open_source

    forms = user_variants(threads)
    documents: list[dict[str, Any]] = []
    for model in models:
        source = open_source(model, shapes, seed)
        kernels = tune_model(source.model, forms, threads, None if as_json else _tell)
        choices = tuned_fusions(source.model, forms)
        documents.append(_document(model, threads, kernels, choices))
        if not as_json:
            _print(model, kernels)
            _print_choices(choices)
    return console.CommandResult(document=documents if as_json else None)


def _tell(kernel: TunedKernel) -> None:
    console.write_text(
        f"{kernel.step.label} {' '.join(kernel.step.reads)}: "
        f"{console.format_seconds(kernel.default_seconds)} as usual, "
        f"{console.format_seconds(kernel.best_seconds)} as {kernel.variant}",
        err=True,
    )


def _document(
    model: str, threads: int, kernels: Sequence[TunedKernel], choices: Sequence[TunedFusion]
) -> dict[str, Any]:
    return {
        "model": model,
        "threads": threads,
        "usual_seconds": sum(
            tuned_kernel.count * tuned_kernel.default_seconds for tuned_kernel in kernels
        ),
        "seconds": sum(tuned.count * tuned.best_seconds for tuned in kernels),
        "kernels": [
            {
                "step": kernel.step.label,
                "reads": list(kernel.step.reads),
                "count": kernel.count,
                "usual_seconds": kernel.default_seconds,
                "seconds": kernel.best_seconds,
                "form": kernel.variant,
            }
            for kernel in kernels
        ],
        "choices": [
            {
                "step": fusion.label,
                "fused": fusion.times.is_faster_fused,
                "expected": fusion.expected,
                "seconds_fused": fusion.times.fused,
                "seconds_alone": fusion.times.unfused_head,
                "seconds_rest": fusion.times.unfused_tail,
            }
            for fusion in choices
        ],
    }


def _print(model: str, kernels: Sequence[TunedKernel]) -> None:
    """Print the kernels of which another form is faster, those that gain the most first."""
    usual = sum(kernel.count * kernel.default_seconds for kernel in kernels)
    best = sum(tuned_kernel.count * tuned_kernel.best_seconds for tuned_kernel in kernels)
    console.heading(
        f"{model}: products and convolutions {console.format_seconds(usual)} as usual, "
        f"{console.format_seconds(best)} tuned"
    )
    gaining = sorted(
        (tuned for tuned in kernels if tuned.best_seconds < tuned.default_seconds),
        key=lambda tuned: tuned.count * (tuned.best_seconds - tuned.default_seconds),
    )
    console.print_table(
        ("STEP", "TIMES", "DEFAULT", "BEST", "FORM"),
        [
            (
                f"{tuned.step.label} {' '.join(tuned.step.reads)}",
                str(tuned.count),
                console.format_seconds(tuned.default_seconds),
                console.format_seconds(tuned.best_seconds),
                tuned.variant,
            )
            for tuned in gaining
        ],
        "lrrrl",
    )


def _print_choices(choices: Sequence[TunedFusion]) -> None:
    """Print where functions of elements have a kernel of their own, though one was expected."""
    fused = sum(tuned_fusion.times.is_faster_fused for tuned_fusion in choices)
    console.write_text(
        f"functions of elements: {fused} of {len(choices)} times in the kernel before them"
    )
    surprising = [fusion for fusion in choices if fusion.times.is_faster_fused != fusion.expected]
    if surprising:
        console.print_table(
            ("STEP", "ONE KERNEL", "TWO", "EXPECTED"),
            [
                (
                    choice.label,
                    console.format_seconds(choice.times.fused),
                    f"{console.format_seconds(choice.times.unfused_head)} + "
                    f"{console.format_seconds(choice.times.unfused_tail)}",
                    "one" if choice.expected else "two",
                )
                for choice in surprising
            ],
            "lrrl",
        )
