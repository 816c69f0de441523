"""``polygym sweep``: search many programs with several policies, and confirm the best."""

from __future__ import annotations

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
from polygym.cli.alarm import alarm
from polygym.cli.answer import Answer
from polygym.cli.campaigns import AtWork, at_work
from polygym.cli.clusters import on_option
from polygym.cli.options import (
    EXCLUSION_HELP,
    chosen_mapping,
    construction_options,
    found_compilers,
    function_option,
    json_option,
    mapping_options,
    model_option,
    seed_option,
    timeout_option,
)
from polygym.cli.output import say, working
from polygym.cli.splitting import Cutter, split_option
from polygym.cli.stopping import Stop, stoppable
from polygym.cli.storing import StorageChoice, recipe_of, storage_options
from polygym.cli.sweeping import print_summaries, ratio, resuming, sweeping
from polygym.cli.text import listed, shorten
from polygym.compiler.codegen.common.mapping import DEFAULT, TOLERANCE, Mapping
from polygym.compiler.poly.spaces.polyhedra import Limits
from polygym.cost.chosen import ChosenModel
from polygym.episodes.task_options import TaskOptions
from polygym.errors import InputError
from polygym.measure.evaluation import EvaluationOptions
from polygym.measure.evaluation.foreign import compared
from polygym.measure.machine.kept import peaks_of
from polygym.measure.worker.timing import this_machine
from polygym.programs.selection import expect_files, selected
from polygym.search.cluster.address import Address
from polygym.search.explore.players import MODEL, check_player, model_name
from polygym.search.sweep import reading
from polygym.search.sweep.orders import Orders
from polygym.search.sweep.rows import ISL, LIMIT
from polygym.search.sweep.setting import SweepSetting
from polygym.search.sweep.statistics import (
    KernelSummary,
    foreign_note,
    mean_best,
    mean_of_limit,
    mean_over,
    mean_reference,
    other_compilers,
    summaries,
)

# Times of the original order that differ by more than this are worth a word.
_DRIFT = 1.25

_HELP = """Search the schedules of many programs, and measure the best again at a larger size.

Every program is searched with each policy, the policies in turn, at --search-dataset; then its
--confirm best schedules are measured at --dataset, side by side with the original order, isl's
schedule and what --against names. The first schedules of each policy are the --seeds. With --split
or --storage each program is changed before; what was found is in the store, and schedules are of
that program. --function and --extent are for all files that are named; a store keeps them, and
another choice needs another DIR. Every outcome is in DIR/sweep.sqlite the moment it is known.
Ctrl-C stops after the schedule in flight; the same command goes on, also after a crash, with a
larger budget or with more programs. `polygym report DIR` draws what was found, at any time. Exit
code 1: a program could not
be searched, or a schedule computed something else than the original order, or crashed.

\b
Examples:
  polygym sweep gemm mvt --budget 100 --out found
  polygym sweep --kernels all --policy bias_coeff_0,uniform --budget 1000 \\
      --threads 2 --minutes 120 --against polly --out found
  polygym report found
"""


def _size(_: click.Context, __: click.Parameter, value: str) -> Dataset:
    """Return the data set of a name."""
    try:
        return Dataset.parse(value)
    except ValueError as error:
        raise click.BadParameter(shorten(str(error), 300)) from None


