"""The workers of a fleet, as the driver sees them: who they are, what they are at, how they are."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from polygym.cost.models.pretrained import TargetMachine
from polygym.errors import InputError
from polygym.mapping.machine import Machine
from polygym.search.runner.ray.fleet.calibration import ClockCalibration
from polygym.search.runner.ray.fleet.jobs import ClusterJob, Json
from polygym.search.runner.ray.fleet.node_kinds import NodeKind, node_kind_from_json
from polygym.search.runner.ray.fleet.transport import Call, MeasuringSite, Worker

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
    counts = Counter(greeting.kind.key for greeting in greetings)
    return max(
        greetings,
        key=lambda node_greeting: (node_greeting.kind.key == key, counts[node_greeting.kind.key]),
    )


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
        return {
            "node": self.site.name,
            "host": self.site.host,
            "cpus": self.site.cpus,
            "state": self.state.value,
            "about": self.job.about if self.job is not None else "",
            "rows": self.rows,
            "jobs": self.jobs,
            "kind": None if self.greeting is None else self.greeting.kind.key,
            "machine": None if self.greeting is None else self.greeting.kind.to_json(),
            "version": None if self.greeting is None else self.greeting.version,
            "clock_seconds": None if self.calibration is None else self.calibration.first,
            "note": self.note,
        }
