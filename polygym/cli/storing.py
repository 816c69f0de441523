"""``--storage``: what several commands share about where a program keeps its values.

A choice is a plan, or how it is found. Where nothing is said, neither of storage nor of cuts,
searches begin with what models of cost choose, and go on with what they have begun with.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from polygym.cli.schedules import parsed_in
from polygym.cli.splitting import Cutter, source_in_pieces, splitting_for
from polygym.cli.text import shorten
from polygym.compiler.codegen.common.mapping import DEFAULT
from polygym.compiler.codegen.common.mapping import Mapping as MachineMapping
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.splitting.cuts import WHOLE, Splitting, parse_splitting
from polygym.compiler.poly.splitting.split import split
from polygym.compiler.storage.apply import applied
from polygym.compiler.storage.choose import chosen_plan
from polygym.compiler.storage.plan import KEEP, StoragePlan, parse_storage
from polygym.compiler.storage.price import USUAL_LIMIT, copies_price, price
from polygym.episodes.recipes import Found, Plan, Recipe, parse_plan, with_plan
from polygym.errors import InputError
from polygym.programs import Program
from polygym.programs.stored import stored

if TYPE_CHECKING:
    from polygym.episodes.kernels import Source

F = TypeVar("F", bound=Callable[..., Any])

StorageChoice: TypeAlias = Plan
"""A plan, or how it is found; None in its place is for where nothing is said of it."""


def storage_option(default: str, *, models: bool = False) -> Callable[[F], F]:
    """Add ``--storage``; the command gets a choice, or None where it is not given.

    ``default`` says what it does then; with ``models`` it may ask these.
    """
    model = "model (what models of cost expect to be faster, cuts too), " if models else ""
    return click.option(
        "--storage",
        metavar="TEXT",
        callback=_parse_storage,
        help="Where values are kept: keep (as the source has it), auto (expand what frees a "
        f"loop), {model}or words such as w=expand:i,j, w=private:i, y=expand:t%2, w=rename, "
        f"p=dead, contract; `polygym storage` lists what there is. (Default: {default}.)",
    )


def storage_options(default: str) -> Callable[[F], F]:
    """Add ``--storage`` and ``--storage-limit``, for programs with sizes."""
    limit = click.option(
        "--storage-limit",
        type=click.IntRange(0, 2**62),
        metavar="BYTES",
        help="Refuse a --storage whose new arrays take more. (Default: "
        f"{USUAL_LIMIT}, or what the schedule's file takes.)",
    )

    def both(function: F) -> F:
        return storage_option(default, models=True)(limit(function))

    return both


def _parse_storage(
    _: click.Context, __: click.Parameter, value: str | None
) -> StorageChoice | None:
    if value is None:
        return None
    try:
        return parse_plan(value)
    except InputError as error:
        raise click.BadParameter(shorten(str(error), 400)) from None


def storage_in(schedule_text: str) -> StoragePlan:
    """Return the plan that a schedule's file names, as `run --json` and records do; else KEEP."""
    return parsed_in(schedule_text, "storage", parse_storage) or KEEP


@dataclass(frozen=True, slots=True)
class Said:
    """What a command line says of cuts, of storage, and of how much that may take."""

    cutter: Cutter | None
    choice: StorageChoice | None
    limit: int | None


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
    match choice:
        case Found.AUTO:
            plan = chosen_plan(cut, sizes)
        case Found.MODEL:
            raise InputError(
                "--storage model: expected a command that runs a program, whose storage a model "
                "chooses for sizes and a mapping; `polygym run --json` says what it takes"
            )
        case StoragePlan():
            plan = choice
        case None:
            plan = storage_in(schedule_text)
    return Changed(applied(cut, plan), cuts, plan)


def with_storage(
    program: Program,
    choice: StorageChoice | None,
    limit: int | None,
    schedule_text: str = "original",
    mapping: MachineMapping = DEFAULT,
) -> Program:
    """Return the program under the plan that was asked for, or that a schedule's file names.

    ``mapping`` is the one that models are asked about.

    A plan that is asked for is limited, by the usual limit where none is said; whoever wrote the
    file has looked at the price of its plan.
    """
    if choice is None:
        return stored(program, storage_in(schedule_text), sys.maxsize if limit is None else limit)
    return with_plan(program, choice, USUAL_LIMIT if limit is None else limit, mapping)


def begun_source(
    source: Source,
    said: Said,
    mapping: MachineMapping,
    before: Source | None,
    unsaid: StorageChoice = Found.MODEL,
) -> Source:
    """Return what a search is of: cut, and under a plan; what is to be found is found now.

    Where nothing is said it is that of ``before``, what the search in a folder was of that goes on,
    or else ``unsaid``.
    """
    cutter, choice, limit = said.cutter, said.choice, said.limit
    if cutter is None and choice is None:
        if before is not None:
            most = sys.maxsize if limit is None else limit
            stored(replace(before, storage=KEEP).load(), before.storage, most)
            return before
        choice = unsaid
    source = source_in_pieces(source, cutter)
    if choice is None:
        return source
    program = with_storage(source.load(), choice, limit, mapping=mapping)
    return replace(source, splitting=program.splitting, storage=program.storage)


def first_line(journal: Path) -> dict[str, Any]:
    """Return the first line of a journal, nothing where it cannot be read."""
    try:
        with journal.open(encoding="utf-8") as file:
            found = json.loads(file.readline())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def source_before(source: Source, journal: Path | None, name: str) -> Source | None:
    """Return a search's source cut and stored as its journal says under a name of its first line.

    None where there is no journal; what is wrong with it is said where it is read.
    """
    if journal is None:
        return None
    try:
        found = first_line(journal)[name]
        cuts, plan = found.get("splitting", ""), found.get("storage", str(KEEP))
        return replace(source, splitting=parse_splitting(cuts), storage=parse_storage(plan))
    except (KeyError, TypeError, AttributeError, InputError):
        return None


def recipe_of(cutter: Cutter | None, choice: StorageChoice | None, limit: int | None) -> Recipe:
    """Return how many programs are changed, as the options of a command say."""
    return Recipe(
        WHOLE if cutter is None else cutter,
        KEEP if choice is None else choice,
        USUAL_LIMIT if limit is None else limit,
    )


def storage_figures(program: Program) -> dict[str, Any]:
    """Return what documents say of a program's storage."""
    cut, sizes = split(program.written, program.splitting), dict(program.parameters)
    return {
        "storage": str(program.storage),
        "storage_bytes": price(program.scop, sizes) + copies_price(cut, program.storage, sizes),
    }
