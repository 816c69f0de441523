"""``polygym validate``: results of agents, played again and checked."""

from pathlib import Path

import click

from polygym.cli.options.agents import RESULTS_HELP, results_argument
from polygym.cli.options.common import json_option
from polygym.cli.options.values import factor_option
from polygym.cli.output.console import CommandResult, write_text

_HELP = """Play results again: does every episode lead to its schedule, is it legal, is it as fast?

Every record is checked entry by entry. Its actions are played again; the schedule that they lead to
must be the claimed one, and legal. Kernel, status, speedup and reward of the line must be those of
the record, whose times must follow from its samples. A reward that needs no clock is computed
again. With --run the schedule is compiled, run, compared with the output of the original order, and
timed; a claimed speedup of more than --slack times the measured one is not confirmed. Exit code 1:
a claim does not hold.

\b
Examples:
  polygym validate trained.jsonl
  polygym validate trained.jsonl --run
"""


@click.command("validate", help=_HELP, epilog=RESULTS_HELP)
@results_argument
@click.option("--run", "measured", is_flag=True, help="Measure again what was measured.")
@factor_option(
    "--slack",
    least=1.0,
    most=1e6,
    default=1.3,
    help="Confirm a claim of up to X times the measured speedup.",
)
@json_option
def command(files: tuple[Path, ...], measured: bool, slack: float, as_json: bool) -> CommandResult:
    """Validate."""
    from polygym.agents.evaluation.validation import check_results

    lines = []
    for place, fault in check_results(files, slack if measured else None):
        lines.append({"place": place, "holds": fault is None, "fault": fault})
        if not as_json:
            write_text(fault or f"{place}: holds")
    count = sum(line["holds"] is True for line in lines)
    code = int(count < len(lines))
    if as_json:
        return CommandResult(code, {"results": lines})
    write_text(f"{count} of {len(lines)} hold")
    return CommandResult(code)
