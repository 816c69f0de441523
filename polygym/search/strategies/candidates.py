"""Candidates: a way to schedule and a mapping, as genes that can be chosen one by one.

What there is to choose from for a mapping is in :mod:`polygym.search.strategies.neighborhood`.

A :class:`Strategy` proposes them behind ask and tell, and is told what became of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Protocol, TypeAlias

import numpy as np

from polygym.cached_hash import CachedHash, cache_hash
from polygym.errors import PolygymError
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping
from polygym.mdp.episode import Episode
from polygym.pickling import pickle_by_name
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.strategy import (
    ORIGINAL,
    FixedStrategy,
    Fusion,
    IslOptions,
    ScheduleStrategy,
)
from polygym.runtime.evaluation.time_limits import SchedulerBudget
from polygym.search.strategies.neighborhood import sample_value, searchable_options, tile_sizes

_MAX_TILED_LOOPS = 6


ISL_STRATEGIES: tuple[FixedStrategy, ...] = (
    *(
        IslOptions(fusion, skew, negative)
        for skew, negative in ((True, True), (False, True), (True, False), (False, False))
        for fusion in Fusion
    ),
    ORIGINAL,
)
"""Every combination of what isl can be told about fusion and shapes, and the order of the text."""


def schedules_of(
    scop: Scop, seconds: float = inf, sources: Sequence[FixedStrategy] = ISL_STRATEGIES
) -> dict[ScheduleSource, Schedule]:
    """Return the schedules of a program, those that isl finds; equal ones count once.

    All of them together may take so many seconds, what is usual at the most; the rest is left out.
    """
    schedules: dict[ScheduleSource, Schedule] = {}
    patience = SchedulerBudget(seconds)
    for strategy in sources:
        try:
            schedule = patience.schedule(strategy, scop)
        except PolygymError:
            continue
        known_source(schedules, strategy, schedule)
    return schedules


def known_source(
    known: dict[ScheduleSource, Schedule], source: ScheduleSource, schedule: Schedule
) -> ScheduleSource:
    """Return the way by which a schedule is known, which is the given one if it is new."""
    for other, its_schedule in known.items():
        if its_schedule == schedule:
            return other
    known[source] = schedule
    return source


@dataclass(frozen=True, slots=True)
class EpisodeSchedule:
    """A schedule that an episode of the gym has led to: whose choices they were, and its number."""

    policy: str
    index: int

    def __str__(self) -> str:
        """Return both."""
        return f"{self.policy}#{self.index}"


@dataclass(frozen=True, slots=True)
class EditedSchedule:
    """A schedule that is a change of one that did well, by its number in the search."""

    index: int

    def __str__(self) -> str:
        """Return what it is called."""
        return f"edited#{self.index}"


ScheduleSource: TypeAlias = ScheduleStrategy | EpisodeSchedule | EditedSchedule
"""How a schedule was found."""


@cache_hash
@pickle_by_name
@dataclass(frozen=True, slots=True)
class Candidate(CachedHash):
    """One choice."""

    source: ScheduleSource
    mapping: Mapping


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """What there is to choose from for one program; ``default`` has what is not chosen."""

    sources: tuple[ScheduleSource, ...]
    tiles: tuple[int, ...]
    depth: int
    default: Mapping

    @staticmethod
    def for_program(
        scop: Scop,
        strategies: tuple[ScheduleSource, ...],
        sizes: Dictionary[str, int],
        start: Mapping,
    ) -> SearchSpace:
        """Return the genes of a program of certain sizes."""
        depth = min(max(scop.depth, 1), _MAX_TILED_LOOPS)
        return SearchSpace(strategies, tile_sizes(sizes.values()), depth, start)

    def names(self) -> tuple[str, ...]:
        """Return the names of the genes: the strategy, and entries of the mapping."""
        return ("strategy", *searchable_options(self.default.threads))

    def sample_value(self, name: str, rng: np.random.Generator) -> Any:
        """Return a random value of a gene."""
        if name == "strategy":
            return self.sources[int(rng.integers(len(self.sources)))]
        return sample_value(name, self.tiles, self.depth, rng)

    def chosen(self, values: Dictionary[str, Any]) -> Candidate:
        """Return the candidate with these values."""
        mapped = {name: value for name, value in values.items() if name != "strategy"}
        return Candidate(values["strategy"], replace(self.default, **mapped))

    def values(self, candidate: Candidate) -> dict[str, Any]:
        """Return the values of a candidate."""
        mapped = {name: getattr(candidate.mapping, name) for name in self.names()[1:]}
        return {"strategy": candidate.source, **mapped}

    def sample(self, rng: np.random.Generator) -> Candidate:
        """Return any candidate."""
        return self.chosen({name: self.sample_value(name, rng) for name in self.names()})


@dataclass(frozen=True, slots=True)
class Unscheduled:
    """An episode without a schedule: it ended in an invalid state, or with too large numbers."""

    source: EpisodeSchedule
    reason: str


Proposal: TypeAlias = Candidate | Unscheduled


class Strategy(Protocol):
    """Chooses what is measured next.

    The first proposals are the initial candidates. With ``is_indexed`` a proposal follows from the
    seed and its number alone, so a search that is resumed skips those that are recorded; the
    others are asked again and are told the recorded outcomes. With ``cuts_off`` a run that takes
    several times as long as the best is cut off. ``is_over`` is set by the search; a strategy that
    takes long to choose asks it from time to time.
    """

    is_indexed: bool
    cuts_off: bool
    is_over: Callable[[], bool]

    @property
    def batch_size(self) -> int:
        """The number of proposals to ask for; their code is generated on all cores together."""

    def ask(self, count: int) -> Sequence[Proposal]:
        """Return the next proposals; none where there is nothing more to propose."""

    def tell(self, candidate: Candidate, speedup: float) -> None:
        """Take note of a speedup over the original order, 0 where the candidate failed."""

    def episode_of(self, proposal: Proposal) -> Episode | None:
        """Return the episode of a proposal of the last batch; None where none led to it."""

    def skip(self, count: int) -> None:
        """Go on behind so many proposals, the initial ones excluded, of an indexed strategy."""
