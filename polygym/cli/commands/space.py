"""``polygym space``: how many schedules a program has, as generators dimension by dimension."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import click

from polygym.cli.answer import Answer
from polygym.cli.carry import EARLIEST, Selections, impossible, names, selections
from polygym.cli.options import (
    TARGET_HELP,
    function_option,
    json_option,
    parameters_option,
    target_argument,
)
from polygym.cli.output import heading, say, seconds, working
from polygym.cli.splitting import Cutter, split_option
from polygym.cli.storing import Changed, StorageChoice, changed, storage_option
from polygym.cli.tables import print_table
from polygym.cli.text import shorten
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.integers import Vector
from polygym.compiler.poly.spaces.construct import Dimension, Space, space_of
from polygym.compiler.poly.spaces.layout import Layout, Part
from polygym.compiler.poly.spaces.polyhedra import Limits, Polyhedra
from polygym.compiler.poly.splitting.cuts import WHOLE
from polygym.measure.evaluation.patience import space_within
from polygym.programs import load_scop

# The time is the limit here: nothing depends on the answer.
_UNLIMITED_WORK = 10**15

_HELP = """Describe a program's schedule space: the rows that a schedule may have, per dimension.

Every dimension carries some dependences strongly and satisfies the ones that are left weakly. Its
rows form a polyhedron: one of the vertices (or a mixture of them) plus any multiples of the rays,
a line counting as two rays. An episode of `polygym optimize` chooses a coefficient for each.
Exit code 1: a dimension cannot carry what it is told to.

Without `--carry` every dependence is carried in the first dimension that can. With it every
dependence is given once, as SOURCE->SINK@DIMENSION; SOURCE->SINK#2 is the second of several
between two statements, as `polygym show` lists them. Dimensions that carry nothing may lie between.

\b
Examples:
  polygym space gemm
  polygym space my.c --carry 'S->T@3,T->T@4'
  polygym space symm --storage auto -p m=100,n=100
  polygym space my.c --carry 'S->T#1@1,S->T#2@2' --generators
  polygym space deriche --limit 10000 --seconds 30 --json > space.json
