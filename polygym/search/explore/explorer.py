"""The loop of a search: play episode k, measure its schedule, go on with k + 1.

Which schedule episode k finds follows from the seed and from k alone, whoever plays
(:mod:`polygym.search.explore.players`). So a search that is interrupted after episode k and
continued with k + 1 explores what an uninterrupted one does.

Two episodes may find one schedule. It is measured the first time only; ``known`` says where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from polygym.compiler.poly.schedule import Schedule
from polygym.episodes.episode import Episode
from polygym.measure.evaluation import Evaluation
from polygym.search.explore.players import Player, schedule_of


@dataclass(frozen=True, slots=True)
class Measured:
    """An episode whose schedule is a new one, and what became of it."""

    index: int
    episode: Episode
    evaluation: Evaluation


@dataclass(frozen=True, slots=True)
class Repeated:
    """An episode whose schedule episode ``first`` has found before."""

    index: int
    episode: Episode
    schedule: Schedule
    first: int


@dataclass(frozen=True, slots=True)
class Unscheduled:
    """An episode without a schedule: it ended in an invalid state, or with too large numbers."""

    index: int
    episode: Episode
    reason: str


Explored: TypeAlias = Measured | Repeated | Unscheduled


def explore(
    play: Player,
    seed: int,
    indices: range,
    evaluate: Callable[[Schedule], Evaluation],
    known: Mapping[Schedule, int] | None = None,
) -> Iterator[Explored]:
    """Yield what every episode of ``indices`` leads to, in order.

    ``known`` has the schedules that need no measuring, with the episodes that found them first.
    """
    first_of = dict(known or {})
    for index in indices:
        episode = play(seed, index)
        found = schedule_of(episode)
        if isinstance(found, str):
            yield Unscheduled(index, episode, found)
        elif found in first_of:
            yield Repeated(index, episode, found, first_of[found])
        else:
            first_of[found] = index
            yield Measured(index, episode, evaluate(found))
