"""``polygym space``: the schedule space of a program, as generators of each dimension."""

import time
from collections.abc import Sequence
from typing import Any

import click

from polygym.cli.options import common
from polygym.cli.options.carry import EARLIEST, Selections, infeasible_reason, names, selections
from polygym.cli.options.values import count_option, duration_option
from polygym.cli.options.variants import ResolvedVariant, VariantOptions, variant_options
from polygym.cli.output import console
from polygym.ir.scop import Scop
from polygym.poly.integer_vectors import Vector
from polygym.poly.spaces.construction import ScheduleSpace, SpaceDimension, space_from_selections
from polygym.poly.spaces.coordinates import CoordinateKind, CoordinateLayout
from polygym.poly.spaces.polyhedra import RowPolyhedra, SpaceLimits
from polygym.poly.transform.splitting.conditions import NO_SPLITTING
from polygym.programs import load_scop
from polygym.runtime.evaluation.time_limits import space_within

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
  polygym space deriche --max-generators 10000 --time-limit 30s --json
"""
_LONGEST_CELL = 100


@click.command("space", help=_HELP, epilog=common.PROGRAM_HELP)
@common.program_argument
@common.function_option
@click.option(
    "--carry",
    "carry_text",
    default=EARLIEST,
    show_default=True,
    metavar="CARRY",
    help="The dimension that carries each dependence: 'S->T@3,T->T@4'.",
)
@count_option(
    "--max-rays",
    most=1_000_000,
    help="Keep at most N rays per dimension, the simplest ones (default: all).",
)
@count_option(
    "--max-vertices", most=1_000_000, help="Keep at most N vertices per dimension (default: all)."
)
@count_option(
    "--max-generators",
    most=10_000_000,
    default=3000,
    help="Stop the enumeration of a polyhedron at N generators; use a sample of it then.",
)
@duration_option("--time-limit", default="5s", help="Stop it after this time as well.")
@click.option("--generators", "with_generators", is_flag=True, help="Show every vertex and ray.")
@variant_options("none", "keep", for_sizes=False)
@common.parameters_option
@common.json_option
def command(
    target: str,
    region: str | None,
    carry_text: str,
    max_rays: int | None,
    max_vertices: int | None,
    max_generators: int,
    time_limit: float,
    with_generators: bool,
    variant: VariantOptions,
    parameters: dict[str, int],
    as_json: bool,
) -> console.CommandResult:
    """Construct the space and describe it."""
    written = load_scop(target, region, parameters)
    sizes = parameters if len(parameters) == len(written.parameters) else None
    program = variant.resolve(written, "original", sizes)
    scop = program.scop
    limits = SpaceLimits(max_rays, max_vertices, max_generators, _UNLIMITED_WORK, time_limit)
    start = time.perf_counter()
    with console.spinner(f"looking for the schedules of {scop.name}"):
        polyhedra, wanted, space, reason = space_within(
            lambda: _constructed(scop, limits, carry_text), time_limit
        )
    passed = time.perf_counter() - start
    if as_json:
        document = {
            **_as_json(polyhedra, space, passed, with_generators),
            **program.to_json(),
        }
        return console.CommandResult(
            1 if reason else 0, {**document, "error": reason} if reason else document
        )
    _print(polyhedra, space, wanted, passed, program)
    if with_generators:
        _print_generators(scop, polyhedra.layout, space)
    if reason:
        console.write_text("impossible: ", err=True, newline=False, fg="red", bold=True)
        console.write_text(reason, err=True)
    return console.CommandResult(1 if reason else 0)


def _constructed(
    scop: Scop, limits: SpaceLimits, carry_text: str
) -> tuple[RowPolyhedra, Selections, ScheduleSpace, str]:
    """Return the polyhedra, what carries what, the space, and why that is impossible if it is."""
    polyhedra = RowPolyhedra(scop, limits)
    wanted = selections(carry_text, polyhedra)
    return (
        polyhedra,
        wanted,
        space_from_selections(polyhedra, wanted),
        infeasible_reason(wanted, polyhedra),
    )


def _as_json(
    polyhedra: RowPolyhedra, space: ScheduleSpace, passed: float, with_generators: bool
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
                "source": dependence.source,
                "sink": dependence.sink,
                "kinds": list(dependence.kind.names()),
                "index": index,
            }
            for index, dependence in enumerate(polyhedra.dependences)
        ],
        "dimensions": [
            _dimension(dimension, labels, with_generators) for dimension in space.dimensions
        ],
        "never_carried": [labels[index] for index in sorted(polyhedra.never_carried)],
        "complete": space.is_complete,
        "choices": space.coefficient_count,
        "seconds": passed,
    }


def _dimension(
    dimension: SpaceDimension, labels: Sequence[str], with_generators: bool
) -> dict[str, Any]:
    generators = dimension.generators
    result: dict[str, Any] = {
        "carried": [labels[index] for index in sorted(dimension.carried)],
        "vertices": len(generators.vertices),
        "rays": len(generators.rays),
        "complete": generators.is_complete,
    }
    if with_generators:
        result["vertex_list"] = [
            {"numerators": list(point.numerators), "denominator": point.denominator}
            for point in generators.vertices
        ]
        result["ray_list"] = [list(ray) for ray in generators.rays]
    return result


def _coordinates(scop: Scop, layout: CoordinateLayout) -> list[str]:
    """Return a label of every coordinate of a row: ``T.j``, ``T.n``, ``T.1`` for the constant."""
    result = []
    for coordinate in layout.coordinates():
        match coordinate.kind:
            case CoordinateKind.ITERATOR:
                name = scop.statement(coordinate.statement).iterators[coordinate.index]
            case CoordinateKind.PARAMETER:
                name = layout.parameters[coordinate.index]
            case CoordinateKind.CONSTANT:
                name = "1"
        result.append(f"{coordinate.statement}.{name}")
    return result


def _print(
    polyhedra: RowPolyhedra,
    space: ScheduleSpace,
    wanted: Selections,
    passed: float,
    program: ResolvedVariant,
) -> None:
    labels = names(polyhedra.dependences)
    console.heading(f"{space.scop.name}: the rows of its schedules")
    if program.splitting != NO_SPLITTING:
        console.write_text(f"  split        {program.splitting}")
    if not program.storage.is_source:
        console.write_text(f"  storage      {program.storage}")
    console.write_text(f"  coordinates  {polyhedra.layout.width}", newline=False)
    console.write_text(
        f" ({console.shorten(' '.join(_coordinates(space.scop, polyhedra.layout)))})"
    )
    console.write_text(f"  dependences  {len(labels)}")
    console.print_table(
        ("DIMENSION", "CARRIES", "VERTICES", "RAYS", "COMPLETE"),
        [
            (
                number,
                console.shorten(
                    ", ".join(labels[index] for index in sorted(carried)), _LONGEST_CELL
                )
                or "nothing",
                len(dimension.generators.vertices),
                len(dimension.generators.rays),
                "yes" if dimension.generators.is_complete else "no, a sample",
            )
            for number, (carried, dimension) in enumerate(
                zip(wanted, space.dimensions, strict=True), start=1
            )
        ],
        "rlrrl",
    )
    console.write_text(
        f"An episode chooses {space.coefficient_count} coefficients. Found in "
        f"{console.format_seconds(passed)}."
    )
    if polyhedra.never_carried:
        kept = ", ".join(labels[index] for index in sorted(polyhedra.never_carried))
        console.write_text(
            f"No row carries {kept}: the rows of the source, added at the end, order them."
        )


def _print_generators(scop: Scop, layout: CoordinateLayout, space: ScheduleSpace) -> None:
    """Write every vertex and ray as the rows that it is for the statements it moves."""
    for number, dimension in enumerate(space.dimensions, start=1):
        console.heading(f"\nDimension {number}")
        for index, vertex in enumerate(dimension.generators.vertices, start=1):
            over = "" if vertex.is_integer else f" / {vertex.denominator}"
            console.write_text(f"  vertex {index}  {_rows(scop, layout, vertex.numerators)}{over}")
        for index, ray in enumerate(dimension.generators.rays, start=1):
            console.write_text(f"  ray {index}  {_rows(scop, layout, ray)}")


def _rows(scop: Scop, layout: CoordinateLayout, point: Vector) -> str:
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
