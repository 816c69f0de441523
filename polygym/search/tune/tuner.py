"""The tuner: generation after generation, some candidates compiled on all cores, then measured.

Every candidate runs beside the original order of the program, in a process of its own, and its
outputs are compared bit for bit: one that computes something else never counts. The best few and
what there was to start from are measured together in the end, since the best of many also is the
luckiest. It can be stopped at any time, by a limit or by Ctrl-C, and then has what it has found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, fields, replace
from math import inf
from typing import Any

from polygym.compiler.codegen.common.machine import Machine
from polygym.compiler.codegen.common.mapping import SEQUENTIAL, Mapping
from polygym.compiler.codegen.common.sizes import own_sizes
from polygym.compiler.poly.baselines import prepare
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import AUTO, ORIGINAL, Strategy
from polygym.episodes.automatic import strategy_within
from polygym.episodes.policies import Policy
from polygym.errors import InputError, PolygymError
from polygym.measure.evaluation import (
    Evaluation,
    EvaluationOptions,
    rounds_within,
)
from polygym.measure.evaluation.defects import Defects
from polygym.measure.evaluation.evaluator import Choice
from polygym.pickles import pickled_by_name
from polygym.programs import Program
from polygym.search.tune.bench import Bench, Opener, open_here
from polygym.search.tune.candidates import (
    Candidate,
    Edited,
    Genes,
    Played,
    Way,
    named,
    schedules_of,
)
from polygym.search.tune.dice import Random
from polygym.search.tune.guide import USUAL, Guide
from polygym.search.tune.searches import BY_MODEL, check_search, make_search
from polygym.search.tune.tuned import Tuned

# How many are measured together in the end; the runs of the original take so long in all.
_CONFIRMED = 5
_SECONDS = 2.0
_FEWEST_ROUNDS, _MOST_ROUNDS = 2, 51

# Where time is limited, at most this part of it is kept for that.
_MOST_RESERVED = 0.25
_COMPILE_SECONDS = 10.0

# Where little time is given, isl's schedules may be sought so long all the same.
_LEAST_SECONDS = 5.0


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Progress:
    """How far a tuner is; ``best`` is a speedup over the original order, 0 before there is one.

    ``candidate`` is the last one, with what became of it.
    """

    generation: int
    generations: int
    tried: int
    best: float
    candidate: Candidate
    evaluation: Evaluation

    @property
    def is_best(self) -> bool:
        """Whether the last one is the best so far."""
        return self.evaluation.speedup == self.best > 0


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Plan:
    """How a tuner goes about it.

    ``search`` is a name of :func:`search_names`, such as ``genetic`` or ``model``, or a policy.
    ``seconds`` limits it: no candidate is begun behind, but one is tried in any case, the usual
    one. ``jobs`` says how many are compiled at a time, None that each core has one. ``guide`` is
    for searches that follow a model.
    """

    generations: int = 10
    population: int = 100
    search: str | Policy = "genetic"
    seed: int = 0
    seconds: float | None = None
    jobs: int | None = None
    guide: Guide = USUAL

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data; what leads a model is said where one does."""
        found = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "guide"}
        return found | (self.guide.to_json() if self.search in BY_MODEL else {})

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check_search(self.search)
        for name in ("generations", "population", "jobs"):
            found = getattr(self, name)
            if (name != "jobs" or found is not None) and (type(found) is not int or found < 1):
                raise InputError(f"{name}: expected a number from 1 on, found {found!r}")
        if type(self.seed) is not int or self.seed < 0:
            raise InputError(f"seed: expected a number from 0 on, found {self.seed!r}")
        if self.seconds is not None and not self.seconds >= 0:
            raise InputError(f"seconds: expected a number from 0 on, found {self.seconds!r}")