@click.command("sweep", help=_HELP, epilog=EXCLUSION_HELP)
@click.argument("kernels", nargs=-1, metavar="[KERNEL|GLOB|CATEGORY|FILE.c|!...]...")
@click.option(
    "--kernels",
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
    "--policy",
    "policies",
    default="bias_coeff_0",
    show_default=True,
    metavar="NAME[,NAME]",
    help="Who makes the choices; see `polygym optimize --help`.",
)
@model_option("The model that --policy model asks")
@click.option(
    "--budget",
    type=click.IntRange(1, 100_000_000),
    default=100,
    show_default=True,
    metavar="N",
    help="Episodes of every policy for every program.",
)
@seed_option("The dice of the policies.")
@click.option(
    "--seeds",
    default="original,isl",
    show_default=True,
    metavar="NAME[,NAME]",
    help="Orders with which every policy begins: original, isl, auto, or none.",
)
@click.option(
    "--against",
    default="",
    metavar="NAME[,NAME]",
    help="Other compilers to measure beside the schedules, at both sizes: clang, gcc, polly. One "
    "that is not installed is left out with a word. And limit: which share of what this machine "
    "can do they reach (docs/limit.md).",
)
@click.option(
    "--search-dataset",
    callback=_size,
    default="medium",
    show_default=True,
    metavar="SIZE",
    help="The size at which schedules are searched.",
)
@click.option(
    "--dataset",
    "-d",
    callback=_size,
    default="large",
    show_default=True,
    metavar="SIZE",
    help="The size at which the best are confirmed.",
)
@click.option(
    "--confirm",
    type=click.IntRange(0, 1000),
    default=20,
    show_default=True,
    metavar="N",
    help="How many schedules of every program are measured again.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(0.0, 1e7, min_open=True),
    metavar="M",
    help="Stop searching after so long, each program having had a fair share. What an earlier run "
    "of the same sweep took counts. Confirming comes after that.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    metavar="J",
    help="Programs at a time, each on cores of its own; never more than fit.",
)
@function_option
@split_option("none")
@storage_options("keep")
@on_option
@mapping_options
@timeout_option
@click.option(
    "--compile-seconds",
    type=click.FloatRange(0.0, 1e6, min_open=True),
    default=5.0,
    show_default=True,
    metavar="S",
    help="Give up a schedule whose code takes longer to generate.",
)
@construction_options
@json_option
def command(
    kernels: tuple[str, ...],
    selection: str,
    out: Path,
    policies: str,
    model: str,
    budget: int,
    seed: int,
    seeds: str,
    against: str,
    search_dataset: Dataset,
    dataset: Dataset,
    confirm: int,
    minutes: float | None,
    jobs: int,
    region: str | None,
    cutter: Cutter | None,
    storage: StorageChoice | None,
    storage_limit: int | None,
    on: Address | None,
    mapping: Mapping | None,
    threads: int,
    timeout_factor: float,
    compile_seconds: float,
    max_coefficient: int,
    max_dimensions: int,
    max_rays: int,
    as_json: bool,
) -> Answer:
    """Read the options and sweep."""
    asked = ChosenModel(os.path.abspath(model) if model else "")
    setting = SweepSetting(
        search_dataset=search_dataset,
        dataset=dataset,
        seeds=_listed(seeds, "--seeds") if seeds.strip() != "none" else (),
        seed=seed,
        recipe=recipe_of(cutter, storage, storage_limit),
        function=region,
        options=TaskOptions(max_coefficient, max_dimensions, Limits(rays=max_rays)),
        measuring=EvaluationOptions(
            threads=threads,
            timeout_factor=timeout_factor,
            compile_seconds=compile_seconds,
            mapping=chosen_mapping(mapping, DEFAULT, threads),
        ),
    )
    seconds = None if minutes is None else 60.0 * minutes
    programs = _chosen(kernels, selection)
    expect_files(programs, region)
    orders = Orders(
        programs,
        _policies(policies, asked),
        budget,
        confirm,
        seconds,
        1,
        _contenders(against, threads if on is None else 0),
        asked.file,
    )
    return _sweep(out, setting, orders, at_work(out, setting, orders, jobs, on), as_json)


def _contenders(against: str, threads: int) -> tuple[str, ...]:
    """Return the other compilers that are installed, and the limit; the machine is measured.

    Without ``threads`` it is not: each node of a fleet measures itself.
    """
    named = listed(against)
    compilers = found_compilers(name for name in named if name != LIMIT)
    if LIMIT not in named:
        return compilers
    if threads:
        with working("measuring the machine"):
            peaks_of(threads)
    return (*compilers, LIMIT)


def _chosen(kernels: Sequence[str], selection: str) -> tuple[str, ...]:
    """Return the programs by names that mean the same in another working directory."""
    found = selected([*kernels, selection] if kernels or selection else ["all"])
    return tuple(os.path.abspath(name) if os.path.isfile(name) else name for name in found)


