"""``polygym optimize``: search a program's legal schedules for a fast one."""

from __future__ import annotations

from pathlib import Path

import click

from polybench import Dataset
from polygym.cli.execution.search_session import search_and_report
from polygym.cli.options.common import (
    PROGRAM_HELP,
    absolute_target,
    construction_options,
    function_option,
    json_option,
    mapping_options,
    model_option,
    out_option,
    program_argument,
    resolve_mapping,
    resume_option,
    seed_option,
    size_options,
    timeout_option,
)
from polygym.cli.options.splitting import SplitOption, split_option
from polygym.cli.options.storage import (
    StorageOption,
    VariantOptions,
    initial_source,
    journal_header,
    source_in_journal,
    storage_options,
)
from polygym.cli.result import CommandResult
from polygym.cost.models.model_choice import ModelChoice
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.mdp.problems.loading import ProgramSource
from polygym.mdp.task_options import TaskOptions
from polygym.poly.spaces.polyhedra import SpaceLimits
from polygym.runtime.evaluation import EvaluationOptions
from polygym.search.driver import SearchExtent
from polygym.search.folder import JOURNAL_FILE
from polygym.search.settings import SearchSetting
from polygym.search.strategies.samplers import DEFAULT_STRATEGY, MODEL, sampler_names

_HELP = """Search the legal schedules of a program for one that runs faster.

Every episode makes a schedule by a policy's choices, compiles it, runs it, compares its output with
the original order's and times it. The usual policy, `learned`, asks networks that come with
polygym: it begins with the schedule of `auto` and chooses another one, and another mapping than the
default, where they expect these to be faster; in the first episode what they are sure of, so that
--budget 1 is their one answer, beside isl's schedule in the ranking; after that it explores. Other
policies build schedules by dice, or by a rule. With --policy model these build eight for an
episode, and the one that a model of cost ranks first is taken (pip install 'polygym[cost]').
Whatever the policy, the schedule of `auto` (docs/schedules.md) is among the ranked where it is not
isl's. With --tune-mapping N, other mappings are tried then for the three fastest schedules, that of
`auto`, isl's and the original order: first a few that differ in one idea, then small changes of the
best. At the end the best five are timed again, in turn with the original order and isl's schedule;
as the best of many single measurements is a lucky one too, they tend to be slower then. The best is
the fastest of these, isl's among them. Faster than the original is what is so by more than 3 % in
the end. The same seed explores the same schedules; which mappings are tried depends on the times as
well. Exit code 0 even if nothing faster was found; 1: the original order itself does not run, or a
schedule's output was wrong or its code crashed, which is a defect of polygym and said in red; 130:
interrupted.

Where the program keeps its values and is cut is decided first, as for `run --schedule auto`, unless
--storage or --split say so (--storage keep: as the source has it); a search that is resumed goes on
with what it began with.

Ctrl-C stops at any time and keeps what was found: `episodes.jsonl` in --out has every episode the
moment its outcome is known, `tuning.jsonl` every mapping, `best.json` the best one (for `polygym
replay` and `polygym run --schedule`), `best.c` its C code, `summary.json` what --json prints, and,
with --plot, `convergence.png` the best so far against schedules explored, each measured once.

Episodes and their schedules are counted from 0: #35 is the `index` 35 of the files, and line 37 of
`episodes.jsonl`, whose first line is the setting. In the summary `best` and `ranking` are timed
again if `measured_together` is true; `best_while_searching` and `convergence` are measured once.

\b
Examples:
  polygym optimize gemm --dataset medium
  polygym optimize gemm --threads 2 --budget 50 --tune-mapping 100
  polygym optimize gemm --threads 2 --policy learned --budget 1
  polygym optimize my.c -p n=500 --budget 1000 --out found --plot
  polygym optimize my.c -p n=500 --budget 5000 --out found --resume
  polygym optimize lu --policy uniform --seed 3 --json > lu.json
  polygym replay found/best.json
"""


@click.command("optimize", help=_HELP, epilog=PROGRAM_HELP)
@program_argument
@function_option
@size_options
@click.option(
    "--budget",
    type=click.IntRange(1, 100_000_000),
    default=100,
    show_default=True,
    metavar="N",
    help="How many episodes to explore, in all.",
)
@click.option(
    "--tune-mapping",
    "mappings",
    type=click.IntRange(0, 1_000_000),
    default=0,
    show_default=True,
    metavar="N",
    help="Then try mappings (tiles, copies, vectors ...) for the fastest schedules: N in all, "
    "those of the search that is resumed included.",
)
@click.option(
    "--policy",
    "policy_name",
    type=click.Choice(sampler_names()),
    help="Who makes the choices: a policy by dice or rule, the policy that has learned, or a model "
    f"of cost that takes the most promising of eight episodes. (Default: {DEFAULT_STRATEGY}, or "
    "whoever made "
    "them in the search that is resumed.)",
)
@model_option("The model that --policy model asks")
@seed_option("The dice of the policy.")
@out_option
@resume_option
@click.option("--plot", is_flag=True, help="Draw how the best came about.")
@split_option("decided by models, unless --storage is given")
@storage_options("model, unless --split is given")
@mapping_options
@timeout_option
@construction_options
@json_option
def command(
    target: str,
    region: str | None,
    dataset: Dataset | None,
    parameters: dict[str, int],
    budget: int,
    mappings: int,
    policy_name: str | None,
    model: str,
    seed: int,
    out: Path | None,
    resumed: bool,
    plot: bool,
    cutter: SplitOption | None,
    storage: StorageOption | None,
    storage_limit: int | None,
    mapping: Mapping | None,
    threads: int,
    timeout_factor: float,
    max_coefficient: int,
    max_dimensions: int,
    max_rays: int,
    as_json: bool,
) -> CommandResult:
    """Read the options and search."""
    if resumed and out is None:
        raise click.UsageError("--resume needs --out DIR, the folder of the search to go on with.")
    mapping = resolve_mapping(mapping, DEFAULT_MAPPING, threads)
    source = ProgramSource(
        absolute_target(target), region, dataset or Dataset.LARGE, tuple(parameters.items())
    )
    journal = out / JOURNAL_FILE if resumed and out else None
    policy_name = policy_name or _policy_in_journal(journal)
    if model and policy_name != MODEL:
        raise click.UsageError("--model is for --policy model.")
    before = source_in_journal(source, journal, "program")
    source = initial_source(source, VariantOptions(cutter, storage, storage_limit), mapping, before)
    setting = SearchSetting(
        source=source,
        policy=policy_name,
        model=ModelChoice(model),
        seed=seed,
        options=TaskOptions(max_coefficient, max_dimensions, SpaceLimits(rays=max_rays)),
        evaluation=EvaluationOptions(
            threads=threads, timeout_factor=timeout_factor, mapping=mapping
        ),
    )
    return search_and_report(setting, SearchExtent(budget, mappings), out, resumed, plot, as_json)


def _policy_in_journal(journal: Path | None) -> str:
    """Return who makes the choices of a search: as its journal says, or else as usual.

    What is wrong with a journal is said where it is read.
    """
    result = None if journal is None else journal_header(journal).get("policy")
    return result if result in sampler_names() else DEFAULT_STRATEGY
