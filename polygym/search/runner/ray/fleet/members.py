"""The workers of a fleet, as the driver sees them: who they are, what they are at, how they are.

Calibration tells whether a machine still is what it was: one program is timed again and again.

A node is calibrated when it joins, and every few minutes between two jobs. The program's time then
is ``t``; at first it was ``t0``. A node with ::

    max(t, t0) / min(t, t0) > drift

twice in a row has drifted: a neighbour on the same host, heat, another frequency policy. It gets
no more work. Once does not count, since a process of someone else may come and go.

Example: with a drift of 1.25 and t0 = 0.40 ms, the times 0.42, 0.55, 0.41 are fine, and the second
of 0.55, 0.57 is not.
"""

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from polygym.cost.models.pretrained import TargetMachine
from polygym.errors import InputError
from polygym.mapping.machine import Machine
from polygym.search.runner.ray.fleet.jobs import ClusterJob, Json
from polygym.search.runner.ray.fleet.node_kinds import NodeKind, node_kind_from_json
from polygym.search.runner.ray.fleet.transport import Call, MeasuringSite, Worker

DRIFT_VARIABLE = "POLYGYM_CLUSTER_DRIFT"
"""The environment variable that says how far a node may drift."""

DEFAULT_DRIFT = 1.25


def drift_allowed() -> float:
    """Return how far a node may drift before it is drained: a ratio of two times."""
    text = os.environ.get(DRIFT_VARIABLE, "").strip()
    try:
        result = float(text) if text else DEFAULT_DRIFT
    except ValueError:
        result = 0.0
    if not 1.0 < result < 1e6:
        raise InputError(f"{DRIFT_VARIABLE}: expected a ratio above 1, such as 1.25, found {text}")
    return result


@dataclass(slots=True)
class ClockCalibration:
    """The times of a node's clock program: the first, the last, how often in a row it was off."""

    first: float
    last: float = 0.0
    times: int = 0
    drifted_in_row: int = 0

    def record(self, seconds: float, drift: float) -> None:
        """Take note of another time.

        >>> node = ClockCalibration(0.40)
        >>> for seconds in (0.42, 0.55, 0.41, 0.55, 0.57):
        ...     node.record(seconds, 1.25)
        >>> node.has_drifted
        True
        """
        self.last, self.times = seconds, self.times + 1
        is_off = max(seconds, self.first) > drift * min(seconds, self.first)
        self.drifted_in_row = self.drifted_in_row + 1 if is_off else 0

    @property
    def has_drifted(self) -> bool:
        """Whether it was off twice in a row."""
        return self.drifted_in_row >= 2

    @property
    def is_doubtful(self) -> bool:
        """Whether it was off the last time, and should be asked again at once."""
        return self.drifted_in_row == 1

    def __str__(self) -> str:
        """Say what was found."""
        return f"{self.first * 1e3:.3g} ms at first, {self.last * 1e3:.3g} ms now"


Notifier: TypeAlias = Callable[[str], None]


class MemberState(Enum):
    """How a worker is; the values are what people read."""

    JOINING = "joining"
    FREE = "free"
    BUSY = "busy"
    REFUSED = "refused"
    DRAINED = "drained"
    LOST = "lost"

    @property
    def is_hired(self) -> bool:
        """Whether there is a worker."""
        return self in (MemberState.JOINING, MemberState.FREE, MemberState.BUSY)


@dataclass(frozen=True, slots=True)
class NodeGreeting:
    """What a worker says when it joins; ``seconds`` is what its clock program took.

    Loops are planned there for ``machine``; ``niceness`` is how far it gives way to others.
    """

    kind: NodeKind
    machine: Machine
    version: str
    sources: str
    system: str
    seconds: float
    niceness: int = 0

    @property
    def where(self) -> TargetMachine:
        """The machine, as searches that follow a model of cost ask for it."""
        return TargetMachine(self.kind.machine, self.machine)


def greeting_from_json(row: Json) -> NodeGreeting:
    """Return the greeting that a node has sent as a row.

    Raises:
        InputError: it sends something else.
    """
    try:
        return NodeGreeting(
            node_kind_from_json(row["kind"]),
            Machine(**row["planned_for"]),
            str(row["version"]),
            str(row["sources"]),
            str(row["system"]),
            float(row["seconds"]),
            int(row.get("niceness", 0)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "the greeting of a node: expected what this polygym writes, found something else "
            f"({type(error).__name__}: {error})"
        ) from None


def most_frequent_kind(greetings: tuple[NodeGreeting, ...], key: str = "") -> NodeGreeting:
    """Return the greeting of the kind of which there are most nodes, or of the kind of a key."""
    counts = Counter(node.kind.key for node in greetings)
    return max(greetings, key=lambda node: (node.kind.key == key, counts[node.kind.key]))


@dataclass(slots=True, eq=False)
class FleetMember:
    """A worker, hired from a site; ``name`` is another one each time that the site is hired."""

    site: MeasuringSite
    name: str
    worker: Worker
    state: MemberState = MemberState.JOINING
    greeting: NodeGreeting | None = None
    calibration: ClockCalibration | None = None
    call: Call | None = None
    control_call: Call | None = None
    job: ClusterJob | None = None
    note: str = ""
    rows: int = 0
    jobs: int = 0
    started_at: float = field(default_factory=time.monotonic)
    last_heard: float = field(default_factory=time.monotonic)
    calibrated_at: float = field(default_factory=time.monotonic)

    @property
    def label(self) -> str:
        """What people call it."""
        return f"{self.site.host} ({self.site.name[:8]})"

    def begin(self, call: Call) -> None:
        """Take note of a call that is under way."""
        self.call, self.started_at = call, time.monotonic()
        self.last_heard = self.started_at

    def end(self) -> ClusterJob | None:
        """Take note that its call is over; return the job that it was at."""
        job, self.job, self.call = self.job, None, None
        self.jobs += job is not None
        return job

    def record_clock(self, seconds: float, drift: float) -> None:
        """Take note of its clock program's time."""
        self.calibrated_at = time.monotonic()
        if self.calibration is not None:
            self.calibration.record(seconds, drift)

    def is_due(self, after: float) -> bool:
        """Whether it should be calibrated: some time has passed, or the last time was off."""
        doubtful = self.calibration is not None and self.calibration.is_doubtful
        return doubtful or time.monotonic() - self.calibrated_at > after

    def to_json(self) -> dict[str, Any]:
        """Return what there is to say of it."""
        greeting = self.greeting
        return {
            "node": self.site.name,
            "host": self.site.host,
            "cpus": self.site.cpus,
            "state": self.state.value,
            "about": self.job.about if self.job is not None else "",
            "rows": self.rows,
            "jobs": self.jobs,
            "kind": None if greeting is None else greeting.kind.key,
            "machine": None if greeting is None else greeting.kind.to_json(),
            "version": None if greeting is None else greeting.version,
            "clock_seconds": None if self.calibration is None else self.calibration.first,
            "note": self.note,
        }
