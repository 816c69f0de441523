"""``polygym kernels``: the kernels of the suite."""

from __future__ import annotations

from typing import Any

import click

import polybench
from polygym.cli.answer import Answer
from polygym.cli.options import json_option
from polygym.cli.output import progress
from polygym.cli.tables import print_table
from polygym.errors import InputError
from polygym.poly.dependences import dependences
from polygym.programs import load_scop


@click.command("kernels")
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@json_option
def command(patterns: tuple[str, ...], as_json: bool) -> Answer:
    """List the kernels with their category and what polygym finds in them.

    PATTERN is a name, a glob ('*mm') or a category ('stencils', 'blas'); without one all 30 are
    listed. DEPTH is that of the deepest statement, DEPENDENCES counts convex pieces.
    """
    try:
        chosen = polybench.select(patterns or ("all",))
    except KeyError as error:
        raise InputError(str(error.args[0])) from None
    rows: list[dict[str, Any]] = []
    with progress([kernel.name for kernel in chosen], "reading") as names:
        for name in names:
            kernel, scop = polybench.kernel(name), load_scop(name)
            rows.append(
                {
                    "name": kernel.name,
                    "category": kernel.category,
                    "statements": len(scop.statements),
                    "depth": scop.depth,
                    "dependences": len(dependences(scop)),
                    "description": kernel.description,
                }
            )
    if as_json:
        return Answer(document=rows)
    keys = ("name", "category", "statements", "depth", "dependences", "description")
    print_table(
        [key.upper() for key in keys],
        [[row[key] for key in keys] for row in rows],
        "llrrr",
        optional=("DESCRIPTION", "CATEGORY"),
    )
    return Answer()
