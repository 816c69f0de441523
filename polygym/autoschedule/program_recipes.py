"""Changes of a program before it has schedules: index-set splitting and storage plans.

A *recipe* says both, for one program or for many: cuts and a plan of storage that are given, or
``auto``, what the program gets without a search, or ``model``, what models of cost expect to be
faster under a mapping (:mod:`polygym.autoschedule.storage_choice`). Cuts come first, so that a plan
speaks of the pieces. What a recipe makes of a program is a program as any other, which remembers
its cuts and its plan; so a file that names these needs no recipe to be read again. ::

    cuts   none | auto | S0: i = k          plan   keep | auto | model | w=expand:i contract

Example, ``auto`` and ``auto``: floyd-warshall is cut at i = k and j = k and keeps its arrays; symm
is not cut, and its scalar ``temp2`` gets an element for each iteration.

By ``model`` a program that is not cut may be cut too. Where isl would take too long for what is
found, the program stays as it is.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.pickling import pickle_by_name
from polygym.poly.transform.splitting.conditions import NO_SPLITTING, Splitting, parse_splitting
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.poly.transform.storage.plan import SOURCE_STORAGE, StoragePlan, parse_storage
from polygym.programs import Program
from polygym.programs.stored_program import (
    apply_splitting_to,
    with_default_storage,
    with_storage_plan,
)
from polygym.runtime.evaluation.time_limits import splitting_within

_NO_SPLITTING = "none"


class DefaultSource(Enum):
    """What is found for each program, instead of being given."""

    AUTO = "auto"
    MODEL = "model"


SplittingChoice: TypeAlias = Splitting | DefaultSource
StoragePlanChoice: TypeAlias = StoragePlan | DefaultSource


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ProgramRecipe:
    """Where statements are cut, where values are kept, and how many bytes new arrays may take."""

    splitting: SplittingChoice = NO_SPLITTING
    storage: StoragePlanChoice = SOURCE_STORAGE
    storage_limit: int = DEFAULT_MEMORY_LIMIT

    @property
    def changes_nothing(self) -> bool:
        """Whether every program stays as it was written."""
        return self.splitting == NO_SPLITTING and self.storage == SOURCE_STORAGE

    def to_json(self) -> dict[str, Any]:
        """Return plain data, nothing where nothing is changed; :func:`recipe_from_json` reads it.

        >>> ProgramRecipe().to_json()
        {}
        >>> ProgramRecipe(storage=DefaultSource.AUTO, storage_limit=100).to_json()
        {'split': 'none', 'storage': 'auto', 'storage_limit': 100}
        """
        return {} if self.changes_nothing else self.to_entries()

    def to_entries(self) -> dict[str, Any]:
        """Return what it says, of programs that stay as they are too."""
        limit = {} if self.storage == SOURCE_STORAGE else {"storage_limit": self.storage_limit}
        return {
            "split": _text(self.splitting) or _NO_SPLITTING,
            "storage": _text(self.storage),
            **limit,
        }

    def __str__(self) -> str:
        """Return what it says on a line."""
        return ", ".join(f"{name} {value}" for name, value in self.to_entries().items())

    def splitting_of(self, scop: Scop) -> Splitting:
        """Return where the statements of a program are cut.

        Raises:
            LimitError: it would take too long to find out.
        """
        return self.splitting if isinstance(self.splitting, Splitting) else splitting_within(scop)

    def apply(self, program: Program, mapping: MachineMapping = DEFAULT_MAPPING) -> Program:
        """Return a program changed so; ``mapping`` is the one that models are asked about.

        Raises:
            InputError: what is given does not fit the program, or takes more than the limit.
        """
        if self.changes_nothing:
            return program
        try:
            cuts = self.splitting_of(program.as_written)
        except LimitError:
            cuts = NO_SPLITTING
        program = apply_splitting_to(program, cuts)
        try:
            return with_storage_choice(program, self.storage, self.storage_limit, mapping)
        except LimitError:
            if self.storage is DefaultSource.AUTO:
                return program
            raise


def with_storage_choice(
    program: Program, plan: StoragePlanChoice, storage_limit: int, mapping: MachineMapping
) -> Program:
    """Return a program under a plan that is given, or found for it.

    Raises:
        InputError: what is given does not fit the program, or takes more than the limit.
        LimitError: isl would take too long for what is to be found.
    """
    match plan:
        case StoragePlan():
            return with_storage_plan(program, plan, storage_limit)
        case DefaultSource.MODEL:
            from polygym.autoschedule.storage_choice import best_variant  # with its models

            return best_variant(program, mapping, storage_limit)
        case DefaultSource.AUTO:
            return with_default_storage(program, storage_limit)


UNCHANGED = ProgramRecipe()
"""Every program stays as it was written."""


def parse_splitting_choice(text: str) -> SplittingChoice:
    """Return the cuts of a text; ``none`` for none, ``auto`` for those that are found.

    Raises:
        InputError: a cut is not supported.
    """
    word = text.strip()
    if word == DefaultSource.AUTO.value:
        return DefaultSource.AUTO
    return NO_SPLITTING if word == _NO_SPLITTING else parse_splitting(text)


def parse_storage_choice(text: str) -> StoragePlanChoice:
    """Return the plan of a text; ``auto`` and ``model`` for those that are found.

    Raises:
        InputError: a word is not supported, or something is said beside what is found.
    """
    ways = {source.value: source for source in DefaultSource}
    words = text.split()
    for word in words:
        if word in ways and len(words) > 1:
            raise InputError(f"storage: expected {word} alone, found {text[:100]!r}")
    return ways[words[0]] if words and words[0] in ways else parse_storage(text)


def recipe_from_json(data: Mapping[str, Any]) -> ProgramRecipe:
    """Return the recipe that :meth:`ProgramRecipe.to_json` wrote among other entries.

    Raises:
        InputError: it is none.
    """
    limit = data.get("storage_limit", DEFAULT_MEMORY_LIMIT)
    if type(limit) is not int or not 0 <= limit <= sys.maxsize:
        raise InputError(f"storage_limit: expected a number of bytes, found {limit!r}")
    cuts, plan = (
        str(data.get("split", _NO_SPLITTING)),
        str(data.get("storage", str(SOURCE_STORAGE))),
    )
    return ProgramRecipe(parse_splitting_choice(cuts), parse_storage_choice(plan), limit)


def _text(of: Splitting | StoragePlan | DefaultSource) -> str:
    return of.value if isinstance(of, DefaultSource) else str(of)
