"""``polygym graph rules``: rules listed, those of a file checked or derived, all found anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from polygym.cli.commands.graph.options import teller
from polygym.cli.options.common import json_option, seed_option
from polygym.cli.options.values import duration_option, file_option
from polygym.cli.output.console import (
    CommandResult,
    answer,
    counted,
    heading,
    print_table,
    write_text,
)
from polygym.errors import InputError

if TYPE_CHECKING:
    from polygym.graphs.rules.generate.published import PublishedRule

_HELP = """List the rules that graphs are rewritten by, check those of a file, or find them anew.

A rule of a file is checked on every kind of shapes that it can meet, in exact arithmetic; one that
does not hold is refused with a case in which it does not. docs/guides/graphs.md says how rules are
written.

\b
Examples:
  polygym graph rules                        all of them
  polygym graph rules --check mine.rules     exit code 2 if one does not hold
  polygym graph rules --generate my.rules    as polygym's own table was made
  polygym graph rules --derivable taso.txt   which published rules follow from polygym's
"""


@click.command("rules", help=_HELP)
@file_option("--check", "files", multiple=True, help="Check the rules of a file; may be repeated.")
@file_option(
    "--generate",
    "target",
    help="Find rules by enumerating graphs, prove them, and write them there.",
)
@file_option(
    "--derivable",
    "published",
    help="Read a published table, SOURCE=>TARGET with the operators of TASO or TENSAT a line, and "
    "say which rules follow from polygym's within 1, 2 and 3 iterations.",
)
@duration_option("--time-limit", default="30m", help="Duration of --generate.")
@seed_option("The numbers on which graphs are compared.")
@json_option
def command(
    files: Sequence[Path],
    target: Path | None,
    published: Path | None,
    time_limit: float,
    seed: int,
    as_json: bool,
) -> CommandResult:
    """Do the one or the other."""
    from polygym.graphs import rules

    if bool(files) + (target is not None) + (published is not None) > 1:
        raise InputError("expected one of --check, --generate and --derivable, found several")
    if published is not None:
        return _derived(published, as_json=as_json)
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


def _derived(file: Path, *, as_json: bool) -> CommandResult:
    from polygym.graphs import rules
    from polygym.graphs.rules.generate import published

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"expected a table of rules in {file}: {error}") from None
    lines = published.translate_rules(text, str(file))
    known = rules.load_rules(rules.TABLES)
    lines = published.show_rules(lines, known, teller(as_json))
    document = published.summary(lines)
    document["rules"] = [
        {
            "text": line.text,
            "rule": None if line.rule is None else str(line.rule),
            "reason": line.reason,
            "iterations": line.iterations,
            "partial": line.is_partial,
        }
        for line in lines
    ]
    return answer(as_json, document, lambda: _print_derived(lines))


def _print_derived(lines: Sequence[PublishedRule]) -> None:
    from polygym.graphs.rules.generate.published import summary

    counts = summary(lines)
    translated = [line for line in lines if line.rule is not None]
    for line in translated:
        if not line.iterations:
            write_text(f"not derivable: {line.text}")
    heading(counted(len(lines), "rule"))
    rows = [("translated", str(len(translated)))]
    rows += [(f"derivable within {k}", str(n)) for k, n in counts["derivable"].items()]
    rows += [("wrong for some shapes", str(counts["partial"]))]
    rows += [("not derivable", str(counts["not_derivable"]))]
    rows += [(f"not expressible: {why}", str(n)) for why, n in counts["not_expressible"].items()]
    print_table(("RULES", "COUNT"), rows, "lr")
