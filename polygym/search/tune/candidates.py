"""Candidates: a way to schedule and a mapping, as genes that can be chosen one by one.

Tile sizes come from powers of two and from the sizes of the program divided by small numbers and
rounded up: a loop of 26 iterations has tiles of 26, 13, 9 and 7 too, which leave no small rest.
"""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from polygym.compiler.codegen.mapping import Mapping, Sharing
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import schedule_by
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import ORIGINAL, Fusion, IslOptions, Strategy
from polygym.errors import PolygymError

_POWERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_DIVISORS = (1, 2, 3, 4)
_MOST_TILED = 6
_FREE = 0.3  # how often a tile size is left to the model
_ENTRIES = (
    "tile", "outer_tile", "sink", "vector_bits", "vector_copies", "unroll_jam", "separate",
    "registers", "pack",
)  # fmt: skip


STRATEGIES: tuple[Strategy, ...] = (
    *(
        IslOptions(fusion, skew, negative)
        for skew, negative in ((True, True), (False, True), (True, False), (False, False))
        for fusion in Fusion
    ),
    ORIGINAL,
)
"""Every combination of what isl can be told about fusion and shapes, and the order of the text."""


def schedules_of(scop: Scop) -> dict[Way, Schedule]:
    """Return the schedules of a program, those that isl finds; equal ones count once."""
    found: dict[Way, Schedule] = {}
    for strategy in STRATEGIES:
        try:
            schedule = schedule_by(strategy, scop)
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


Way: TypeAlias = Strategy | Played
"""How a schedule was found."""


@dataclass(frozen=True, slots=True)
class Candidate:
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
        largest = max(sizes.values(), default=1)
        tiles = {power for power in _POWERS if power <= largest}
        tiles |= {-(-size // divisor) for size in sizes.values() for divisor in _DIVISORS}
        depth = min(max(scop.depth, 1), _MOST_TILED)
        return Genes(strategies, tuple(sorted(tiles)), depth, start)

    def names(self) -> tuple[str, ...]:
        """Return the names of the genes: the strategy, and entries of the mapping."""
        shared = ("parallel", "wavefront", "diamond") if self.start.threads > 1 else ()
        return ("strategy", *_ENTRIES, *shared)

    def value(self, name: str, dice: np.random.Generator) -> Any:
        """Return a random value of a gene."""
        match name:
            case "strategy":
                return self.strategies[int(dice.integers(len(self.strategies)))]
            case "tile":
                if dice.random() < _FREE:
                    return None
                count = int(dice.integers(0, self.depth + 1))
                return tuple(int(dice.choice(self.tiles)) for _ in range(count))
            case "outer_tile":
                return () if dice.random() < 0.8 else (int(dice.choice([2, 4, 8])),)
            case "vector_bits":
                return [None, None, 256, 512, 0][int(dice.integers(5))]
            case "vector_copies":
                return [None, None, 1, 2, 3, 4][int(dice.integers(6))]
            case "unroll_jam":
                return [None, None, 1, 2, 3, 4, 6, 8][int(dice.integers(8))]
            case "parallel":
                return list(Sharing)[int(dice.integers(len(Sharing)))]
            case "separate":
                return bool(dice.random() < 0.3)
            case "sink" | "registers" | "pack" | "wavefront" | "diamond":
                return bool(dice.random() < 0.8)
            case _:
                raise AssertionError(name)

    def chosen(self, values: Dictionary[str, Any]) -> Candidate:
        """Return the candidate with these values."""
        mapped = {name: value for name, value in values.items() if name != "strategy"}
        return Candidate(values["strategy"], replace(self.start, **mapped))

    def values(self, candidate: Candidate) -> dict[str, Any]:
        """Return the values of a candidate."""
        entries = [name for name in self.names() if name != "strategy"]
        return {
            "strategy": candidate.strategy,
            **{name: getattr(candidate.mapping, name) for name in entries},
        }

    def random(self, dice: np.random.Generator) -> Candidate:
        """Return any candidate."""
        return self.chosen({name: self.value(name, dice) for name in self.names()})
