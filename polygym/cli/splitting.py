"""``--split``: what several commands share about where the statements of a program are cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from polygym.cli.schedules import parsed_in
from polygym.cli.text import shorten
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.splitting.cuts import WHOLE, Splitting, parse_splitting
from polygym.compiler.poly.splitting.split import split
from polygym.episodes.recipes import Cuts, Recipe, parse_cuts
from polygym.errors import InputError
from polygym.programs import Program, load_scop
from polygym.programs.pieces import in_pieces

if TYPE_CHECKING:
    from polygym.episodes.kernels import Source

F = TypeVar("F", bound=Callable[..., Any])

Cutter: TypeAlias = Cuts
"""What cuts a program; None in its place is for where nothing is said of it."""


def split_option(default: str) -> Callable[[F], F]:
    """Add ``--split``; the command gets what cuts a program, or None where it is not given.

    ``default`` says what it does then.
    """
    return click.option(
        "--split",
        "cutter",
        metavar="TEXT|auto|none",
        callback=_parse_split,
        help="Cut statements into pieces with schedules of their own: 'S0: i = k, 2*j < n; S1: "
        "i = k', or auto, where isl's scheduler gains by it (docs/schedules.md). (Default: "
        f"{default}.)",
    )


def _parse_split(_: click.Context, __: click.Parameter, value: str | None) -> Cutter | None:
    if value is None:
        return None
    try:
        return parse_cuts(value)
    except InputError as error:
        raise click.BadParameter(shorten(str(error), 400)) from None


def splitting_for(scop: Scop, cutter: Cutter | None, schedule_text: str) -> Splitting:
    """Return what was asked for, else what a schedule's file says, as `run --json` writes it."""
    if cutter is not None:
        return Recipe(cutter).cut(scop)
    return parsed_in(schedule_text, "splitting", parse_splitting) or WHOLE


def scop_in_pieces(scop: Scop, cutter: Cutter | None, schedule_text: str = "original") -> Scop:
    """Return the program cut as it was asked for, or as a schedule's file says."""
    return split(scop, splitting_for(scop, cutter, schedule_text))


def program_in_pieces(
    program: Program, cutter: Cutter | None, schedule_text: str = "original"
) -> Program:
    """Return the program cut as it was asked for, or as a schedule's file says."""
    return in_pieces(program, splitting_for(program.written, cutter, schedule_text))


def source_in_pieces(source: Source, cutter: Cutter | None) -> Source:
    """Return what is needed to load a program, cut as it was asked for."""
    if cutter is None:
        return source
    scop = load_scop(source.target, source.function, dict(source.parameters))
    return replace(source, splitting=Recipe(cutter).cut(scop))
