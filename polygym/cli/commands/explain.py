"""``polygym explain``: which loop transformations lead from the source to a schedule."""

from __future__ import annotations

from typing import Any

import click

from polygym.cli.options import common
from polygym.cli.options.schedules import schedule_maker
from polygym.cli.options.values import duration_option
from polygym.cli.options.variants import VariantOptions, variant_options
from polygym.cli.output import console
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.legality import find_violation
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.strategy import is_strategy
from polygym.programs import load_scop
from polygym.runtime.evaluation.time_limits import check_within, explain_within
from polygym.transformations.inverse import NoStepsFound, StepsToResult, steps_to
from polygym.transformations.sentences import sentence_of, summary_of
from polygym.transformations.state import TransformProgram

_HELP = """Explain a schedule: the loop transformations that lead to it from the source.

SCHEDULE is isl (the default), isl with options, isl text, or a file with a schedule, such as
`best.json` of a search. Every step is legal in its turn, and the sequence is short: loops are
interchanged, fused, distributed, skewed, shifted, reversed, statements are moved. Loops have names,
L1, L2, …, in the order of the text; `--tree 0` prints them. A row of a tree, such as S0: i + j, is
the value of the loop's counter.

The result is exact, with the loops and rows of the schedule, or it runs all instances in the same
order. Exit code 0: explained; 1: the schedule is illegal, or no steps were found.

\b
Examples:
  polygym explain gemm
  polygym explain jacobi-2d --tree all
  polygym explain 2mm 'isl fusion=maximum'
  polygym explain my.c '{ S[i,j] -> [j,i] }'
  polygym explain gemm found/best.json --json
"""


_EVERY = -1


class _TreeNumber(click.ParamType[int]):
    """The number of a step, or ``all``."""

    name = "step"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number, and the one that stands for all."""
        if isinstance(value, int):
            return value
        if value == "all":
            return _EVERY
        if not value.isdecimal() or len(value) > 6:
            self.fail(f"expected all or the number of a step, found {value[:80]!r}", param, ctx)
        return int(value)


@click.command("explain", help=_HELP, epilog=common.PROGRAM_HELP)
@common.program_argument
@click.argument("schedule_text", metavar="[SCHEDULE]", default="isl")
@common.function_option
@click.option(
    "--tree",
    "tree_number",
    type=_TreeNumber(),
    metavar="N|all",
    help="Print the loops after step N, 0 for those of the source, or after each step.",
)
@variant_options(
    "none, or what the schedule's file has",
    "keep, or what the schedule's file has",
    for_sizes=False,
)
@duration_option("--time-limit", default="60s", help="Limit of the search for steps.")
@common.parameters_option
@common.json_option
def command(
    target: str,
    schedule_text: str,
    region: str | None,
    tree_number: int | None,
    variant: VariantOptions,
    time_limit: float,
    parameters: dict[str, int],
    as_json: bool,
) -> console.CommandResult:
    """Find the steps and print them."""
    written = load_scop(target, region, parameters)
    sizes = parameters if len(parameters) == len(written.parameters) else None
    program = variant.resolve(written, schedule_text, sizes)
    scop = program.scop
    schedule = schedule_maker(schedule_text)(scop, sizes, DEFAULT_MAPPING).schedule
    violation = check_within(lambda: find_violation(scop, schedule))
    common_members = {"name": scop.name, **program.to_json(), "schedule": str(schedule)}
    if violation is not None:
        document = common_members | {"explained": False, "reason": str(violation)}
        return console.answer(
            as_json, document, lambda: console.write_verdict("illegal", f": {violation}"), 1
        )
    subject = _subject(schedule_text)
    found = explain_within(lambda: _explained(scop, schedule, subject), time_limit)
    trees = found["trees"]
    if tree_number is not None and tree_number >= len(trees):
        raise click.UsageError(
            f"--tree: expected all or a number up to {len(trees) - 1}, the number of steps, found "
            f"{tree_number}"
        )
    return console.answer(
        as_json,
        common_members | found,
        lambda: _print(found, tree_number),
        0 if found["explained"] else 1,
    )


def _subject(text: str) -> str:
    """Return the subject of a sentence about a schedule."""
    return text if is_strategy(text) and len(text) <= 60 else "the schedule"


def _explained(scop: Scop, schedule: Schedule, subject: str) -> dict[str, Any]:
    """Return the document of one schedule."""
    start = TransformProgram(scop).start()
    result = steps_to(start, schedule)
    state = start
    rows, trees = [], [start.tree.text()]
    for step in result.steps:
        rows.append({"step": str(step), "does": sentence_of(state, step)})
        state = state.after(step)
        trees.append(state.tree.text())
    return {
        "explained": isinstance(result, StepsToResult),
        "exact": isinstance(result, StepsToResult) and result.is_exact,
        "reason": result.reason if isinstance(result, NoStepsFound) else None,
        "summary": summary_of(subject, result.steps),
        "steps": rows,
        "trees": trees,
    }


def _print(found: dict[str, Any], tree_number: int | None) -> None:
    rows, trees = found["steps"], found["trees"]
    if tree_number is not None and tree_number != _EVERY:
        console.write_text(trees[tree_number])
        return
    if tree_number == _EVERY:
        console.write_text(trees[0])
    width = max((len(row["step"]) for row in rows), default=0)
    for row, tree in zip(rows, trees[1:], strict=True):
        if tree_number == _EVERY:
            console.heading(f"\n{row['step']}")
            console.write_wrapped(f"  {row['does']}")
            console.write_text(tree)
        else:
            console.write_text(f"{row['step']:<{width}}  {row['does']}")
    if rows:
        console.write_text("")
    if not found["explained"]:
        console.write_verdict(
            "not explained", f": the search ended after these steps; {found['reason']}"
        )
        return
    console.write_wrapped(found["summary"])
    console.write_wrapped(
        "The loops and rows are those of the schedule."
        if found["exact"]
        else "Every two instances run in the order of the schedule."
    )
