"""Tuning: which schedule, under which mapping, is the fastest for a program of given sizes.

``candidates`` says what there is to choose from, ``searches`` who chooses (a genetic algorithm, a
policy of the gym, ``dice`` alone, or what follows a model of cost, ``by_model``, with its chains of
``annealing``, ``edits`` of schedules, ``plays`` of policies and choice by ``diversity``, on what it
has ``looked_at``; ``guide`` says which model leads, ``learning`` how it learns),
``tuner`` has them measured on a ``bench`` and keeps the best: what it has ``tuned``; ``folder``
writes it all down, so that a search that was ended goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.search.tune.candidates import Candidate
    from polygym.search.tune.searches import search_names
    from polygym.search.tune.tuned import Tuned, read_choice
    from polygym.search.tune.tuner import Plan, Progress, tune
else:
    __getattr__ = lazily(
        __name__,
        {
            "candidates": ("Candidate",),
            "searches": ("search_names",),
            "tuned": ("Tuned", "read_choice"),
            "tuner": ("Plan", "Progress", "tune"),
        },
    )

__all__ = [
    "Candidate",
    "Plan",
    "Progress",
    "Tuned",
    "read_choice",
    "search_names",
    "tune",
]
