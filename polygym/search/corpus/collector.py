"""Collecting: visit after visit, a few candidates compiled on all cores, then measured alone.

A visit is of a program at sizes (:mod:`polygym.search.corpus.program_choice`) and measures some
tens of candidates (:mod:`polygym.search.corpus.sampling`). Every row is written down at once.
Whatever ends a collection, the next one with the same seed goes on in the middle of the visit:
choices follow from the seed and from the outcomes before, so they are made again without measuring,
and visits that are finished are left out.

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
from polygym.autoschedule.program_recipes import UNCHANGED, ProgramRecipe
from polygym.errors import InputError, InternalError, PolygymError
from polygym.mapping.machine import this_machine
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.pickling import pickle_by_name
from polygym.programs import Program, load_program
from polygym.runtime.evaluation import (
    Evaluation,
    EvaluationOptions,
    Evaluator,
    expect_candidate_result,
)
from polygym.runtime.evaluation.compiler_pool import CompilerPool
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.runtime.worker.background_load import LoadMonitor
from polygym.runtime.worker.outcome import OutcomeStatus, WorkerError
from polygym.search.corpus.program_choice import (
    DEFAULT_CHOICE,
    ChosenProgram,
    ProgramChoice,
    choose_program,
    choose_variant,
)
from polygym.search.corpus.rows import CaseVisit, CorpusRow
from polygym.search.corpus.sampling import CandidateSampler
from polygym.search.corpus.store import Corpus

COMPILE_SECONDS = 5.0
_TIMEOUT_FACTOR = 20.0
_BATCH = 8
_MAX_FRUITLESS = 20  # visits one after the other without a new row
_CLOCK_SECONDS = 300.0
_CLOCK = ("gemm", Dataset.SMALL)


@pickle_by_name
@dataclass(frozen=True, slots=True)
class CollectPlan:
    """How much is collected, and of what.

    ``rows`` counts those of all collections in the corpus together; ``candidates`` is how many
    candidates a visit has, which stays ``near`` or does not. ``time_limit`` limits this one.
    ``recipe`` says how programs are changed before. With ``storage_limit``, a number of bytes, each
    is measured in all of its homes instead whose new arrays take no more.
    """

    choice: ProgramChoice = DEFAULT_CHOICE
    rows: int = 1000
    candidates: int = 48
    threads: int = 1
    seed: int = 0
    time_limit: float | None = None
    near: bool = False
    recipe: ProgramRecipe = UNCHANGED
    storage_limit: int | None = None

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for name, least in (("rows", 1), ("each", 2), ("threads", 1), ("seed", 0)):
            found = getattr(self, name)
            if type(found) is not int or found < least:
                raise InputError(f"{name}: expected a number from {least} on, found {found!r}")
        if self.time_limit is not None and not self.time_limit > 0:
            raise InputError(f"seconds: expected a number above 0, found {self.time_limit!r}")
        if self.storage_limit is not None and not self.recipe.changes_nothing:
            raise InputError(f"homes: expected nothing beside them, found {self.recipe}")

    @property
    def visit_seed(self) -> int:
        """The seed of the visits: its own for every recipe and every choice of regions.

        So no visit is of two of them.
        """
        function = self.choice.function
        if self.recipe.changes_nothing and self.storage_limit is None and function is None:
            return self.seed
        how = str(self.recipe) if self.storage_limit is None else f"homes {self.storage_limit}"
        text = f"{self.seed} {how}" + ("" if function is None else f"\n{function}")
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])

    def visited(self, number: int, start: Mapping) -> ChosenProgram:
        """Return what a visit is of.

        Raises:
            InputError: there is nothing that can be measured.
        """
        if self.storage_limit is not None:
            return choose_variant(self.choice, self.visit_seed, number, self.storage_limit, start)
        return choose_program(self.choice, self.visit_seed, number, self.recipe, start)


@dataclass(frozen=True, slots=True)
class CollectionProgress:
    """How far a collection is: the last row, and how many there are."""

    visit: CaseVisit
    row: CorpusRow
    rows: int
    best: float


@dataclass(slots=True)
class Collection:
    """A collection at work, and what became of it: counts of statuses, and what was left out.

    ``rows`` are in the corpus, whoever put them there, ``added`` those that this collection did.
    """

    corpus: Corpus
    plan: CollectPlan
    on_progress: Callable[[CollectionProgress], None] = lambda _: None
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    statuses: dict[OutcomeStatus, int] = field(default_factory=dict)
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
        machine = machine_fingerprint()
        self.corpus.add_machine(machine, this_machine())
        self.rows = self.corpus.count()
        cores = sorted(os.sched_getaffinity(0))
        try:
            with closing(CompilerPool(COMPILE_SECONDS, cores)) as compilers:
                done = self.corpus.finished(machine.key, self.plan.threads, self.plan.visit_seed)
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

    def add_row(self, place: int, row: CorpusRow) -> None:
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
        if barren >= _MAX_FRUITLESS:
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
        limit = inf if self.plan.time_limit is None else self.plan.time_limit
        return self.rows >= self.plan.rows or self.seconds >= limit

    def _tick(self, compilers: CompilerPool, machine: str) -> None:
        """Measure the program that is always the same, if that is some minutes ago."""
        if time.monotonic() - self._clock < _CLOCK_SECONDS:
            return
        self._clock = time.monotonic()
        name, dataset = _CLOCK
        options = EvaluationOptions(compile_seconds=COMPILE_SECONDS)
        program = load_program(name, dataset=dataset)
        with self.waiting(), Evaluator(program, options, compiler=compilers) as evaluator:
            seconds = evaluator.baseline_seconds
        self.corpus.add_clock(machine, time.time(), seconds)

    def visit(self, number: int, machine: str, compilers: CompilerPool) -> None:
        """Sample one case on a machine; what cannot be run at all is left out, and said."""
        plan = self.plan
        try:
            start = replace(DEFAULT_MAPPING, threads=plan.threads)
            with self.waiting():
                program = plan.visited(number, start)
        except PolygymError as error:
            self.skipped.append(f"visit {number}: {error}")
            return
        visit = CaseVisit(
            program.case,
            number,
            plan.visit_seed,
            plan.threads,
            machine,
            time.time(),
            text=program.text,
        )
        before = self.corpus.visit_contents(visit.key)
        if before not in (None, (visit.case, visit.text)):
            self.skipped.append(f"visit {number}: it was begun with another program or text")
            return
        place = self.corpus.begin(visit)
        if program.is_empty:
            self.corpus.finish(place, 0.0)
            return
        known = self.corpus.known_rows(place)
        watch = LoadMonitor()
        try:
            rng = np.random.default_rng([plan.visit_seed, number, 1])
            with self.waiting():
                candidates = CandidateSampler.of(
                    program.program, start, rng, plan.candidates, near=plan.near
                )
            self._sample(place, visit, program.program, candidates, compilers, known)
            if self.is_over and len(candidates.speedups) < plan.candidates:
                return  # the rest belongs to it, too
        except InternalError:
            raise
        except WorkerError as error:
            self.skipped.append(f"visit {number}: {error}; the same command goes on with it")
            return
        except PolygymError as error:
            self.skipped.append(f"visit {number}: {error}")
        load = watch.load()
        self.corpus.finish(place, 0.0 if load is None else load.other_cores + load.stolen_cores)
        self.visits += 1

    def _sample(
        self,
        place: int,
        visit: CaseVisit,
        program: Program,
        candidates: CandidateSampler,
        compilers: CompilerPool,
        known: dict[tuple[str, str], CorpusRow],
    ) -> None:
        options = EvaluationOptions(
            threads=self.plan.threads,
            timeout_factor=_TIMEOUT_FACTOR,
            compile_seconds=COMPILE_SECONDS,
            mapping=candidates.start,
        )
        best = 0.0
        with Evaluator(program, options, compiler=compilers) as evaluator:
            while batch := candidates.ask(_BATCH):
                rows = [known.get((str(one), str(mapping))) for one, mapping in batch]
                fresh = [one for one, row in zip(batch, rows, strict=True) if row is None]
                if fresh and self.is_over:
                    return
                with self.waiting():
                    compilers.compile_all(program, fresh)
                for (schedule, mapping), row in zip(batch, rows, strict=True):
                    corpus_row = row
                    if corpus_row is None:
                        if self.is_over:
                            return
                        with self.waiting():
                            # A row is a measurement, of loops that were measured before too.
                            corpus_row = _row(
                                expect_candidate_result(
                                    evaluator.evaluate(schedule, mapping, fresh=True)
                                )
                            )
                        self.add_row(place, corpus_row)
                        best = max(best, corpus_row.speedup)
                        self.on_progress(CollectionProgress(visit, corpus_row, self.rows, best))
                    candidates.tell((schedule, mapping), corpus_row.speedup)


def _row(found: Evaluation) -> CorpusRow:
    """Return an evaluation as a row; what is learned of it here is what is read when going on."""
    return CorpusRow(
        str(found.schedule),
        str(found.mapping),
        "" if found.applied_mapping is None else str(found.applied_mapping),
        found.status,
        found.seconds,
        found.baseline_seconds,
        f"{found.error_type}: {found.error_details}"[:200] if found.error_type else "",
    ).rounded()
