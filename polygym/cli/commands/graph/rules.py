"""``polygym graph rules``: rules listed, those of a file checked, and all found anew."""

from collections.abc import Sequence
from pathlib import Path

import click

from polygym.cli.commands.graph.options import teller
from polygym.cli.options.common import json_option, seed_option
from polygym.cli.options.values import duration_option, file_option
from polygym.cli.output.console import CommandResult, answer, counted, heading, write_text
from polygym.errors import InputError

_HELP = """List the rules that graphs are rewritten by, check those of a file, or find them anew.

A rule of a file is checked on every kind of shapes that it can meet, in exact arithmetic; one that
does not hold is refused with a case in which it does not. docs/guides/graphs.md says how rules are
written.

\b
Examples:
  polygym graph rules                        all of them
  polygym graph rules --check mine.rules     exit code 2 if one does not hold
  polygym graph rules --generate my.rules    as polygym's own table was made
"""


@click.command("rules", help=_HELP)
@file_option("--check", "files", multiple=True, help="Check the rules of a file; may be repeated.")
@file_option(
    "--generate",
    "target",
    help="Find rules by enumerating graphs, prove them, and write them there.",
)
@duration_option("--time-limit", default="30m", help="Duration of --generate.")
@seed_option("The numbers on which graphs are compared.")
@json_option
def command(
    files: Sequence[Path], target: Path | None, time_limit: float, seed: int, as_json: bool
) -> CommandResult:
    """Do the one or the other."""
    from polygym.graphs import rules

    if files and target is not None:
        raise InputError("expected --check or --generate, found both")
    if target is not None:
        return _generated(target, time_limit, seed, as_json=as_json)
    result = [rule for file in files for rule in rules.load_rule_file(file)]
    if not files:
        result = rules.standard_rules()
    if as_json:
        return CommandResult(document=[{"name": item.name, "rule": str(item)} for item in result])
    if files:
        write_text(f"every rule holds: {counted(len(result), 'rule')}", fg="green")
        return CommandResult()
    several = sum(item.is_multiple for item in result)
    heading(f"{counted(len(result), 'rule')}, {several} of several results")
    for item in result:
        click.echo(str(item))
    return CommandResult()


def _generated(target: Path, time_limit: float, seed: int, *, as_json: bool) -> CommandResult:
    from polygym.graphs.rules.generate import generate_rules

    made = generate_rules(target, seed=seed, minutes=time_limit / 60, progress=teller(as_json))
    return answer(
        as_json, made.to_json(), lambda: heading(f"{target}: {counted(len(made.rules), 'rule')}")
    )
