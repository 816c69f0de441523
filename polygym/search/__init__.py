"""Tuning: which schedule, under which mapping, is the fastest for a program of given sizes.

``candidates`` says what there is to choose from, ``searches`` who chooses (a genetic algorithm, a
policy of the gym, ``rng`` alone, or what follows a model of cost, ``by_model``, with its chains of
``annealing``, ``edits`` of schedules, ``plays`` of policies and choice by ``diversity``, on what it
has ``looked_at``; ``guide`` says which model leads, ``learning`` how it learns),
``tuner`` has them measured on a ``bench`` and keeps the best: what it has ``tuned``; ``folder``
writes it all down, so that a search that was ended goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.search.strategies.candidates import Candidate
    from polygym.search.strategies.registry import strategy_names
    from polygym.search.tuner import TuningPlan, TuningProgress, tune
    from polygym.search.tuning_result import TuningResult, read_choice
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "Candidate",
    "TuningPlan",
    "TuningProgress",
    "TuningResult",
    "read_choice",
    "strategy_names",
    "tune",
]
