"""Collection of a corpus: visit after visit, compiled on all cores and measured alone.

A visit is of a program at sizes (:mod:`polygym.search.corpus.program_choice`) and measures some
tens of candidates (:mod:`polygym.search.corpus.sampling`, ``decision_sampling``). Every row is
written at once. After an interruption, the next collection with the same seed continues in the
middle of the visit: choices follow from the seed and from the outcomes so far, so they are repeated
without measuring. Finished visits are skipped.

A machine that slows down meanwhile would spoil the data. Three records show it: a fixed program is
measured at the start and every few minutes, every row has the time of the original order beside its
own, and each visit notes the load of other processes.
"""

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf
from typing import Any, assert_never

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
from polygym.runtime.evaluation.compiler import CompilerPool
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.runtime.worker.background_load import LoadMonitor
from polygym.runtime.worker.outcome import OutcomeStatus, WorkerError
from polygym.search.corpus import program_choice
from polygym.search.corpus.decision_sampling import DecisionSampler
from polygym.search.corpus.rows import CaseVisit, CorpusCase, CorpusRow
from polygym.search.corpus.sampling import CandidateSampler
from polygym.search.corpus.store import Corpus

COMPILE_SECONDS = 5.0
_TIMEOUT_FACTOR = 20.0
_BATCH = 8
_MAX_FRUITLESS = 20  # visits one after the other without a new row
_CLOCK_SECONDS = 300.0
_CLOCK = ("gemm", Dataset.SMALL)


class Sampling(Enum):
    """What candidates of a visit are: any, near isl's schedule, or reached from the original."""

    ANY = "any"
    NEAR = "near"
    FROM_ORIGINAL = "from-original"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class CollectPlan:
    """The amount of a collection, and the choice of its programs and candidates.

    ``rows`` counts those of all collections in the corpus; ``candidates`` is the number of
    candidates of a visit, and ``sampling`` chooses them. ``time_limit`` limits this collection.
    ``recipe`` changes the programs first. With ``storage_limit``, a number of bytes, each program
    is measured in all storage variants whose new arrays take no more.
    """

    choice: program_choice.ProgramChoice = program_choice.DEFAULT_CHOICE
    rows: int = 1000
    candidates: int = 48
    threads: int = 1
    seed: int = 0
    time_limit: float | None = None
    sampling: Sampling = Sampling.ANY
    recipe: ProgramRecipe = UNCHANGED
    storage_limit: int | None = None

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        for name, least in (("rows", 1), ("candidates", 2), ("threads", 1), ("seed", 0)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise InputError(f"{name}: expected a number from {least} on, found {value!r}")
        if self.time_limit is not None and not self.time_limit > 0:
            raise InputError(f"time_limit: expected a number above 0, found {self.time_limit!r}")
        if self.storage_limit is not None and not self.recipe.changes_nothing:
            raise InputError(f"storage_limit: expected no recipe beside it, found {self.recipe}")

    @property
    def visit_seed(self) -> int:
        """The seed of the visits, another one for every recipe and every choice of regions."""
        function = self.choice.function
        if self.recipe.changes_nothing and self.storage_limit is None and function is None:
            return self.seed
        limit = self.storage_limit
        how = str(self.recipe) if limit is None else f"storage variants {limit}"
        text = f"{self.seed} {how}" + ("" if function is None else f"\n{function}")
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])

    def new_visit(
        self, number: int, case: CorpusCase, text: str, machine: str, moment: float
    ) -> CaseVisit:
        """Return a visit of a case on a machine."""
        seed = self.visit_seed
        return CaseVisit(case, number, seed, self.threads, machine, moment, text=text)

    def sampler_of(
        self, program: Program, start: Mapping, rng: np.random.Generator
    ) -> CandidateSampler | DecisionSampler:
        """Return the sampler of a visit's candidates; preparing it takes some seconds."""
        match self.sampling:
            case Sampling.ANY:
                return CandidateSampler.of(program, start, rng, self.candidates)
            case Sampling.NEAR:
                return CandidateSampler.of(program, start, rng, self.candidates, near=True)
            case Sampling.FROM_ORIGINAL:
                return DecisionSampler.of(program, self.threads, rng, self.candidates)
            case _:
                assert_never(self.sampling)

    def visited(self, number: int, start: Mapping) -> program_choice.ChosenProgram:
        """Return the program of a visit.

        Raises:
            InputError: there is nothing that can be measured.
        """
        if self.storage_limit is not None:
            return program_choice.choose_variant(
                self.choice, self.visit_seed, number, self.storage_limit, start
            )
        return program_choice.choose_program(
            self.choice, self.visit_seed, number, self.recipe, start
        )


@dataclass(frozen=True, slots=True)
class CollectionProgress:
    """The progress of a collection: the last row, the number of rows, the best speedup."""

    visit: CaseVisit
    row: CorpusRow
    rows: int
    best: float


