"""A sweep from its beginning to its end: every program searched, then its best confirmed.

The campaign keeps as many processes busy as there are places, gives each its share of the time, and
looks at the store to see how far they are. A program that fails is left, with its reason in the
store; the others go on.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from polygym.search.sweep import reader
from polygym.search.sweep.confirmation import is_confirmed
from polygym.search.sweep.cores import CorePlan, JobCores
from polygym.search.sweep.process import ProgramProcess, start_process
from polygym.search.sweep.progress import ProgressEstimator, SweepPhase, SweepProgress
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import SweepStore
from polygym.search.sweep.workload import (
    ConfirmRequest,
    Request,
    SearchRequest,
    SweepWorkload,
    is_due,
    limit_of,
)

_POLL_SECONDS = 0.05
_SHOW_SECONDS = 1.0

# Looking at a large store takes time that the clocks of the others would notice.
_SHOW_SHARE = 0.01


@dataclass(slots=True)
class LocalSweep:
    """What is under way; ``lock`` is the descriptor that holds the folder.

    ``left`` are the programs with which this campaign has come to an end, one way or the other, in
    the phase that it is in.
    """

    store: SweepStore
    setting: SweepSetting
    workload: SweepWorkload
    cores: CorePlan
    lock: int
    running: dict[JobCores, ProgramProcess] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)

    def run(self, is_stopped: Callable[[], bool], show: Callable[[SweepProgress], None]) -> None:
        """Do what is left to do, until all is done or ``is_stopped``.

        Then nothing is begun any more, and what is in flight is waited for. An exception ends the
        processes at once.
        """
        self.store.add_kernels(self.workload.programs)
        pace = ProgressEstimator(self.store, self.workload)
        try:
            for phase, choose in (
                (SweepPhase.SEARCH, self._next_search),
                (SweepPhase.CONFIRM, self._next_confirmation),
            ):
                self.left = set(self.failed)
                self._work(choose, is_stopped, partial(self._show, pace, phase, show))
                if is_stopped():
                    return
        finally:
            for process in self.running.values():
                process.process.kill()
                process.process.wait()

    def _work(
        self,
        choose: Callable[[], tuple[str, Request] | None],
        is_stopped: Callable[[], bool],
        show: Callable[[], None],
    ) -> None:
        """Keep all places busy until there is nothing more to choose."""
        due = 0.0
        has_been_told, has_changed = False, True
        while True:
            # What there is to do is looked up when a place has become free, and not all the time:
            # that would disturb the clocks of the others.
            while has_changed and not is_stopped() and len(self.running) < len(self.cores.places):
                chosen = choose()
                if chosen is None:
                    break
                self._start(*chosen)
            if not self.running:
                show()
                return
            if is_stopped() and not has_been_told:
                has_been_told = True
                for process in self.running.values():
                    process.stop()
            if (moment := time.monotonic()) >= due:
                show()
                took = time.monotonic() - moment
                due = moment + max(_SHOW_SECONDS, took / _SHOW_SHARE)
            time.sleep(_POLL_SECONDS)
            has_changed = self._reap()

    @property
    def busy(self) -> tuple[str, ...]:
        """The programs that are being worked on."""
        return tuple(process.kernel for process in self.running.values())

    def _start(self, kernel: str, request: Request) -> None:
        place = next(place for place in self.cores.places if place not in self.running)
        folder = self.store.path.parent
        self.running[place] = start_process(folder, kernel, request, place, self.lock)

    def _reap(self) -> bool:
        """Take the processes that have ended off the list; say whether there were any.

        Raises:
            OSError: the store cannot be written: the disk is full, say.
        """
        before = len(self.running)
        for place, process in tuple(self.running.items()):
            if process.process.poll() is None:
                continue
            del self.running[place]
            if reason := process.failure():
                self.store.set_error(process.kernel, reason)
            if process.process.returncode != 0:
                self.failed.add(process.kernel)
            if process.process.returncode != 0 or self.workload.time_limit is None:
                self.left.add(process.kernel)
        return len(self.running) < before

    def _next_search(self) -> tuple[str, Request] | None:
        """Return the next program to be searched and for how long, or None."""
        orders, connection = self.workload, self.store.connection
        explored = reader.explored(connection)
        finished = {
            name
            for name in orders.programs
            if all(explored.get((name, policy), 0) >= orders.budget for policy in orders.policies)
            and self._is_compared(name)
        }
        known = {row.name: row.seconds for row in reader.kernels(connection)}
        used = {name: known[name] for name in orders.programs}
        done = finished | self.failed
        for name in sorted(orders.programs, key=lambda name: used[name] > 0):
            if name in done or name in self.left or name in self.busy:
                continue
            limit = orders.time_limit
            if limit is not None:
                if not is_due(name, limit, used, done):
                    continue
                limit = max(0.0, limit_of(name, limit, used, done))
            how = orders.against, orders.model
            return name, SearchRequest(orders.policies, orders.budget, limit, *how)
        return None

    def _is_compared(self, kernel: str) -> bool:
        """Whether other compilers have been measured at the size of the search."""
        dataset = str(self.setting.search_dataset)
        known = reader.reference_names(self.store.connection, kernel, dataset)
        return known.issuperset(self.workload.against)

    def _next_confirmation(self) -> tuple[str, Request] | None:
        """Return the next program whose best are to be measured again, or None."""
        count = self.workload.confirm_count
        if not count:
            return None
        against = self.workload.against
        for name in self.workload.programs:
            if name in self.left or name in self.busy:
                continue
            self.left.add(name)
            if not is_confirmed(self.store, self.setting, name, count, against):
                return name, ConfirmRequest(count, against)
        return None

    def _show(
        self, pace: ProgressEstimator, phase: SweepPhase, show: Callable[[SweepProgress], None]
    ) -> None:
        show(pace.progress(phase, self.busy))
