"""``polygym tune``: search for the schedule and the mapping under which a program is fastest."""

from __future__ import annotations

from pathlib import Path

import click

from polybench import Dataset
from polygym.autoschedule.program_recipes import DefaultSource
from polygym.cli.execution.tuning_session import tune_and_report
from polygym.cli.options.cluster import cluster_option
from polygym.cli.options.common import (
    PROGRAM_HELP,
    absolute_target,
    compile_memory_option,
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
)
from polygym.cli.options.splitting import SplitOption, split_option
from polygym.cli.options.storage import (
    StorageOption,
    VariantOptions,
    initial_source,
    source_in_journal,
    storage_options,
)
from polygym.cli.result import CommandResult
from polygym.cost.models.cost_model import Acquisition
from polygym.cost.models.model_choice import ModelChoice
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.mdp.problems.loading import ProgramSource
from polygym.poly.transform.storage.plan import SOURCE_STORAGE
from polygym.programs.comprehensions import is_comprehension
from polygym.search import TuningPlan, strategy_names
from polygym.search.runner.ray.fleet.address import ClusterAddress
from polygym.search.strategies.model_options import ModelOptions
from polygym.search.strategies.registry import MODEL_STRATEGIES
from polygym.search.tuning_folder import TUNING_JOURNAL_FILE

_HELP = """Search for the order and the mapping under which a program is fastest.

A candidate is a way to get a schedule (isl's under one of many options, or the order of the text)
and a mapping. The usual search, genetic, begins with the usual choices, with what did best for
similar comprehensions before, and with dice; then every generation has children of the best. random
rolls dice alone; policy:NAME takes schedules that a policy of the gym constructs, and changes the
mappings of the best. model lets chains of annealing walk over mappings and schedules, uphill in
what a model of cost expects, which learns from what is measured; filter rolls many dice and takes
what the model likes best (both: pip install 'polygym[cost]'). Sixteen candidates at a time (four of
a policy's) are compiled on all cores, then measured one by one beside the original order; their
outputs are compared with the original's. One that takes several times as long as the best is cut
off. In the end the best five are timed again together with what there was to start from, if the
time is not up.

Where the program keeps its values and is cut is decided first, as for `run --schedule auto`, unless
--storage or --split say so (--storage keep: as the source has it). Comprehensions stay as they are.

Ctrl-C and --time stop it at any time and keep the best. `trials.jsonl` in --out has every candidate
the moment its outcome is known, `best.json` the best one (for `polygym replay` and `polygym run
--schedule`), `best.c` its C code, `summary.json` what --json prints. The best of a comprehension is
also kept in the cache (see `polygym cache`), where the operators of polygym.tc find it: for the
same sizes, threads and mapping to start from.

--resume goes on where the search in --out ended, whatever ended it: with the same program, sizes,
storage, mapping, search, model, acquisition, population and seed, candidates that were measured are
not measured again. --generations may be more, and --time counts anew.

Exit code 0 even if nothing faster was found; 1: the original order itself does not run, or
a candidate's output was wrong or its code crashed, which is a defect of polygym; 130: interrupted.

\b
Examples:
  polygym tune tc:matmul -p M=128 -p N=256 -p K=32 --threads 2
  polygym tune my.tc --function blur -p N=500 --generations 40 --out found
  polygym tune jacobi-2d -d medium --search policy:bias_coeff_0 --time 60
  polygym tune my.tc --function blur -p N=500 --out found --resume
  polygym replay found/best.json
  polygym run my.tc --function blur -p N=500 --schedule found/best.json
"""


@click.command("tune", help=_HELP, epilog=PROGRAM_HELP)
@program_argument
@function_option
@size_options
@click.option(
    "--search",
    type=click.Choice(strategy_names()),
    default="genetic",
    show_default=True,
    metavar="NAME",
    help=f"Who chooses what is tried next: {', '.join(strategy_names())}.",
)
@model_option("The model that model and filter begin with")
@click.option(
    "--acquisition",
    type=click.Choice([one.value for one in Acquisition]),
    default=Acquisition.MEAN.value,
    show_default=True,
    help="How model and filter take what they are not sure of: as expected, by the improvement "
    "to be expected, or by the best that may be.",
)
@click.option(
    "--generations",
    type=click.IntRange(1, 1_000_000),
    default=10,
    show_default=True,
    metavar="N",
    help="How many generations; genetic chooses once for each, the others as they go.",
)
@click.option(
    "--population",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    metavar="N",
    help="Candidates of a generation. The first one has all usual choices, even if these are more: "
    "isl's schedules, the order of the text, and what did best for similar comprehensions.",
)
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(0.0, 1e9),
    metavar="SECONDS",
    help="Stop after so long: no candidate is begun behind, but what is running comes to its end, "
    "and the usual choice is tried in any case.",
)
@seed_option("The dice. What is tried depends on the times that were measured as well.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Candidates compiled at a time. (Default: one on each core.)",
)
@out_option
@resume_option
@cluster_option
@split_option("decided by models, unless --storage is given; none for comprehensions")
@storage_options("model, unless --split is given; keep for comprehensions")
@mapping_options
@compile_memory_option
@json_option
def command(
    target: str,
    region: str | None,
    dataset: Dataset | None,
    parameters: dict[str, int],
    search: str,
    model: str,
    acquisition: str,
    generations: int,
    population: int,
    seconds: float | None,
    seed: int,
    jobs: int | None,
    out: Path | None,
    resumed: bool,
    on: ClusterAddress | None,
    cutter: SplitOption | None,
    storage: StorageOption | None,
    storage_limit: int | None,
    mapping: Mapping | None,
    threads: int,
    as_json: bool,
) -> CommandResult:
    """Read the options and tune."""
    start = resolve_mapping(mapping, DEFAULT_MAPPING, threads)
    if resumed and out is None:
        raise click.UsageError("--resume needs --out DIR, the folder of the search to go on with.")
    if on is not None and jobs is not None:
        raise click.UsageError("--jobs is for one machine; with --on nodes use all their cores.")
    source = ProgramSource(
        absolute_target(target), region, dataset or Dataset.LARGE, tuple(parameters.items())
    )
    before = source_in_journal(
        source, out / TUNING_JOURNAL_FILE if resumed and out else None, "source"
    )
    # Operators of a comprehension, which find the best in the cache, are of it as it was written.
    unsaid = SOURCE_STORAGE if is_comprehension(target) else DefaultSource.MODEL
    source = initial_source(
        source, VariantOptions(cutter, storage, storage_limit), start, before, unsaid
    )
    if search not in MODEL_STRATEGIES and (model or acquisition != Acquisition.MEAN.value):
        raise click.UsageError("--model and --acquisition are for --search model and filter.")
    guide = ModelOptions(ModelChoice(model), Acquisition(acquisition))
    plan = TuningPlan(generations, population, search, seed, seconds, jobs, guide)
    return tune_and_report(source, plan, start, out, resumed, as_json, on)
