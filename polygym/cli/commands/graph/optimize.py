"""Command ``polygym graph optimize``: the cheapest equal model, confirmed end to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polygym.cli.commands.graph.options import (
    load_rules,
    make_costs,
    rules_option,
    shape_option,
    teller,
    threads_option,
)
from polygym.cli.options.common import json_option, seed_option
from polygym.cli.options.values import choice_option, count_option, duration_option, factor_option
from polygym.cli.output import console
from polygym.cli.stop_signals import StopRequest, stoppable
from polygym.files import create_folder

if TYPE_CHECKING:
    from polygym.graphs.benchmark import BenchmarkResult
    from polygym.graphs.optimization import OptimizationResult
    from polygym.graphs.saved_model import ModelSource


_ITERATIONS, _STEPS = 15, 100
"""Default iterations of saturation, and default steps of backtracking."""
_K_STATIC, _K_MEASURED = 2, 1
"""Default iterations with rules of several results, with static and measured costs."""


@click.command("optimize")
@click.argument("model", metavar="MODEL")
@shape_option
@threads_option
@rules_option
@choice_option(
    "--costs",
    "kind",
    choices=["measured", "static"],
    default="measured",
    help="Times on this machine of the kernels that the whole graph runs, or a roofline of "
    "single operators.",
)
@choice_option(
    "--strategy",
    choices=["saturation", "backtracking"],
    default="saturation",
    help="An e-graph, or a queue of graphs, one substitution at a time.",
)
@count_option(
    "--k-multi",
    least=0,
    most=10,
    help="Iterations with the rules of several results, which let the e-graph grow fast. "
    f"(Default: {_K_STATIC} with static costs, {_K_MEASURED} with measured ones, where each "
    "operator more has to be timed.)",
)
@count_option("--max-nodes", most=10_000_000, default=50_000, help="Nodes of the e-graph.")
@count_option(
    "--iterations",
    least=0,
    most=10_000,
    help=f"Iterations of saturation (default {_ITERATIONS}) or of backtracking ({_STEPS}).",
)
@factor_option(
    "--alpha",
    least=1.0,
    most=10.0,
    default=1.05,
    help="Backtracking keeps graphs that cost less than X times the best.",
)
@choice_option(
    "--extraction",
    choices=["ilp", "greedy"],
    default="ilp",
    help="Method to extract the cheapest graph from the e-graph.",
)
@duration_option(
    "--time-limit", default="60s", help="Limit of the exploration, or of backtracking."
)
@duration_option(
    "--extract-time-limit",
    default="6s",
    help="Limit of the integer programs: the best result so far is taken, with its bound.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of the graph, its weights, the report and the picture of both graphs.",
)
@click.option(
    "--measure/--no-measure",
    "timed",
    default=None,
    help="Run both graphs end to end, and compare their times. (Default: with measured costs.) "
    "What is not faster is not kept.",
)
@click.option(
    "--compare/--no-compare",
    "compared",
    default=True,
    help="Run both graphs once, and compare their results. What differs is not kept.",
)
@seed_option("Weights of the library's models, and the inputs of runs.")
@json_option
def command(
    model: str,
    shapes: Mapping[str, Sequence[int]],
    threads: int,
    rule_files: Sequence[Path],
    kind: str,
    strategy: str,
    k_multi: int | None,
    max_nodes: int,
    iterations: int | None,
    alpha: float,
    extraction: str,
    time_limit: float,
    extract_time_limit: float,
    out: Path | None,
    timed: bool | None,
    compared: bool,
    seed: int,
    as_json: bool,
) -> console.CommandResult:
    """Find the cheapest graph equal to MODEL's.

    The result is not slower than MODEL: where the cheaper graph is not the faster one end to end,
    MODEL's own is kept, and said so. Ctrl-C during saturation or extraction keeps the best graph so
    far, not compared end to end; the exit code is 130.
    """
    from polygym.graphs import optimization
    from polygym.graphs.ir.graph import Model
    from polygym.graphs.saved_model import open_source, save
    from polygym.rewrite.egraph import SaturationLimits

    source = open_source(model, shapes, seed)
    if out is not None:
        create_folder(out)  # what cannot be written is better known at once
    rules = load_rules(rule_files)
    costs = make_costs(kind, threads)
    tell, stop = teller(as_json), StopRequest()
    result: OptimizationResult
    deep: dict[str, int] = {}
    if strategy == "backtracking":
        steps = _STEPS if iterations is None else iterations
        result = optimization.optimize_by_backtracking(
            source.graph, costs, rules, alpha, steps, time_limit, tell
        )
    else:
        usual = _K_STATIC if kind == "static" else _K_MEASURED
        deep["k_multi"] = usual if k_multi is None else k_multi
        most = _ITERATIONS if iterations is None else iterations
        limits = SaturationLimits(max_nodes, most, time_limit, deep["k_multi"])
        options = optimization.OptimizationOptions(
            limits,
            extraction=optimization.ExtractionMethod(extraction),
            extraction_seconds=extract_time_limit,
        )
        with suppress(KeyboardInterrupt), stoppable(stop):
            result = optimization.optimize_graph(source.graph, costs, options, rules, tell, stop)
    report: dict[str, Any] = {"model": model, "threads": threads, "seed": seed}
    report |= {"strategy": strategy, **deep, **optimization.result_summary(result, costs)}
    code = stop.code if stop.is_requested else 0
    timed = kind == "measured" if timed is None else timed
    if code:
        tell("interrupted: this is the best graph so far, not compared end to end")
    elif timed or compared:
        tell("running both graphs end to end" if timed else "comparing the results of both graphs")
        result, report["end_to_end"] = _confirmed(source, shapes, seed, threads, result, timed)
        report["changed"] = result.is_changed
        code = int(bool(report["end_to_end"]["problem"]))
    if out is not None:
        save(out, Model(result.after, source.model.weights), report, result.before)
    if as_json:
        return console.CommandResult(code, report)
    _print(result, report, out)
    return console.CommandResult(code)


def _confirmed(
    source: ModelSource,
    shapes: Mapping[str, Sequence[int]],
    seed: int,
    threads: int,
    result: OptimizationResult,
    timed: bool,
) -> tuple[OptimizationResult, dict[str, Any]]:
    """Run both graphs end to end; what is wrong, or not faster, is not kept."""
    from polygym.graphs.benchmark import BenchmarkEntry, ModelBenchmark, run_benchmark
    from polygym.graphs.ir.text import graph_text

    if not result.is_changed:
        return result, {"problem": "", "kept": True, "note": "no cheaper graph: nothing to compare"}
    entries = (BenchmarkEntry("before"), BenchmarkEntry("after", graph=graph_text(result.after)))
    rounds = {} if timed else {"rounds": 0}
    done = run_benchmark(ModelBenchmark(source.target, entries, threads, seed, shapes, **rounds))
    before, after = done["before"], done["after"]
    problem = before.problem or after.problem
    if not problem and not after.is_correct:
        problem = f"the results differ by {after.error:.2g}: this is a defect of polygym"
    document: dict[str, Any] = {"problem": problem, "error": after.error, "kept": True}
    if problem:
        document["kept"] = False
        return replace(result, after=result.before), document
    if not timed:
        return result, document
    document |= _ratio(before, after)
    if document["speedup"] < 1.0:
        document["kept"] = False
        document["note"] = "not faster end to end than the graph that came in, which is kept"
        return replace(result, after=result.before), document
    return result, document


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


def _print(result: OptimizationResult, report: dict[str, Any], out: Path | None) -> None:
    unit = report["unit"]
    console.heading(
        f"{report['model']}: {report['initial_cost']:.1f} {unit} → {report['cost']:.1f} {unit} "
        f"({report['costs']} costs)"
    )
    egraph = report["egraph"]
    if egraph:
        resting = "".join(f"; {name} rested" for name in egraph["resting"])
        console.write_text(
            f"  e-graph of {egraph['nodes']} nodes, {egraph['classes']} classes after "
            f"{egraph['iterations']} iterations ({egraph['stop']}{resting}), in "
            f"{console.format_seconds(report['exploration_seconds'])}"
        )
    console.write_text(
        f"  extracted in {console.format_seconds(report['extraction_seconds'])}: "
        + (
            f"the cheapest of {report['compared_plans']} plans"
            if report["compared_plans"]
            else f"{report['status']}, none below {report['bound']:.1f}; "
            f"greedy {report['greedy_cost']:.1f}"
        )
    )
    counts = report["operators"]
    rows = [
        (name, counts["before"].get(name, 0), counts["after"].get(name, 0))
        for name in sorted({*counts["before"], *counts["after"]})
    ]
    console.print_table(("OPERATOR", "BEFORE", "AFTER"), rows, "lrr")
    if (run := report.get("end_to_end")) is not None:
        if run["problem"]:
            console.write_text(
                f"  end to end: {run['problem']}; the graph that came in is kept", fg="red"
            )
        elif "error" in run and "speedup" not in run:
            console.write_text(f"  results of both graphs differ by {run['error']:.1g} at most")
        elif "speedup" in run:
            low, middle, high = (run[f"speedup{end}"] for end in ("_low", "", "_high"))
            console.write_text(
                f"  end to end: {console.format_seconds(run['before_seconds'])} → "
                f"{console.format_seconds(run['after_seconds'])},"
                f" {middle:.2f} times as fast ({low:.2f} to {high:.2f})"
            )
        if note := run.get("note"):
            console.write_text(f"  {note}")
    if out is not None:
        console.write_text(f'  written to {out}: polygym.graphs.load("{out}")')
