"""Ends of episodes measured by a fleet, while a caller that asked goes on.

A thread keeps the fleet busy; environments ask from theirs, and get a future. What waits of one
program goes out in batches. What was asked before is not measured again. All is measured on nodes
of one kind: rewards of two kinds would teach an agent the difference between machines.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from polygym.closeable import Closeable
from polygym.errors import PolygymError
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping
from polygym.mdp.problems.loading import ProgramSource
from polygym.poly.schedule import Schedule
from polygym.runtime.evaluation import Evaluation, EvaluationOptions
from polygym.runtime.worker.outcome import WorkerError
from polygym.search.runner.ray.fleet.fleet import Fleet
from polygym.search.runner.ray.fleet.jobs import FAILED_ROW, ClusterJob, JobSupply, Json
from polygym.search.runner.ray.fleet.members import most_frequent_kind
from polygym.search.runner.ray.fleet.node_kinds import NodeKind
from polygym.search.runner.ray.measurements import measurement_document

_MAX_BATCH = 8  # questions of a batch


@dataclass(frozen=True, slots=True)
class RewardRequest:
    """A schedule to be measured under a mapping; the answer goes into the future."""

    source: ProgramSource
    options: EvaluationOptions
    schedule: Schedule
    mapping: Mapping
    future: Future[Evaluation]

    def is_beside(self, other: RewardRequest) -> bool:
        """Whether both are of one program, measured alike."""
        return (self.source, self.options) == (other.source, other.options)


class RewardSupply(JobSupply[list[RewardRequest]]):
    """What was asked and is not answered yet: the jobs of a fleet that waits for more."""

    def __init__(self, kind: NodeKind) -> None:
        """Nothing was asked."""
        super().__init__()
        self.kind = kind
        self._waiting: deque[RewardRequest] = deque()
        self._lock = threading.Lock()

    def add(self, question: RewardRequest) -> None:
        """Take a question, from any thread."""
        with self._lock:
            self._waiting.append(question)

    @property
    def is_done(self) -> bool:
        """Never by itself: there may be more to come."""
        return False

    def next(self, worker: str, kind: NodeKind, workers: int) -> ClusterJob | None:
        """Return some questions of the program that was asked about first."""
        with self._lock:
            if not self._waiting:
                return None
            first = self._waiting[0]
            of_it = [request for request in self._waiting if request.is_beside(first)]
            # All nodes get some, where there are few.
            some = of_it[: max(1, min(_MAX_BATCH, -(-len(of_it) // workers)))]
            for request in some:
                self._waiting.remove(request)
        choices = [(request.schedule, request.mapping) for request in some]
        document = {
            "task": "measure",
            "places": list(range(len(some))),
            "best_so_far": None,
            "patiently": True,
            **measurement_document(self._sent, worker, first.source, first.options, choices),
        }
        return self._new_job(first.source.target, document, some)

    def add_rows(self, job: ClusterJob, rows: Sequence[Json]) -> None:
        """Answer questions."""
        for row in rows:
            if row["row"] == "evaluation":
                request = self._under_way[job][int(row["place"])]
                if not request.future.done():
                    scop = _scop(request.source)
                    request.future.set_result(Evaluation.from_json(row["evaluation"], scop))
            elif row["row"] == FAILED_ROW:
                self._fail(self._under_way[job], str(row["reason"]))

    def job_ended(self, job: ClusterJob) -> None:
        """Take note that a batch is over; what it has not answered was stopped."""
        self._fail(self._under_way.pop(job), "it was stopped before it was measured")

    def job_lost(self, job: ClusterJob) -> None:
        """Take back what a batch has not answered."""
        left = [request for request in self._under_way.pop(job) if not request.future.done()]
        with self._lock:
            self._waiting.extendleft(reversed(left))

    def job_abandoned(self, job: ClusterJob, reason: str) -> None:
        """Say of a batch at which nodes die that it cannot be answered."""
        self._fail(self._under_way.pop(job), reason)

    def fail_all(self, reason: str) -> None:
        """Leave nobody waiting."""
        with self._lock:
            left = list(chain(self._waiting, *self._under_way.values()))
            self._waiting.clear()
        self._fail(left, reason)

    def _fail(self, questions: Sequence[RewardRequest], reason: str) -> None:
        for request in questions:
            if not request.future.done():
                request.future.set_exception(WorkerError(reason))


class RayRewards(Closeable):
    """Measures ends of episodes on a fleet, whose thread it keeps, for environments that go on."""

    def __init__(self, fleet: Fleet) -> None:
        """Wait for the nodes, and be ready.

        Raises:
            InputError: there are none.
        """
        self.kind = most_frequent_kind(fleet.assemble()).kind
        self._fleet = fleet
        self._questions = RewardSupply(self.kind)
        self._known: dict[tuple[object, ...], Future[Evaluation]] = {}
        self._stop = threading.Event()
        self._error: str = ""
        self._thread = threading.Thread(target=self._serve, name="fleet", daemon=True)
        self._thread.start()

    def submit(
        self,
        source: ProgramSource,
        options: EvaluationOptions,
        schedule: Schedule,
        mapping: Mapping,
    ) -> Future[Evaluation]:
        """Have a schedule measured, unless it was before.

        Raises:
            WorkerError: the fleet is gone.
        """
        key = source, options, schedule, mapping
        known = self._known.get(key)
        if known is not None and not (known.done() and known.exception()):
            return known
        future: Future[Evaluation] = Future()
        self._questions.add(RewardRequest(*key, future))
        self._known[key] = future
        if not self._thread.is_alive():
            self._questions.fail_all(self._error or "the fleet is closed")
        return future

    @property
    def is_blocking(self) -> bool:
        """Whether environments wait for the answers: they go on."""
        return False

    def close(self) -> None:
        """End what is under way; who still waits is told."""
        self._stop.set()
        self._thread.join()

    def _serve(self) -> None:
        try:
            self._fleet.run(self._questions, self._stop.is_set)
        except PolygymError as error:
            self._error = str(error)
        finally:
            self._questions.fail_all(self._error or "the fleet is closed")


@dataclass(frozen=True, slots=True)
class BlockingRewards:
    """The same fleet, for environments that wait for the answers."""

    rewards: RayRewards

    @property
    def is_blocking(self) -> bool:
        """They do."""
        return True

    def submit(
        self,
        source: ProgramSource,
        options: EvaluationOptions,
        schedule: Schedule,
        mapping: Mapping,
    ) -> Future[Evaluation]:
        """Have a schedule measured."""
        return self.rewards.submit(source, options, schedule, mapping)


@lru_cache(maxsize=64)
def _scop(source: ProgramSource) -> Scop:
    return source.load().scop
