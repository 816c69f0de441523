"""Candidates: a way to schedule and a mapping, as genes that can be chosen one by one.

What there is to choose from for a mapping is in :mod:`polygym.search.explore.neighbourhood`.
"""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, TypeAlias

import numpy as np

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import ORIGINAL, Fusion, IslOptions, Settled, Strategy
from polygym.errors import PolygymError
from polygym.kept_hash import Hashed, keeps_hash
from polygym.measure.evaluation.patience import Patience
from polygym.pickles import pickled_by_name
from polygym.search.explore.neighbourhood import entries, rolled, tile_sizes

_MOST_TILED = 6


STRATEGIES: tuple[Settled, ...] = (
    *(
        IslOptions(fusion, skew, negative)
        for skew, negative in ((True, True), (False, True), (True, False), (False, False))
        for fusion in Fusion
    ),
    ORIGINAL,
)
"""Every combination of what isl can be told about fusion and shapes, and the order of the text."""


def schedules_of(
    scop: Scop, seconds: float = inf, strategies: Sequence[Settled] = STRATEGIES
) -> dict[Way, Schedule]:
    """Return the schedules of a program, those that isl finds; equal ones count once.

    All of them together may take so many seconds, what is usual at the most; the rest is left out.
    """
    found: dict[Way, Schedule] = {}
    patience = Patience(seconds)
    for strategy in strategies:
        try:
            schedule = patience.schedule(strategy, scop)
        except PolygymError:
            continue
        named(found, strategy, schedule)
    return found


def named(known: dict[Way, Schedule], way: Way, schedule: Schedule) -> Way:
    """Return the way by which a schedule is known, which is the given one if it is new."""
    for other, found in known.items():
        if found == schedule:
            return other
    known[way] = schedule
    return way


@dataclass(frozen=True, slots=True)
class Played:
    """A schedule that an episode of the gym has led to: whose choices they were, and its number."""

    policy: str
    index: int

    def __str__(self) -> str:
        """Return both."""
        return f"{self.policy}#{self.index}"


@dataclass(frozen=True, slots=True)
class Edited:
    """A schedule that is a change of one that did well, by its number in the search."""

    index: int

    def __str__(self) -> str:
        """Return what it is called."""
        return f"edited#{self.index}"


Way: TypeAlias = Strategy | Played | Edited
"""How a schedule was found."""


@keeps_hash
@pickled_by_name
@dataclass(frozen=True, slots=True)
class Candidate(Hashed):
    """One choice."""

    strategy: Way
    mapping: Mapping


@dataclass(frozen=True, slots=True)
class Genes:
    """What there is to choose from for one program; ``start`` has what is not chosen."""

    strategies: tuple[Way, ...]
    tiles: tuple[int, ...]
    depth: int
    start: Mapping

    @staticmethod
    def of(
        scop: Scop, strategies: tuple[Way, ...], sizes: Dictionary[str, int], start: Mapping
    ) -> Genes:
        """Return the genes of a program of certain sizes."""
        depth = min(max(scop.depth, 1), _MOST_TILED)
        return Genes(strategies, tile_sizes(sizes.values()), depth, start)

    def names(self) -> tuple[str, ...]:
        """Return the names of the genes: the strategy, and entries of the mapping."""
        return ("strategy", *entries(self.start.threads))

    def value(self, name: str, dice: np.random.Generator) -> Any:
        """Return a random value of a gene."""
        if name == "strategy":
            return self.strategies[int(dice.integers(len(self.strategies)))]
        return rolled(name, self.tiles, self.depth, dice)

    def chosen(self, values: Dictionary[str, Any]) -> Candidate:
        """Return the candidate with these values."""
        mapped = {name: value for name, value in values.items() if name != "strategy"}
        return Candidate(values["strategy"], replace(self.start, **mapped))

    def values(self, candidate: Candidate) -> dict[str, Any]:
        """Return the values of a candidate."""
        mapped = entries(self.start.threads)
        return {
            "strategy": candidate.strategy,
            **{name: getattr(candidate.mapping, name) for name in mapped},
        }

    def random(self, dice: np.random.Generator) -> Candidate:
        """Return any candidate."""
        return self.chosen({name: self.value(name, dice) for name in self.names()})
