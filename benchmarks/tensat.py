"""Study of the TENSAT paper: saturation beside backtracking on seven models, resumably."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from graph_study.clocks import elapsed, study_clock
from graph_study.figures import study_figures
from graph_study.plan import StudyPart, Trial, plan_trials
from graph_study.report import study_report
from graph_study.study_folder import open_study
from graph_study.trial_runner import StudySettings, run_trial

from polygym.cli.commands.graph.options import make_costs, threads_option
from polygym.cli.dispatch import run_script
from polygym.cli.options.common import json_option
from polygym.cli.output.console import format_seconds, heading, listed, print_json, write_text
from polygym.errors import InputError
from polygym.files import write_atomically
from polygym.graphs import library
from polygym.graphs.rules import standard_rules
from polygym.rewrite.rule import rules_text
from polygym.runtime.evaluation.fingerprint import machine_fingerprint

_REPORT = "report.md"
_PARTS = tuple(part.value for part in StudyPart)
_HELP = """Make the tables and figures of the TENSAT paper on this machine, trial by trial.

\b
  search    saturation beside TASO's backtracking (Table 1, Figures 4, 5)
  settings  backtracking with alpha 1.05, and for 1,000 iterations
  k         rules of several results in 0 to 3 iterations (Figure 6)
  order     constraints against cycles: real, integer, none (Table 4)
  cycles    vanilla and efficient filtering (Table 5)
  end       end to end, beside PyTorch, torch.compile and onnxruntime
  runtime   speed-ups of both methods end to end, with and without biases, five runs with standard
            errors (Table 1, Figure 4)

All of them if none is named. Every trial is kept in --out once it is known; the same command goes
on where it ended. Tables come to report.md there, figures beside it. Their seconds are of the
processor (`cpu` in study.jsonl), with --costs measured of the wall; --time-limit is of the wall.

\b
Examples:
  python benchmarks/tensat.py --out study
  python benchmarks/tensat.py search k --models bert,nasrnn --out study
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
@click.option("--models", default="", metavar="NAME[,NAME]", help="Models to run; all by default.")
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
) -> None:
    """Run the missing trials, and write the report of all trials."""
    for name in parts:
        if name not in _PARTS:
            raise InputError(f"expected parts among {', '.join(_PARTS)}, found {name}")
    chosen = _chosen(models)
    rules = standard_rules()
    costs = make_costs(kind, threads)
    machine = machine_fingerprint()
    journal, rows = open_study(
        out,
        {
            "study": "graphs",
            "size": size,
            "costs": kind,
            "clock": study_clock(costs).value,
            "threads": threads,
            "time_limit": time_limit,
            "rules": _digest(rules_text(rules)),
            "machine": asdict(machine) | {"caches": list(machine.caches)},
        },
    )
    done = {Trial(**row["trial"]).key for row in rows}
    setting = StudySettings(costs, rules, size, threads, time_limit)
    wanted = plan_trials([StudyPart(name) for name in parts or _PARTS], chosen)
    missing = [trial for trial in wanted if trial.key not in done]
    with journal:
        for number, trial in enumerate(missing, start=1):
            if not as_json:
                write_text(f"{number} of {len(missing)}: {trial.part}: {trial.key}", err=True)
            row = {"index": len(rows), **run_trial(trial, setting)}
            journal.append(row)
            rows.append(row)
            if not as_json:
                write_text(f"  {row['cost']:.1f} in {format_seconds(elapsed(row))}", err=True)
    tables = _written(out, rows)
    if as_json:
        print_json(rows)
        return
    heading(f"{len(rows)} trials; {out / _REPORT}")
    click.echo(tables, nl=False)


def _chosen(models: str) -> list[str]:
    """Return the models that an option names, all of them by default."""
    chosen = list(listed(models) or library.NAMES)
    for name in chosen:
        if name not in library.NAMES:
            raise InputError(f"--models: expected some of {', '.join(library.NAMES)}, found {name}")
    return chosen


def _written(out: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the report and the figures; return the report."""
    tables = study_report(rows)
    write_atomically(out / _REPORT, tables.encode())
    for name, picture in study_figures(rows).items():
        write_atomically(out / f"{name}.svg", picture.svg)
        write_atomically(out / f"{name}.png", picture.png)
    return tables


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit code."""
    return run_script(command, arguments, "tensat.py")


if __name__ == "__main__":
    sys.exit(main())
