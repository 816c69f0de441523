"""Command ``polygym graph optimize``: the cheapest equal model, confirmed end to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polygym.cli.commands.graph.options import (
    load_rules,
    make_costs,
    rules_option,
    shape_option,
    threads_option,
)
from polygym.cli.options.common import json_option, seed_option
from polygym.cli.output.console import format_seconds, heading, write_text
from polygym.cli.output.tables import print_table
from polygym.cli.result import CommandResult
from polygym.files import write_atomically

if TYPE_CHECKING:
    from polygym.graphs.benchmark import BenchmarkResult
    from polygym.graphs.model_source import ModelSource
    from polygym.graphs.optimization.optimizer import OptimizationResult


_ITERATIONS, _STEPS = 15, 100
"""How far saturation and backtracking go if nothing is said."""
_K_STATIC, _K_MEASURED = 2, 1
"""In how many iterations rules of several results are applied if nothing is said."""


@click.command("optimize")
@click.argument("model")
@shape_option
@threads_option
@rules_option
@click.option(
    "--costs",
    "kind",
    type=click.Choice(["measured", "static"]),
    default="measured",
    show_default=True,
    help="Times of operators on this machine, or a roofline.",
)
@click.option(
    "--method",
    type=click.Choice(["saturation", "backtracking"]),
    default="saturation",
    show_default=True,
    help="An e-graph, or a queue of graphs, one substitution at a time.",
)
@click.option(
    "--k-multi",
    type=click.IntRange(0, 10),
    metavar="K",
    help="Iterations with the rules of several results, which let the e-graph grow fast. "
    f"(Default: {_K_STATIC} with static costs, {_K_MEASURED} with measured ones, where each "
    "operator more has to be timed.)",
)
@click.option(
    "--nodes",
    type=click.IntRange(1, 10_000_000),
    default=50_000,
    show_default=True,
    metavar="N",
    help="How large the e-graph may be.",
)
@click.option(
    "--iterations",
    type=click.IntRange(0, 10_000),
    metavar="N",
    help=f"Iterations of saturation (default {_ITERATIONS}) or of backtracking ({_STEPS}).",
)
@click.option(
    "--alpha",
    type=click.FloatRange(1.0, 10.0),
    default=1.05,
    show_default=True,
    metavar="A",
    help="Backtracking keeps graphs that cost less than A times the best.",
)
@click.option(
    "--extract",
    type=click.Choice(["ilp", "greedy"]),
    default="ilp",
    show_default=True,
    help="How the cheapest graph is taken from the e-graph.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0.0, 1e6),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="For exploring, or for backtracking: what there is until then is gone on with.",
)
@click.option(
    "--extract-limit",
    type=click.FloatRange(0.0, 1e6),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="For the integer program: the best until then is taken, with a bound for what is missed.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where to write graph, weights, report and the picture of both graphs.",
)
@click.option(
    "--time/--no-time",
    "timed",
    default=None,
    help="Run both graphs end to end, compare their results and times. (Default: with measured "
    "costs.) What is slower beyond noise is not kept.",
)
@seed_option("Weights of the library's models, and the inputs of runs.")
@json_option
def command(
    model: str,
    shapes: Mapping[str, Sequence[int]],
    threads: int,
    rule_files: Sequence[Path],
    kind: str,
    method: str,
    k_multi: int | None,
    nodes: int,
    iterations: int | None,
    alpha: float,
    extract: str,
    time_limit: float,
    extract_limit: float,
    out: Path | None,
    timed: bool | None,
    seed: int,
    as_json: bool,
) -> CommandResult:
    """Find the cheapest graph equal to MODEL's.

    The result is never slower than MODEL beyond noise: where the cheaper graph is not the faster
    one end to end, MODEL's own is kept, and said so.
    """
    from polygym.graphs.model_source import open_source
    from polygym.graphs.optimization.backtracking import optimize_by_backtracking
    from polygym.graphs.optimization.optimizer import (
        ExtractionMethod,
        OptimizationOptions,
        optimize_graph,
        result_summary,
    )
    from polygym.rewrite.egraph import SaturationLimits

    source = open_source(model, shapes, seed)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)  # what cannot be written is better known at once
    rules = load_rules(rule_files)
    costs = make_costs(kind, threads)
    tell = _silent if as_json else _told
    result: OptimizationResult
    deep: dict[str, int] = {}
    if method == "backtracking":
        steps = _STEPS if iterations is None else iterations
        result = optimize_by_backtracking(
            source.graph, costs, rules, alpha, steps, time_limit, tell
        )
    else:
        usual = _K_STATIC if kind == "static" else _K_MEASURED
        deep["k_multi"] = usual if k_multi is None else k_multi
        most = _ITERATIONS if iterations is None else iterations
        limits = SaturationLimits(nodes, most, time_limit, deep["k_multi"])
        options = OptimizationOptions(
            limits, extraction=ExtractionMethod(extract), extraction_seconds=extract_limit
        )
        result = optimize_graph(source.graph, costs, options, rules, tell)
    report: dict[str, Any] = {"model": model, "threads": threads, "seed": seed, "method": method}
    report |= {**deep, **result_summary(result, costs)}
    code = 0
    if kind == "measured" if timed is None else timed:
        tell("running both graphs end to end")
        result, report["end_to_end"] = _confirmed(source, shapes, seed, threads, result)
        report["changed"] = result.is_changed
        code = int(bool(report["end_to_end"]["problem"]))
    if out is not None:
        _write(out, source, result, report)
    if as_json:
        return CommandResult(code, report)
    _print(result, report, out)
    return CommandResult(code)


def _silent(_: str) -> None:
    """Say nothing of how far it is."""


def _told(text: str) -> None:
    """Say how far it is, beside the answer."""
    write_text(text, err=True)


def _confirmed(
    source: ModelSource,
    shapes: Mapping[str, Sequence[int]],
    seed: int,
    threads: int,
    found: OptimizationResult,
) -> tuple[OptimizationResult, dict[str, Any]]:
    """Run both graphs end to end; what is wrong, or slower beyond noise, is not kept."""
    from polygym.graphs.benchmark import BenchmarkEntry, ModelBenchmark, run_benchmark
    from polygym.graphs.ir.text import graph_text

    if not found.is_changed:
        return found, {"problem": "", "kept": True, "note": "no cheaper graph: nothing to compare"}
    entries = (BenchmarkEntry("before"), BenchmarkEntry("after", graph=graph_text(found.after)))
    done = run_benchmark(ModelBenchmark(source.target, entries, threads, seed, shapes))
    before, after = done["before"], done["after"]
    problem = before.problem or after.problem
    if not problem and not after.is_correct:
        problem = f"the results differ by {after.error:.2g}: this is a defect of polygym"
    document: dict[str, Any] = {"problem": problem, "error": after.error, "kept": True}
    if problem:
        document["kept"] = False
        return replace(found, after=found.before), document
    document |= _ratio(before, after)
    if document["speedup_high"] < 1.0:
        document["kept"] = False
        document["note"] = "slower end to end than the graph that came in, which is kept"
        return replace(found, after=found.before), document
    return found, document


def _ratio(before: BenchmarkResult, after: BenchmarkResult) -> dict[str, Any]:
    """Return times, the ratio of medians, and the middle half of the ratios round by round."""
    import statistics

    ratios = sorted(a / b for a, b in zip(before.samples, after.samples, strict=True))
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    return {
        "before_seconds": before.seconds,
        "after_seconds": after.seconds,
        "speedup": middle,
        "speedup_low": low,
        "speedup_high": high,
        "rounds": len(ratios),
    }


def _write(
    out: Path, source: ModelSource, found: OptimizationResult, report: dict[str, Any]
) -> None:
    from polygym.graphs.drawing.svg import comparison_svg
    from polygym.graphs.ir.model import Model
    from polygym.graphs.saved_model import save

    save(out, Model(found.after, source.model.weights), report)
    write_atomically(out / "graphs.svg", comparison_svg(found.before, found.after).encode())


def _print(found: OptimizationResult, report: dict[str, Any], out: Path | None) -> None:
    unit = report["unit"]
    heading(
        f"{report['model']}: {report['initial_cost']:.1f} {unit} → {report['cost']:.1f} {unit} "
        f"({report['costs']} costs)"
    )
    egraph = report["egraph"]
    if egraph:
        write_text(
            f"  e-graph of {egraph['nodes']} nodes, {egraph['classes']} classes after "
            f"{egraph['iterations']} iterations ({egraph['stop']}), in "
            f"{format_seconds(report['exploration_seconds'])}"
        )
    write_text(
        f"  extracted in {format_seconds(report['extraction_seconds'])}: {report['status']}, none "
        f"below {report['bound']:.1f}; greedy {report['greedy_cost']:.1f}"
    )
    counts = report["operators"]
    rows = [
        (name, counts["before"].get(name, 0), counts["after"].get(name, 0))
        for name in sorted({*counts["before"], *counts["after"]})
    ]
    print_table(("OPERATOR", "BEFORE", "AFTER"), rows, "lrr")
    if (run := report.get("end_to_end")) is not None:
        if run["problem"]:
            write_text(f"  end to end: {run['problem']}; the graph that came in is kept", fg="red")
        elif "speedup" in run:
            low, middle, high = (run[f"speedup{end}"] for end in ("_low", "", "_high"))
            write_text(
                f"  end to end: {format_seconds(run['before_seconds'])} → "
                f"{format_seconds(run['after_seconds'])},"
                f" {middle:.2f} times as fast ({low:.2f} to {high:.2f})"
            )
        if note := run.get("note"):
            write_text(f"  {note}")
    if out is not None:
        write_text(f'  written to {out}: polygym.graphs.load("{out}")')