"""
_LONGEST_CELL = 100


@click.command("space", help=_HELP, epilog=TARGET_HELP)
@target_argument
@function_option
@click.option(
    "--carry",
    "carry_text",
    default=EARLIEST,
    show_default=True,
    metavar="'S->T@3,T->T@4'",
    help="Which dimension carries which dependence.",
)
@click.option(
    "--max-rays",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Keep at most N rays per dimension, the simplest ones (default: all).",
)
@click.option(
    "--max-vertices",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Keep at most N vertices per dimension (default: all).",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000_000),
    default=3000,
    show_default=True,
    metavar="N",
    help="Give up the enumeration of a polyhedron past N generators; a sample stands for it then.",
)
@click.option(
    "--seconds",
    "most_seconds",
    type=click.FloatRange(0.0, 1e6, min_open=True),
    default=5.0,
    show_default=True,
    metavar="S",
    help="Give it up after S seconds as well.",
)
@click.option("--generators", "with_generators", is_flag=True, help="Show every vertex and ray.")
@split_option("none")
@storage_option("keep")
@parameters_option
@json_option
def command(
    target: str,
    region: str | None,
    carry_text: str,
    max_rays: int | None,
    max_vertices: int | None,
    limit: int,
    most_seconds: float,
    with_generators: bool,
    cutter: Cutter | None,
    storage: StorageChoice | None,
    parameters: dict[str, int],
    as_json: bool,
) -> Answer:
    """Construct the space and describe it."""
    written = load_scop(target, region, parameters)
    sizes = parameters if len(parameters) == len(written.parameters) else None
    program = changed(written, cutter, storage, "original", sizes)
    scop = program.scop
    limits = Limits(max_rays, max_vertices, limit, _UNLIMITED_WORK, most_seconds)
    start = time.perf_counter()
    with working(f"looking for the schedules of {scop.name}"):
        polyhedra, wanted, space, reason = space_within(
            lambda: _constructed(scop, limits, carry_text), most_seconds
        )
    passed = time.perf_counter() - start
    if as_json:
        document = {
            **_as_json(polyhedra, space, passed, with_generators),
            **program.to_json(),
        }
        return Answer(1 if reason else 0, {**document, "error": reason} if reason else document)
    _print(polyhedra, space, wanted, passed, program)
    if with_generators:
        _print_generators(scop, polyhedra.layout, space)
    if reason:
        say("impossible: ", err=True, newline=False, fg="red", bold=True)
        say(reason, err=True)
    return Answer(1 if reason else 0)


def _constructed(
    scop: Scop, limits: Limits, carry_text: str
) -> tuple[Polyhedra, Selections, Space, str]:
    """Return the polyhedra, what carries what, the space, and why that is impossible if it is."""
    polyhedra = Polyhedra(scop, limits)
    wanted = selections(carry_text, polyhedra)
    return polyhedra, wanted, space_of(polyhedra, wanted), impossible(wanted, polyhedra)


def _as_json(
    polyhedra: Polyhedra, space: Space, passed: float, with_generators: bool
) -> dict[str, Any]:
    labels = names(polyhedra.dependences)
    return {
        "name": space.scop.name,
        "statements": list(polyhedra.layout.statements),
        "parameters": list(polyhedra.layout.parameters),
        "coordinates": _coordinates(space.scop, polyhedra.layout),
        "dependences": [
            {
                "name": labels[index],
                "source": one.source,
                "sink": one.sink,
                "kinds": list(one.kind.names()),
                "index": index,
            }
            for index, one in enumerate(polyhedra.dependences)
        ],
        "dimensions": [_dimension(one, labels, with_generators) for one in space.dimensions],
        "never_carried": [labels[index] for index in sorted(polyhedra.never_carried)],
        "complete": space.is_complete,
        "choices": space.choices,
        "seconds": passed,
    }


def _dimension(
    dimension: Dimension, labels: Sequence[str], with_generators: bool
) -> dict[str, Any]:
    found = dimension.generators
    result: dict[str, Any] = {
        "carried": [labels[index] for index in sorted(dimension.carried)],
        "vertices": len(found.vertices),
        "rays": len(found.rays),
        "complete": found.complete,
    }
    if with_generators:
        result["vertex_list"] = [
            {"numerators": list(one.numerators), "denominator": one.denominator}
            for one in found.vertices
        ]
        result["ray_list"] = [list(ray) for ray in found.rays]
    return result


def _coordinates(scop: Scop, layout: Layout) -> list[str]:
    """Return a label of every coordinate of a row: ``T.j``, ``T.n``, ``T.1`` for the constant."""
    found = []
    for one in layout.coordinates():
        match one.part:
            case Part.ITERATOR:
                name = scop.statement(one.statement).iterators[one.index]
            case Part.PARAMETER:
                name = layout.parameters[one.index]
            case Part.CONSTANT:
                name = "1"
        found.append(f"{one.statement}.{name}")
    return found


def _print(
    polyhedra: Polyhedra, space: Space, wanted: Selections, passed: float, program: Changed
) -> None:
    labels = names(polyhedra.dependences)
    heading(f"{space.scop.name}: the rows of its schedules")
    if program.cuts != WHOLE:
        say(f"  split        {program.cuts}")
    if not program.plan.keeps:
        say(f"  storage      {program.plan}")
    say(f"  coordinates  {polyhedra.layout.width}", newline=False)
    say(f" ({shorten(' '.join(_coordinates(space.scop, polyhedra.layout)))})")
    say(f"  dependences  {len(labels)}")
    print_table(
        ("DIMENSION", "CARRIES", "VERTICES", "RAYS", "COMPLETE"),
        [
            (
                number,
                shorten(", ".join(labels[index] for index in sorted(carried)), _LONGEST_CELL)
                or "nothing",
                len(one.generators.vertices),
                len(one.generators.rays),
                "yes" if one.generators.complete else "no, a sample",
            )
            for number, (carried, one) in enumerate(
                zip(wanted, space.dimensions, strict=True), start=1
            )
        ],
        "rlrrl",
    )
    say(f"An episode chooses {space.choices} coefficients. Found in {seconds(passed)}.")
    if polyhedra.never_carried:
        kept = ", ".join(labels[index] for index in sorted(polyhedra.never_carried))
        say(f"No row carries {kept}: the rows of the source, added at the end, order them.")


def _print_generators(scop: Scop, layout: Layout, space: Space) -> None:
    """Write every vertex and ray as the rows that it is for the statements it moves."""
    for number, dimension in enumerate(space.dimensions, start=1):
        heading(f"\nDimension {number}")
        for index, vertex in enumerate(dimension.generators.vertices, start=1):
            over = "" if vertex.is_integer else f" / {vertex.denominator}"
            say(f"  vertex {index}  {_rows(scop, layout, vertex.numerators)}{over}")
        for index, ray in enumerate(dimension.generators.rays, start=1):
            say(f"  ray {index}  {_rows(scop, layout, ray)}")


def _rows(scop: Scop, layout: Layout, point: Vector) -> str:
    """Return the rows of the statements that are not 0 throughout.

    Example: ``S: i, T: i + 1``.
    """
    shown = []
    for statement in scop.statements:
        row = layout.row(point, statement.name)
        if any((*row.iterators, *row.parameters, row.constant)):
            text = row.text(statement.iterators, layout.parameters)
            shown.append(f"{statement.name}: {text}")
    return f"({', '.join(shown)})" if shown else "0 for every statement"
