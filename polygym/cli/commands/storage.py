"""``polygym storage``: what may be decided about where a program keeps its values."""

from dataclasses import replace
from typing import Any

import click

from polybench import Dataset
from polygym.autoschedule.program_recipes import DefaultSource
from polygym.cli.options import common
from polygym.cli.options.variants import VariantOptions, storage_figures, variant_options
from polygym.cli.output import console
from polygym.ir.scop import Scop
from polygym.poly.dependences import dependences
from polygym.poly.transform.storage.inhibitors import loop_inhibitors, source_loops
from polygym.poly.transform.storage.memory_cost import format_bytes
from polygym.poly.transform.storage.plan import SOURCE_STORAGE
from polygym.poly.transform.storage.variants import WebChoices, storage_choices
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


@click.command("storage", help=_HELP, epilog=common.PROGRAM_HELP)
@common.program_argument
@common.function_option
@common.size_options
@variant_options("none", "auto")
@common.json_option
def command(
    target: str,
    region: str | None,
    dataset: Dataset | None,
    parameters: dict[str, int],
    variant: VariantOptions,
    as_json: bool,
) -> console.CommandResult:
    """Describe a program's storage and what a plan makes of it."""
    program = load_program(target, function=region, dataset=dataset, parameters=parameters)
    program = VariantOptions(variant.split, SOURCE_STORAGE).apply(program)
    webs = storage_choices(program.scop, dict(program.parameters))
    variant = replace(
        variant, split=program.splitting, storage=variant.storage or DefaultSource.AUTO
    )
    chosen = variant.apply(program)
    document = {
        "program": program.name,
        "function": program.scop.name,
        "parameters": dict(program.parameters),
        "splitting": str(program.splitting),
        "webs": [_as_json(web) for web in webs],
        "plan": _plan(program.scop, chosen),
    }
    return console.answer(as_json, document, lambda: _print(document, webs))


def _plan(source: Scop, program: Program) -> dict[str, Any]:
    """Return what a plan costs, and what it frees of the loops of the program before."""
    loops = source_loops(source)
    before, after = loop_inhibitors(source, loops), loop_inhibitors(program.scop, loops)
    free = before.freed_loops(after)
    return {
        **storage_figures(program),
        "dependences_before": len(dependences(source)),
        "dependences": len(dependences(program.scop)),
        "freed": [
            {
                "loop": loop.name,
                "statements": list(loop.positions),
                "parallel": after.is_uninhibited(loop.key),
            }
            for loop in loops
            if loop.key in free
        ],
    }


def _as_json(web: WebChoices) -> dict[str, Any]:
    return {
        "array": web.array,
        "statements": list(web.statements),
        "read_before": web.is_live_in,
        "seen_after": web.is_live_out,
        "around": list(web.enclosing_loops),
        "in_the_way": list(web.inhibited_loops),
        "choices": [
            {"storage": str(choice.entry), "bytes": choice.bytes, "refusal": choice.refusal}
            for choice in web.choices
        ],
        "refusal": web.refusal,
    }


def _print(document: dict[str, Any], webs: tuple[WebChoices, ...]) -> None:
    sizes = console.sizes_text(document["parameters"].items())
    console.heading(f"{document['program']}: {document['function']}({sizes})")
    console.print_table(
        ("ARRAY", "WRITTEN BY", "LIVE", "BLOCKS", "CHOICE", "BYTES"),
        [row for web in webs for row in _rows(web)],
        "lllllr",
        optional=("LIVE",),
    )
    for web in webs:
        if web.refusal:
            console.write_text(f"  {web.refusal}")
    plan = document["plan"]
    console.heading("\nPlan")
    console.write_text(f"  storage      {plan['storage']}  ({format_bytes(plan['storage_bytes'])})")
    console.write_text(
        f"  dependences  {plan['dependences']} instead of {plan['dependences_before']}"
    )
    for loop in plan["freed"]:
        gain = "is parallel" if loop["parallel"] else "may be permuted"
        console.write_text(
            f"  frees        the loop {loop['loop']} around {', '.join(loop['statements'])}: {gain}"
        )


def _rows(web: WebChoices) -> list[tuple[str, ...]]:
    live = " ".join(
        word for word, holds in (("before", web.is_live_in), ("after", web.is_live_out)) if holds
    )
    first = (web.array, " ".join(web.statements), live, ", ".join(web.inhibited_loops))
    rows = []
    for place, choice in enumerate(web.choices):
        said = format_bytes(choice.bytes) if choice.bytes is not None else "refused"
        rows.append((*(first if not place else ("",) * len(first)), str(choice.entry), said))
    return rows or [(*first, "keep", "")]
