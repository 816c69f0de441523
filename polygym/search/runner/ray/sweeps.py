"""A sweep on a fleet, from its beginning to its end: the same episodes, the same store, many nodes.

First every program is searched, then the best of each are confirmed. Which schedules are explored
follows from the seed, so it does not matter who plays which episodes, nor how often a node dies.

The jobs of a sweep: parts of the search of a program, and confirmations of its best.

A job is a run of episodes of one program: playing them, generating code, and measuring are one
node's, for some minutes. A node stays with its program, since opening one takes some seconds; where
there are more nodes than programs, several share one, each with a part of what is left for a minute
at most, so that a slow one does not hold up the others at the end.
"""

import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from math import ceil
from secrets import token_hex

from polygym.search.runner.ray.fleet import jobs
from polygym.search.runner.ray.fleet.fleet import Fleet
from polygym.search.runner.ray.fleet.members import NodeGreeting
from polygym.search.runner.ray.fleet.node_kinds import NodeKind
from polygym.search.runner.ray.sweep_ledger import ProgramLedger
from polygym.search.runner.ray.sweep_tasks import timing_json
from polygym.search.sweep import reader
from polygym.search.sweep.confirmation import best_outcomes, is_confirmed
from polygym.search.sweep.progress import ProgressEstimator, SweepPhase, SweepProgress
from polygym.search.sweep.rows import ISL, SweepRun
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import SweepStore
from polygym.search.sweep.workload import SweepWorkload, is_due, limit_of

_SHOW_SECONDS = 1.0
_SHOW_SHARE = 0.02


def sweep_run_of(greeting: NodeGreeting) -> SweepRun:
    """Return where a sweep on a fleet is at work: on the machines of one kind."""
    machine = greeting.kind.machine
    return SweepRun(
        time.time(), greeting.version, machine.processor, machine.cores, greeting.system
    )


@dataclass(slots=True)
class RaySweep:
    """What is under way, as :class:`polygym.search.sweep.driver.LocalSweep` is on one machine."""

    store: SweepStore
    setting: SweepSetting
    workload: SweepWorkload
    fleet: Fleet
    kind: NodeKind
    failed: set[str] = field(default_factory=set)

    def run(self, is_stopped: Callable[[], bool], show: Callable[[SweepProgress], None]) -> None:
        """Do what is left to do, until all is done or ``is_stopped``, which takes some seconds.

        Raises:
            InputError: there are no nodes any more, or the store is of another kind of node.
            OSError: the store cannot be written.
        """
        self.store.set_kind(self.kind.key, str(self.kind))
        pace = ProgressEstimator(self.store, self.workload)
        due = 0.0

        def look(supply: SweepSupply, phase: SweepPhase) -> None:
            nonlocal due
            if (moment := time.monotonic()) >= due:
                show(replace(pace.progress(phase, supply.busy), nodes=self.fleet.states()))
                now = time.monotonic()
                due = now + max(_SHOW_SECONDS, (now - moment) / _SHOW_SHARE)

        supplies: tuple[tuple[type[SweepSupply], SweepPhase], ...] = (
            (SearchSupply, SweepPhase.SEARCH),
            (ConfirmationSupply, SweepPhase.CONFIRM),
        )
        for make, phase in supplies:
            supply = make(self.store, self.setting, self.workload, self.kind, self.failed)
            self.fleet.run(supply, is_stopped, partial(look, supply, phase))
            if is_stopped():
                return


_JOB_SECONDS, _SHARED_JOB_SECONDS = 300.0, 60.0
# Episodes of a job, since opening a program has to be worth it.
_MIN_EPISODES, _MAX_EPISODES = 16, 2000
_MAX_NEW_SCHEDULES = 500  # schedules that are known elsewhere, said with a job
_ROUNDS = 2  # so many jobs per node, where several share a program
_MAX_FRUITLESS = 3  # jobs of a program without a new row, or failures of machines, in a row


