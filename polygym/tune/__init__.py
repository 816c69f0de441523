"""Tuning: which schedule, under which mapping, is the fastest for a program of given sizes.

``candidates`` says what there is to choose from, ``searches`` who chooses (a genetic algorithm, or
dice alone), ``tuner`` compiles, measures and keeps the best.
"""

from polygym.tune.candidates import Candidate
from polygym.tune.searches import SEARCHES
from polygym.tune.tuner import Progress, Tuned, tune

__all__ = ["SEARCHES", "Candidate", "Progress", "Tuned", "tune"]
