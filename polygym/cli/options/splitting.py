"""``--split``: what several commands share about where the statements of a program are cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from polygym.autoschedule.program_recipes import (
    ProgramRecipe,
    SplittingChoice,
    parse_splitting_choice,
)
from polygym.cli.options.schedules import value_in_file
from polygym.cli.output.text import shorten
from polygym.errors import InputError
from polygym.ir.scop import Scop
from polygym.poly.transform.splitting.apply import apply_splitting
from polygym.poly.transform.splitting.conditions import NO_SPLITTING, Splitting, parse_splitting
from polygym.programs import Program, load_scop
from polygym.programs.split_program import apply_splitting_to

if TYPE_CHECKING:
    from polygym.mdp.problems.loading import ProgramSource

F = TypeVar("F", bound=Callable[..., Any])

SplitOption: TypeAlias = SplittingChoice
"""What cuts a program; None in its place is for where nothing is said of it."""


def split_option(default: str) -> Callable[[F], F]:
    """Add ``--split``; the command gets what cuts a program, or None where it is not given.

    ``default`` says what it does then.
    """
    return click.option(
        "--split",
        "cutter",
        metavar="SPLIT",
        callback=_parse_split,
        help="Split statements into pieces with their own schedules: 'S0: i = k, 2*j < n; S1: "
        "i = k', auto (where isl's scheduler gains by it), or none (docs/schedules.md). "
        f"(Default: {default}.)",
    )


def _parse_split(_: click.Context, __: click.Parameter, value: str | None) -> SplitOption | None:
    if value is None:
        return None
    try:
        return parse_splitting_choice(value)
    except InputError as error:
        raise click.BadParameter(shorten(str(error), 400)) from None


def splitting_for(scop: Scop, cutter: SplitOption | None, schedule_text: str) -> Splitting:
    """Return what was asked for, else what a schedule's file says, as `run --json` writes it."""
    if cutter is not None:
        return ProgramRecipe(cutter).splitting_of(scop)
    return value_in_file(schedule_text, "splitting", parse_splitting) or NO_SPLITTING


def split_scop(scop: Scop, cutter: SplitOption | None, schedule_text: str = "original") -> Scop:
    """Return the program cut as it was asked for, or as a schedule's file says."""
    return apply_splitting(scop, splitting_for(scop, cutter, schedule_text))


def split_program(
    program: Program, cutter: SplitOption | None, schedule_text: str = "original"
) -> Program:
    """Return the program cut as it was asked for, or as a schedule's file says."""
    return apply_splitting_to(program, splitting_for(program.as_written, cutter, schedule_text))


def split_source(source: ProgramSource, cutter: SplitOption | None) -> ProgramSource:
    """Return what is needed to load a program, cut as it was asked for."""
    if cutter is None:
        return source
    scop = load_scop(source.target, source.function, dict(source.parameters))
    return replace(source, splitting=ProgramRecipe(cutter).splitting_of(scop))
