"""Predictions for kernels by a model of random programs that learned from none of them.

Trees that put pairs in order learn from a corpus's random programs, from those of them alone whose
innermost loops do what no kernel's do (:mod:`polygym.cost.features.programs.canonical_bodies`: a
product of two matrices is written at random as well), or from random programs and comprehensions,
and are asked about the kernels' candidates. A kernel counts once, whatever the number of its cases:
of each there is the mean of the rank correlations and the geometric mean of the shares of the best
(:mod:`polygym.cost.models.cross_validation`). Beside them stand who learns nothing: the formula of
total cycles, and random candidates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import fmean, median

import numpy as np

import polybench
from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.features.loops.nests import Floats
from polygym.cost.features.programs.canonical_bodies import canonical_bodies
from polygym.cost.models.boosted_trees import BoostedTreeOptions, train_boosted_trees
from polygym.cost.models.cost_model import TrainingSamples
from polygym.cost.models.cross_validation import spearman
from polygym.errors import PolygymError
from polygym.programs import load_program
from polygym.programs.generate import PREFIX
from search_study.curves import RatioInterval, interval

KERNELS = frozenset(kernel.name for kernel in polybench.KERNELS)
_CYCLES = FEATURE_NAMES.index("total_cycles")

SampleScore = Callable[[Floats], Floats]


@dataclass(frozen=True)
class RankingQuality:
    """How good someone is who is asked about kernels, in the mean of the seeds."""

    method: str
    seeds: int
    kernels: int
    cases: int
    spearman: float
    share: RatioInterval


def kernel_like_programs(names: Iterable[str]) -> frozenset[str]:
    """Return those of random programs in which some innermost loop does what a kernel's does."""
    of_kernels = frozenset().union(*(canonical_bodies(load_program(name)) for name in KERNELS))
    random = {name for name in names if name.startswith(PREFIX)}
    return frozenset(name for name in random if canonical_bodies(load_program(name)) & of_kernels)


def check_programs(names: Iterable[str]) -> None:
    """Refuse programs among which there is nothing to ask about, or nothing to learn from.

    Raises:
        PolygymError: there is no kernel, or no random program.
    """
    programs = set(names)
    for what, is_there in (
        ("kernels that are no test kernels", bool(programs & KERNELS)),
        ("random programs", any(name.startswith(PREFIX) for name in programs)),
    ):
        if not is_there:
            raise PolygymError(f"unseen: expected rows of {what} in the corpus, found none")


def ranking_qualities(
    samples: TrainingSamples,
    programs: Sequence[str],
    seeds: Sequence[int],
    alike: Collection[str] = (),
) -> list[RankingQuality]:
    """Return the rankings of models, a formula and chance; ``programs`` names each case's one.

    ``alike`` are the random programs in which there is something of a kernel.
    """
    check_programs(programs[int(case)] for case in np.unique(samples.cases))
    is_kernel = np.array([name in KERNELS for name in programs])
    is_random = np.array([name.startswith(PREFIX) for name in programs])
    asked = np.flatnonzero(is_kernel[samples.cases])
    learners = {"random programs": is_random, "random programs and comprehensions": ~is_kernel}
    is_other = is_random & np.array([name not in alike for name in programs])
    if alike and is_other.any():
        learners["random programs with nothing of a kernel"] = is_other
    result = []
    for who, chosen in learners.items():
        part = samples.select(np.flatnonzero(chosen[samples.cases]))
        made = [
            train_boosted_trees(part, replace(BoostedTreeOptions(), seed=seed)) for seed in seeds
        ]
        scores = [
            lambda rows, boosted_trees=trees: boosted_trees.scores(rows).mean(axis=0)
            for trees in made
        ]
        result.append(
            _ranking_quality(f"trees that know {who}", scores, samples.select(asked), programs)
        )
    formula = [lambda rows: -rows[:, _CYCLES]]
    result.append(
        _ranking_quality("the formula of cycles", formula, samples.select(asked), programs)
    )
    rng = [lambda rows, seed=seed: np.random.default_rng(seed).random(len(rows)) for seed in seeds]
    result.append(_ranking_quality("random", rng, samples.select(asked), programs))
    return result


def _ranking_quality(
    method: str, scores: Iterable[SampleScore], samples: TrainingSamples, programs: Sequence[str]
) -> RankingQuality:
    """Return how good scores are, kernel by kernel."""
    correlations: dict[str, list[float]] = defaultdict(list)
    shares: dict[str, list[float]] = defaultdict(list)
    count = 0
    for score in scores:
        count += 1
        for case in np.unique(samples.cases):
            own = samples.select(np.flatnonzero(samples.cases == case))
            said, name = score(own.features), programs[int(case)]
            correlations[name].append(spearman(said, -own.seconds))
            shares[name].append(log(own.seconds.min() / own.seconds[int(said.argmax())]))
    return RankingQuality(
        method,
        count,
        len(shares),
        len(np.unique(samples.cases)),
        median(map(fmean, correlations.values())),
        interval([fmean(share) for share in shares.values()]),
    )


def unseen_table(qualities: Sequence[RankingQuality]) -> str:
    """Return a table in Markdown."""
    lines = [
        "| | rank correlation | share of the best | kernels | cases |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {quality.method} | {quality.spearman:.2f} | {quality.share} | {quality.kernels} | "
        f"{quality.cases} |"
        for quality in qualities
    ]
    return "\n".join(lines)