def tune(
    program: Program,
    start: Mapping,
    plan: Plan = Plan(),
    *,
    strategy: Strategy = AUTO,
    seeds: Sequence[Candidate] = (),
    recorded: Sequence[Evaluation] = (),
    show: Callable[[Progress], None] = lambda _: None,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    opener: Opener = open_here,
) -> Tuned:
    """Search for the fastest schedule and mapping of a program.

    ``start`` has the threads; under it ``strategy`` is what the result is compared with, or, where
    there is no such schedule, the first that there is. ``seeds`` did well elsewhere. ``show`` is
    called after every candidate. A KeyboardInterrupt ends the search with what has been found;
    ``waiting`` surrounds the parts in which one may be raised. ``opener`` says where candidates are
    measured.

    ``recorded`` are the first candidates of an earlier search with the same seeds and the same plan
    but for generations, seconds and jobs: what is known of them counts as if it had been measured
    now, without being shown. So the search goes on where that one ended.

    Raises:
        InputError: nothing runs to a correct end, or what is recorded is of another search.
        ProblemError: the program does not run.
    """
    started = time.monotonic()
    with suppress(PolygymError):  # then no strategy has a schedule but the text's
        prepare(program.scop)
    with waiting():
        known = schedules_of(program.scop, _seconds_for_schedules(plan))
    machine = plan.guide.machine
    begin = _adopted([Candidate(strategy, start)], program, known, start, machine)
    ways = tuple(known)
    begin += [Candidate(way, start) for way in ways if Candidate(way, start) not in begin]
    # What has been measured to compare with may be hard to beat: it is a candidate too.
    as_is = _adopted([Candidate(ORIGINAL, SEQUENTIAL)], program, known, start, machine)
    begin += [one for one in as_is if one not in begin]
    begin += _adopted(seeds, program, known, start, machine)
    sizes = dict(program.parameters)
    genes = Genes.of(program.scop, ways, sizes, start)
    search = make_search(
        plan.search, program.scop, genes, begin, plan.seed, known, sizes, plan.guide
    )
    options = EvaluationOptions(
        threads=start.threads, compile_seconds=_COMPILE_SECONDS, mapping=start
    )
    with opener(program, options, plan.jobs) as bench:
        before = {(one.schedule, one.mapping): one for one in recorded}
        course = _Course(plan, program, bench, known, len(begin), before, started, waiting, show)
        # What is recorded is chosen again, however long that takes.
        search.is_over = lambda: not course.recorded and course.is_over
        interrupted = course.run(search)
        return course.confirmed(begin[0], interrupted)


def _seconds_for_schedules(plan: Plan) -> float:
    """Return how long schedules may be sought: not longer than all, but the usual one is needed."""
    return inf if plan.seconds is None else max(plan.seconds, _LEAST_SECONDS)


def _adopted(
    seeds: Sequence[Candidate],
    program: Program,
    known: dict[Way, Schedule],
    start: Mapping,
    machine: Machine | None,
) -> list[Candidate]:
    """Return what did well elsewhere as candidates here; a schedule that does not exist is none."""
    found, scop = [], program.scop
    sizes = own_sizes(scop, dict(program.parameters))
    for seed in seeds:
        if isinstance(seed.strategy, Played | Edited):
            continue
        try:
            schedule = strategy_within(seed.strategy, scop, sizes, start, machine=machine)
        except PolygymError:
            continue
        mapping = replace(seed.mapping, threads=start.threads, reassociate=start.reassociate)
        found.append(Candidate(named(known, seed.strategy, schedule), mapping))
    return found


