"""``polygym storage``: what may be decided about where a program keeps its values."""

from __future__ import annotations

from typing import Any

import click

from polybench import Dataset
from polygym.cli.answer import Answer
from polygym.cli.options import (
    TARGET_HELP,
    function_option,
    json_option,
    size_options,
    target_argument,
)
from polygym.cli.output import heading, say
from polygym.cli.splitting import Cutter, program_in_pieces, split_option
from polygym.cli.storing import StorageChoice, storage_figures, storage_options, with_storage
from polygym.cli.tables import print_table
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.dependences import dependences
from polygym.compiler.storage.describe import WebChoices, storage_choices
from polygym.compiler.storage.obstacles import obstacles, source_loops
from polygym.compiler.storage.price import in_words
from polygym.episodes.recipes import Found
from polygym.programs import Program, load_program

_HELP = """List what may become of a program's arrays, what it takes, and what it frees.

The values of an array that are seen together are a web: of a scalar that every nest fills anew,
each nest's are one. A web may be renamed (an array of its own), expanded along loops (a version for
each iteration), or private (as expanded, in one copy for each thread). Which loops it is in the way
of because its memory is used again is said beside it. In the end stands what one plan frees: that
of --storage, or the automatic one.

\b
Examples:
  polygym storage symm
  polygym storage ludcmp --storage w=expand:i,j
  polygym run symm --storage temp2=expand:i,j --schedule isl
"""


@click.command("storage", help=_HELP, epilog=TARGET_HELP)
@target_argument
@function_option
@size_options
@split_option("none")
@storage_options("auto")
@json_option
def command(
    target: str,
    region: str | None,
    dataset: Dataset | None,
    parameters: dict[str, int],
    cutter: Cutter | None,
    storage: StorageChoice | None,
    storage_limit: int | None,
    as_json: bool,
) -> Answer:
    """Describe a program's storage and what a plan makes of it."""
    program = load_program(target, function=region, dataset=dataset, parameters=parameters)
    program = program_in_pieces(program, cutter)
    webs = storage_choices(program.scop, dict(program.parameters))
    chosen = with_storage(program, storage or Found.AUTO, storage_limit)
    document = {
        "program": program.name,
        "function": program.scop.name,
        "parameters": dict(program.parameters),
        "splitting": str(program.splitting),
        "webs": [_as_json(web) for web in webs],
        "plan": _plan(program.scop, chosen),
    }
    if as_json:
        return Answer(document=document)
    _print(document, webs)
    return Answer()


def _plan(source: Scop, program: Program) -> dict[str, Any]:
    """Return what a plan costs, and what it frees of the loops of the program before."""
    loops = source_loops(source)
    before, after = obstacles(source, loops), obstacles(program.scop, loops)
    free = before.freed(after)
    return {
        **storage_figures(program),
        "dependences_before": len(dependences(source)),
        "dependences": len(dependences(program.scop)),
        "freed": [
            {
                "loop": loop.name,
                "statements": list(loop.places),
                "parallel": after.is_free(loop.key),
            }
            for loop in loops
            if loop.key in free
        ],
    }


def _as_json(web: WebChoices) -> dict[str, Any]:
    return {
        "array": web.array,
        "statements": list(web.statements),
        "read_before": web.is_read_before,
        "seen_after": web.is_seen_after,
        "around": list(web.around),
        "in_the_way": list(web.in_the_way),
        "choices": [
            {"storage": str(one.entry), "bytes": one.bytes, "refusal": one.refusal}
            for one in web.choices
        ],
        "refusal": web.refusal,
    }


def _print(document: dict[str, Any], webs: tuple[WebChoices, ...]) -> None:
    sizes = ", ".join(f"{name} = {value}" for name, value in document["parameters"].items())
    heading(f"{document['program']}: {document['function']}({sizes})")
    print_table(
        ("ARRAY", "WRITTEN BY", "LIVE", "IN THE WAY OF", "CHOICE", "TAKES"),
        [row for web in webs for row in _rows(web)],
        "lllllr",
        optional=("LIVE",),
    )
    for web in webs:
        if web.refusal:
            say(f"  {web.refusal}")
    plan = document["plan"]
    heading("\nPlan")
    say(f"  storage      {plan['storage']}  ({in_words(plan['storage_bytes'])})")
    say(f"  dependences  {plan['dependences']} instead of {plan['dependences_before']}")
    for one in plan["freed"]:
        gain = "is parallel" if one["parallel"] else "may be permuted"
        say(f"  frees        the loop {one['loop']} around {', '.join(one['statements'])}: {gain}")


def _rows(web: WebChoices) -> list[tuple[str, ...]]:
    live = " ".join(
        word
        for word, holds in (("before", web.is_read_before), ("after", web.is_seen_after))
        if holds
    )
    first = (web.array, " ".join(web.statements), live, ", ".join(web.in_the_way))
    rows = []
    for place, one in enumerate(web.choices):
        said = in_words(one.bytes) if one.bytes is not None else "refused"
        rows.append((*(first if not place else ("",) * len(first)), str(one.entry), said))
    return rows or [(*first, "keep", "")]
