"""``polygym optimize``: search for the fastest schedule and mapping of a program."""

from pathlib import Path

import click

from polybench import Dataset
from polygym.autoschedule.program_recipes import DefaultSource
from polygym.cli.execution.search_session import search_and_report
from polygym.cli.options import common, variants
from polygym.cli.options.cluster import cluster_option
from polygym.cli.options.term_files import term_file_of_command
from polygym.cli.options.values import count_option, duration_option
from polygym.cli.output.console import CommandResult
from polygym.cost.models.cost_model import Acquisition, ModelKind
from polygym.cost.models.pretrained import ModelChoice
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.mdp.problems.loading import ProgramSource
from polygym.mdp.task_options import TaskOptions
from polygym.poly.scheduling.strategy import AUTO, parse_strategy
from polygym.poly.spaces.polyhedra import SpaceLimits
from polygym.poly.transform.storage.plan import SOURCE_STORAGE
from polygym.programs.comprehensions import is_comprehension
from polygym.runtime.evaluation import EvaluationOptions
from polygym.search.folder import JOURNAL_FILE
from polygym.search.plan import SearchPlan
from polygym.search.runner.ray.fleet.transport import ClusterAddress
from polygym.search.settings import SearchSetting
from polygym.search.strategies import registry
from polygym.search.strategies.model_options import ModelOptions
from polygym.search.strategies.samplers import DEFAULT_STRATEGY

_FIXED_STRATEGY = "genetic"
_KINDS = {kind.value: kind for kind in ModelKind}

_HELP = f"""Search for the schedule and the mapping under which a program is fastest.

A strategy proposes candidates: a schedule and a mapping each. They are compiled, run beside the
original order and timed; their outputs are compared with the original's. The initial candidates,
isl's schedule and that of `auto` among them (docs/explanation/schedules.md), come first. The
default strategy, {DEFAULT_STRATEGY}, asks networks that come with polygym: with --budget 1 for
their one answer, after that it explores. Other policies construct schedules by random choices or by
a rule, under the mapping to start from. genetic, random, annealing and filter choose schedules of
isl and mappings together: sixteen candidates at a time are compiled on all cores, and one that
takes several times as long as the best is cut off. With --mapping-budget N, mappings are tried at
last for the three fastest schedules, that of `auto`, isl's and the original order.

In the end the best five are timed again, in turn with the original order, isl's schedule and the
initial candidate: the best of many single measurements is a lucky one too. The initial candidate
stays the best where nothing is faster by more than 3 %. Where nothing is faster than the source by
more than 3 %, the source is the answer: `best.json` and `best.c` have its order and its storage.
`polygym tune` is the same command.

\b
Strategies:
{"".join(f"  {name:22} {entry.summary}{chr(10)}" for name, entry in registry.STRATEGIES.items())}
Storage and index-set splitting are decided first, as for `run --schedule auto`, unless --storage or
--split are given (--storage keep: as the source has it); comprehensions stay as they are. A few
schedules are run with what models choose, and with the storage of the source: the faster of the two
is searched. A search that is resumed goes on with its own.

A term (FILE.ks) is rewritten first: forms that searches with a static cost propose are timed in
turn, each takes one of the budget, and the fastest one's loops are scheduled. --time-limit is for
both. The best schedule is compared with the term's interpreter at small sizes.

Ctrl-C and --time-limit stop at any time and keep the best: `journal.jsonl` in --out has every
proposal the moment its outcome is known, `best.json` the best one (for `polygym replay` and
`polygym run --schedule`), `best.c` its C code, `summary.json` the document of --json, and, with
--plot, `convergence.png` the best so far against proposals. Line k + 2 of the journal has the
`index` k; line 1 is the setting. The best of a comprehension is also kept in the cache (see
`polygym cache`), where the operators of polygym.tc find it.

--resume goes on where the search in --out ended, whatever ended it; the budgets and the limits may
be others, and --time-limit counts anew.

Exit code 0 even if nothing faster was found; 1: the original order itself does not run, or a
candidate's output was wrong or its code crashed, which is a defect of polygym; 130: interrupted.

\b
Examples:
  polygym optimize gemm --dataset medium
  polygym optimize gemm --threads 2 --budget 50 --mapping-budget 100
  polygym optimize my.c -p n=500 --budget 5000 --out found --resume --plot
  polygym optimize lu --strategy uniform --seed 3 --json > lu.json
  polygym optimize jacobi-2d -d medium --strategy genetic --time-limit 60s
  polygym optimize gemm --schedule fixed --from isl
  polygym tune tc:matmul -p M=128 -p N=256 -p K=32 --strategy genetic
  polygym optimize softmax.ks -p n=500 -p m=500 --budget 20 --out found
  polygym replay found/best.json
"""


