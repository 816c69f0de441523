"""``polygym corpus``: statistics, checks, merges and packed files of corpora."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from polygym.cli.options.common import json_option
from polygym.cli.options.values import choice_option, file_argument
from polygym.cli.output.console import (
    CommandResult,
    answer,
    counted,
    heading,
    print_table,
    write_text,
)
from polygym.errors import InputError
from polygym.ratios import ratio_text
from polygym.search.corpus import packing
from polygym.search.corpus.packing import export_parquet, merge_corpora
from polygym.search.corpus.statistics import (
    DRIFT,
    CorpusStatistics,
    MachineStatistics,
    corpus_statistics,
)
from polygym.search.corpus.store import file_problems, open_corpus

_HELP = """Look at corpora, which `polygym collect` makes. Three come with polygym.

\b
Examples:
  polygym corpus unpack corpus.sqlite         the large one
  polygym corpus unpack near.sqlite --which near
  polygym corpus stats corpus.sqlite
  polygym corpus check corpus.sqlite
  polygym corpus merge all.sqlite monday.sqlite tuesday.sqlite
  polygym corpus export corpus.sqlite corpus.parquet
  polygym corpus export near.sqlite near --minari
  polygym corpus pack corpus.sqlite corpus.sqlite.xz
"""

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("corpus", help=_HELP)
def command() -> None:
    """Hold the commands."""


@command.command("stats")
@file_argument("file", "CORPUS")
@json_option
def stats(file: Path, as_json: bool) -> CommandResult:
    """Count rows, programs and machines; report outliers and drift."""
    with open_corpus(file) as corpus:
        statistics = corpus_statistics(corpus)
    return answer(as_json, statistics.to_json(), lambda: _print(statistics, file))


@command.command("check")
@file_argument("file", "CORPUS")
@json_option
def check(file: Path, as_json: bool) -> CommandResult:
    """Check all checksums of CORPUS, and SQLite's pages. Exit code 1: it is damaged."""
    problems = file_problems(file)
    said = "\n".join([*problems, f"{file}: {'damaged' if problems else 'whole'}"])
    document = {"file": str(file), "problems": problems}
    return answer(as_json, document, lambda: write_text(said), int(bool(problems)))


@command.command("merge")
@file_argument("into", "INTO")
@click.argument("files", type=_FILE, nargs=-1, required=True, metavar="CORPUS...")
@json_option
def merge(into: Path, files: tuple[Path, ...], as_json: bool) -> CommandResult:
    """Add the rows of each CORPUS to INTO, which is created if it does not exist.

    Rows that INTO has are not added again. Rows of different machines stay apart.
    """
    added = {}
    # All are checked before anything is written.
    for file in files:
        if file.resolve() == into.resolve():
            raise InputError(f"{into}: expected another file than the corpus, found the same")
        with open_corpus(file) as other:
            other.expect_whole()
    with open_corpus(into, begin=True) as corpus:
        for file in files:
            with open_corpus(file) as other:
                added[str(file)] = merge_corpora(corpus, other)
        rows = corpus.count()
    said = [f"{counted(count, 'row')} added from {name}" for name, count in added.items()]
    said.append(f"{counted(rows, 'row')} in {into}")
    document = {"file": str(into), "rows": rows, "added": added}
    return answer(as_json, document, lambda: write_text("\n".join(said)))


_EXPORT_HELP = """Write all rows of CORPUS as a Parquet file OUT, or with --minari as a data set.

It needs the package pyarrow: pip install 'polygym[cost]'.

With --minari OUT is a new folder for MINARI_DATASETS_PATH, with a Minari data set: for each
candidate the episode of Optimize-v0 that leads to it from isl's schedule, where there is one, with
the logarithm of the measured speedup as its reward. A data card and checksums stand beside it. It
needs the package minari: pip install 'polygym[agents]'.

\b
Examples:
  polygym corpus export corpus.sqlite corpus.parquet
  polygym corpus export near.sqlite near --minari --episodes 200
"""


@command.command("export", help=_EXPORT_HELP)
@file_argument("file", "CORPUS")
@click.argument("out", type=click.Path(path_type=Path), metavar="OUT")
@click.option("--minari", is_flag=True, help="Write a Minari data set into the folder OUT.")
@click.option(
    "--episodes",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --minari: at most N episodes. (Default: all.)",
)
@json_option
def export(
    file: Path, out: Path, minari: bool, episodes: int | None, as_json: bool
) -> CommandResult:
    """Write rows, or the episodes that lead to them."""
    if minari:
        return _export_minari(file, out, episodes, as_json)
    if episodes is not None:
        raise InputError("--episodes: expected --minari beside it, found none")
    if out.is_dir():
        raise InputError(f"{out}: expected a file, found what is a directory")
    with open_corpus(file) as corpus:
        rows = export_parquet(corpus, out)
    said = f"{counted(rows, 'row')} written to {out}"
    return answer(as_json, {"rows": rows, "file": str(out)}, lambda: write_text(said))


