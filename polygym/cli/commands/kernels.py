"""``polygym kernels``: the kernels of the suite, and the comprehensions of the library."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

import polybench
from polybench.selection import ALL
from polygym.cli.options.common import json_option
from polygym.cli.output.console import CommandResult, print_table, progress
from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition, library, lower_definition, required_constants
from polygym.ir.scop import Scop
from polygym.poly.dependences import dependences
from polygym.programs import load_scop
from polygym.programs.comprehensions import PREFIX
from polygym.programs.selection import COMPREHENSIONS, category_of, select_programs

# A scalar that has to be known, such as a stride, is this here.
_SCALAR = 2


@click.command("kernels")
@click.argument("patterns", nargs=-1, metavar="[PROGRAM]...")
@json_option
def command(patterns: tuple[str, ...], as_json: bool) -> CommandResult:
    """List the kernels, and the comprehensions of the library, with what polygym finds in them.

    PATTERN is a name, a glob ('*mm', 'tc:conv*') or a category ('stencils', 'blas',
    'comprehensions'), or '!' and one of these, which excludes what it names (in single quotes:
    shells take ! for themselves); without one all are listed, the 30 kernels first. DEPTH is that
    of the deepest statement, DEPENDENCES counts convex pieces.
    """
    chosen = _chosen(patterns or ("all",))
    rows: list[dict[str, Any]] = []
    with progress([listed_kernel.name for listed_kernel in chosen], "reading") as names:
        for kernel, _ in zip(chosen, names, strict=True):
            scop = kernel.scop()
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
        return CommandResult(document=rows)
    keys = ("name", "category", "statements", "depth", "dependences", "description")
    print_table(
        [key.upper() for key in keys],
        [[row[key] for key in keys] for row in rows],
        "llrrr",
        optional=("DESCRIPTION", "CATEGORY"),
    )
    return CommandResult()


@dataclass(frozen=True, slots=True)
class _ListedKernel:
    """A kernel, or a comprehension; the ``definition`` is None for a kernel."""

    name: str
    category: str
    description: str
    definition: TcDefinition | None = None

    def scop(self) -> Scop:
        """Return the program."""
        if self.definition is None:
            return load_scop(self.name)
        known = dict.fromkeys(required_constants(self.definition), _SCALAR)
        return lower_definition(self.definition, known)


def _chosen(patterns: Sequence[str]) -> list[_ListedKernel]:
    """Return what the patterns name, kernels first; here ``all`` means comprehensions too."""
    result = select_programs(patterns, default_patterns=(ALL, COMPREHENSIONS))
    kernels = [kernel for kernel in polybench.KERNELS if kernel.name in result]
    names = {polybench_kernel.name for polybench_kernel in kernels}
    if files := [name for name in result if name not in names and not name.startswith(PREFIX)]:
        raise InputError(
            "kernels: expected names of kernels and comprehensions, which come with polygym, found "
            f"the file {files[0]!r}; `polygym show` says what is in it"
        )
    return [
        *(_ListedKernel(kernel.name, kernel.category, kernel.description) for kernel in kernels),
        *(_comprehension(name) for name in result if name.startswith(PREFIX)),
    ]


def _comprehension(name: str) -> _ListedKernel:
    definition = library.definition(name.removeprefix(PREFIX))
    parameters = ", ".join(parameter.name for parameter in definition.parameters)
    outputs = ", ".join(output.name for output in definition.outputs)
    return _ListedKernel(name, category_of(name), f"({parameters}) -> ({outputs})", definition)
