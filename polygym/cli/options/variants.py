"""``--split`` and ``--storage``: where the statements of a program are split and values are kept.

A choice is a splitting or a plan, or how it is found. Where nothing is said, neither of storage nor
of splitting, searches begin with what models of cost choose, and go on with what they have begun
with.

``--storage``: what several commands share about where a program keeps its values.

A choice is a plan, or how it is found. Where nothing is said, neither of storage nor of cuts,
searches begin with what models of cost choose, and go on with what they have begun with.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from polygym.autoschedule import program_recipes
from polygym.cli.options.schedules import value_in_file
from polygym.cli.options.values import F, bytes_option, combined, parsed_by
from polygym.errors import InputError
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.poly.transform.splitting.apply import apply_splitting
from polygym.poly.transform.splitting.conditions import NO_SPLITTING, Splitting, parse_splitting
from polygym.poly.transform.storage import memory_cost
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.default_plan import default_plan
from polygym.poly.transform.storage.plan import SOURCE_STORAGE, StoragePlan, parse_storage
from polygym.programs import Program, load_scop
from polygym.programs.stored_program import apply_splitting_to, with_storage_plan

if TYPE_CHECKING:
    from polygym.mdp.problems.loading import ProgramSource


def variant_options(
    split: str, storage: str, *, for_sizes: bool = True, storage_first: bool = False
) -> Callable[[F], F]:
    """Add ``--split`` and ``--storage``; the command gets them as ``variant``.

    ``split`` and ``storage`` describe their defaults. Programs that have sizes (``for_sizes``) may
    ask models, and have ``--storage-limit``.
    """
    splitting = click.option(
        "--split",
        metavar="SPLIT",
        callback=parsed_by(program_recipes.parse_splitting_choice, 400),
        help="Split statements into pieces with their own schedules: 'S0: i = k, 2*j < n; S1: "
        "i = k', auto (where isl's scheduler gains by it), or none "
        "(docs/explanation/schedules.md). "
        f"(Default: {split}.)",
    )
    model = (
        "model (what cost models predict to be faster, splitting included), " if for_sizes else ""
    )
    options = [
        click.option(
            "--storage",
            metavar="STORAGE",
            callback=parsed_by(program_recipes.parse_storage_choice, 400),
            help="Where values are kept: keep (as the source has it), auto (expand what frees a "
            f"loop), {model}or options such as w=expand:i,j, w=private:i, y=expand:t%2, w=rename, "
            "w=copy, p=dead, overlap:32, contract; `polygym storage` lists what there is. "
            f"(Default: {storage}.)",
        )
    ]
    if for_sizes:
        limit = memory_cost.DEFAULT_MEMORY_LIMIT >> 20
        options.append(
            bytes_option(
                "--storage-limit",
                help="Refuse a --storage whose new arrays take more. (Default: "
                f"{limit}MiB, or the size of the plan in the schedule's file.)",
            )
        )

    def add(function: F) -> F:
        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            given = (named.pop(name, None) for name in ("split", "storage", "storage_limit"))
            return function(*arguments, variant=VariantOptions(*given), **named)

        ordered = [*options, splitting] if storage_first else [splitting, *options]
        return cast("F", combined(*ordered)(call))

    return add


@dataclass(frozen=True, slots=True)
class ResolvedVariant:
    """A program that was split, and whose values live where a plan has them; and how."""

    scop: Scop
    splitting: Splitting
    storage: StoragePlan

    def to_json(self) -> dict[str, str]:
        """Return what documents say of it; schedules are read again with it."""
        return {"splitting": str(self.splitting), "storage": str(self.storage)}


@dataclass(frozen=True, slots=True)
class VariantOptions:
    """What a command line says of splitting, of storage, and of how much that may take.

    None stands for where nothing is said. Then a schedule's file may say it, as `run --json` and
    records do.
    """

    split: program_recipes.SplittingChoice | None
    storage: program_recipes.StoragePlanChoice | None
    storage_limit: int | None = None

    @property
    def is_given(self) -> bool:
        """Whether anything is said."""
        return self.split is not None or self.storage is not None

    @property
    def memory_limit(self) -> int:
        """The bytes that new arrays may take."""
        limit = self.storage_limit
        return memory_cost.DEFAULT_MEMORY_LIMIT if limit is None else limit

    @property
    def recipe(self) -> program_recipes.ProgramRecipe:
        """How many programs are changed."""
        return program_recipes.ProgramRecipe(
            NO_SPLITTING if self.split is None else self.split,
            SOURCE_STORAGE if self.storage is None else self.storage,
            self.memory_limit,
        )

    def resolve(
        self, written: Scop, schedule_text: str, sizes: Mapping[str, int] | None
    ) -> ResolvedVariant:
        """Return a program as it was asked for; it need have no sizes."""
        splitting = self._splitting(written, schedule_text)
        scop = apply_splitting(written, splitting)
        match self.storage:
            case program_recipes.DefaultSource.AUTO:
                plan = default_plan(scop, sizes)
            case program_recipes.DefaultSource.MODEL:
                raise InputError(
                    "--storage model: expected a command that runs a program, whose storage a "
                    "model chooses for sizes and a mapping; `polygym run --json` says what it takes"
                )
            case StoragePlan() as plan:
                pass
            case None:
                plan = _storage_in_file(schedule_text)
        return ResolvedVariant(apply_plan(scop, plan), splitting, plan)

    def apply(
        self,
        program: Program,
        schedule_text: str = "original",
        mapping: MachineMapping = DEFAULT_MAPPING,
    ) -> Program:
        """Return a program as it was asked for; models are asked about ``mapping``.

        A plan that is asked for is limited, by the usual limit where none is said; a caller that
        wrote the file has looked at the price of its plan.
        """
        program = apply_splitting_to(program, self._splitting(program.as_written, schedule_text))
        if self.storage is None:
            most = sys.maxsize if self.storage_limit is None else self.storage_limit
            return with_storage_plan(program, _storage_in_file(schedule_text), most)
        return program_recipes.with_storage_choice(
            program, self.storage, self.memory_limit, mapping
        )

    def initial_source(
        self,
        source: ProgramSource,
        mapping: MachineMapping,
        previous: ProgramSource | None,
        default: program_recipes.StoragePlanChoice,
    ) -> ProgramSource:
        """Return what a search is of: split, and under a plan; what is to be found is found now.

        Where nothing is said it is that of ``previous``, what the search in a folder was of that
        goes on, or else ``default``.
        """
        if previous is not None and not self.is_given:
            most = sys.maxsize if self.storage_limit is None else self.storage_limit
            loaded = replace(previous, storage=SOURCE_STORAGE).load()
            with_storage_plan(loaded, previous.storage, most)
            return previous
        storage = self.storage if self.is_given else default
        if self.split is not None:
            scop = load_scop(source.target, source.function, dict(source.parameters))
            splitting = program_recipes.ProgramRecipe(self.split).splitting_of(scop)
            source = replace(source, splitting=splitting)
        if storage is None:
            return source
        program = program_recipes.with_storage_choice(
            source.load(), storage, self.memory_limit, mapping
        )
        return replace(source, splitting=program.splitting, storage=program.storage)

    def _splitting(self, scop: Scop, schedule_text: str) -> Splitting:
        """Return what was asked for, else what a schedule's file says."""
        if self.split is not None:
            return program_recipes.ProgramRecipe(self.split).splitting_of(scop)
        return value_in_file(schedule_text, "splitting", parse_splitting) or NO_SPLITTING


def _storage_in_file(schedule_text: str) -> StoragePlan:
    return value_in_file(schedule_text, "storage", parse_storage) or SOURCE_STORAGE


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
    """Return a search's source split and stored as its journal says under a name of its first line.

    None where there is no journal; what is wrong with it is said where it is read.
    """
    if journal is None:
        return None
    try:
        entry = journal_header(journal)[name]
        splitting, plan = entry.get("splitting", ""), entry.get("storage", str(SOURCE_STORAGE))
        return replace(source, splitting=parse_splitting(splitting), storage=parse_storage(plan))
    except (KeyError, TypeError, AttributeError, InputError):
        return None


def storage_figures(program: Program) -> dict[str, Any]:
    """Return what documents say of a program's storage."""
    scop, sizes = apply_splitting(program.as_written, program.splitting), dict(program.parameters)
    return {
        "storage": str(program.storage),
        "storage_bytes": memory_cost.new_array_bytes(program.scop, sizes)
        + memory_cost.private_copy_bytes(scop, program.storage, sizes),
    }
