"""The loop of a search: play episode k, measure its schedule, go on with k + 1.

Which schedule episode k finds follows from the seed and from k alone, whoever plays
(:mod:`polygym.search.strategies.samplers`). So a search that is interrupted after episode k and
continued with k + 1 explores what an uninterrupted one does.

Two episodes may find one schedule, and one mapping for it where that is decided too. It is measured
the first time only; ``known`` says where. So is one that becomes the loops of another schedule but
for where counters begin: that is seen when its code is made, and nothing is measured for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.mdp.episode import Episode
from polygym.poly.schedule import Schedule
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.search.strategies.samplers import EpisodeSampler, schedule_or_reason


@dataclass(frozen=True, slots=True)
class MeasuredEpisode:
    """An episode whose schedule is a new one, and what became of it."""

    index: int
    episode: Episode
    evaluation: Evaluation


@dataclass(frozen=True, slots=True)
class RepeatedEpisode:
    """An episode whose schedule, or one of the same loops, episode ``first`` has found before."""

    index: int
    episode: Episode
    schedule: Schedule
    first: int


@dataclass(frozen=True, slots=True)
class UnscheduledEpisode:
    """An episode without a schedule: it ended in an invalid state, or with too large numbers."""

    index: int
    episode: Episode
    reason: str


EpisodeEvent: TypeAlias = MeasuredEpisode | RepeatedEpisode | UnscheduledEpisode


def explore_episodes(
    sampler: EpisodeSampler,
    seed: int,
    indices: range,
    evaluate: Callable[[Schedule, MachineMapping], Evaluation],
    default: MachineMapping,
    known: Mapping[MappedSchedule | str, int] | None = None,
) -> Iterator[EpisodeEvent]:
    """Yield what every episode of ``indices`` leads to, in order.

    ``default`` is the mapping of episodes that decide about none. ``known`` has what needs no
    measuring, schedules and loops, with the episodes that found it first.
    """
    first_of = dict(known or {})
    for index in indices:
        episode = sampler(seed, index)
        schedule = schedule_or_reason(episode)
        if isinstance(schedule, str):
            yield UnscheduledEpisode(index, episode, schedule)
            continue
        choice = schedule, episode.mapping or default
        if choice in first_of:
            yield RepeatedEpisode(index, episode, schedule, first_of[choice])
            continue
        evaluation = evaluate(*choice)
        first = first_of.setdefault(evaluation.canonical_key or choice, index)
        first_of[choice] = first
        if first == index:
            yield MeasuredEpisode(index, episode, evaluation)
        else:
            yield RepeatedEpisode(index, episode, schedule, first)
