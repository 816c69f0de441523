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

from polygym.autoschedule.program_recipes import (
    DefaultSource,
    ProgramRecipe,
    StoragePlanChoice,
    parse_storage_choice,
    with_storage_choice,
)
from polygym.cli.options.schedules import value_in_file
from polygym.cli.options.splitting import SplitOption, split_source, splitting_for
from polygym.cli.options.values import bytes_option
from polygym.cli.output.text import shorten
from polygym.errors import InputError
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.poly.transform.splitting.apply import apply_splitting
from polygym.poly.transform.splitting.conditions import NO_SPLITTING, Splitting, parse_splitting
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.default_plan import default_plan
from polygym.poly.transform.storage.memory_cost import (
    DEFAULT_MEMORY_LIMIT,
    new_array_bytes,
    private_copy_bytes,
)
from polygym.poly.transform.storage.plan import SOURCE_STORAGE, StoragePlan, parse_storage
from polygym.programs import Program
from polygym.programs.stored_program import with_storage_plan

if TYPE_CHECKING:
    from polygym.mdp.problems.loading import ProgramSource

F = TypeVar("F", bound=Callable[..., Any])

StorageOption: TypeAlias = StoragePlanChoice
"""A plan, or how it is found; None in its place is for where nothing is said of it."""


def storage_option(default: str, *, models: bool = False) -> Callable[[F], F]:
    """Add ``--storage``; the command gets a choice, or None where it is not given.

    ``default`` says what it does then; with ``models`` it may ask these.
    """
    model = "model (what models of cost expect to be faster, cuts too), " if models else ""
    return click.option(
        "--storage",
        metavar="STORAGE",
        callback=_parse_storage,
        help="Where values are kept: keep (as the source has it), auto (expand what frees a "
        f"loop), {model}or words such as w=expand:i,j, w=private:i, y=expand:t%2, w=rename, "
        f"p=dead, contract; `polygym storage` lists what there is. (Default: {default}.)",
    )


def storage_options(default: str) -> Callable[[F], F]:
    """Add ``--storage`` and ``--storage-limit``, for programs with sizes."""
    limit = bytes_option(
        "--storage-limit",
        help="Refuse a --storage whose new arrays take more. (Default: "
        f"{DEFAULT_MEMORY_LIMIT >> 20}MiB, or the size of the plan in the schedule's file.)",
    )

    def both(function: F) -> F:
        return storage_option(default, models=True)(limit(function))

    return both


def _parse_storage(
    _: click.Context, __: click.Parameter, value: str | None
) -> StorageOption | None:
    if value is None:
        return None
    try:
        return parse_storage_choice(value)
    except InputError as error:
        raise click.BadParameter(shorten(str(error), 400)) from None


def storage_in_file(schedule_text: str) -> StoragePlan:
    """Return the plan that a schedule's file names, as `run --json` and records do; else KEEP."""
    return value_in_file(schedule_text, "storage", parse_storage) or SOURCE_STORAGE


@dataclass(frozen=True, slots=True)
class VariantOptions:
    """What a command line says of cuts, of storage, and of how much that may take."""

    split: SplitOption | None
    storage: StorageOption | None
    storage_limit: int | None


@dataclass(frozen=True, slots=True)
class ResolvedVariant:
    """A program that was cut, and whose values live where a plan has them; and how."""

    scop: Scop
    splitting: Splitting
    storage: StoragePlan

    def to_json(self) -> dict[str, str]:
        """Return what documents say of it; schedules are read again with it."""
        return {"splitting": str(self.splitting), "storage": str(self.storage)}


