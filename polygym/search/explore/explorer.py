"""The loop of a search: play episode k, measure its schedule, go on with k + 1.

Which schedule episode k finds follows from the seed and from k alone, whoever plays
(:mod:`polygym.search.explore.players`). So a search that is interrupted after episode k and
continued with k + 1 explores what an uninterrupted one does.

Two episodes may find one schedule, and one mapping for it where that is decided too. It is measured
the first time only; ``known`` says where. So is one that becomes the loops of another schedule but
for where counters begin: that is seen when its code is made, and nothing is measured for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from polygym.compiler.codegen.common.mapping import Mapping as MachineMapping
from polygym.compiler.poly.schedule import Schedule
from polygym.episodes.episode import Episode
from polygym.measure.evaluation import Evaluation
from polygym.measure.evaluation.evaluator import Choice
from polygym.search.explore.players import Player, schedule_of


@dataclass(frozen=True, slots=True)
class Measured:
    """An episode whose schedule is a new one, and what became of it."""

    index: int
    episode: Episode
    evaluation: Evaluation


@dataclass(frozen=True, slots=True)
class Repeated:
    """An episode whose schedule, or one of the same loops, episode ``first`` has found before."""

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
    evaluate: Callable[[Schedule, MachineMapping], Evaluation],
    usual: MachineMapping,
    known: Mapping[Choice | str, int] | None = None,
) -> Iterator[Explored]:
    """Yield what every episode of ``indices`` leads to, in order.

    ``usual`` is the mapping of episodes that decide about none. ``known`` has what needs no
    measuring, schedules and loops, with the episodes that found it first.
    """
    first_of = dict(known or {})
    for index in indices:
        episode = play(seed, index)
        found = schedule_of(episode)
        if isinstance(found, str):
            yield Unscheduled(index, episode, found)
            continue
        choice = found, episode.mapping or usual
        if choice in first_of:
            yield Repeated(index, episode, found, first_of[choice])
            continue
        evaluation = evaluate(*choice)
        first = first_of.setdefault(evaluation.loops or choice, index)
        first_of[choice] = first
        if first == index:
            yield Measured(index, episode, evaluation)
        else:
            yield Repeated(index, episode, found, first)
