"""``polygym show``: what polygym understands of a program."""

from __future__ import annotations

from typing import Any

import click

from polygym.cli.options import (
    TARGET_HELP,
    function_option,
    json_option,
    resolve_schedule,
    target_argument,
)
from polygym.cli.output import heading, print_json
from polygym.codegen.c_printer import print_c
from polygym.codegen.loops import generate_loops
from polygym.codegen.tree import build_tree
from polygym.ir.scop import Array, Scop, Statement
from polygym.poly.dependences import Dependence, dependences
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.programs import load_scop


@click.command("show", epilog=TARGET_HELP)
@target_argument
@function_option
@click.option(
    "--schedule",
    "schedule_text",
    default="original",
    show_default=True,
    metavar="original|isl|FILE|TEXT",
    help="Whose C to show: the source's order, isl's, or one from a file or isl text.",
)
@click.option("--c", "only_c", is_flag=True, help="Print the C function alone, to save or compile.")
@json_option
def command(
    target: str, region: str | None, schedule_text: str, only_c: bool, as_json: bool
) -> None:
    """Print parameters, statements, dependences, the schedule and its C code.

    The C function computes exactly what the machine code does; `--c` prints it alone.
    """
    scop = load_scop(target, region)
    schedule = resolve_schedule(schedule_text, scop)
    legal = LegalSchedule(scop, schedule)
    code = print_c(generate_loops(build_tree(legal), legal), f"{scop.name}: {schedule}")
    if only_c:
        click.echo(code, nl=False)
        return
    found = dependences(scop)
    if as_json:
        print_json(_as_json(scop, found, schedule, code))
        return
    _print(scop, found, schedule_text, schedule, code)


def _as_json(
    scop: Scop, found: tuple[Dependence, ...], schedule: Schedule, code: str
) -> dict[str, Any]:
    return {
        "name": scop.name,
        "file": scop.file,
        "parameters": [{"name": p.name, "type": p.type.value} for p in scop.parameters],
        "context": scop.context,
        "conditions": list(scop.conditions),
        "arrays": [
            {
                "name": array.name,
                "type": array.type.value,
                "extents": list(array.extents_c),
                "storage": array.storage.value,
                "live_out": array.live_out,
            }
            for array in scop.arrays
        ],
        "statements": [
            {
                "name": statement.name,
                "iterators": list(statement.iterators),
                "domain": statement.domain,
                "text": statement.text,
                "line": statement.place.line,
                "write": statement.write.relation,
                "reads": [access.relation for access in statement.reads],
            }
            for statement in scop.statements
        ],
        "dependences": [
            {
                "source": dependence.source,
                "sink": dependence.sink,
                "kinds": list(dependence.kind.names()),
                "arrays": list(dependence.arrays),
                "relation": dependence.relation,
            }
            for dependence in found
        ],
        "original": scop.schedule,
        "schedule": str(schedule),
        "c": code,
    }


def _print(
    scop: Scop, found: tuple[Dependence, ...], name: str, schedule: Schedule, code: str
) -> None:
    heading(f"{scop.name} ({scop.file})")
    parameters = ", ".join(f"{p.type.value} {p.name}" for p in scop.parameters)
    click.echo(f"  parameters  {parameters or 'none'}")
    click.echo(f"  context     {scop.context}")
    for condition in scop.conditions:
        click.echo(f"  needs       {condition}")
    click.echo(f"  arrays      {', '.join(_array(array) for array in scop.arrays)}")
    heading("\nStatements")
    for statement in scop.statements:
        _print_statement(statement)
    heading(f"\nDependences ({len(found)})")
    for position, dependence in enumerate(found):
        kinds = ", ".join(dependence.kind.names())
        click.echo(
            f"  D{position} {dependence.source} -> {dependence.sink}  {kinds} on "
            f"{', '.join(dependence.arrays)}"
        )
        click.echo(f"     {dependence.relation}")
    heading("\nOriginal schedule")
    click.echo(f"  {scop.schedule}")
    heading(f"\nSchedule: {name}")
    click.echo(f"  {schedule}")
    heading("\nC")
    click.echo(code, nl=False)


def _array(array: Array) -> str:
    sizes = "".join(f"[{extent}]" for extent in array.extents_c)
    return f"{array.type.value} {array.name}{sizes}{' (out)' if array.live_out else ''}"


def _print_statement(statement: Statement) -> None:
    click.echo(f"  {statement.name}: {statement.text}    (line {statement.place.line})")
    click.echo(f"     domain {statement.domain}")
    click.echo(f"     writes {statement.write.relation}")
    for access in statement.reads:
        click.echo(f"     reads  {access.relation}")
