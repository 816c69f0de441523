"""``polygym sweep``: search many programs with several policies, and confirm the best."""

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from polybench import Dataset
from polygym.cli.execution.sweep_session import ActiveSweep, open_sweep
from polygym.cli.options import common
from polygym.cli.options.cluster import cluster_option
from polygym.cli.options.values import count_option, duration_option, parsed_by
from polygym.cli.options.variants import VariantOptions, variant_options
from polygym.cli.output import console
from polygym.cli.output.limits import report_defects
from polygym.cli.output.sweep_progress import (
    print_resume_hint,
    print_summaries,
    sweep_progress,
)
from polygym.cli.stop_signals import StopRequest, stoppable
from polygym.cost.models.pretrained import ModelChoice
from polygym.errors import InputError
from polygym.mapping.mapping import DEFAULT_MAPPING, TOLERANCE, Mapping
from polygym.mdp.task_options import TaskOptions
from polygym.poly.spaces.polyhedra import SpaceLimits
from polygym.programs.selection import expect_files, is_file, select_programs
from polygym.ratios import ratio_text
from polygym.runtime.evaluation import EvaluationOptions
from polygym.runtime.evaluation.c_compilers import tolerance_note
from polygym.runtime.peaks.calibration import peaks_for
from polygym.runtime.worker.timing import describe_host
from polygym.search.runner.ray.fleet.transport import ClusterAddress
from polygym.search.strategies.samplers import GUIDED, check_sampler, model_name
from polygym.search.sweep import reader, statistics
from polygym.search.sweep.rows import ISL, LIMIT
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.workload import SweepWorkload

# Times of the original order that differ by more than this are reported.
_DRIFT = 1.25

_HELP = """Search the schedules of many programs, and measure the best again at a larger size.

Every program is searched with each strategy in turn at --search-dataset; then its --confirm best
schedules are measured at --dataset, side by side with the original order, isl's schedule and the
compilers of --against. The --initial-schedules are the first of each strategy. With --split or
--storage each program is changed before; the store has those programs and their schedules.
--function and --extent are for all files that are named; a store keeps them, and another choice
needs another DIR. Every outcome is in DIR/sweep.sqlite the moment it is known. Ctrl-C stops after
the schedule in flight; the same command goes on, also after a crash, with a larger budget or with
more programs. `polygym report DIR` draws the results, at any time. Exit code 1: a program could not
be searched, or a schedule computed something else than the original order, or crashed.

\b
Examples:
  polygym sweep gemm mvt --budget 100 --out found
  polygym sweep --programs all --strategy bias_coeff_0,uniform --budget 1000 \\
      --threads 2 --time-limit 2h --against polly --out found
  polygym report found
"""


