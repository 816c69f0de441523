"""The jobs of a sweep: parts of the search of a program, and confirmations of its best.

A job is a run of episodes of one program: playing them, generating code, and measuring are one
node's, for some minutes. A node stays with its program, since opening one takes some seconds; where
there are more nodes than programs, several share one, each with a part of what is left for a minute
at most, so that a slow one does not hold up the others at the end.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from math import ceil
from secrets import token_hex

from polygym.search.runner.ray.fleet.jobs import FAILED_ROW, PRELIMINARY_ROWS, ClusterJob, Json
from polygym.search.runner.ray.fleet.node_kinds import NodeKind, SingleKindSupply
from polygym.search.runner.ray.fleet.program_texts import SentTexts
from polygym.search.runner.ray.sweeps.ledger import ProgramLedger
from polygym.search.runner.ray.sweeps.row_encoding import timing_json
from polygym.search.sweep import reader
from polygym.search.sweep.confirmation import best_outcomes, is_confirmed
from polygym.search.sweep.rows import ISL
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import SweepStore
from polygym.search.sweep.time_shares import is_due, limit_of
from polygym.search.sweep.workload import SweepWorkload

_JOB_SECONDS, _SHARED_JOB_SECONDS = 300.0, 60.0
_MIN_EPISODES, _MAX_EPISODES = (
    16,
    2000,
)  # episodes of a job, since opening a program has to be worth it
_MAX_NEW_SCHEDULES = 500  # schedules that are known elsewhere, said with a job
_ROUNDS = 2  # so many jobs per node, where several share a program
_MAX_FRUITLESS = (
    3  # jobs of a program without a new row, or failures of machines, one after another
)


class SweepSupply(SingleKindSupply, ABC):
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
        self.store, self.setting, self.orders, self.kind = store, setting, orders, kind
        self.failed = failed
        self._sent = SentTexts()
        self._under_way: dict[ClusterJob, range] = {}
        self._barren: Counter[str] = Counter()
        self._count = 0
        dataset = str(setting.search_dataset)
        self.books = {
            name: ProgramLedger.read(store, name, orders, dataset)
            for name in orders.programs
            if name not in failed
        }

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

    def add_rows(self, job: ClusterJob, rows: Sequence[Json]) -> None:
        """Write rows down."""
        for row in rows:
            self._keep(job, row)

    def _keep(self, job: ClusterJob, row: Json) -> None:
        """Write a row down; a failure is its program's, unless it was the machine's."""
        if row["row"] != FAILED_ROW:
            if row["row"] not in PRELIMINARY_ROWS:
                self._barren.pop(job.about, None)
            self.books[job.about].add_row(row)
            return
        self._barren[job.about] += 1
        if not row["machine"] or self._barren[job.about] >= _MAX_FRUITLESS:
            self._fail(job.about, row["reason"])

    def job_ended(self, job: ClusterJob) -> None:
        """Take back what a job has left."""
        self._barren[job.about] += 1
        if self._barren[job.about] > _MAX_FRUITLESS:
            self._fail(job.about, f"{_MAX_FRUITLESS} jobs in a row ended without a result")
        self.job_lost(job)

    def job_lost(self, job: ClusterJob) -> None:
        """Take back what a job has left; rows that came are kept."""
        self.books[job.about].return_indices(self._under_way.pop(job))

    def job_abandoned(self, job: ClusterJob, reason: str) -> None:
        """Leave a program at which nodes die."""
        self.job_lost(job)
        self._fail(job.about, reason)

    def _fail(self, kernel: str, reason: str) -> None:
        self.failed.add(kernel)
        self.store.set_error(kernel, reason)

    def _left(self) -> Iterable[str]:
        return (name for name in self.books if name not in self.failed)

    def _job(self, worker: str, kernel: str, taken: range, document: Json) -> ClusterJob:
        """Return a job about a program."""
        self._count += 1
        common = {
            "program": self._sent.program(worker, kernel),
            "setting": self.setting.to_json(),
            "against": list(self.orders.against),
            "home": self._home(kernel),
        }
        job = ClusterJob(self._count, kernel, {**common, **document})
        self._under_way[job] = taken
        return job

    def _home(self, kernel: str) -> list[str] | None:
        """Return how a program is changed, if that is known."""
        homes = {
            program_variant.kernel: program_variant
            for program_variant in reader.homes(self.store.connection)
        }
        variant = homes.get(kernel)
        return None if variant is None else [variant.splitting, variant.storage]

    @abstractmethod
    def _wants(self, kernel: str) -> bool:
        """Whether there is something left of a program that can be begun."""


class SearchSupply(SweepSupply):
    """The search of all programs."""

    def __init__(
        self,
        store: SweepStore,
        setting: SweepSetting,
        orders: SweepWorkload,
        kind: NodeKind,
        failed: set[str],
    ) -> None:
        """Begin with what the store has."""
        super().__init__(store, setting, orders, kind, failed)
        self._last: dict[str, str] = {}
        self._told: dict[tuple[str, str], int] = {}
        self._name = token_hex(8)

    def next(self, worker: str, kind: NodeKind, workers: int) -> ClusterJob | None:
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
        document = self._document(worker, book, taken, seconds, bool(busy[kernel]))
        return self._job(worker, kernel, taken, document)

    def _document(
        self, worker: str, book: ProgramLedger, taken: range, seconds: float, is_compared: bool
    ) -> Json:
        names = (ISL, *self.orders.against)
        limit = self._limit(book.kernel)
        return {
            "task": "search",
            "policies": list(book.policies),
            "model": self.orders.model,
            "first": taken.start,
            "last": taken.stop,
            "seconds": seconds if limit is None else min(seconds, max(0.0, limit)),
            "done": book.done_among(taken),
            "sweep": self._name,
            "news": self._news(worker, book),
            "compared": list(names if is_compared else book.compared),
        }

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

    def _limit(self, kernel: str) -> float | None:
        seconds = self.orders.time_limit
        return None if seconds is None else limit_of(kernel, seconds, *self._used())

    def _used(self) -> tuple[dict[str, float], set[str]]:
        """Return what every program has used of the time, and which are finished."""
        used = {name: book.spent for name, book in self.books.items()}
        finished = {name for name, book in self.books.items() if not book.remaining}
        return used, finished | self.failed


class ConfirmationSupply(SweepSupply):
    """The confirmation of the best of every program, each once."""

    def __init__(
        self,
        store: SweepStore,
        setting: SweepSetting,
        orders: SweepWorkload,
        kind: NodeKind,
        failed: set[str],
    ) -> None:
        """Begin with the programs whose best are not confirmed."""
        super().__init__(store, setting, orders, kind, failed)
        self._done = {
            name
            for name in self.books
            if not orders.confirm_count
            or is_confirmed(store, setting, name, orders.confirm_count, orders.against)
        }

    def next(self, worker: str, kind: NodeKind, workers: int) -> ClusterJob | None:
        """Return the next program."""
        kernel = next((name for name in self._left() if self._wants(name)), None)
        if kernel is None:
            return None
        outcomes = reader.outcomes(self.store.connection, kernel)
        best = best_outcomes(outcomes, self.orders.confirm_count)
        document = {
            "task": "confirm",
            "count": self.orders.confirm_count,
            "best": [[outcome.schedule, timing_json(outcome.timing)] for outcome in best],
        }
        return self._job(worker, kernel, range(0), document)

    def _keep(self, job: ClusterJob, row: Json) -> None:
        """Write a row down; what is measured side by side comes in one."""
        super()._keep(job, row)
        if row["row"] == "confirmed":
            self._done.add(job.about)

    def _wants(self, kernel: str) -> bool:
        return kernel not in self._done and kernel not in self.busy
