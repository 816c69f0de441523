"""``polygym collect``: measure many candidates of many programs, for models to learn from."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polygym.cli.options.cluster import cluster_option, open_fleet
from polygym.cli.options.common import (
    function_option,
    json_option,
    refuse_compile_commands,
    seed_option,
    threads_option,
)
from polygym.cli.options.values import count_option, duration_option, file_argument, parsed_by
from polygym.cli.options.variants import VariantOptions, variant_options
from polygym.cli.output.console import CommandResult, counted, format_seconds, write_text
from polygym.cli.output.limits import report_defects
from polygym.cli.output.progress import collection_progress
from polygym.cli.stop_signals import StopRequest, stoppable
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.runtime.evaluation.evaluation_results import Defects
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.collector import (
    Collection,
    CollectionProgress,
    CollectPlan,
    Sampling,
)
from polygym.search.corpus.program_choice import (
    MAX_OPERATIONS,
    MIN_OPERATIONS,
    TEST_KERNELS,
    ProgramChoice,
)
from polygym.search.corpus.store import Corpus, open_corpus
from polygym.search.runner.ray.fleet.transport import ClusterAddress

if TYPE_CHECKING:
    from polygym.search.runner.ray.fleet.fleet import Fleet


def _bounds(text: str) -> tuple[float, float]:
    """Return the two numbers of a text such as 3e7:3e9."""
    try:
        least, most = map(float, text.split(":", 1))
    except ValueError:
        raise ValueError(f"expected two numbers such as 3e7:3e9, found {text!r}") from None
    return least, most


_HELP = f"""Measure many candidates of many programs, for models to learn from.

CORPUS is an SQLite file, created if it does not exist. A visit takes a program at sizes and
measures --candidates candidates of it: the default ones (the order of the source, isl's schedules
under the default mapping), random schedules under random mappings, and changes of the best so far.
Candidates are compiled on all cores and measured one after the other, each beside the original
order. Its outputs are compared with the original's. Nothing else should run meanwhile.

PROGRAM is a kernel, a category, a comprehension, a file or a random program ('gemm', 'stencils',
'tc:conv*', 'random:17'). 'random:*' and 'scalars:*' mean another random program in each visit, of
loops alone or with scalars and small arrays. By default 60 % of the visits take a random program,
the others kernels and the library's comprehensions, but never the test kernels of the models:
{", ".join(TEST_KERNELS)}. Sizes are random too: the original
order does as many operations as --operations allows, and never more than four times as many.

With --split or --storage each program is changed first; its rows are those of another program, and
stand beside the rows of the source. The same holds for --function and --extent, which apply to all
named files.

With --storage-variants visits come in threes: a program as written, with expanded storage, and with
storage private to threads, or split. These are the variants that commands choose from by default.
Programs with only one variant are skipped. Models compare the rows of all three.

Ctrl-C and --time-limit stop it at any time. The same command continues, with the same --seed in the
middle of a visit; a candidate is never measured twice on one kind of machine.

Exit code 1: an output was wrong, or a candidate crashed.

\b
Examples:
  polygym collect corpus.sqlite --rows 2000
  polygym collect corpus.sqlite --rows 20000 --threads 2      continues
  polygym collect mine.sqlite my.c gemm --candidates 200 --time-limit 10m
  polygym collect near.sqlite --near --operations 3e7:3e9 --candidates 24 \\
      --threads 2
  polygym collect variants.sqlite 'scalars:*' --storage-variants --near \\
      --candidates 12
  polygym collect nothing.sqlite --from-original --operations 3e6:4e9 \\
      --candidates 24 --threads 2
  polygym corpus stats corpus.sqlite