@dataclass(slots=True)
class _Course:
    """A search at work."""

    plan: Plan
    program: Program
    bench: Bench
    known: dict[Way, Schedule]
    begin: int
    recorded: dict[Choice, Evaluation]
    started: float
    waiting: Callable[[], AbstractContextManager[None]]
    show: Callable[[Progress], None]
    found: dict[Candidate, Evaluation] = field(default_factory=dict)
    best: Evaluation | None = None

    @property
    def left(self) -> float:
        """The seconds that are left, below 0 if the time is up."""
        limit = inf if self.plan.seconds is None else self.plan.seconds
        return limit - (time.monotonic() - self.started)

    @property
    def is_over(self) -> bool:
        """Whether the time is up but for what measuring the best together takes."""
        limit = self.plan.seconds
        if limit is None or self.left <= 0:
            return self.left <= 0
        return self.left <= min(_MOST_RESERVED * limit, self._together_seconds())

    def _together_seconds(self) -> float:
        """Return about how long it takes to measure the best together, at the least."""
        if self.best is None:
            return 0.0
        fastest = sorted(one.seconds for one in self.found.values() if one.is_ok)[:_CONFIRMED]
        return _FEWEST_ROUNDS * (sum(fastest) + self.best.baseline_seconds)

    def run(self, search: Random) -> bool:
        """Go from generation to generation; return whether it was interrupted."""
        try:
            for generation in range(self.plan.generations):
                # All that there is to begin with is tried, however small the population is.
                count = max(self.plan.population, 0 if generation else self.begin)
                if not self._try(search, count, generation):
                    break
            if self.recorded:
                raise InputError(
                    f"generations: expected more than {self.plan.generations}, found "
                    f"{len(self.recorded)} candidates of the search that is to be continued behind"
                )
        except KeyboardInterrupt:
            if not self.found:
                raise
            return True
        return False

    def _try(self, search: Random, count: int, generation: int) -> bool:
        """Try a generation, a few at a time; return whether it makes sense to go on.

        The first candidate is tried whatever the limits are.
        """
        ready = self._chosen(search, count) if search.is_by_generation else []
        left = len(ready) if search.is_by_generation else count
        tried = 0
        while left > 0:
            first = generation == tried == 0
            if self.found and not self.recorded and self.is_over:
                return False
            size = min(left, self.begin if first else search.at_a_time)
            part = ready[tried : tried + size] or self._chosen(search, size)
            choices = [(self.known[one.strategy], one.mapping) for one in part]
            fresh = [one for one in choices if one not in self.recorded]
            if fresh and not (self.found and self.is_over):
                self._compile(fresh)
            for candidate, choice in zip(part, choices, strict=True):
                if self.found and choice not in self.recorded and self.is_over:
                    return False
                self._measure(search, candidate, choice, generation)
            if not part:
                break
            left, tried = left - size, tried + len(part)
        return tried > 0

    def _chosen(self, search: Random, count: int) -> list[Candidate]:
        """Have a search choose, which takes a model some seconds."""
        with self.waiting():
            return search.generation(count)

    def _compile(self, choices: Sequence[Choice]) -> None:
        """Generate code as long as there is time, that of the first candidate in any case."""

        def is_over() -> bool:
            return self.is_over and (bool(self.found) or self.bench.is_ready(choices[0]))

        with self.waiting():
            self.bench.prepare(choices, self._best_so_far(), is_over)

    def _measure(
        self, search: Random, candidate: Candidate, choice: Choice, generation: int
    ) -> None:
        """Measure one whose code is ready, or take what is known of it."""
        known = self.recorded.pop(choice, None)
        evaluation = self._measured(choice) if known is None else known
        self.found[candidate] = evaluation
        if evaluation.is_ok and (self.best is None or self._is_better(evaluation)):
            self.best = evaluation
        search.learn(candidate, evaluation.speedup)
        if known is None:
            self._report(generation, candidate, evaluation)

    def _measured(self, choice: Choice) -> Evaluation:
        """Measure one; by now all that is recorded has been chosen again."""
        if self.recorded:
            raise InputError(
                f"expected candidate {len(self.found)} of the search that is to be continued to be "
                "chosen again, found another one: it was begun with another version of polygym, "
                "or a model led it on another machine, perhaps"
            )
        with self.waiting():
            if not self.found:  # what everything else is compared with
                return self.bench.first(choice)
            return self.bench.measure(choice, self._best_so_far())

    def _best_so_far(self) -> float:
        return inf if self.best is None else self.best.seconds

    def _is_better(self, evaluation: Evaluation) -> bool:
        assert self.best is not None
        return evaluation.speedup > self.best.speedup

    def _report(self, generation: int, candidate: Candidate, evaluation: Evaluation) -> None:
        best = 0.0 if self.best is None else self.best.speedup
        done, tried = generation + 1, len(self.found)
        self.show(Progress(done, self.plan.generations, tried, best, candidate, evaluation))

    def _rounds(self) -> int:
        """Return how often the best are measured together, less often if time is short."""
        seconds = self.bench.baseline_seconds
        rounds = rounds_within(_SECONDS, seconds, _FEWEST_ROUNDS, _MOST_ROUNDS)
        one = self._together_seconds() / _FEWEST_ROUNDS
        possible = rounds if self.left == inf or not one else int(self.left / one)
        return max(_FEWEST_ROUNDS, min(rounds, possible))

    def confirmed(self, start: Candidate, interrupted: bool) -> Tuned:
        """Measure the best few and the start together, if there is time for that.

        The start stays the best where nothing is faster by more than noise.
        """
        ranked = sorted(self.found, key=lambda one: -self.found[one].speedup)[:_CONFIRMED]
        again = list(dict.fromkeys([*ranked, start]))
        together = {one: self.found[one] for one in again if one in self.found}
        choices = [(self.known[one.strategy], one.mapping) for one in again]
        try:
            if self.left > 0:
                with self.waiting():
                    measured = self.bench.together(choices, self._rounds())
                    together = dict(zip(again, measured, strict=True))
        except KeyboardInterrupt:  # impatient: then each has its own measurement
            interrupted = True
        best = max(together, key=lambda one: together[one].speedup)
        program = self.program
        first = together.get(start, together[best])
        if not together[best].is_ok:
            raise InputError(
                f"{program.name}: no candidate ran to a correct end; the first one: "
                f"{first.error_details}"
            )
        found = Tuned(
            program.name,
            program.parameters,
            together[best],
            best.strategy,
            first,
            len(self.found),
            Defects.among((*self.found.values(), *together.values())),
            interrupted,
        )
        if first.is_ok and not found.is_faster:
            return replace(found, best=first, strategy=start.strategy)
        return found
