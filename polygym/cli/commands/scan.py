"""``polygym scan``: the regions of files without pragmas, sorted by what they would save."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from polybench import Dataset
from polygym.cli.options import common
from polygym.cli.options.values import count_option, duration_option
from polygym.cli.output import console
from polygym.cli.stop_signals import StopRequest, stoppable
from polygym.errors import InputError
from polygym.programs.sizes import FILE_SIZES
from polygym.scan.file_scan import ScanOptions
from polygym.scan.pool import scan_files, usual_jobs
from polygym.scan.results import FileScan, FileStatus, RegionRow, refused_json, sorted_regions
from polygym.scan.sources import ScanSource, scan_sources

_HELP = """Find the loops that polygym can optimise, in files without pragmas.

TARGET is a C file, a folder with C files below it, or a compilation database
(compile_commands.json, which CMake writes with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON). Every function
is searched for maximal regions: groups of statements and loops that polygym understands.

The table has the regions with the largest GAIN times WORK first. WORK is the number of operations
at the sizes of -p and --dataset, estimated. GAIN is a rule of thumb on the accesses of the source;
with --predict it is what the cost model expects of the automatic schedule in one thread, which
takes up to some seconds for a region. COMPUTES is a word for the part with the most work. Sizes of
your own files are all the same, unless -p says otherwise, so WORK compares, and tells no times.

Loops that are in no region are listed with the place and the reason. A file is refused as a whole
where it is no C; the scan goes on. Files that polygym wrote, such as `found/best.c`, are left out
and counted; named as TARGET, such a file is scanned. Ctrl-C ends the scan, and prints what has been
found (exit code 130). Exit code 0, even if nothing is found; 2: TARGET cannot be read, or none of
its files can.

\b
Examples:
  polygym scan blur.c
  polygym scan src -I include -D NDEBUG
  polygym scan build/compile_commands.json --predict
  polygym scan . --json > regions.json
  polygym optimize blur.c --function blur:2     a region that it lists
"""


@dataclass(frozen=True, slots=True)
class _ScanAnswer:
    """All that a scan has found."""

    files: tuple[FileScan, ...]
    sources: int
    seconds: float
    is_interrupted: bool

    def of_status(self, status: FileStatus) -> list[FileScan]:
        """Return the files with an outcome."""
        return [scan for scan in self.files if scan.status is status]


@click.command("scan", help=_HELP)
@click.argument("target", metavar="TARGET", type=click.Path(path_type=Path))
@common.flag_options
@common.size_options
@click.option(
    "--predict",
    is_flag=True,
    help="Ask the cost model for the gain of each region's automatic schedule.",
)
@click.option("--refused", "show_refused", is_flag=True, help="List all loops that are refused.")
@count_option("--most", least=1, default=40, help="Rows of each table.")
@count_option("--jobs", most=1024, help="Files at a time. (Default: one on each core.)")
@duration_option(
    "--file-time-limit", help="Give a file up after this time. (Default: 20s, --predict: 120s.)"
)
@common.json_option
def command(
    target: Path,
    dataset: Dataset | None,
    parameters: dict[str, int],
    predict: bool,
    show_refused: bool,
    most: int,
    jobs: int | None,
    file_time_limit: float | None,
    as_json: bool,
) -> console.CommandResult:
    """Scan, and print what was found."""
    sources = _sources(target)
    options = ScanOptions(FILE_SIZES[dataset or Dataset.LARGE], tuple(parameters.items()), predict)
    seconds = file_time_limit or (120.0 if predict else 20.0)
    answer = _scan(sources, options, seconds, jobs or usual_jobs())
    code = 0
    if answer.is_interrupted:
        code = 130
    elif answer.files and len(answer.of_status(FileStatus.REFUSED)) == len(answer.files):
        code = 2
    return console.answer(
        as_json, _as_json(answer), lambda: _print(answer, most, show_refused), code
    )


def _sources(target: Path) -> tuple[ScanSource, ...]:
    """Return the files to scan, with the flags of the options."""
    meta = click.get_current_context().meta
    is_c_file = target.is_file() and target.suffix != ".json"
    if meta.get("polygym--compile-commands") and not is_c_file:
        raise InputError("--compile-commands: expected a C file to scan; name the database instead")
    given = common.given_flags(str(target) if is_c_file else None)
    sources = scan_sources(target, given)
    if not sources:
        raise InputError(f"{target}: expected C files, found none")
    return sources


def _scan(
    sources: Sequence[ScanSource], options: ScanOptions, seconds: float, jobs: int
) -> _ScanAnswer:
    """Scan files until all are done, or Ctrl-C."""
    stop, begin = StopRequest(), time.monotonic()
    done: list[FileScan] = []
    try:
        with stoppable(stop), _Counter(len(sources)) as counter:
            for scan in scan_files(
                sources, options, seconds, jobs, lambda: stop.signal_number != 0
            ):
                done.append(scan)
                counter.show(len(done), scan.file)
    except KeyboardInterrupt:
        pass  # what has been found is worth having
    places = {source.path: place for place, source in enumerate(sources)}
    done.sort(key=lambda scan: places[scan.file])
    return _ScanAnswer(tuple(done), len(sources), time.monotonic() - begin, stop.signal_number != 0)


class _Counter:
    """The number of files that are done, on a terminal."""

    def __init__(self, total: int) -> None:
        """Show nothing yet."""
        self._total, self._is_shown = total, sys.stderr.isatty() and total > 1

    def __enter__(self) -> "_Counter":
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the line."""
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def show(self, done: int, file: str) -> None:
        """Show how many are done."""
        if self._is_shown:
            text = console.printable(console.shorten(f"{done}/{self._total} {file}", 78))
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()


