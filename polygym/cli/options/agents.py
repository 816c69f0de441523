"""Options of commands in which an agent acts: its environment, look-ahead, and the episodes.

Modules of :mod:`polygym.agents` need PyTorch; commands import them when they run.
"""

from pathlib import Path

import click

from polygym.cli.options.values import F, combined, count_option
from polygym.errors import InputError
from polygym.mdp.env_ids import ENVIRONMENT_IDS, SCHEDULE

AGENT_HELP = """AGENT is the folder of a training (`polygym train --out DIR`), whose seeds all
act, each with its likeliest action; or a rule: uniform, bias_coeff_0, bias_select_dep, earliest,
greedy, learned."""

RESULTS_HELP = """RESULTS is a file of `polygym evaluate --out FILE`: a line of JSON for each
episode."""

_LOOKAHEAD_COST = (
    "An end of an episode is worth what the environment pays: with reward=speedup each one is "
    "compiled and measured, which takes a second or more."
)

agent_options = combined(
    click.argument("agent", metavar="AGENT"),
    click.option(
        "--environment",
        type=click.Choice(ENVIRONMENT_IDS),
        default=SCHEDULE,
        show_default=True,
        metavar="ID",
        help=f"The environment of a rule: {', '.join(ENVIRONMENT_IDS)}.",
    ),
    click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="NAME=VALUE",
        help="Another argument of the environment, such as reward=speedup; may be repeated.",
    ),
    count_option(
        "--simulations",
        help="Search a tree before each step, with N simulations: the network is asked up to N "
        f"times a step. {_LOOKAHEAD_COST}",
    ),
    count_option(
        "--beam-width",
        help="Plan an episode along a beam of the N likeliest beginnings: the network is asked up "
        f"to N times a step. {_LOOKAHEAD_COST}",
    ),
)
"""The argument AGENT and its options: agent, environment, overrides, simulations, beam_width."""


def results_argument(function: F) -> F:
    """Add the files of results."""
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.argument("files", nargs=-1, required=True, metavar="RESULTS...", type=kind)(
        function
    )


def expect_folder_of(file: Path | None, option: str) -> None:
    """Refuse a file whose folder does not exist, before anything begins.

    Raises:
        InputError: says so.
    """
    if file is not None and not file.absolute().parent.is_dir():
        raise InputError(
            f"{option}: expected a folder to write to, found no {file.absolute().parent}"
        )