"""


@click.command("collect", help=_HELP)
@file_argument("file", "CORPUS")
@click.argument("patterns", nargs=-1, metavar="[PROGRAM]...")
@count_option("--rows", most=100_000_000, default=1000, help="Stop when the corpus has N rows.")
@count_option("--candidates", least=2, most=100_000, default=48, help="Candidates of a visit.")
@duration_option("--time-limit", help="Stop after this time.")
@click.option(
    "--operations",
    callback=parsed_by(_bounds),
    default=f"{MIN_OPERATIONS:g}:{MAX_OPERATIONS:g}",
    show_default=True,
    metavar="MIN:MAX",
    help="Operations of the original order at the random sizes.",
)
@click.option(
    "--near",
    is_flag=True,
    help="Measure candidates near isl's schedule and the default mapping: all of isl's schedules, "
    "edits of the best, changes of their mappings.",
)
@click.option(
    "--from-original",
    is_flag=True,
    help="Measure candidates that episodes reach which edit the original order and begin with the "
    "sequential mapping, chosen by a search that the cost model judges.",
)
@click.option(
    "--storage-variants",
    is_flag=True,
    help="Measure each program in all its storage variants: as written, expanded, private to "
    "threads or split, with --candidates candidates in each of them.",
)
@function_option
@variant_options("none", "keep")
@cluster_option
@threads_option
@seed_option("Seed of the random programs, sizes, schedules and mappings.")
@json_option
def command(
    file: Path,
    patterns: tuple[str, ...],
    rows: int,
    candidates: int,
    time_limit: float | None,
    operations: tuple[float, float],
    near: bool,
    from_original: bool,
    storage_variants: bool,
    region: str | None,
    variant: VariantOptions,
    on: ClusterAddress | None,
    threads: int,
    seed: int,
    as_json: bool,
) -> CommandResult:
    """Collect, and report the result."""
    if storage_variants and variant.is_given:
        raise click.UsageError("--storage-variants: expected no --storage and no --split beside it")
    if near and from_original:
        raise click.UsageError("--from-original: expected no --near beside it")
    refuse_compile_commands()
    sampling = Sampling.NEAR if near else Sampling.FROM_ORIGINAL if from_original else Sampling.ANY
    choice = ProgramChoice.of(patterns, operations, region)
    plan = CollectPlan(
        choice,
        rows,
        candidates,
        threads,
        seed,
        time_limit,
        sampling,
        replace(variant, storage_limit=None).recipe if storage_variants else variant.recipe,
        variant.memory_limit if storage_variants else None,
    )
    stop = StopRequest()
    with ExitStack() as stack:
        fleet = None if on is None else stack.enter_context(open_fleet(on))
        corpus = stack.enter_context(open_corpus(file, begin=True))
        before = corpus.count()
        latest: list[CollectionProgress] = []
        with (
            suppress(KeyboardInterrupt),  # a collection that was stopped has said all it can
            stoppable(stop),
            collection_progress(
                str(file), rows, before, latest, str if fleet is None else fleet.states
            ) as show,
        ):

            def report(collected: CollectionProgress) -> None:
                latest[:] = [collected]
                show()

            collection = _collection(corpus, plan, report, stop, fleet, show)
            collection.run()
        document = _document(file, collection)
    counts = collection.statuses
    defects = Defects(counts.get(OutcomeStatus.WRONG_OUTPUT, 0), counts.get(OutcomeStatus.CRASH, 0))
    code = stop.code if stop.signal_number else int(bool(defects))
    if as_json:
        return CommandResult(code, document)
    _print(document, collection)
    report_defects(defects, DEFAULT_MAPPING)
    if stop.signal_number:
        write_text("interrupted; repeat the command to continue", err=True)
    return CommandResult(code)


def _collection(
    corpus: Corpus,
    plan: CollectPlan,
    report: Callable[[CollectionProgress], None],
    stop: StopRequest,
    fleet: Fleet | None,
    show: Callable[[], None],
) -> Collection:
    """Return a collection on this machine, or on the nodes of a fleet."""
    if fleet is None:
        return Collection(corpus, plan, report, stop.allowed)
    from polygym.search.runner.ray.collection import RayCollection

    return RayCollection(
        corpus, plan, report, fleet=fleet, is_stopped=lambda: bool(stop.signal_number), beat=show
    )


def _document(file: Path, collection: Collection) -> dict[str, Any]:
    return {
        "file": str(file),
        "rows": collection.rows,
        "added": collection.added,
        "visits": collection.visits,
        "statuses": {status.value: count for status, count in collection.statuses.items()},
        "skipped": collection.skipped,
        "seconds": collection.seconds,
        "interrupted": collection.interrupted,
    }


def _print(document: dict[str, Any], collection: Collection) -> None:
    write_text(
        f"{counted(document['added'], 'row')} added in {format_seconds(collection.seconds)}, "
        f"{counted(document['visits'], 'visit')} finished; "
        f"{counted(document['rows'], 'row')} in {document['file']}"
    )
    for status, count in document["statuses"].items():
        write_text(f"  {status}: {count}")
    for reason in document["skipped"][:5]:
        write_text(f"skipped: {reason}", err=True)
    if len(document["skipped"]) > 5:
        write_text(f"and {len(document['skipped']) - 5} more were skipped", err=True)