@click.command("optimize", help=_HELP, epilog=common.PROGRAM_HELP)
@common.program_argument
@common.function_option
@common.size_options
@click.option(
    "--strategy",
    type=click.Choice(registry.strategy_names()),
    metavar="NAME",
    help=f"The strategy that chooses what is measured next. (Default: {DEFAULT_STRATEGY}, with "
    f"--schedule fixed {_FIXED_STRATEGY}, or that of the search that is resumed.)",
)
@click.option(
    "--schedule",
    "kind",
    type=click.Choice(["free", "fixed"]),
    default="free",
    show_default=True,
    help="fixed: search mappings for the schedule of --from alone.",
)
@click.option(
    "--from",
    "initial_schedule",
    default=str(AUTO),
    show_default=True,
    metavar="SCHEDULE",
    help="The schedule to start from: original, auto, or isl with options.",
)
@click.option(
    "--model",
    metavar="KIND|FILE",
    default="",
    help="The cost model of guided, annealing and filter: trees or tree-gru, the kind that learns "
    "from the measurements, or a file of `polygym cost train`. (Default: the model that comes with "
    "polygym, and trees.)",
)
@click.option(
    "--acquisition",
    type=click.Choice([acquisition.value for acquisition in Acquisition]),
    default=Acquisition.MEAN.value,
    show_default=True,
    help="The value of an uncertain candidate for annealing and filter: the expected speed, the "
    "expected improvement, or an upper confidence bound.",
)
@count_option(
    "--budget",
    help="The number of proposals beside the initial candidates. (Default: "
    f"{registry.EPISODE_BUDGET} episodes, or {registry.CANDIDATE_BUDGET} candidates.)",
)
@count_option(
    "--population",
    help="The size of a generation of genetic; the first one has all initial candidates, even if "
    "these are more. (Default: 100.)",
)
@count_option(
    "--mapping-budget",
    least=0,
    default=0,
    help="The number of mappings (tiles, copies, vectors ...) to try at last for the fastest "
    "schedules; those of a search that is resumed are included.",
)
@duration_option(
    "--time-limit",
    help="Begin no candidate after this time; the one that is running comes to its end, and the "
    "first one is tried in any case.",
)
@common.seed_option("The seed of all random choices. The times that were measured decide too.")
@count_option(
    "--jobs",
    most=1024,
    help="Candidates compiled at a time. (Default: one on each core.)",
)
@common.out_option
@common.resume_option
@click.option("--plot", is_flag=True, help="Draw the convergence of the search.")
@cluster_option
@variants.variant_options(
    "decided by models, unless --storage is given; none for comprehensions",
    "model, unless --split is given; keep for comprehensions",
)
@common.mapping_options
@common.timeout_option
@common.construction_options
@common.json_option
def command(
    target: str,
    region: str | None,
    dataset: Dataset | None,
    parameters: dict[str, int],
    strategy: str | None,
    kind: str,
    initial_schedule: str,
    model: str,
    acquisition: str,
    budget: int | None,
    population: int | None,
    mapping_budget: int,
    time_limit: float | None,
    seed: int,
    jobs: int | None,
    out: Path | None,
    resumed: bool,
    plot: bool,
    on: ClusterAddress | None,
    variant: variants.VariantOptions,
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
    if on is not None and jobs is not None:
        raise click.UsageError("--jobs is for one machine; nodes of a cluster use all cores.")
    start = common.resolve_mapping(mapping, DEFAULT_MAPPING, threads)
    journal = out / JOURNAL_FILE if resumed and out else None
    is_fixed = kind == "fixed"
    strategy = strategy or _strategy_in_journal(journal, is_fixed)
    _expect_options(strategy, model, acquisition, population)
    models = ModelOptions(
        ModelChoice("" if model in _KINDS else model),
        Acquisition(acquisition),
        _KINDS.get(model, ModelKind.TREES),
    )
    budget = budget or registry.STRATEGIES[strategy].budget
    term = None
    if (terms := term_file_of_command()) is not None:
        from polygym.cli.execution.term_search import TermRequest, search_term

        term = search_term(
            TermRequest(
                terms, target, region, dataset, parameters, budget, time_limit, out, resumed
            )
        )
        target, region, out = str(term.c_path), None, term.folder
        budget, time_limit = term.budget, term.time_limit
    plan = SearchPlan(
        budget, population or 100, strategy, seed,
        time_limit, jobs, models, mapping_budget, parse_strategy(initial_schedule), is_fixed,
    )  # fmt: skip
    source = ProgramSource(
        common.absolute_target(target), region, dataset or Dataset.LARGE, tuple(parameters.items())
    )
    # Operators of a comprehension, which find the best in the cache, are of it as it was written.
    default = SOURCE_STORAGE if is_comprehension(target) else DefaultSource.MODEL
    previous = variants.source_in_journal(source, journal, "program")
    source = variant.initial_source(source, start, previous, default)
    setting = SearchSetting(
        source=source,
        plan=plan,
        options=TaskOptions(max_coefficient, max_dimensions, SpaceLimits(rays=max_rays)),
        evaluation=EvaluationOptions(threads=threads, timeout_factor=timeout_factor, mapping=start),
    )
    is_default = not variant.is_given and previous is None
    result = search_and_report(setting, out, resumed, plot, on, as_json, is_default)
    return result if term is None else term.checked(result, as_json=as_json)


def _strategy_in_journal(journal: Path | None, is_fixed: bool) -> str:
    """Return the strategy of a search as its journal has it, or the default.

    A damaged journal is refused where it is read.
    """
    result = None if journal is None else variants.journal_header(journal).get("strategy")
    if result in registry.STRATEGIES:
        return str(result)
    return _FIXED_STRATEGY if is_fixed else DEFAULT_STRATEGY


def _expect_options(strategy: str, model: str, acquisition: str, population: int | None) -> None:
    """Refuse options that the strategy does not take."""
    given = {
        "model": bool(model),
        "acquisition": acquisition != Acquisition.MEAN.value,
        "population": population is not None,
    }
    for option, is_given in given.items():
        if is_given and option not in registry.STRATEGIES[strategy].options:
            takers = [
                name for name, entry in registry.STRATEGIES.items() if option in entry.options
            ]
            raise click.UsageError(f"--{option} is for --strategy {', '.join(takers)}.")
