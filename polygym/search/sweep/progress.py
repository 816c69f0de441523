"""Progress of a sweep: share done, rate, and time left."""

import time
from dataclasses import dataclass, field
from enum import Enum

from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.sweep.store import SweepStore
from polygym.search.sweep.workload import SweepWorkload


class SweepPhase(Enum):
    """What is being done."""

    SEARCH = "searching"
    CONFIRM = "confirming"


@dataclass(frozen=True, slots=True)
class ProgramProgress:
    """A program: how many of its episodes are explored, what the best is, what went wrong."""

    kernel: str
    explored: int
    best: float | None
    wrong: int
    is_busy: bool
    crashed: int = 0


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """A moment of a sweep; ``seconds_left`` is an estimate, None where there is none.

    ``nodes`` says how those of a cluster are, "" where there is none.
    """

    phase: SweepPhase
    explored: int
    total: int
    seconds_left: float | None
    programs: tuple[ProgramProgress, ...]
    nodes: str = ""

    @property
    def busy(self) -> tuple[ProgramProgress, ...]:
        """The programs that are being worked on."""
        return tuple(progress for progress in self.programs if progress.is_busy)

    @property
    def wrong(self) -> int:
        """How many schedules computed something else than the original order."""
        return sum(progress.wrong for progress in self.programs)

    @property
    def crashed(self) -> int:
        """How many schedules crashed."""
        return sum(progress.crashed for progress in self.programs)


@dataclass(slots=True)
class ProgressEstimator:
    """Looks at the store, and remembers where this campaign began."""

    store: SweepStore
    orders: SweepWorkload
    _began: float = field(default_factory=time.monotonic)
    _first: int | None = None

    def progress(self, phase: SweepPhase, busy: tuple[str, ...]) -> SweepProgress:
        """Return how far the sweep is now."""
        connection = self.store.connection
        counts = dict(connection.execute("SELECT kernel, count(*) FROM episodes GROUP BY kernel"))
        kinds = OutcomeStatus.OK, OutcomeStatus.WRONG_OUTPUT, OutcomeStatus.CRASH
        rows = connection.execute(
            "SELECT kernel, max(CASE status WHEN ? THEN baseline_seconds / max(seconds, 1e-9) "
            "END), sum(status = ?), sum(status = ?) FROM outcomes GROUP BY kernel",
            [status.value for status in kinds],
        )
        totals = {kernel: numbers for kernel, *numbers in rows}
        standings = []
        for name in self.orders.programs:
            best, wrong, crashed = totals.get(name, (None, 0, 0))
            explored = counts.get(name, 0)
            standings.append(ProgramProgress(name, explored, best, wrong, name in busy, crashed))
        explored = sum(standing.explored for standing in standings)
        wanted = len(standings) * len(self.orders.policies) * self.orders.budget
        wanted = max(wanted, explored)  # an earlier run of the sweep may have wanted more
        if self._first is None:
            self._first = explored
        left = self._left(explored, wanted) if phase is SweepPhase.SEARCH else None
        return SweepProgress(phase, explored, wanted, left, tuple(standings))

    def _left(self, explored: int, wanted: int) -> float | None:
        """Return how long the rest of the search takes at the pace so far, or until time is up."""
        elapsed = time.monotonic() - self._began
        done = explored - (self._first or 0)
        known = []
        if done > 0:
            known.append(elapsed * max(0, wanted - explored) / done)
        if self.orders.time_limit is not None:
            used = self.store.connection.execute("SELECT sum(seconds) FROM kernels").fetchone()[0]
            known.append(max(0.0, self.orders.time_limit - (used or 0.0)) / self.orders.jobs)
        return min(known, default=None)