@click.command("sweep", help=_HELP, epilog=common.EXCLUSION_HELP)
@click.argument("programs", nargs=-1, metavar="[PROGRAM]...")
@click.option(
    "--programs",
    "selection",
    default="",
    metavar="NAMES",
    help="The same as a list with commas, such as 'all,!gemm'. (Default: all.)",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="Where the store is, or will be.",
)
@click.option(
    "--strategy",
    "policies",
    default="bias_coeff_0",
    show_default=True,
    metavar="NAME[,NAME]",
    help="The strategies, indexed ones of `polygym optimize`. The default stays bias_coeff_0, of "
    "which published numbers are.",
)
@common.model_option("The model of --strategy guided")
@count_option(
    "--budget",
    default=100,
    help="Episodes of every policy for every program.",
)
@common.seed_option("The seed of the policies.")
@click.option(
    "--initial-schedules",
    default="original,isl",
    show_default=True,
    metavar="NAME[,NAME]",
    help="The schedules with which every strategy begins: original, isl, auto, or none.",
)
@click.option(
    "--against",
    default="",
    metavar="NAME[,NAME]",
    help="Other compilers to measure beside the schedules, at both sizes: clang, gcc, polly. One "
    "that is not installed is left out, and the report says so. And limit: which share of what "
    "this machine can do they reach (docs/explanation/limit.md).",
)
@click.option(
    "--search-dataset",
    callback=parsed_by(Dataset.parse),
    default="medium",
    show_default=True,
    metavar="SIZE",
    help="The size at which schedules are searched.",
)
@click.option(
    "--dataset",
    "-d",
    callback=parsed_by(Dataset.parse),
    default="large",
    show_default=True,
    metavar="SIZE",
    help="The size at which the best are confirmed.",
)
@count_option(
    "--confirm",
    least=0,
    most=1000,
    default=20,
    help="How many schedules of every program are measured again.",
)
@duration_option(
    "--time-limit",
    help="Stop searching after this time, each program having had a fair share. The time of an "
    "earlier run of the same sweep counts. Confirming comes after that.",
)
@count_option(
    "--jobs",
    most=1024,
    default=1,
    help="Programs at a time, each on cores of its own; never more than fit.",
)
@common.function_option
@variant_options("none", "keep")
@cluster_option
@common.mapping_options
@common.timeout_option
@duration_option(
    "--compile-time-limit",
    "compile_seconds",
    default="5s",
    help="Give up a schedule whose code takes longer to generate.",
)
@common.construction_options
@common.json_option
def command(
    programs: tuple[str, ...],
    selection: str,
    out: Path,
    policies: str,
    model: str,
    budget: int,
    seed: int,
    initial_schedules: str,
    against: str,
    search_dataset: Dataset,
    dataset: Dataset,
    confirm: int,
    time_limit: float | None,
    jobs: int,
    region: str | None,
    variant: VariantOptions,
    on: ClusterAddress | None,
    mapping: Mapping | None,
    threads: int,
    timeout_factor: float,
    compile_seconds: float,
    max_coefficient: int,
    max_dimensions: int,
    max_rays: int,
    as_json: bool,
) -> console.CommandResult:
    """Read the options and sweep."""
    common.refuse_compile_commands()
    asked = ModelChoice(os.path.abspath(model) if model else "")
    setting = SweepSetting(
        search_dataset=search_dataset,
        dataset=dataset,
        initial_schedules=_initial_schedules(initial_schedules),
        seed=seed,
        recipe=variant.recipe,
        function=region,
        options=TaskOptions(max_coefficient, max_dimensions, SpaceLimits(rays=max_rays)),
        evaluation=EvaluationOptions(
            threads=threads,
            timeout_factor=timeout_factor,
            compile_seconds=compile_seconds,
            mapping=common.resolve_mapping(mapping, DEFAULT_MAPPING, threads),
        ),
    )
    chosen = _chosen(programs, selection)
    expect_files(chosen, region)
    orders = SweepWorkload(
        chosen,
        _policies(policies, asked),
        budget,
        confirm,
        time_limit,
        1,
        _contenders(against, threads if on is None else 0),
        asked.file,
    )
    return _sweep(out, setting, orders, open_sweep(out, setting, orders, jobs, on), as_json)


def _contenders(against: str, threads: int) -> tuple[str, ...]:
    """Return the other compilers that are installed, and the limit; the machine is measured.

    Without ``threads`` it is not: each node of a fleet measures itself.
    """
    named = console.listed(against)
    compilers = common.installed_compilers(name for name in named if name != LIMIT)
    if LIMIT not in named:
        return compilers
    if threads:
        with console.spinner("measuring the machine"):
            peaks_for(threads)
    return (*compilers, LIMIT)


def _initial_schedules(text: str) -> tuple[str, ...]:
    """Return the names of the schedules to begin with, of which there may be none."""
    return () if text.strip() == "none" else _listed(text, "--initial-schedules")


def _chosen(programs: Sequence[str], selection: str) -> tuple[str, ...]:
    """Return the programs by names that mean the same in another working directory."""
    result = select_programs([*programs, selection] if programs or selection else ["all"])
    return tuple(os.path.abspath(name) if is_file(name) else name for name in result)


def _policies(text: str, model: ModelChoice) -> tuple[str, ...]:
    names = _listed(text, "--strategy")
    if model.file and all(name.partition("@")[0] != GUIDED for name in names):
        raise click.UsageError("--model is for --strategy guided.")
    for name in names:
        check_sampler(name, model)
    # Episodes of another model are another policy's, also in a store that there is already.
    return tuple(model_name(model) if name == GUIDED else name for name in names)


