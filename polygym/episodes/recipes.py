"""How a program is changed before there are any schedules of it: statements cut, values moved.

A *recipe* says both, for one program or for many: cuts and a plan of storage that are given, or
``auto``, what the program gets without a search, or ``model``, what models of cost expect to be
faster under a mapping (:mod:`polygym.episodes.homes`). Cuts come first, so that a plan speaks of
the pieces. What a recipe makes of a program is a program as any other, which remembers its cuts and
its plan; so a file that names these needs no recipe to be read again. ::

    cuts   none | auto | S0: i = k          plan   keep | auto | model | w=expand:i contract

Example, ``auto`` and ``auto``: floyd-warshall is cut at i = k and j = k and keeps its arrays; symm
is not cut, and its scalar ``temp2`` gets an element for each iteration.

By ``model`` a program that is not cut may be cut too. Where isl would take too long for what is
found, the program stays as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from polygym.compiler.codegen.common.mapping import DEFAULT
from polygym.compiler.codegen.common.mapping import Mapping as MachineMapping
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.splitting.cuts import WHOLE, Splitting, parse_splitting
from polygym.compiler.storage.plan import KEEP, StoragePlan, parse_storage
from polygym.compiler.storage.price import USUAL_LIMIT
from polygym.errors import InputError, LimitError
from polygym.measure.evaluation.patience import splitting_within
from polygym.pickles import pickled_by_name
from polygym.programs import Program
from polygym.programs.pieces import in_pieces
from polygym.programs.stored import stored, with_chosen_storage

_NO_CUTS = "none"


class Found(Enum):
    """What is found for each program, instead of being given."""

    AUTO = "auto"
    MODEL = "model"


Cuts: TypeAlias = Splitting | Found
Plan: TypeAlias = StoragePlan | Found


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Recipe:
    """Where statements are cut, where values are kept, and how many bytes new arrays may take."""

    cuts: Cuts = WHOLE
    plan: Plan = KEEP
    limit: int = USUAL_LIMIT

    @property
    def changes_nothing(self) -> bool:
        """Whether every program stays as it was written."""
        return self.cuts == WHOLE and self.plan == KEEP

    def to_json(self) -> dict[str, Any]:
        """Return plain data, nothing where nothing is changed; :func:`recipe_from_json` reads it.

        >>> Recipe().to_json(), Recipe(plan=Found.AUTO, limit=100).to_json()
        ({}, {'split': 'none', 'storage': 'auto', 'storage_limit': 100})
        """
        return {} if self.changes_nothing else self.words()

    def words(self) -> dict[str, Any]:
        """Return what it says, of programs that stay as they are too."""
        limit = {} if self.plan == KEEP else {"storage_limit": self.limit}
        return {"split": _text(self.cuts) or _NO_CUTS, "storage": _text(self.plan), **limit}

    def __str__(self) -> str:
        """Return what it says on a line."""
        return ", ".join(f"{name} {value}" for name, value in self.words().items())

    def cut(self, scop: Scop) -> Splitting:
        """Return where the statements of a program are cut.

        Raises:
            LimitError: it would take too long to find out.
        """
        return self.cuts if isinstance(self.cuts, Splitting) else splitting_within(scop)

    def of(self, program: Program, mapping: MachineMapping = DEFAULT) -> Program:
        """Return a program changed so; ``mapping`` is the one that models are asked about.

        Raises:
            InputError: what is given does not fit the program, or takes more than the limit.
        """
        if self.changes_nothing:
            return program
        try:
            cuts = self.cut(program.written)
        except LimitError:
            cuts = WHOLE
        program = in_pieces(program, cuts)
        try:
            return with_plan(program, self.plan, self.limit, mapping)
        except LimitError:
            if self.plan is Found.AUTO:
                return program
            raise


def with_plan(program: Program, plan: Plan, limit: int, mapping: MachineMapping) -> Program:
    """Return a program under a plan that is given, or found for it.

    Raises:
        InputError: what is given does not fit the program, or takes more than the limit.
        LimitError: isl would take too long for what is to be found.
    """
    match plan:
        case StoragePlan():
            return stored(program, plan, limit)
        case Found.MODEL:
            from polygym.episodes.homes import home_of  # with its models

            return home_of(program, mapping, limit)
        case Found.AUTO:
            return with_chosen_storage(program, limit)


AS_WRITTEN = Recipe()
"""Every program stays as it was written."""


def parse_cuts(text: str) -> Cuts:
    """Return the cuts of a text; ``none`` for none, ``auto`` for those that are found.

    Raises:
        InputError: a cut is not understood.
    """
    word = text.strip()
    if word == Found.AUTO.value:
        return Found.AUTO
    return WHOLE if word == _NO_CUTS else parse_splitting(text)


def parse_plan(text: str) -> Plan:
    """Return the plan of a text; ``auto`` and ``model`` for those that are found.

    Raises:
        InputError: a word is not understood, or something is said beside what is found.
    """
    ways = {one.value: one for one in Found}
    words = text.split()
    for word in words:
        if word in ways and len(words) > 1:
            raise InputError(f"storage: expected {word} alone, found {text[:100]!r}")
    return ways[words[0]] if words and words[0] in ways else parse_storage(text)


def recipe_from_json(data: Mapping[str, Any]) -> Recipe:
    """Return the recipe that :meth:`Recipe.to_json` wrote among other entries.

    Raises:
        InputError: it is none.
    """
    limit = data.get("storage_limit", USUAL_LIMIT)
    if type(limit) is not int or not 0 <= limit <= sys.maxsize:
        raise InputError(f"storage_limit: expected a number of bytes, found {limit!r}")
    cuts, plan = str(data.get("split", _NO_CUTS)), str(data.get("storage", str(KEEP)))
    return Recipe(parse_cuts(cuts), parse_plan(plan), limit)


def _text(of: Splitting | StoragePlan | Found) -> str:
    return of.value if isinstance(of, Found) else str(of)