def _export_minari(file: Path, out: Path, most: int | None, as_json: bool) -> CommandResult:
    from polygym.agents.trainers.minari_export import export_minari

    def progress(episodes: int, program: str) -> None:
        print(f"{counted(episodes, 'episode')}, after {program}", file=sys.stderr, flush=True)

    written = export_minari(file, out, most=most, on_progress=progress)
    said = (
        f"{counted(written.episodes, 'episode')} of {counted(written.steps, 'step')} written to "
        f"{out} as {written.dataset}; {counted(written.left_out, 'row')} left out"
    )
    return answer(as_json, {**asdict(written), "folder": str(out)}, lambda: write_text(said))


@command.command("pack")
@file_argument("file", "CORPUS")
@file_argument("packed", "PACKED")
@json_option
def pack(file: Path, packed: Path, as_json: bool) -> CommandResult:
    """Write CORPUS as the small file PACKED."""
    with open_corpus(file) as corpus:
        size, rows = packing.pack(corpus, packed), corpus.count()
    document = {"file": str(packed), "rows": rows, "bytes": size}
    said = f"{counted(rows, 'row')} in {packed}, {size:,} bytes"
    return answer(as_json, document, lambda: write_text(said))


_SHIPPED = packing.SHIPPED_CORPORA
_SHIPPED_LINES = "\n".join(
    f"  {name:<16} {shipped.rows:>6,} rows, {shipped.about}" for name, shipped in _SHIPPED.items()
)
_UNPACK_HELP = f"""Write the corpus in PACKED to CORPUS; without PACKED one that comes with polygym.

\b
{_SHIPPED_LINES}
"""


@command.command("unpack", help=_UNPACK_HELP)
@file_argument("file", "CORPUS")
@file_argument("packed", "PACKED", required=False)
@choice_option(
    "--which",
    choices=list(_SHIPPED),
    help="A corpus that comes with polygym. (Default: large.)",
)
@json_option
def unpack(file: Path, packed: Path | None, which: str | None, as_json: bool) -> CommandResult:
    """Unpack a file, or a corpus that comes with polygym."""
    if packed is not None and which is not None:
        raise InputError("--which: expected no PACKED beside it, found both")
    rows = packing.unpack(packed or _SHIPPED[which or "large"].path, file)
    said = f"{counted(rows, 'row')} in {file}"
    return answer(as_json, {"file": str(file), "rows": rows}, lambda: write_text(said))


def _print(summary: CorpusStatistics, file: Path) -> None:
    counts = ((summary.rows, "row"), (summary.programs, "program"), (summary.cases, "case"))
    heading(f"{file}: " + ", ".join(counted(*count) for count in counts))
    if summary.rows:
        _print_rows(summary)
    else:
        write_text("  nothing was measured yet: `polygym collect` adds rows")
    if summary.machines:
        _print_machines(summary.machines)


def _print_rows(summary: CorpusStatistics) -> None:
    write_text("  " + ", ".join(f"{count} of {kind}" for kind, count in summary.kinds.items()))
    write_text("  " + ", ".join(f"{count} {status}" for status, count in summary.statuses.items()))
    outliers = counted(summary.outliers, "outlier")
    write_text(f"  {outliers}, beside which the original order was unlike itself")
    if not summary.speedup_of_best:
        write_text("  no candidate ran, so there is no best")
        return
    over = f", over the median {ratio_text(summary.spread)}" if summary.spread else ""
    write_text(
        f"  best over the original {ratio_text(summary.speedup_of_best)}{over} "
        "(geometric means of cases)"
    )


def _print_machines(machines: Sequence[MachineStatistics]) -> None:
    heading("\nMachines")
    print_table(
        ("KEY", "PROCESSOR", "CORES", "LLVM", "ROWS", "VISITS", "BUSY", "DRIFT"),
        [
            (
                statistics.key,
                statistics.processor,
                statistics.cores,
                statistics.llvm,
                statistics.rows,
                statistics.visits,
                statistics.busy_visits,
                ratio_text(statistics.drift) + "*" * statistics.drifts,
            )
            for statistics in machines
        ],
        "llrlrrrr",
    )
    if any(machine_statistics.drifts for machine_statistics in machines):
        write_text(
            f"* more than {DRIFT:g}x as long for the same code at some hours as at others; models "
            "compare the times of a visit, which lasts minutes, and visits by the original order's"
        )
