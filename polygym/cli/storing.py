"""``--storage``: what several commands share about where a program keeps its values.

A choice is a plan, or ``auto``: the plan that the program gets without a search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, TypeVar

import click

from polygym.cli.schedules import said_in
from polygym.cli.splitting import Cutter, splitting_for
from polygym.cli.text import shorten
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.splitting.cuts import Splitting
from polygym.compiler.poly.splitting.split import split
from polygym.compiler.storage.apply import applied
from polygym.compiler.storage.choose import chosen_plan
from polygym.compiler.storage.plan import KEEP, StoragePlan, parse_storage
from polygym.compiler.storage.price import USUAL_LIMIT, price
from polygym.episodes.kernels import Source
from polygym.errors import InputError
from polygym.programs import Program
from polygym.programs.stored import stored, with_chosen_storage

F = TypeVar("F", bound=Callable[..., Any])

AUTO: Final = "auto"
StorageChoice: TypeAlias = StoragePlan | Literal["auto"]


def storage_option(function: F) -> F:
    """Add ``--storage``; the command gets a choice, or None where it is not given."""
    return click.option(
        "--storage",
        metavar="TEXT",
        callback=_parse_storage,
        help="Where values are kept: keep (as the source has it), auto (expand what frees a "
        "loop), or words such as w=expand:i,j, y=expand:t%2, w=rename, contract; `polygym storage` "
        "lists what there is. (Default: keep.)",
    )(function)


def storage_options(function: F) -> F:
    """Add ``--storage`` and ``--storage-limit``, for programs with sizes."""
    function = click.option(
        "--storage-limit",
        type=click.IntRange(0, 2**62),
        default=USUAL_LIMIT,
        show_default=True,
        metavar="BYTES",
        help="Refuse a --storage whose new arrays take more.",
    )(function)
    return storage_option(function)


def _parse_storage(
    _: click.Context, __: click.Parameter, value: str | None
) -> StorageChoice | None:
    if value is None:
        return None
    if value == AUTO:
        return AUTO
    try:
        return parse_storage(value)
    except InputError as error:
        raise click.BadParameter(shorten(str(error), 400)) from None


def storage_in(schedule_text: str) -> StoragePlan:
    """Return the plan that a schedule's file names, as `run --json` and records do; else KEEP."""
    found = said_in(schedule_text, "storage")
    return KEEP if found is None else parse_storage(found)


@dataclass(frozen=True, slots=True)
class Changed:
    """A program that was cut, and whose values live where a plan has them; and how."""

    scop: Scop
    cuts: Splitting
    plan: StoragePlan

    def to_json(self) -> dict[str, str]:
        """Return what documents say of it; schedules are read again with it."""
        return {"splitting": str(self.cuts), "storage": str(self.plan)}


def changed(
    written: Scop,
    cutter: Cutter | None,
    choice: StorageChoice | None,
    schedule_text: str,
    sizes: Mapping[str, int] | None,
) -> Changed:
    """Return a program as it was asked for, or as a schedule's file says; it need have no sizes."""
    cuts = splitting_for(written, cutter, schedule_text)
    cut = split(written, cuts)
    if choice == AUTO:
        plan = chosen_plan(cut, sizes)
    else:
        plan = storage_in(schedule_text) if choice is None else choice
    return Changed(applied(cut, plan), cuts, plan)


def with_storage(
    program: Program, choice: StorageChoice | None, limit: int, schedule_text: str = "original"
) -> Program:
    """Return the program under the plan that was asked for, or that a schedule's file names."""
    if choice == AUTO:
        return with_chosen_storage(program, limit)
    return stored(program, storage_in(schedule_text) if choice is None else choice, limit)


def with_storage_of(source: Source, choice: StorageChoice | None, limit: int) -> Source:
    """Return what a search is of under the plan that was asked for; it is found now."""
    if choice is None:
        return source
    return replace(source, storage=with_storage(source.load(), choice, limit).storage)


def storage_figures(program: Program) -> dict[str, Any]:
    """Return what documents say of a program's storage."""
    return {
        "storage": str(program.storage),
        "storage_bytes": price(program.scop, dict(program.parameters)),
    }