def _policies(text: str, model: ChosenModel) -> tuple[str, ...]:
    names = _listed(text, "--policy")
    if model.file and all(name.partition("@")[0] != MODEL for name in names):
        raise click.UsageError("--model is for --policy model.")
    for name in names:
        check_player(name, model)
    # Episodes of another model are another policy's, also in a store that there is already.
    return tuple(model_name(model) if name == MODEL else name for name in names)


def _listed(text: str, option: str) -> tuple[str, ...]:
    """Return the names of a list with commas, each once."""
    names = tuple(dict.fromkeys(listed(text)))
    if not names:
        raise InputError(f"{option}: expected at least one name, found {text!r}")
    return names


def _sweep(
    out: Path,
    setting: SweepSetting,
    orders: Orders,
    begins: AbstractContextManager[AtWork],
    as_json: bool,
) -> Answer:
    """Sweep until all is done or a signal comes, and say what was found."""
    stop = Stop()
    code = 0
    with begins as (campaign, sweep):
        if before := sweep.before:
            say(f"the sweep was begun by polygym {before}: its schedules may be others", err=True)
        try:
            with stoppable(stop), sweeping() as show:
                campaign.run(lambda: bool(stop.number), show)
        except KeyboardInterrupt:
            code = stop.code
    found = [one for one in summaries(reading.read(out)) if one.kernel in orders.kernels]
    troubled = any(one.error or one.defects for one in found)
    code = code or int(troubled)
    if as_json:
        return Answer(code, _document(setting, orders, found, bool(stop.number)))
    _print(found, out, setting.measuring.mapping)
    if stop.number:
        resuming(shlex.join(["polygym", *sys.argv[1:]]))
    return Answer(code)


def _print(found: Sequence[KernelSummary], out: Path, mapping: Mapping) -> None:
    """Write the table, the means, what went wrong, and what to do next."""
    print_summaries(found)
    both = [one for one in found if one.best is not None and one.references.get(ISL)]
    sizes = " and ".join(sorted({one.dataset for one in both}))
    say(
        f"Geometric means over LLVM -O3 of the original order, at {sizes or 'no size yet'}, of "
        f"{len(both)} of {len(found)} programs: the best {ratio(mean_best(both))}, isl's "
        f"{ratio(mean_reference(both, ISL))}; the best over isl's: {ratio(mean_over(both, ISL))}"
    )
    if mapping.caveat:
        say(mapping.caveat)
    if note := compared(other_compilers(found)):
        say(note)
    if note := foreign_note(found):
        say(note, err=True)
    for one in found:
        if one.home is not None:
            say(f"{one.label}: {one.home}")
        if one.error:
            say(f"{one.label}: {one.error}", err=True)
        for name, reason in one.uncompared.items():
            say(f"{one.label}, {name}: {reason}", err=True)
        alarm(one.defects, mapping, one.label)
        if one.drift is not None and one.drift > _DRIFT:
            say(f"{one.label}: the original order's time varied by {one.drift:.2f}x", err=True)
    say(f"polygym report {shlex.quote(str(out))} draws it")


def _document(
    setting: SweepSetting, orders: Orders, found: Sequence[KernelSummary], interrupted: bool
) -> dict[str, Any]:
    """Return everything that ``--json`` prints."""
    return {
        **setting.to_json(),
        "tolerance": setting.measuring.mapping.tolerance,
        "caveat": setting.measuring.mapping.caveat,
        "tolerance_of_compilers": TOLERANCE if other_compilers(found) else None,
        "policies": list(orders.policies),
        "budget": orders.budget,
        "interrupted": interrupted,
        "kernels": [one.to_json() for one in found],
        "geometric_mean": {
            "best": mean_best(found),
            ISL: mean_reference(found, ISL),
            "best_over_isl": mean_over(found, ISL),
            "of_limit": mean_of_limit(found),
        },
        "machine": asdict(this_machine()),
    }
