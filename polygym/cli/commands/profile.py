"""``polygym profile``: the regions of a program that take the time."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from polybench import Dataset
from polygym.cli.options import common
from polygym.cli.options.values import count_option
from polygym.cli.output import console
from polygym.errors import InputError
from polygym.frontend.c.source.compilation_database import read_database
from polygym.profiling.gprof import HOW_TO_BUILD, profile_by_gprof, read_gmon
from polygym.profiling.perf import missing_perf_reason, profile_by_perf
from polygym.profiling.regions import HotPlace, hot_places, source_paths
from polygym.profiling.samples import Profile, ProfilingTool, ProgramEnd
from polygym.programs.sizes import FILE_SIZES
from polygym.scan.file_scan import ScanOptions
from polygym.scan.pool import scan_files, usual_jobs
from polygym.scan.results import FileScan
from polygym.scan.sources import ScanSource

_HELP = """Run a program, and tell which of its loops take the time.

The program runs as it is, with its arguments and its output. perf takes samples of it; where perf
is missing or not allowed, a program that was built with `gcc -pg` takes them itself. The lines come
from debug information: compile with -g, and with the optimisation that you use. The C files of
those lines are scanned as `polygym scan` does, and the samples are joined with the regions found.

Time in a function that a region calls counts for that function, unless the compiler inlined it.

Ctrl-C stops the program; the samples until then are reported. Twice, it kills the program.

Exit code 0, whatever the program returns; 130: interrupted; 2: it cannot be started, or nothing can
take samples.

\b
Examples:
  gcc -O2 -g blur.c -o blur -lm
  polygym profile -- ./blur input.ppm output.ppm
  polygym profile --compile-commands build/compile_commands.json -- build/app
  polygym profile --gmon gmon.out -- ./blur      samples of an earlier run
"""
_FIRST_CODE = 128  # as shells report a signal
_TOO_SHORT = "the program ran for too short a time"
_MOST_FILES = 50
_FILE_SECONDS = 20.0


@click.command("profile", help=_HELP)
@click.argument("words", metavar="COMMAND...", nargs=-1, required=True)
@common.flag_options
@click.option(
    "--tool",
    type=click.Choice(["auto", *(tool.value for tool in ProfilingTool)]),
    default="auto",
    show_default=True,
    help="The tool that takes samples.",
)
@click.option(
    "--gmon",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Read the samples of a gmon.out, and run nothing.",
)
@count_option("--most", least=1, default=20, help="Rows of the table.")
@common.json_option
def command(
    words: tuple[str, ...], tool: str, gmon: Path | None, most: int, as_json: bool
) -> console.CommandResult:
    """Run the program, and join its samples with regions."""
    if shutil.which(words[0]) is None:
        raise InputError(f"{words[0]}: expected a program that can be run, found none")
    profile = _profile(words, tool, gmon, as_json)
    scans = _scan(source_paths(profile)[:_MOST_FILES])
    places = hot_places(profile, scans)
    document = _as_json(profile, places)
    code = _FIRST_CODE + profile.end.stop_signal if profile.end.stop_signal else 0
    return console.answer(as_json, document, lambda: _print(profile, places, most), code)


def _profile(words: Sequence[str], tool: str, gmon: Path | None, as_json: bool) -> Profile:
    """Return the samples of a run by the tool that can be had."""
    if gmon is not None:
        return Profile(ProfilingTool.GPROF, read_gmon(words[0], gmon), ProgramEnd(0))
    reason = "" if tool == ProfilingTool.GPROF.value else missing_perf_reason()
    if tool != ProfilingTool.GPROF.value and not reason:
        return profile_by_perf(words, output_to_stderr=as_json)
    if tool == ProfilingTool.PERF.value:
        raise InputError(reason)
    if reason:
        console.write_text(f"{reason}; tries gprof", err=True)
    profile = profile_by_gprof(words, output_to_stderr=as_json)
    if profile is None:
        raise InputError(
            f"{words[0]}: nothing takes samples of it: {reason or 'it wrote no gmon.out'}; "
            f"{HOW_TO_BUILD}"
        )
    return profile


def _scan(paths: Sequence[str]) -> list[FileScan]:
    """Scan the files of the samples."""
    given, database = common.given_flags(None), common.compile_commands()
    known = {}
    if database is not None:
        known = {str(entry.file): entry.flags for entry in read_database(database)}
    sources = []
    for path in paths:
        root = None if path in known else str(Path(path).parent)
        source = ScanSource(path, given, path in known, root)
        if path in known:
            source = replace(source, flags=known[path].joined(given))
        sources.append(source)
    if not sources:
        return []
    options = ScanOptions(FILE_SIZES[Dataset.LARGE])
    with console.spinner("scanning the files"):
        return list(scan_files(sources, options, _FILE_SECONDS, usual_jobs(), lambda: False))


def _as_json(profile: Profile, places: Sequence[HotPlace]) -> dict[str, Any]:
    return {
        "tool": profile.tool.value,
        "samples": profile.total,
        "exit_code": profile.end.code,
        "interrupted": bool(profile.end.stop_signal),
        "has_lines": profile.has_lines,
        "places": [
            {
                "samples": place.count,
                "share": round(place.share, 4),
                "function": place.symbol,
                "file": place.file,
                "line": place.line,
                "region": None if place.region is None else place.region.to_json(),
                "reason": place.reason,
            }
            for place in places
        ],
    }


def _print(profile: Profile, places: Sequence[HotPlace], most: int) -> None:
    if profile.end.stop_signal:
        console.write_text("interrupted: the samples until then", err=True)
    elif profile.end.code:
        console.write_text(f"the program ended with exit code {profile.end.code}", err=True)
    if not profile.total:
        is_cut = profile.end.stop_signal and profile.tool is ProfilingTool.GPROF
        reason = "gprof has none of a program that is stopped" if is_cut else _TOO_SHORT
        console.write_text(f"no samples: {reason}")
        return
    if not profile.has_lines:
        console.write_text("no lines are known: compile with -g, to see loops", err=True)
    cells = [_cells(place) for place in places[:most]]
    console.print_table(
        ("TIME", "REGION", "PLACE", "COMPUTES", "GAIN", "NOTE"), cells, "rlllrl", ("NOTE",)
    )
    console.write_text(
        f"{profile.total:.0f} samples by {profile.tool.value}; ~ a rule of thumb, see polygym scan"
    )
    region = next((place.region for place in places if place.region is not None), None)
    if region is not None:
        options = " ".join(region.flags)
        text = f"polygym optimize {region.file} --function {region.name} {options}".rstrip()
        console.write_text(f"go on with: {text}")


def _cells(place: HotPlace) -> tuple[str, ...]:
    time = f"{100 * place.share:.1f}%"
    if place.region is None:
        where = "" if place.file is None else f"{place.file}:{place.line}"
        return time, f"({place.symbol})", where, "", "", console.shorten(place.reason, 90)
    row = place.region
    gain = "-" if row.gain is None else f"{row.gain:.1f}~"
    return time, row.name, f"{row.file}:{row.first.line}-{row.last.line}", row.pattern, gain, ""
