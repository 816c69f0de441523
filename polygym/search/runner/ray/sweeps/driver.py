"""A sweep on a fleet, from its beginning to its end: the same episodes, the same store, many nodes.

First every program is searched, then the best of each are confirmed
(:mod:`polygym.search.runner.ray.sweeps.supply`). Which schedules are explored follows from the
seed, so it does not matter who plays which episodes, nor how often a node dies.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from polygym.search.runner.ray.fleet.fleet import Fleet
from polygym.search.runner.ray.fleet.members import NodeGreeting
from polygym.search.runner.ray.fleet.node_kinds import NodeKind
from polygym.search.runner.ray.sweeps.supply import ConfirmationSupply, SearchSupply
from polygym.search.sweep.progress import ProgressEstimator, SweepPhase, SweepProgress
from polygym.search.sweep.rows import SweepRun
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import SweepStore, now
from polygym.search.sweep.workload import SweepWorkload

_SHOW_SECONDS = 1.0
_SHOW_SHARE = 0.02


def sweep_run_of(greeting: NodeGreeting) -> SweepRun:
    """Return where a sweep on a fleet is at work: on the machines of one kind."""
    machine = greeting.kind.machine
    return SweepRun(now(), greeting.version, machine.processor, machine.cores, greeting.system)


@dataclass(slots=True)
class RaySweep:
    """What is under way, as :class:`polygym.search.sweep.LocalSweep` is on one machine."""

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
        for make, phase in (
            (SearchSupply, SweepPhase.SEARCH),
            (ConfirmationSupply, SweepPhase.CONFIRM),
        ):
            supply = make(self.store, self.setting, self.workload, self.kind, self.failed)

            def look(
                supply: SearchSupply | ConfirmationSupply = supply, phase: SweepPhase = phase
            ) -> None:
                nonlocal due
                if (moment := time.monotonic()) >= due:
                    progress = pace.progress(phase, supply.busy)
                    show(replace(progress, nodes=self.fleet.states()))
                    due = time.monotonic() + max(
                        _SHOW_SECONDS, (time.monotonic() - moment) / _SHOW_SHARE
                    )

            self.fleet.run(supply, is_stopped, look)
            if is_stopped():
                return
