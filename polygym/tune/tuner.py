"""The tuner: generation after generation compiled on all cores, then measured one by one.

Every candidate runs beside the original order of the program, in a process of its own, and its
outputs are compared bit for bit: one that computes something else never counts. The best few and
what there was to start from are measured together in the end, since the best of many also is the
luckiest. It can be stopped at any time, by a limit or by Ctrl-C, and then has what it has found.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygym.codegen.mapping import Mapping
from polygym.errors import InputError
from polygym.evaluation import Evaluation, EvaluationOptions, Evaluator, rounds_within
from polygym.evaluation.compilers import Compilers
from polygym.poly.strategy import Strategy
from polygym.programs import Program
from polygym.tune.candidates import Candidate, Genes, schedules_of
from polygym.tune.searches import SEARCHES

# How many are measured together in the end; the runs of the original take so long in all.
_CONFIRMED = 5
_SECONDS = 2.0
_FEWEST_ROUNDS, _MOST_ROUNDS = 2, 11
_COMPILE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a tuner is; ``best`` is a speedup over the original order, 0 before there is one."""

    generation: int
    generations: int
    tried: int
    best: float


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a tuner has found.

    ``best`` and ``start`` were measured side by side in the end; ``start`` is what there was to
    begin with. ``wrong`` counts candidates that computed something else: a defect of polygym.
    """

    best: Evaluation
    strategy: Strategy
    start: Evaluation
    tried: int
    wrong: int
    interrupted: bool

    @property
    def gain(self) -> float:
        """How many times faster than the start the best is."""
        return self.best.speedup / self.start.speedup if self.start.speedup else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "best": self.best.to_json(),
            "strategy": str(self.strategy),
            "start": self.start.to_json(),
            "gain": self.gain,
            "tried": self.tried,
            "wrong": self.wrong,
            "interrupted": self.interrupted,
        }


def tune(
    program: Program,
    start: Mapping,
    *,
    generations: int = 10,
    population: int = 100,
    search: str = "genetic",
    seed: int = 0,
    seconds: float | None = None,
    seeds: Sequence[Mapping] = (),
    show: Callable[[Progress], None] = lambda _: None,
) -> Tuned:
    """Search for the fastest schedule and mapping of a program.

    ``start`` has the threads, and is what the result is compared with; ``seeds`` are mappings that
    did well elsewhere.

    Raises:
        InputError: there is no such search, or nothing to do.
        ProblemError: the program does not run.
    """
    if search not in SEARCHES:
        raise InputError(f"search: expected one of {', '.join(SEARCHES)}, found {search!r}")
    if generations < 1 or population < 1:
        raise InputError("expected at least one generation of at least one candidate")
    schedules = schedules_of(program.scop)
    strategies = tuple(schedules)
    genes = Genes.of(program.scop, strategies, dict(program.parameters), start)
    begin = [Candidate(strategy, start) for strategy in strategies]
    begin += [Candidate(strategies[0], mapping) for mapping in seeds]
    searching = SEARCHES[search](genes, begin, np.random.default_rng(seed))
    deadline = None if seconds is None else time.monotonic() + seconds
    options = EvaluationOptions(
        threads=start.threads, compile_seconds=_COMPILE_SECONDS, mapping=start
    )
    cores = sorted(os.sched_getaffinity(0))
    found: dict[Candidate, Evaluation] = {}
    interrupted = False

    def is_over() -> bool:
        return deadline is not None and time.monotonic() > deadline

    with (
        closing(Compilers(_COMPILE_SECONDS, cores)) as compilers,
        Evaluator(program, options, compiler=compilers) as evaluator,
    ):
        try:
            for generation in range(generations):
                # All that there is to begin with is tried, however small the population is.
                least = 0 if generation else len(begin)
                batch = searching.generation(max(population, least))
                choices = [(schedules[one.strategy], one.mapping) for one in batch]
                # What there was to start from is measured whatever the limits are.
                compilers.compile_all(program, choices, is_over if generation else lambda: False)
                for candidate, choice in zip(batch, choices, strict=True):
                    if is_over() and found:
                        break
                    found[candidate] = evaluator.evaluate(*choice)
                    searching.learn(candidate, found[candidate].speedup)
                    best = max(one.speedup for one in found.values())
                    show(Progress(generation + 1, generations, len(found), best))
                if is_over():
                    break
        except KeyboardInterrupt:
            interrupted = True
            if not found:
                raise
        return _confirmed(evaluator, schedules, begin[0], found, interrupted)


def _confirmed(
    evaluator: Evaluator,
    schedules: dict[Strategy, Any],
    start: Candidate,
    found: dict[Candidate, Evaluation],
    interrupted: bool,
) -> Tuned:
    """Measure the best few and the start together."""
    ranked = sorted(found, key=lambda one: -found[one].speedup)[:_CONFIRMED]
    again = list(dict.fromkeys([*ranked, start]))
    rounds = rounds_within(_SECONDS, evaluator.baseline_seconds, _FEWEST_ROUNDS, _MOST_ROUNDS)
    measured = evaluator.evaluate_together(
        [(schedules[one.strategy], one.mapping) for one in again], rounds
    )
    together = dict(zip(again, measured, strict=True))
    best = max(together, key=lambda one: together[one].speedup)
    if not together[best].is_ok:
        raise InputError(
            f"{evaluator.program.name}: no candidate ran to a correct end; the first one: "
            f"{together[start].error_details}"
        )
    wrong = sum(one.status.value == "wrong output" for one in found.values())
    return Tuned(together[best], best.strategy, together[start], len(found), wrong, interrupted)