def resolve_variant(
    written: Scop,
    cutter: SplitOption | None,
    choice: StorageOption | None,
    schedule_text: str,
    sizes: Mapping[str, int] | None,
) -> ResolvedVariant:
    """Return a program as it was asked for, or as a schedule's file says; it need have no sizes."""
    cuts = splitting_for(written, cutter, schedule_text)
    cut = apply_splitting(written, cuts)
    match choice:
        case DefaultSource.AUTO:
            plan = default_plan(cut, sizes)
        case DefaultSource.MODEL:
            raise InputError(
                "--storage model: expected a command that runs a program, whose storage a model "
                "chooses for sizes and a mapping; `polygym run --json` says what it takes"
            )
        case StoragePlan():
            plan = choice
        case None:
            plan = storage_in_file(schedule_text)
    return ResolvedVariant(apply_plan(cut, plan), cuts, plan)


def apply_storage(
    program: Program,
    choice: StorageOption | None,
    limit: int | None,
    schedule_text: str = "original",
    mapping: MachineMapping = DEFAULT_MAPPING,
) -> Program:
    """Return the program under the plan that was asked for, or that a schedule's file names.

    ``mapping`` is the one that models are asked about.

    A plan that is asked for is limited, by the usual limit where none is said; a caller that wrote
    the file has looked at the price of its plan.
    """
    if choice is None:
        return with_storage_plan(
            program, storage_in_file(schedule_text), sys.maxsize if limit is None else limit
        )
    return with_storage_choice(
        program, choice, DEFAULT_MEMORY_LIMIT if limit is None else limit, mapping
    )


def initial_source(
    source: ProgramSource,
    options: VariantOptions,
    mapping: MachineMapping,
    previous: ProgramSource | None,
    default: StorageOption = DefaultSource.MODEL,
) -> ProgramSource:
    """Return what a search is of: cut, and under a plan; what is to be found is found now.

    Where nothing is said it is that of ``previous``, what the search in a folder was of that goes
    on, or else ``default``.
    """
    cutter, choice, limit = options.split, options.storage, options.storage_limit
    if cutter is None and choice is None:
        if previous is not None:
            most = sys.maxsize if limit is None else limit
            with_storage_plan(
                replace(previous, storage=SOURCE_STORAGE).load(), previous.storage, most
            )
            return previous
        choice = default
    source = split_source(source, cutter)
    if choice is None:
        return source
    program = apply_storage(source.load(), choice, limit, mapping=mapping)
    return replace(source, splitting=program.splitting, storage=program.storage)


def journal_header(journal: Path) -> dict[str, Any]:
    """Return the first line of a journal, nothing where it cannot be read."""
    try:
        with journal.open(encoding="utf-8") as file:
            result = json.loads(file.readline())
    except (OSError, ValueError):
        return {}
    return result if isinstance(result, dict) else {}


def source_in_journal(
    source: ProgramSource, journal: Path | None, name: str
) -> ProgramSource | None:
    """Return a search's source cut and stored as its journal says under a name of its first line.

    None where there is no journal; what is wrong with it is said where it is read.
    """
    if journal is None:
        return None
    try:
        found = journal_header(journal)[name]
        cuts, plan = found.get("splitting", ""), found.get("storage", str(SOURCE_STORAGE))
        return replace(source, splitting=parse_splitting(cuts), storage=parse_storage(plan))
    except (KeyError, TypeError, AttributeError, InputError):
        return None


def recipe_of(
    cutter: SplitOption | None, choice: StorageOption | None, limit: int | None
) -> ProgramRecipe:
    """Return how many programs are changed, as the options of a command say."""
    return ProgramRecipe(
        NO_SPLITTING if cutter is None else cutter,
        SOURCE_STORAGE if choice is None else choice,
        DEFAULT_MEMORY_LIMIT if limit is None else limit,
    )


def storage_figures(program: Program) -> dict[str, Any]:
    """Return what documents say of a program's storage."""
    cut, sizes = apply_splitting(program.as_written, program.splitting), dict(program.parameters)
    return {
        "storage": str(program.storage),
        "storage_bytes": new_array_bytes(program.scop, sizes)
        + private_copy_bytes(cut, program.storage, sizes),
    }
