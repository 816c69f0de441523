"""What a model of random programs says about kernels: none of these, nor any like them, was seen.

Trees that put pairs in order learn from a corpus's random programs, from those of them alone whose
innermost loops do what no kernel's do (:mod:`polygym.cost.bodies`: a product of two matrices is
written by dice as well), or from random programs and comprehensions, and are asked about the
kernels' candidates. A kernel counts once, whatever the
number of its cases: of each there is the mean of the rank correlations and the geometric mean of
the shares of the best (:mod:`polygym.cost.validation`). Beside them stand who learns nothing: the
formula of total cycles, and dice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import fmean, median

import numpy as np

import polybench
from polygym.cost.bodies import bodies
from polygym.cost.candidate import NAMES
from polygym.cost.model import Samples
from polygym.cost.nests import Floats
from polygym.cost.trees import TreeOptions, train
from polygym.cost.validation import spearman
from polygym.errors import PolygymError
from polygym.programs import load_program
from polygym.programs.generate import PREFIX
from study.curves import Ratio, interval

KERNELS = frozenset(kernel.name for kernel in polybench.KERNELS)
_CYCLES = NAMES.index("total_cycles")

Score = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Answer:
    """How good someone is who is asked about kernels, in the mean of the seeds."""

    who: str
    seeds: int
    kernels: int
    cases: int
    spearman: float
    share: Ratio


def like_kernels(names: Iterable[str]) -> frozenset[str]:
    """Return those of random programs in which some innermost loop does what a kernel's does."""
    of_kernels = frozenset().union(*(bodies(load_program(name)) for name in KERNELS))
    random = {name for name in names if name.startswith(PREFIX)}
    return frozenset(name for name in random if bodies(load_program(name)) & of_kernels)


def expect_both(names: Iterable[str]) -> None:
    """Refuse programs among which there is nothing to ask about, or nothing to learn from.

    Raises:
        PolygymError: there is no kernel, or no random program.
    """
    found = set(names)
    for what, is_there in (
        ("kernels that are no test kernels", bool(found & KERNELS)),
        ("random programs", any(name.startswith(PREFIX) for name in found)),
    ):
        if not is_there:
            raise PolygymError(f"unseen: expected rows of {what} in the corpus, found none")


def answers(
    samples: Samples,
    programs: Sequence[str],
    seeds: Sequence[int],
    alike: Collection[str] = (),
) -> list[Answer]:
    """Return what models, a formula and dice say; ``programs`` names that of every case.

    ``alike`` are the random programs in which there is something of a kernel.
    """
    expect_both(programs[int(case)] for case in np.unique(samples.cases))
    is_kernel = np.array([name in KERNELS for name in programs])
    is_random = np.array([name.startswith(PREFIX) for name in programs])
    asked = np.flatnonzero(is_kernel[samples.cases])
    learners = {"random programs": is_random, "random programs and comprehensions": ~is_kernel}
    is_other = is_random & np.array([name not in alike for name in programs])
    if alike and is_other.any():
        learners["random programs with nothing of a kernel"] = is_other
    found = []
    for who, chosen in learners.items():
        part = samples.taken(np.flatnonzero(chosen[samples.cases]))
        made = [train(part, replace(TreeOptions(), seed=seed)) for seed in seeds]
        scores = [lambda rows, one=one: one.scores(rows).mean(axis=0) for one in made]
        found.append(_answer(f"trees that know {who}", scores, samples.taken(asked), programs))
    formula = [lambda rows: -rows[:, _CYCLES]]
    found.append(_answer("the formula of cycles", formula, samples.taken(asked), programs))
    dice = [lambda rows, seed=seed: np.random.default_rng(seed).random(len(rows)) for seed in seeds]
    found.append(_answer("dice", dice, samples.taken(asked), programs))
    return found


def _answer(who: str, scores: Iterable[Score], samples: Samples, programs: Sequence[str]) -> Answer:
    """Return how good scores are, kernel by kernel."""
    correlations: dict[str, list[float]] = defaultdict(list)
    shares: dict[str, list[float]] = defaultdict(list)
    count = 0
    for score in scores:
        count += 1
        for case in np.unique(samples.cases):
            own = samples.taken(np.flatnonzero(samples.cases == case))
            said, name = score(own.features), programs[int(case)]
            correlations[name].append(spearman(said, -own.seconds))
            shares[name].append(log(own.seconds.min() / own.seconds[int(said.argmax())]))
    return Answer(
        who,
        count,
        len(shares),
        len(np.unique(samples.cases)),
        median(map(fmean, correlations.values())),
        interval([fmean(one) for one in shares.values()]),
    )


def table(found: Sequence[Answer]) -> str:
    """Return a table in Markdown."""
    lines = [
        "| | rank correlation | share of the best | kernels | cases |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.who} | {one.spearman:.2f} | {one.share} | {one.kernels} | {one.cases} |"
        for one in found
    ]
    return "\n".join(lines)
