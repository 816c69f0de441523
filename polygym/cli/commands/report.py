"""``polygym report``: the page and the pictures of a sweep."""

from pathlib import Path

import click

from polygym.cli.options.common import json_option
from polygym.cli.options.values import file_option
from polygym.cli.output.console import CommandResult, heading, spinner, write_text
from polygym.cli.output.limits import report_defects
from polygym.cli.output.sweep_progress import print_summaries
from polygym.errors import InputError
from polygym.mapping.mapping import TOLERANCE
from polygym.runtime.evaluation.c_compilers import tolerance_note
from polygym.runtime.evaluation.evaluation_results import Defects
from polygym.search.sweep.reader import read_sweep
from polygym.search.sweep.report.page import write_report
from polygym.search.sweep.statistics import background_load_note, other_compilers

_HELP = """Draw what a sweep has found: a page, and its pictures as PNG and SVG files.

DIR is the folder of `polygym sweep --out DIR`, which may still be at work. The page needs neither a
network nor scripts. Beside it stand the distribution of speedups (Figure 8 of the PolyGym paper),
the best of every program (Figure 9), and the mean of the best so far against schedules explored
(Figure 10); docs/guides/search-many-programs.md has the sweep that they need. After
`sweep --against limit` the page and --json say which share of its limit each program reaches, and a
picture shows it.

\b
Examples:
  polygym report found
  polygym report found --out paper/sweep.html
"""


@click.command("report", help=_HELP)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@file_option("--out", metavar="FILE", help="The page. (Default: DIR/report.html.)")
@json_option
def command(folder: Path, out: Path | None, as_json: bool) -> CommandResult:
    """Read the store, draw, write."""
    page = out or folder / "report.html"
    if page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out: expected a name that ends in .html, found {page.name}")
    with spinner("drawing"):
        contents = read_sweep(folder)
        files, summaries = write_report(contents, page)
    mapping = contents.setting.evaluation.mapping
    if as_json:
        return CommandResult(
            0,
            {
                "tolerance": mapping.tolerance,
                "caveat": mapping.timing_caveat,
                "tolerance_of_compilers": TOLERANCE if other_compilers(summaries) else None,
                "files": [str(path) for path in files],
                "kernels": [kernel_summary.to_json() for kernel_summary in summaries],
            },
        )
    print_summaries(summaries)
    if mapping.timing_caveat:
        write_text(mapping.timing_caveat)
    if note := tolerance_note(other_compilers(summaries)):
        write_text(note)
    if note := background_load_note(summaries):
        write_text(note, err=True)
    report_defects(sum((summary.defects for summary in summaries), Defects()), mapping)
    heading("\nFiles")
    for path in files:
        write_text(f"  {path}")
    return CommandResult()
