"""``polygym graph study``: saturation beside backtracking on seven models, resumably."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from polygym.cli.answer import Answer
from polygym.cli.commands.graph.options import chosen_costs, threads_option
from polygym.cli.options import json_option
from polygym.cli.output import heading, say, seconds
from polygym.cli.text import listed
from polygym.errors import InputError
from polygym.files import write_atomically

_REPORT = "report.md"
_PARTS = ("search", "settings", "k", "order", "cycles", "end")
_HELP = """Make the tables and figures of the TENSAT paper on this machine, trial by trial.

\b
  search    saturation beside TASO's backtracking (Table 1, Figures 4, 5)
  settings  backtracking with alpha 1.05, and for 1,000 iterations
  k         rules of several results in 0 to 3 iterations (Figure 6)
  order     constraints against cycles: real, integer, none (Table 4)
  cycles    vanilla and efficient filtering (Table 5)
  end       end to end, beside PyTorch, torch.compile and onnxruntime

All of them if none is named. Every trial is kept in --out once it is known; the same command goes
on where it was ended. Tables come to report.md there, figures beside it. Their seconds are of the
processor (`cpu` in study.jsonl), with --costs measured of the wall; --time-limit is of the wall.

\b
Examples:
  polygym graph study --out study
  polygym graph study search k --models bert,nasrnn --out study
"""


@click.command("study", help=_HELP)
@click.argument("parts", nargs=-1, metavar="[PART]...")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="Where trials are kept, and the report is written.",
)
@click.option("--models", default="", metavar="NAME[,NAME]", help="Only these.")
@click.option(
    "--size",
    type=click.Choice(["paper", "small"]),
    default="paper",
    show_default=True,
    help="The models' sizes.",
)
@click.option(
    "--costs",
    "kind",
    type=click.Choice(["measured", "static"]),
    default="static",
    show_default=True,
    help="A roofline, or times of operators on this machine.",
)
@threads_option
@click.option(
    "--time-limit",
    type=click.FloatRange(0.1, 1e6),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="For exploring, for extracting, and for backtracking, each.",
)
@json_option
def command(
    parts: Sequence[str],
    out: Path,
    models: str,
    size: str,
    kind: str,
    threads: int,
    time_limit: float,
    as_json: bool,
) -> Answer:
    """Run what is missing, and write the report of all that is there."""
    from polygym.graphs.rules import standard
    from polygym.graphs.study.folder import open_study
    from polygym.graphs.study.plan import Part, Trial, trials
    from polygym.graphs.study.running import Setting, run_trial
    from polygym.graphs.study.times import clock_of, taken
    from polygym.measure.evaluation.fingerprint import fingerprint
    from polygym.rewrite.rule import text_of_rules

    for name in parts:
        if name not in _PARTS:
            raise InputError(f"expected parts among {', '.join(_PARTS)}, found {name}")
    chosen = _chosen(models)
    rules = standard()
    costs = chosen_costs(kind, threads)
    machine = fingerprint()
    journal, rows = open_study(
        out,
        {
            "study": "graphs",
            "size": size,
            "costs": kind,
            "clock": clock_of(costs).value,
            "threads": threads,
            "time_limit": time_limit,
            "rules": _digest(text_of_rules(rules)),
            "machine": asdict(machine) | {"caches": list(machine.caches)},
        },
    )
    done = {Trial(**row["trial"]).key for row in rows}
    setting = Setting(costs, rules, size, threads, time_limit)
    wanted = trials([Part(name) for name in parts or _PARTS], chosen)
    missing = [one for one in wanted if one.key not in done]
    with journal:
        for number, trial in enumerate(missing, start=1):
            if not as_json:
                say(f"{number} of {len(missing)}: {trial.part}: {trial.key}", err=True)
            row = {"index": len(rows), **run_trial(trial, setting)}
            journal.append(row)
            rows.append(row)
            if not as_json:
                say(f"  {row['cost']:.1f} in {seconds(taken(row))}", err=True)
    tables = _written(out, rows)
    if as_json:
        return Answer(document=rows)
    heading(f"{len(rows)} trials; {out / _REPORT}")
    click.echo(tables, nl=False)
    return Answer()


def _chosen(models: str) -> list[str]:
    """Return the models that an option names, all of them if it names none."""
    from polygym.graphs import library

    chosen = list(listed(models) or library.NAMES)
    for name in chosen:
        if name not in library.NAMES:
            raise InputError(f"--models: expected some of {', '.join(library.NAMES)}, found {name}")
    return chosen


def _written(out: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the report and the figures; return the report."""
    from polygym.graphs.study.figures import figures
    from polygym.graphs.study.report import report

    tables = report(rows)
    write_atomically(out / _REPORT, tables.encode())
    for name, picture in figures(rows).items():
        write_atomically(out / f"{name}.svg", picture.svg)
        write_atomically(out / f"{name}.png", picture.png)
    return tables


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:12]
