"""Collecting: visit after visit, a few candidates compiled on all cores, then measured alone.

A visit is of a program at sizes (:mod:`polygym.search.corpus.plan`) and measures some tens of
candidates (:mod:`polygym.search.corpus.candidates`). Every row is written down at once. Whatever
ends a collection, the next one with the same seed goes on in the middle of the visit: choices
follow from the seed and from the outcomes before, so they are made again without measuring, and
visits that are finished are left out.

A machine that becomes slower meanwhile would teach nonsense. A program that is always the same is
measured at the beginning and every few minutes, so that drift is seen; every row has the time of
the original order beside its own; and each visit notes what other processes did.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from polybench import Dataset
from polygym.compiler.codegen.common.machine import this_machine
from polygym.compiler.codegen.common.mapping import DEFAULT, Mapping
from polygym.episodes.recipes import AS_WRITTEN, Recipe
from polygym.errors import InputError, InternalError, PolygymError
from polygym.measure.evaluation import Evaluation, EvaluationOptions, Evaluator, trusted
from polygym.measure.evaluation.compilers import Compilers
from polygym.measure.evaluation.fingerprint import fingerprint
from polygym.measure.worker.foreign_load import LoadWatch
from polygym.measure.worker.outcome import Status, WorkerError
from polygym.pickles import pickled_by_name
from polygym.programs import Program, load_program
from polygym.search.corpus.candidates import Candidates
from polygym.search.corpus.plan import USUAL, Choice, Chosen, chosen, chosen_home
from polygym.search.corpus.rows import Row, Visit
from polygym.search.corpus.store import Corpus

COMPILE_SECONDS = 5.0
_TIMEOUT_FACTOR = 20.0
_AT_A_TIME = 8
_MOST_BARREN = 20  # visits one after the other without a new row
_CLOCK_SECONDS = 300.0
_CLOCK = ("gemm", Dataset.SMALL)


@pickled_by_name
@dataclass(frozen=True, slots=True)
class CollectPlan:
    """How much is collected, and of what.

    ``rows`` counts those of all collections in the corpus together; ``each`` is how many candidates
    a visit has, which stays ``near`` or does not. ``seconds`` limits this one. ``recipe`` says how
    programs are changed before. With ``homes``, a number of bytes, each is measured in all of its
    homes instead whose new arrays take no more.
    """

    choice: Choice = USUAL
    rows: int = 1000
    each: int = 48
    threads: int = 1
    seed: int = 0
    seconds: float | None = None
    near: bool = False
    recipe: Recipe = AS_WRITTEN
    homes: int | None = None

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for name, least in (("rows", 1), ("each", 2), ("threads", 1), ("seed", 0)):
            found = getattr(self, name)
            if type(found) is not int or found < least:
                raise InputError(f"{name}: expected a number from {least} on, found {found!r}")
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"seconds: expected a number above 0, found {self.seconds!r}")
        if self.homes is not None and not self.recipe.changes_nothing:
            raise InputError(f"homes: expected nothing beside them, found {self.recipe}")

    @property
    def dice(self) -> int:
        """The seed of the visits: its own for every recipe and every choice of regions.

        So no visit is of two of them.
        """
        function = self.choice.function
        if self.recipe.changes_nothing and self.homes is None and function is None:
            return self.seed
        how = str(self.recipe) if self.homes is None else f"homes {self.homes}"
        text = f"{self.seed} {how}" + ("" if function is None else f"\n{function}")
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])

    def visited(self, number: int, start: Mapping) -> Chosen:
        """Return what a visit is of.

        Raises:
            InputError: there is nothing that can be measured.
        """
        if self.homes is not None:
            return chosen_home(self.choice, self.dice, number, self.homes, start)
        return chosen(self.choice, self.dice, number, self.recipe, start)


@dataclass(frozen=True, slots=True)
class Collected:
    """How far a collection is: the last row, and how many there are."""

    visit: Visit
    row: Row
    rows: int
    best: float


@dataclass(slots=True)
class Collection:
    """A collection at work, and what became of it: counts of statuses, and what was left out.

    ``rows`` are in the corpus, whoever put them there, ``added`` those that this collection did.
    """

    corpus: Corpus
    plan: CollectPlan
    show: Callable[[Collected], None] = lambda _: None
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    statuses: dict[Status, int] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    visits: int = 0
    rows: int = 0
    added: int = 0
    interrupted: bool = False
    _started: float = field(default_factory=time.monotonic)
    _clock: float = -inf

    def run(self) -> None:
        """Collect until there are enough rows, the time is up, or Ctrl-C.

        Raises:
            InputError: there is nothing, or nothing more, to be measured; or the corpus is damaged.
        """
        self.corpus.expect_whole()
        machine = fingerprint()
        self.corpus.add_machine(machine, this_machine())
        self.rows = self.corpus.count()
        cores = sorted(os.sched_getaffinity(0))
        try:
            with closing(Compilers(COMPILE_SECONDS, cores)) as compilers:
                done = self.corpus.finished(machine.key, self.plan.threads, self.plan.dice)
                number = barren = 0
                while not self.is_over:
                    if number in done:
                        barren = 0
                    else:
                        self._tick(compilers, machine.key)
                        before = self.measured
                        self.visit(number, machine.key, compilers)
                        barren = barren + 1 if self.measured == before else 0
                        self.expect_rows(barren)
                    number += 1
        except KeyboardInterrupt:
            self.interrupted = True

    def keep(self, place: int, row: Row) -> None:
        """Write down a row of a visit; another collection may have been quicker."""
        self.added += self.corpus.add(place, row)
        self.rows = self.corpus.count()
        self.statuses[row.status] = self.statuses.get(row.status, 0) + 1

    @property
    def measured(self) -> int:
        """How many candidates it has measured."""
        return sum(self.statuses.values())

    def expect_rows(self, barren: int) -> None:
        """Give up where visit after visit has nothing new.

        Raises:
            InputError: so many had nothing.
        """
        if barren >= _MOST_BARREN:
            reason = f"; the last: {self.skipped[-1]}" if self.skipped else ""
            raise InputError(
                f"expected candidates to measure, found none that is new in {barren} visits{reason}"
            )

    @property
    def seconds(self) -> float:
        """How long it has been at work."""
        return time.monotonic() - self._started

    @property
    def is_over(self) -> bool:
        """Whether there are enough rows, or the time is up."""
        limit = inf if self.plan.seconds is None else self.plan.seconds
        return self.rows >= self.plan.rows or self.seconds >= limit

    def _tick(self, compilers: Compilers, machine: str) -> None:
        """Measure the program that is always the same, if that is some minutes ago."""
        if time.monotonic() - self._clock < _CLOCK_SECONDS:
            return
        self._clock = time.monotonic()
        name, dataset = _CLOCK
        options = EvaluationOptions(compile_seconds=COMPILE_SECONDS)
        program = load_program(name, dataset=dataset)
        with self.waiting(), Evaluator(program, options, compiler=compilers) as evaluator:
            seconds = evaluator.baseline_seconds
        self.corpus.tick(machine, time.time(), seconds)

    def visit(self, number: int, machine: str, compilers: Compilers) -> None:
        """Sample one case on a machine; what cannot be run at all is left out, and said."""
        plan = self.plan
        try:
            start = replace(DEFAULT, threads=plan.threads)
            with self.waiting():
                found = plan.visited(number, start)
        except PolygymError as error:
            self.skipped.append(f"visit {number}: {error}")
            return
        visit = Visit(
            found.case, number, plan.dice, plan.threads, machine, time.time(), text=found.text
        )
        before = self.corpus.begun_with(visit.key)
        if before not in (None, (visit.case, visit.text)):
            self.skipped.append(f"visit {number}: it was begun with another program or text")
            return
        place = self.corpus.begin(visit)
        if found.is_empty:
            self.corpus.finish(place, 0.0)
            return
        known = self.corpus.known(place)
        watch = LoadWatch()
        try:
            dice = np.random.default_rng([plan.dice, number, 1])
            with self.waiting():
                candidates = Candidates.of(found.program, start, dice, plan.each, near=plan.near)
            self._sample(place, visit, found.program, candidates, compilers, known)
            if self.is_over and len(candidates.told) < plan.each:
                return  # the rest belongs to it, too
        except InternalError:
            raise
        except WorkerError as error:
            self.skipped.append(f"visit {number}: {error}; the same command goes on with it")
            return
        except PolygymError as error:
            self.skipped.append(f"visit {number}: {error}")
        load = watch.load()
        self.corpus.finish(place, 0.0 if load is None else load.others + load.stolen)
        self.visits += 1

    def _sample(
        self,
        place: int,
        visit: Visit,
        program: Program,
        candidates: Candidates,
        compilers: Compilers,
        known: dict[tuple[str, str], Row],
    ) -> None:
        options = EvaluationOptions(
            threads=self.plan.threads,
            timeout_factor=_TIMEOUT_FACTOR,
            compile_seconds=COMPILE_SECONDS,
            mapping=candidates.start,
        )
        best = 0.0
        with Evaluator(program, options, compiler=compilers) as evaluator:
            while batch := candidates.batch(_AT_A_TIME):
                rows = [known.get((str(one), str(mapping))) for one, mapping in batch]
                fresh = [one for one, row in zip(batch, rows, strict=True) if row is None]
                if fresh and self.is_over:
                    return
                with self.waiting():
                    compilers.compile_all(program, fresh)
                for (schedule, mapping), row in zip(batch, rows, strict=True):
                    found = row
                    if found is None:
                        if self.is_over:
                            return
                        with self.waiting():
                            # A row is a measurement, of loops that were measured before too.
                            found = _row(trusted(evaluator.evaluate(schedule, mapping, fresh=True)))
                        self.keep(place, found)
                        best = max(best, found.speedup)
                        self.show(Collected(visit, found, self.rows, best))
                    candidates.learn((schedule, mapping), found.speedup)


def _row(found: Evaluation) -> Row:
    """Return an evaluation as a row; what is learned of it here is what is read when going on."""
    return Row(
        str(found.schedule),
        str(found.mapping),
        "" if found.done is None else str(found.done),
        found.status,
        found.seconds,
        found.baseline_seconds,
        f"{found.error_type}: {found.error_details}"[:200] if found.error_type else "",
    ).rounded()
