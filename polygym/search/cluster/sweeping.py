"""A sweep on a fleet, from its beginning to its end: the same episodes, the same store, many nodes.

First every program is searched, then the best of each are confirmed
(:mod:`polygym.search.cluster.sweep_supply`). Which schedules are explored follows from the seed, so
it does not matter who plays which episodes, nor how often a node dies.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from polygym.search.cluster.fleet import Fleet
from polygym.search.cluster.kinds import Kind
from polygym.search.cluster.members import Greeting
from polygym.search.cluster.sweep_supply import Confirmations, Searches
from polygym.search.sweep.orders import Orders
from polygym.search.sweep.progress import Pace, Phase, Progress
from polygym.search.sweep.rows import Run
from polygym.search.sweep.setting import SweepSetting
from polygym.search.sweep.store import Store, now

_SHOW_SECONDS = 1.0
_SHOW_SHARE = 0.02


def run_of(greeting: Greeting) -> Run:
    """Return where a sweep on a fleet is at work: on the machines of one kind."""
    machine = greeting.kind.machine
    return Run(now(), greeting.version, machine.processor, machine.cores, greeting.system)


@dataclass(slots=True)
class FleetCampaign:
    """What is under way, as :class:`polygym.search.sweep.Campaign` is on one machine."""

    store: Store
    setting: SweepSetting
    orders: Orders
    fleet: Fleet
    kind: Kind
    failed: set[str] = field(default_factory=set)

    def run(self, is_stopped: Callable[[], bool], show: Callable[[Progress], None]) -> None:
        """Do what is left to do, until all is done or ``is_stopped``, which takes some seconds.

        Raises:
            InputError: there are no nodes any more, or the store is of another kind of node.
            OSError: the store cannot be written.
        """
        self.store.keep_kind(self.kind.key, str(self.kind))
        pace = Pace(self.store, self.orders)
        due = 0.0
        for make, phase in ((Searches, Phase.SEARCH), (Confirmations, Phase.CONFIRM)):
            supply = make(self.store, self.setting, self.orders, self.kind, self.failed)

            def look(supply: Searches | Confirmations = supply, phase: Phase = phase) -> None:
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
