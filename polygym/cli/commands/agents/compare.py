"""``polygym compare``: agents beside each other, with intervals."""

from dataclasses import asdict
from pathlib import Path

import click

from polygym.cli.options.agents import RESULTS_HELP, expect_folder_of, results_argument
from polygym.cli.options.common import json_option
from polygym.cli.options.values import file_option
from polygym.cli.output.console import CommandResult, answer, write_text
from polygym.errors import InputError

_HELP = """Compare agents: means with 90 % intervals, and each agent beside the first one.

Kernels that not all agents have are left out. The mean of an agent is over kernels, of the mean of
its seeds; with --by speedup it is geometric. The interval draws seeds at random, and kernels where
agents are beside the first one. A star marks an agent that has learned from test kernels among
these.

\b
Examples:
  polygym compare earliest.jsonl trained.jsonl
  polygym compare earliest.jsonl trained.jsonl --by speedup \\
      --picture agents.svg
"""


@click.command("compare", help=_HELP, epilog=RESULTS_HELP)
@results_argument
@click.option(
    "--by",
    type=click.Choice(("reward", "speedup")),
    default="reward",
    show_default=True,
    metavar="NAME",
    help="Compare the reward or the speedup.",
)
@file_option("--picture", help="Draw the means: an SVG, PNG or PDF file.")
@json_option
def command(files: tuple[Path, ...], by: str, picture: Path | None, as_json: bool) -> CommandResult:
    """Compare."""
    from polygym.agents.evaluation.comparison import compare_agents, markdown
    from polygym.agents.evaluation.results import read_results

    expect_folder_of(picture, "--picture")
    rows = compare_agents([line for file in files for line in read_results(file)], by)
    if picture is not None:
        from polygym.pictures.charts.mean_intervals import draw_mean_intervals

        means = [(row.marked_name, row.mean) for row in rows]
        try:
            draw_mean_intervals(means, f"{by}, 90 % interval", picture)
        except ValueError as error:  # an ending that no picture has
            raise InputError(f"--picture: {error}") from None
    document = {"by": by, "agents": [asdict(row) for row in rows]}
    return answer(as_json, document, lambda: write_text(markdown(rows, by)))
