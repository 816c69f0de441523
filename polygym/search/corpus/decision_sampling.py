"""Sampling of a visit from nothing: candidates that episodes reach without isl's schedules.

An agent that learns from nothing edits the original order, may adopt no other schedule, and what it
does not decide about the mapping stays sequential. A model that rewards it has to know what such
episodes lead to, above all where it predicts much. So a search of them
(:mod:`polygym.search.strategies.decision_search`), judged by the cost model at hand, plays
:data:`TRIALS` episodes, and a visit measures some of their ends: the original order first, then
ends whose ranks are drawn with probabilities proportional to 1/rank, so that as many are of the
ranks 1 to 9 as of 10 to 99. Example: of the ranks 1 to 3 the first is drawn first in 6 of 11 cases.

Candidates follow from the seed and from the model, not from what was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf, log

import numpy as np

from polygym.errors import LimitError
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.episode import Episode, Task
from polygym.mdp.predicted_reward import expect_cost_model, predicted_speedup
from polygym.mdp.task_options import MappingDecisions, TaskOptions
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.strategy import ORIGINAL
from polygym.programs import Program
from polygym.search.strategies.decision_search import DecisionSearch

TRIALS = 400


@dataclass(slots=True)
class DecisionSampler:
    """The candidates of a visit, which are all known before the first is measured."""

    start: Mapping
    left: list[tuple[Schedule, Mapping]]
    speedups: dict[tuple[Schedule, Mapping], float] = field(default_factory=dict)

    @staticmethod
    def of(program: Program, threads: int, rng: np.random.Generator, count: int) -> DecisionSampler:
        """Return the candidates of a program; searching for them takes some seconds.

        Raises:
            InputError: there is no cost model.
        """
        expect_cost_model()
        start = replace(SEQUENTIAL_MAPPING, threads=threads)
        decides = MappingDecisions(start, ORIGINAL, adopts=False)
        sizes = scop_sizes(program.scop, dict(program.parameters))
        task = Task(program.scop, TaskOptions(mapping_decisions=decides), sizes)
        search = DecisionSearch(task.start(), _predicted_gain, rng)
        search.run(TRIALS, 0)
        original, *others = search.rewards
        ranked = sorted(others, key=lambda end: -search.rewards[end])
        return DecisionSampler(start, [original, *_drawn(ranked, rng)][:count])

    def ask(self, size: int) -> list[tuple[Schedule, Mapping]]:
        """Return the next few; fewer where there are no more."""
        fresh = self.left[:size]
        del self.left[:size]
        return fresh

    def tell(self, candidate: tuple[Schedule, Mapping], speedup: float) -> None:
        """Take note of what became of one."""
        self.speedups[candidate] = speedup


def _predicted_gain(episode: Episode) -> float:
    """Return the predicted logarithm of an end's speedup; the least where nobody knows."""
    mapping = episode.mapping
    assert mapping is not None
    try:
        return log(predicted_speedup(episode.task, episode.schedule(), mapping))
    except LimitError:
        return -inf


def _drawn(
    ranked: Sequence[tuple[Schedule, Mapping]], rng: np.random.Generator
) -> list[tuple[Schedule, Mapping]]:
    """Return everything in the order in which it is drawn, by 1/rank and without replacement."""
    if not ranked:
        return []
    chances = 1 / np.arange(1, len(ranked) + 1)
    order = rng.choice(len(ranked), len(ranked), replace=False, p=chances / chances.sum())
    return [ranked[place] for place in order.tolist()]
