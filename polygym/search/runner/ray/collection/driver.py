"""A collection on a fleet: visits on many nodes, one corpus, which the driver writes.

A visit is made by one node from its beginning to its end, since its candidates follow from the
outcomes before. Clocks of nodes go into the corpus as those of one machine do.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from polygym.search.corpus.collector import Collection
from polygym.search.runner.ray.collection.supply import VisitSupply
from polygym.search.runner.ray.fleet.fleet import Fleet


@dataclass(slots=True, kw_only=True)
class RayCollection(Collection):
    """A collection at work on a fleet; ``beat`` is called again and again meanwhile."""

    fleet: Fleet
    is_stopped: Callable[[], bool] = lambda: False
    beat: Callable[[], None] = lambda: None
    _clocks: dict[str, float] = field(default_factory=dict)

    def run(self) -> None:
        """Collect until there are enough rows, the time is up, or it is stopped.

        Raises:
            InputError: there are no nodes, nothing more to be measured, or the corpus is damaged.
        """
        self.corpus.expect_whole()
        self.rows = self.corpus.count()
        self.fleet.assemble(self.is_stopped)
        self.fleet.run(VisitSupply(self), self.is_stopped, self._look)
        self.interrupted = self.is_stopped()

    def _look(self) -> None:
        self.beat()
        self._note_clocks()

    def _note_clocks(self) -> None:
        """Write down how long the clock program took on nodes whose machine is in the corpus."""
        for member in self.fleet.members.values():
            if member.greeting is None or self._clocks.get(member.name) == member.calibrated_at:
                continue
            key = member.greeting.kind.machine.key
            calibration = member.calibration
            if calibration is not None and key in self.corpus.machines():
                self._clocks[member.name] = member.calibrated_at
                seconds = calibration.last or calibration.first
                self.corpus.add_clock(key, time.time(), seconds)