def _listed(text: str, option: str) -> tuple[str, ...]:
    """Return the names of a list with commas, each once."""
    names = tuple(dict.fromkeys(console.listed(text)))
    if not names:
        raise InputError(f"{option}: expected at least one name, found {text!r}")
    return names


def _sweep(
    out: Path,
    setting: SweepSetting,
    orders: SweepWorkload,
    begins: AbstractContextManager[ActiveSweep],
    as_json: bool,
) -> console.CommandResult:
    """Sweep until all is done or a signal comes, and say what was found."""
    stop = StopRequest()
    code = 0
    with begins as (campaign, sweep):
        if before := sweep.started_by_version:
            console.write_text(
                f"the sweep was begun by polygym {before}: its schedules may be others", err=True
            )
        try:
            with stoppable(stop), sweep_progress() as show:
                campaign.run(lambda: bool(stop.signal_number), show)
        except KeyboardInterrupt:
            code = stop.code
    kernel_summaries = [
        summary
        for summary in statistics.summaries(reader.read_sweep(out))
        if summary.kernel in orders.programs
    ]
    troubled = any(
        kernel_summary.error or kernel_summary.defects for kernel_summary in kernel_summaries
    )
    code = code or int(troubled)
    if as_json:
        return console.CommandResult(
            code, _document(setting, orders, kernel_summaries, bool(stop.signal_number))
        )
    _print(kernel_summaries, out, setting.evaluation.mapping)
    if stop.signal_number:
        print_resume_hint(shlex.join(["polygym", *sys.argv[1:]]))
    return console.CommandResult(code)


def _print(summaries: Sequence[statistics.KernelSummary], out: Path, mapping: Mapping) -> None:
    """Write the table, the means, what went wrong, and what to do next."""
    print_summaries(summaries)
    both = [
        kernel_summary
        for kernel_summary in summaries
        if kernel_summary.best is not None and kernel_summary.references.get(ISL)
    ]
    sizes = " and ".join(sorted({program.dataset for program in both}))
    console.write_text(
        f"Geometric means over LLVM -O3 of the original order, at {sizes or 'no size yet'}, of "
        f"{len(both)} of {len(summaries)} programs: the best "
        f"{ratio_text(statistics.mean_best(both))}, isl's "
        f"{ratio_text(statistics.mean_reference(both, ISL))}; the best over isl's: "
        f"{ratio_text(statistics.mean_over(both, ISL))}"
    )
    if mapping.timing_caveat:
        console.write_text(mapping.timing_caveat)
    if note := tolerance_note(statistics.other_compilers(summaries)):
        console.write_text(note)
    if note := statistics.background_load_note(summaries):
        console.write_text(note, err=True)
    for summary in summaries:
        if summary.variant is not None:
            console.write_text(f"{summary.label}: {summary.variant}")
        if summary.error:
            console.write_text(f"{summary.label}: {summary.error}", err=True)
        for name, reason in summary.missing_compilers.items():
            console.write_text(f"{summary.label}, {name}: {reason}", err=True)
        report_defects(summary.defects, mapping, summary.label)
        if summary.drift is not None and summary.drift > _DRIFT:
            console.write_text(
                f"{summary.label}: the original order's time varied by {ratio_text(summary.drift)}",
                err=True,
            )
    console.write_text(f"polygym report {shlex.quote(str(out))} draws it")


def _document(
    setting: SweepSetting,
    orders: SweepWorkload,
    summaries: Sequence[statistics.KernelSummary],
    interrupted: bool,
) -> dict[str, Any]:
    """Return everything that ``--json`` prints."""
    return {
        **setting.to_json(),
        "tolerance": setting.evaluation.mapping.tolerance,
        "caveat": setting.evaluation.mapping.timing_caveat,
        "tolerance_of_compilers": TOLERANCE if statistics.other_compilers(summaries) else None,
        "policies": list(orders.policies),
        "budget": orders.budget,
        "interrupted": interrupted,
        "kernels": [summary.to_json() for summary in summaries],
        "geometric_mean": {
            "best": statistics.mean_best(summaries),
            ISL: statistics.mean_reference(summaries, ISL),
            "best_over_isl": statistics.mean_over(summaries, ISL),
            "of_limit": statistics.mean_of_limit(summaries),
        },
        "machine": asdict(describe_host()),
    }
