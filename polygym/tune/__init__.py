"""Tuning: which schedule, under which mapping, is the fastest for a program of given sizes.

``candidates`` says what there is to choose from, ``searches`` who chooses (a genetic algorithm,
dice alone, or a policy of the gym), ``tuner`` compiles, measures and keeps the best: what it has
``tuned``.
"""

from polygym.tune.candidates import Candidate
from polygym.tune.searches import search_names
from polygym.tune.tuned import Tuned, read_choice
from polygym.tune.tuner import Plan, Progress, tune

__all__ = ["Candidate", "Plan", "Progress", "Tuned", "read_choice", "search_names", "tune"]