def _as_json(answer: _ScanAnswer) -> dict[str, Any]:
    refused = [refused_json(scan.file, loop) for scan in answer.files for loop in scan.refused]
    return {
        "files": [scan.to_json() for scan in answer.files],
        "regions": [row.to_json() for row in sorted_regions(answer.files)],
        "refused_loops": refused,
        "files_found": answer.sources,
        "seconds": round(answer.seconds, 2),
        "interrupted": answer.is_interrupted,
    }


def _print(answer: _ScanAnswer, most: int, show_refused: bool) -> None:
    rows = sorted_regions(answer.files)
    if rows:
        _print_regions(rows, most)
    refused = [(scan.file, loop) for scan in answer.files for loop in scan.refused]
    few = most if show_refused or not rows else 10
    if refused:
        console.heading(f"\nRefused loops ({len(refused)})")
        for file, loop in refused[: None if show_refused else few]:
            where = f"{loop.place.line}:{loop.place.column}"
            other = "" if loop.place.file == file else f" (in {loop.place.file})"
            console.write_text(
                f"  {file}:{where}{other}  {loop.function}: {console.shorten(loop.message, 160)}"
            )
        if len(refused) > few and not show_refused:
            console.write_text(f"  … {len(refused) - few} more: --refused lists them")
    files = answer.of_status(FileStatus.REFUSED)
    if files:
        console.heading(f"\nRefused files ({len(files)})")
        for scan in files[: None if show_refused else few]:
            place = scan.place
            where = scan.file if place is None else str(place)
            other = "" if place is None or place.file == scan.file else f" (read for {scan.file})"
            console.write_text(f"  {where}{other}: {console.shorten(scan.reason, 200)}")
        if len(files) > few and not show_refused:
            console.write_text(f"  … {len(files) - few} more: --refused lists them")
    console.write_text(_summary(answer, len(rows)), err=False)


def _print_regions(rows: Sequence[RegionRow], most: int) -> None:
    """Print the table of regions, and how to go on with the first one."""
    heads = ("REGION", "PLACE", "DEPTH", "STATEMENTS", "COMPUTES", "WORK", "GAIN")
    cells = [
        (
            row.name,
            f"{row.file}:{row.first.line}-{row.last.line}",
            row.depth,
            row.statements,
            row.pattern or "-",
            "-" if row.work is None else f"{row.work:.2g}",
            "-" if row.gain is None else f"{row.gain:.1f}{'' if row.is_predicted else '~'}",
        )
        for row in rows[:most]
    ]
    console.print_table(heads, cells, "llrrlrr", optional=("STATEMENTS", "DEPTH"))
    if len(rows) > most:
        console.write_text(f"… {len(rows) - most} more regions: --most N shows N of them")
    if not all(row.is_predicted for row in rows[:most]):
        console.write_text("~ a rule of thumb; --predict asks the cost model")
    for row in rows[:most]:
        if row.counters_used_after:
            console.write_text(
                f"{row.name}: {', '.join(row.counters_used_after)} used behind the region"
            )
    first = rows[0]
    options = " ".join(first.flags)
    command = f"polygym optimize {first.file} --function {first.name} {options}".rstrip()
    console.write_text(f"go on with: {command}")


def _summary(answer: _ScanAnswer, regions: int) -> str:
    """Return the sentence at the end."""
    counts = [
        f"{len(answer.of_status(FileStatus.READ))} read",
        f"{len(answer.of_status(FileStatus.NO_LOOPS))} without loops",
        f"{len(answer.of_status(FileStatus.REFUSED))} refused",
    ]
    if generated := answer.of_status(FileStatus.GENERATED):
        counts.append(f"{len(generated)} written by polygym left out")
    loops = sum(scan.loops for scan in answer.files)
    text = (
        f"\n{console.counted(regions, 'region')} in {console.counted(len(answer.files), 'file')} "
        f"({', '.join(counts)}) with {console.counted(loops, 'outermost loop')}, "
        f"{answer.seconds:.1f} s"
    )
    if answer.is_interrupted:
        text += f"; interrupted, {answer.sources - len(answer.files)} files were not read"
    return text
