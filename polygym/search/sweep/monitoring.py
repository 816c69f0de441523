"""Monitoring of a sweep: times of the original order, time spent, load of others."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from polybench import Dataset
from polygym.mdp.problems.loading import ScheduleProblem
from polygym.runtime.worker.background_load import LoadMonitor
from polygym.search.sweep import reader
from polygym.search.sweep.rows import BackgroundLoadRow, BaselineTiming, ProgramVariant, Timing
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import SweepStore, now

# The original order's samples come with every outcome; so many seconds lie between those kept.
_BASELINE_SECONDS = 10.0

# What a process that is killed has not written down of the time that it took.
_TIME_SECONDS = 5.0


def load_subject(
    store: SweepStore, setting: SweepSetting, kernel: str, dataset: Dataset
) -> ScheduleProblem:
    """Return a program at a size, and keep what it is: its text, and how it is changed.

    How it is changed is found once for a store; schedules are of that program.

    Raises:
        InputError: it was another one when its schedules were measured.
    """
    known = reader.variants(store.connection)
    problem = setting.subject(kernel, dataset, known.get(kernel))
    store.set_digest(kernel, problem.source_digest)
    if not setting.recipe.changes_nothing and kernel not in known:
        source = problem.source
        store.set_variant(ProgramVariant(kernel, str(source.splitting), str(source.storage)))
    return problem


@dataclass(slots=True)
class BaselineRecorder:
    """Keeps the original order's samples, now and then."""

    store: SweepStore
    kernel: str
    dataset: str
    _samples: tuple[float, ...] = ()
    _moment: float = field(default=0.0)

    def record(self, timing: Timing) -> None:
        """Keep the samples if they are new and the last ones are not recent."""
        moment = now()
        is_new = timing.baseline_samples and timing.baseline_samples != self._samples
        if is_new and abs(moment - self._moment) >= _BASELINE_SECONDS:
            self._samples, self._moment = timing.baseline_samples, moment
            self.store.add_baseline(
                BaselineTiming(self.kernel, self.dataset, moment, timing.baseline_samples)
            )


@dataclass(slots=True)
class TimeRecorder:
    """Adds the time that goes by to what a program has cost, now and then."""

    store: SweepStore
    kernel: str
    _since: float = field(default_factory=time.monotonic)

    def record(self, least: float = _TIME_SECONDS) -> None:
        """Write down the time since the last call that did, if it is ``least`` seconds or more."""
        moment = time.monotonic()
        if moment - self._since >= least:
            self.store.add_seconds(self.kernel, moment - self._since)
            self._since = moment


@contextmanager
def record_load(store: SweepStore, kernel: str, dataset: str) -> Iterator[None]:
    """Keep what others did on the machine inside the block, where it is worth a word.

    All that the campaign has started, which is the parent of this process, is its own. The block
    has to be left before the processes that measure are ended: some are left to others to bury, and
    the time that they took with them.
    """
    watch = LoadMonitor(root=os.getppid())
    yield
    load = watch.load()
    if load is not None and load.is_notable:
        began = now() - load.seconds
        others = load.other_cores, load.stolen_cores
        store.add_background_load(BackgroundLoadRow(kernel, dataset, began, load.seconds, *others))
