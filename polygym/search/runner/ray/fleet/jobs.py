"""A job: what one worker does in one go, as data; and what a fleet asks for jobs.

A job's document is JSON: names of programs, texts of files, schedules as isl prints them, mappings
in their words, numbers. What a worker answers is a list of rows, each a JSON object with the key
``row``.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from polygym.search.runner.ray.fleet.node_kinds import NodeKind
from polygym.search.runner.ray.fleet.programs import SentTexts

Json: TypeAlias = dict[str, Any]
Taken = TypeVar("Taken")

PRELIMINARY_ROWS = frozenset({"digest", "variant", "visit", "baseline", "spent", "disturbance"})
"""Rows that say nothing of what was asked: a job that comes no further has come nowhere."""

FAILED_ROW = "failed"
"""The row that says why a worker could not do a job; it is the last one."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusterJob:
    """Something to be done on one node.

    ``about`` is what people call it, and what the losses of nodes are counted by: a job that takes
    every node down is given up.
    """

    number: int
    about: str
    document: Mapping[str, Any] = field(repr=False)


class JobSupply(ABC, Generic[Taken]):
    """Where a fleet's jobs come from and their rows go to; all in the driver's thread.

    Of every job that is under way it knows what the job has taken.
    """

    kind: NodeKind

    def __init__(self, sent: SentTexts | None = None) -> None:
        """Begin without jobs; ``sent`` says which texts the workers have."""
        self._sent = sent or SentTexts()
        self._under_way: dict[ClusterJob, Taken] = {}
        self._count = 0

    @property
    @abstractmethod
    def is_done(self) -> bool:
        """Whether there is nothing more to do, and nothing under way."""

    def accepts(self, kind: NodeKind) -> str:
        """Return why nodes of a kind may not work here, "" where they may.

        Times are compared, so all nodes are of one kind unless a supply says otherwise.
        """
        if kind.key == self.kind.key:
            return ""
        return f"expected nodes of one kind, {self.kind}, found {kind}"

    @abstractmethod
    def next(self, worker: str, kind: NodeKind, workers: int) -> ClusterJob | None:
        """Return a job for a worker, None if there is none now; ``workers`` is how many there are.

        A worker's name is another one when its process has begun anew.
        """

    @abstractmethod
    def add_rows(self, job: ClusterJob, rows: Sequence[Json]) -> None:
        """Keep rows that came together; one that is there already changes nothing."""

    def transaction(self) -> AbstractContextManager[None]:
        """Inside is all that came in at one moment, which may be written in one go."""
        return nullcontext()

    @abstractmethod
    def job_ended(self, job: ClusterJob) -> None:
        """Take note that a job came to its end, by itself or because it was stopped."""

    @abstractmethod
    def job_lost(self, job: ClusterJob) -> None:
        """Take a job back whose worker is gone; its missing rows come from another one."""

    @abstractmethod
    def job_abandoned(self, job: ClusterJob, reason: str) -> None:
        """Take a job back that nobody can do."""

    def _new_job(self, about: str, document: Mapping[str, Any], taken: Taken) -> ClusterJob:
        self._count += 1
        job = ClusterJob(self._count, about, document)
        self._under_way[job] = taken
        return job
