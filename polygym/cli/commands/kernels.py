"""``polygym kernels``: the kernels of the suite, and the comprehensions of the library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

import polybench
from polygym.cli.answer import Answer
from polygym.cli.options import json_option
from polygym.cli.output import progress
from polygym.cli.tables import print_table
from polygym.compiler.frontend.tc import Definition, library, lower, needed_values
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.dependences import dependences
from polygym.errors import InputError
from polygym.programs import load_scop
from polygym.programs.comprehensions import PREFIX

_CATEGORY = "comprehensions"

# A scalar that has to be known, such as a stride, is this here.
_SCALAR = 2


@click.command("kernels")
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@json_option
def command(patterns: tuple[str, ...], as_json: bool) -> Answer:
    """List the kernels, and the comprehensions of the library, with what polygym finds in them.

    PATTERN is a name, a glob ('*mm', 'tc:conv*') or a category ('stencils', 'blas',
    'comprehensions'); without one all are listed, the 30 kernels first. DEPTH is that of the
    deepest statement, DEPENDENCES counts convex pieces.
    """
    chosen = _chosen(patterns or ("all",))
    rows: list[dict[str, Any]] = []
    with progress([one.name for one in chosen], "reading") as names:
        for one, _ in zip(chosen, names, strict=True):
            scop = one.scop()
            rows.append(
                {
                    "name": one.name,
                    "category": one.category,
                    "statements": len(scop.statements),
                    "depth": scop.depth,
                    "dependences": len(dependences(scop)),
                    "description": one.description,
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


@dataclass(frozen=True, slots=True)
class _Entry:
    """A kernel, or a comprehension; the ``definition`` is None for a kernel."""

    name: str
    category: str
    description: str
    definition: Definition | None = None

    def scop(self) -> Scop:
        """Return the program."""
        if self.definition is None:
            return load_scop(self.name)
        known = dict.fromkeys(needed_values(self.definition), _SCALAR)
        return lower(self.definition, known)


def _chosen(patterns: Sequence[str]) -> list[_Entry]:
    """Return what any of the patterns names, each once, kernels first."""
    ours = [one for one in _comprehensions() if any(_matches(one, each) for each in patterns)]
    others = [each for each in patterns if not any(_matches(one, each) for one in ours)]
    if "all" in patterns:
        others.append("all")
    for each in others:
        if each.startswith(PREFIX):
            library.definition(each.removeprefix(PREFIX))  # refuses it, and says what there is
    if not others:
        return ours
    try:
        kernels = polybench.select(others)
    except KeyError as error:
        raise InputError(str(error.args[0])) from None
    return [*(_Entry(one.name, one.category, one.description) for one in kernels), *ours]


def _comprehensions() -> Iterator[_Entry]:
    for name, one in library.definitions().items():
        category = f"{_CATEGORY}/{Path(one.place.file).stem}"
        parameters = ", ".join(parameter.name for parameter in one.parameters)
        outputs = ", ".join(output.name for output in one.outputs)
        yield _Entry(f"{PREFIX}{name}", category, f"({parameters}) -> ({outputs})", one)


def _matches(one: _Entry, pattern: str) -> bool:
    """Whether a pattern names a comprehension: all of them, ``tc:`` and a glob, or a category."""
    group = one.category.rpartition("/")[2]
    if pattern.startswith(PREFIX):
        return fnmatchcase(one.name, pattern)
    return pattern in ("all", _CATEGORY, one.category, group)