@dataclass(slots=True)
class Collection:
    """A running collection and its results: counts of statuses, and reasons of skipped visits.

    ``rows`` are all rows in the corpus, ``added`` those of this collection.
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
        """Collect until there are enough rows, the time limit, or Ctrl-C.

        Raises:
            InputError: there is nothing (more) to measure, or the corpus is damaged.
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
        """Store a row of a visit, unless another collection has stored it."""
        self.added += self.corpus.add(place, row)
        self.rows = self.corpus.count()
        self.statuses[row.status] = self.statuses.get(row.status, 0) + 1

    @property
    def measured(self) -> int:
        """The number of measured candidates."""
        return sum(self.statuses.values())

    def expect_rows(self, barren: int) -> None:
        """Stop when many visits have nothing new.

        Raises:
            InputError: too many visits without a new row.
        """
        if barren >= _MAX_FRUITLESS:
            reason = f"; the last: {self.skipped[-1]}" if self.skipped else ""
            raise InputError(
                f"expected candidates to measure, found none that is new in {barren} visits{reason}"
            )

    @property
    def seconds(self) -> float:
        """The seconds since the start."""
        return time.monotonic() - self._started

    @property
    def is_over(self) -> bool:
        """Whether there are enough rows, or the time is up."""
        limit = inf if self.plan.time_limit is None else self.plan.time_limit
        return self.rows >= self.plan.rows or self.seconds >= limit

    def _tick(self, compilers: CompilerPool, machine: str) -> None:
        """Measure the fixed program, if that is some minutes ago."""
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
        """Sample one case on a machine; a program that cannot run is skipped, with a reason."""
        plan = self.plan
        try:
            start = replace(DEFAULT_MAPPING, threads=plan.threads)
            with self.waiting():
                program = plan.visited(number, start)
        except PolygymError as error:
            self.skipped.append(f"visit {number}: {error}")
            return
        visit = plan.new_visit(number, program.case, program.text, machine, time.time())
        place = self.begin(visit)
        if place is None:
            return
        if program.is_empty:
            self.corpus.finish(place, 0.0)
            return
        known = self.corpus.known_rows(place)
        watch = LoadMonitor()
        try:
            rng = np.random.default_rng([plan.visit_seed, number, 1])
            with self.waiting():
                candidates = plan.sampler_of(program.program, start, rng)
            self._sample(place, visit, program.program, candidates, compilers, known)
            if self.is_over and len(candidates.speedups) < plan.candidates:
                return  # unfinished: the rest follows later
        except InternalError:
            raise
        except WorkerError as error:
            self.skipped.append(f"visit {number}: {error}; repeat the command to continue")
            return
        except PolygymError as error:
            self.skipped.append(f"visit {number}: {error}")
        load = watch.load()
        self.corpus.finish(place, 0.0 if load is None else load.other_cores + load.stolen_cores)
        self.visits += 1

    def begin(self, visit: CaseVisit) -> int | None:
        """Begin a visit, and return its place; None if it was begun with something else."""
        if self.corpus.visit_contents(visit.key) in (None, (visit.case, visit.text)):
            return self.corpus.begin(visit)
        reason = "it was begun with another program or text"
        self.skipped.append(f"visit {visit.number}: {reason}")
        return None

    def _sample(
        self,
        place: int,
        visit: CaseVisit,
        program: Program,
        candidates: CandidateSampler | DecisionSampler,
        compilers: CompilerPool,
        known: dict[tuple[str, str], CorpusRow],
    ) -> None:
        threads, limit = self.plan.threads, COMPILE_SECONDS
        how: Any = {"timeout_factor": _TIMEOUT_FACTOR, "compile_seconds": limit}
        options = EvaluationOptions(threads=threads, mapping=candidates.start, **how)
        best = 0.0
        with Evaluator(program, options, compiler=compilers) as evaluator:
            while batch := candidates.ask(_BATCH):
                rows = {choice: known.get((str(choice[0]), str(choice[1]))) for choice in batch}
                fresh = [choice for choice, row in rows.items() if row is None]
                if fresh and self.is_over:
                    return
                with self.waiting():
                    compilers.compile_all(program, fresh)
                for choice, row in rows.items():
                    if row is None:
                        if self.is_over:
                            return
                        with self.waiting():
                            # A row is a measurement, also of loops that were measured before.
                            evaluation = evaluator.evaluate(*choice, fresh=True)
                        row = _row(expect_candidate_result(evaluation))
                        self.add_row(place, row)
                        best = max(best, row.speedup)
                        self.on_progress(CollectionProgress(visit, row, self.rows, best))
                    candidates.tell(choice, row.speedup)


def _row(evaluation: Evaluation) -> CorpusRow:
    """Return an evaluation as a row, rounded as in the file."""
    error, applied = evaluation.error_type, evaluation.applied_mapping
    return CorpusRow(
        str(evaluation.schedule),
        str(evaluation.mapping),
        "" if applied is None else str(applied),
        evaluation.status,
        evaluation.seconds,
        evaluation.baseline_seconds,
        f"{error}: {evaluation.error_details}"[:200] if error else "",
    ).rounded()