class SweepSupply(jobs.JobSupply[range]):
    """What searches and confirmations have in common."""

    def __init__(
        self,
        store: SweepStore,
        setting: SweepSetting,
        orders: SweepWorkload,
        kind: NodeKind,
        failed: set[str],
    ) -> None:
        """Read what the store has; ``failed`` are the programs that are left, and gets more."""
        super().__init__()
        self.store, self.setting, self.orders, self.kind = store, setting, orders, kind
        self.failed = failed
        self._barren: Counter[str] = Counter()
        dataset = str(setting.search_dataset)
        names = [name for name in orders.programs if name not in failed]
        self.books = {name: ProgramLedger.read(store, name, orders, dataset) for name in names}
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Begin with what the store has."""

    @property
    def busy(self) -> tuple[str, ...]:
        """The programs that nodes are at."""
        return tuple(dict.fromkeys(job.about for job in self._under_way))

    @property
    def is_done(self) -> bool:
        """Whether no program has anything left, and none is under way."""
        return not self._under_way and not any(map(self._wants, self._left()))

    def transaction(self) -> AbstractContextManager[None]:
        """One transaction: the disk is waited for once for all that came from many nodes."""
        return self.store.transaction()

    def add_rows(self, job: jobs.ClusterJob, rows: Sequence[jobs.Json]) -> None:
        """Write rows down."""
        for row in rows:
            self._keep(job, row)

    def _keep(self, job: jobs.ClusterJob, row: jobs.Json) -> None:
        """Write a row down; a failure is its program's, unless it was the machine's."""
        if row["row"] != jobs.FAILED_ROW:
            if row["row"] not in jobs.PRELIMINARY_ROWS:
                self._barren.pop(job.about, None)
            self.books[job.about].add_row(row)
            return
        self._barren[job.about] += 1
        if not row["machine"] or self._barren[job.about] >= _MAX_FRUITLESS:
            self._fail(job.about, row["reason"])

    def job_ended(self, job: jobs.ClusterJob) -> None:
        """Take back what a job has left."""
        self._barren[job.about] += 1
        if self._barren[job.about] > _MAX_FRUITLESS:
            self._fail(job.about, f"{_MAX_FRUITLESS} jobs in a row ended without a result")
        self.job_lost(job)

    def job_lost(self, job: jobs.ClusterJob) -> None:
        """Take back what a job has left; rows that came are kept."""
        self.books[job.about].return_indices(self._under_way.pop(job))

    def job_abandoned(self, job: jobs.ClusterJob, reason: str) -> None:
        """Leave a program at which nodes die."""
        self.job_lost(job)
        self._fail(job.about, reason)

    def _fail(self, kernel: str, reason: str) -> None:
        self.failed.add(kernel)
        self.store.set_error(kernel, reason)

    def _left(self) -> Iterable[str]:
        return (name for name in self.books if name not in self.failed)

    def _job(self, worker: str, kernel: str, taken: range, document: jobs.Json) -> jobs.ClusterJob:
        """Return a job about a program."""
        variant = reader.variants(self.store.connection).get(kernel)
        common = {
            "program": self._sent.program(worker, kernel),
            "setting": self.setting.to_json(),
            "against": list(self.orders.against),
            "variant": None if variant is None else [variant.splitting, variant.storage],
        }
        return self._new_job(kernel, {**common, **document}, taken)

    @abstractmethod
    def _wants(self, kernel: str) -> bool:
        """Whether there is something left of a program that can be begun."""


class SearchSupply(SweepSupply):
    """The search of all programs."""

    def _prepare(self) -> None:
        self._last: dict[str, str] = {}
        self._told: dict[tuple[str, str], int] = {}
        self._name = token_hex(8)

    def next(self, worker: str, kind: NodeKind, workers: int) -> jobs.ClusterJob | None:
        """Return the next part of a program: the worker's last one, or one that nobody is at."""
        busy = Counter(job.about for job in self._under_way)
        wanting = [name for name in self._left() if self._wants(name)]
        if not wanting:
            return None
        last = self._last.get(worker)
        kernel = min(wanting, key=lambda name: (busy[name], name != last))
        self._last[worker] = kernel
        book = self.books[kernel]
        if busy[kernel] and not book.remaining:
            return None  # it only lacks what it is compared with, which another node measures
        sharing = max(1, workers // len(wanting))
        parts = 1 if sharing == 1 else _ROUNDS * sharing
        count = min(_MAX_EPISODES, max(_MIN_EPISODES, ceil(len(book.remaining) / parts)))
        taken = book.remaining.take(count) if book.remaining else range(0)
        seconds = _JOB_SECONDS if sharing == 1 else _SHARED_JOB_SECONDS
        if (total := self.orders.time_limit) is not None:
            seconds = min(seconds, max(0.0, limit_of(kernel, total, *self._used())))
        names = (ISL, *self.orders.against)
        document = {
            "task": "search",
            "policies": list(book.policies),
            "model": self.orders.model,
            "first": taken.start,
            "last": taken.stop,
            "seconds": seconds,
            "done": book.done_among(taken),
            "sweep": self._name,
            "news": self._news(worker, book),
            "compared": list(names if busy[kernel] else book.compared),
        }
        return self._job(worker, kernel, taken, document)

    def _news(self, worker: str, book: ProgramLedger) -> list[str]:
        """Return schedules that a worker has not been told of; it remembers the others.

        Those that were found first are told first: they are found again most often.
        """
        told = self._told.get((worker, book.kernel), 0)
        news = list(islice(book.numbers, told, told + _MAX_NEW_SCHEDULES))
        self._told[worker, book.kernel] = told + len(news)
        return news

    def _wants(self, kernel: str) -> bool:
        book = self.books[kernel]
        is_compared = book.compared.issuperset((ISL, *self.orders.against))
        if not book.remaining:
            return not is_compared and kernel not in self.busy
        seconds = self.orders.time_limit
        return seconds is None or is_due(kernel, seconds, *self._used())

    def _used(self) -> tuple[dict[str, float], set[str]]:
        """Return what every program has used of the time, and which are finished."""
        used = {name: book.spent for name, book in self.books.items()}
        finished = {name for name, book in self.books.items() if not book.remaining}
        return used, finished | self.failed


class ConfirmationSupply(SweepSupply):
    """The confirmation of the best of every program, each once."""

    def _prepare(self) -> None:
        """Begin with the programs whose best are not confirmed."""
        count, against = self.orders.confirm_count, self.orders.against
        self._done = {
            name
            for name in self.books
            if not count or is_confirmed(self.store, self.setting, name, count, against)
        }

    def next(self, worker: str, kind: NodeKind, workers: int) -> jobs.ClusterJob | None:
        """Return the next program."""
        kernel = next((name for name in self._left() if self._wants(name)), None)
        if kernel is None:
            return None
        outcomes = reader.outcomes(self.store.connection, kernel)
        best = best_outcomes(outcomes, self.orders.confirm_count)
        outcomes_json = [[row.schedule, timing_json(row.timing)] for row in best]
        document = {"task": "confirm", "count": self.orders.confirm_count, "best": outcomes_json}
        return self._job(worker, kernel, range(0), document)

    def _keep(self, job: jobs.ClusterJob, row: jobs.Json) -> None:
        """Write a row down; what is measured side by side comes in one."""
        super()._keep(job, row)
        if row["row"] == "confirmed":
            self._done.add(job.about)

    def _wants(self, kernel: str) -> bool:
        return kernel not in self._done and kernel not in self.busy
