"""``polygym bench``: several schedules of several programs, measured side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

import polybench
from polybench import Dataset
from polygym.cli.options import (
    TARGET_HELP,
    function_option,
    json_option,
    resolve_schedule,
    size_options,
)
from polygym.cli.output import print_json, print_table, progress, seconds
from polygym.errors import InputError, PolygymError
from polygym.measure.outcome import Ok, Outcome, ProblemError, outcome_to_json
from polygym.measure.timing import Repetition, this_machine
from polygym.measure.worker import Worker
from polygym.programs import Program, load_program
from polygym.programs.compiling import compile_problem, compile_schedule


@dataclass(frozen=True, slots=True)
class Entry:
    """One program with one schedule: its outcome, or why there is none."""

    program: str
    schedule: str
    text: str
    outcome: Outcome | None
    error: str
    ratio: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the entry with its raw samples."""
        ok = isinstance(self.outcome, Ok)
        return {
            "program": self.program,
            "schedule": self.schedule,
            "text": self.text,
            "status": self.outcome.status.value if self.outcome is not None else "error",
            "error": self.error or None,
            "outcome": outcome_to_json(self.outcome) if self.outcome is not None else None,
            "seconds": self.outcome.best if isinstance(self.outcome, Ok) else None,
            "samples": list(self.outcome.samples) if isinstance(self.outcome, Ok) else [],
            "speedup": self.ratio if ok else None,
        }


@click.command("bench", epilog=TARGET_HELP.replace("TARGET", "Each target"))
@click.argument("targets", nargs=-1, required=True, metavar="KERNEL|GLOB|CATEGORY|FILE.c...")
@click.option(
    "--schedules",
    default="original,isl",
    show_default=True,
    metavar="NAME[,NAME]",
    help="original, isl, or files with schedules; ratios are to the original order, which is "
    "always measured.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    default=4,
    show_default=True,
    help="Rounds; each runs every schedule once.",
)
@function_option
@size_options
@json_option
def command(
    targets: tuple[str, ...],
    region: str | None,
    schedules: str,
    repeat: int,
    dataset: Dataset | None,
    parameters: dict[str, int],
    as_json: bool,
) -> int:
    r"""Measure schedules of programs in turn, and print ratios and their geometric mean.

    The schedules of one program run round robin in one process, by one clock, each checked against
    the original order's output. Exit code 1: one of them failed. Ctrl-C prints what there is.

    \b
    Examples:
      polygym bench gemm mvt atax --schedules original,isl
      polygym bench stencils --dataset medium --json > stencils.json
      polygym bench my.c --schedules original,isl,mine.json
    """
    names = [name.strip() for name in schedules.split(",") if name.strip()]
    if not names:
        raise InputError("--schedules: expected at least one name")
    if "original" in names:
        names.remove("original")
    names.insert(0, "original")
    entries: list[Entry] = []
    interrupted = False
    try:
        with Worker() as worker, progress(_expand(targets), "measuring") as chosen:
            for target in chosen:
                program = load_program(
                    target, function=region, dataset=dataset, parameters=parameters
                )
                entries += _measure(worker, program, names, repeat)
    except KeyboardInterrupt:
        interrupted = True
    means = {name: _geometric_mean(entries, name) for name in names}
    if as_json:
        print_json(
            {
                "dataset": str(dataset or Dataset.LARGE),
                "repeat": repeat,
                "interrupted": interrupted,
                "entries": [entry.to_json() for entry in entries],
                "geometric_mean": means,
                "machine": asdict(this_machine()),
            }
        )
    else:
        _print(entries, names, means)
    if interrupted:
        raise KeyboardInterrupt
    return 0 if all(isinstance(entry.outcome, Ok) for entry in entries) else 1


def _expand(targets: Sequence[str]) -> list[str]:
    """Replace globs and categories by the names of kernels."""
    expanded: list[str] = []
    for target in targets:
        if "/" in target or target.endswith(".c"):
            expanded.append(target)
            continue
        try:
            expanded += [kernel.name for kernel in polybench.select((target,))]
        except KeyError as error:
            raise InputError(str(error)) from None
    return list(dict.fromkeys(expanded))


def _measure(worker: Worker, program: Program, names: list[str], repeat: int) -> list[Entry]:
    """Measure all schedules of one program."""
    problem = compile_problem(program)
    texts, candidates, errors = {}, {}, {}
    for name in names:
        try:
            schedule = resolve_schedule(name, program.scop)
            texts[name] = str(schedule)
            candidates[name] = (
                problem.original if name == "original" else compile_schedule(program, schedule)
            )
        except PolygymError as error:
            errors[name] = str(error)
    outcomes: dict[str, Outcome] = {}
    try:
        session = worker.open(problem, Repetition(minimum=1))
        measured = session.measure_together(tuple(candidates.values()), repeat)
        outcomes = dict(zip(candidates, measured, strict=True))
        session.close()
    except ProblemError as error:
        outcomes = dict.fromkeys(candidates, error.outcome)
    base = outcomes.get("original")
    return [
        Entry(
            program.name,
            name,
            texts.get(name, ""),
            outcomes.get(name),
            errors.get(name, ""),
            _ratio(base, outcomes.get(name)),
        )
        for name in names
    ]


def _ratio(base: Outcome | None, outcome: Outcome | None) -> float | None:
    if isinstance(base, Ok) and isinstance(outcome, Ok):
        return base.best / outcome.best
    return None


def _geometric_mean(entries: Sequence[Entry], name: str) -> float | None:
    """Return the geometric mean of a schedule's speedups over the programs where it ran."""
    ratios = [e.ratio for e in entries if e.schedule == name and e.ratio is not None]
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else None


def _print(entries: Sequence[Entry], names: list[str], means: dict[str, float | None]) -> None:
    others = [name for name in names if name != "original"]
    by_key = {(entry.program, entry.schedule): entry for entry in entries}
    rows = []
    for program in dict.fromkeys(entry.program for entry in entries):
        row = [program, _time(by_key[program, "original"])]
        for name in others:
            entry = by_key[program, name]
            ratio = f"{entry.ratio:.2f}x" if entry.ratio is not None else "-"
            row += [_time(entry), ratio]
        rows.append(row)
    columns = ["PROGRAM", "ORIGINAL"]
    for name in others:
        columns += [name.upper(), "SPEEDUP"]
    if others and rows:
        last = ["geometric mean", ""]
        for name in others:
            mean = means[name]
            last += ["", f"{mean:.2f}x" if mean is not None else "-"]
        rows.append(last)
    print_table(columns, rows, "l" + "r" * (len(columns) - 1))
    for entry in entries:
        if entry.error:
            click.echo(f"{entry.program}, {entry.schedule}: {entry.error}", err=True)


def _time(entry: Entry) -> str:
    if isinstance(entry.outcome, Ok):
        return seconds(entry.outcome.best)
    return entry.outcome.status.value if entry.outcome is not None else "error"
