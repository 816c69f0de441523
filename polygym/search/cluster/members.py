"""The workers of a fleet, as the driver sees them: who they are, what they are at, how they are."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from polygym.compiler.codegen.common.machine import Machine
from polygym.cost.shipped import Where
from polygym.errors import InputError
from polygym.search.cluster.calibration import Calibration
from polygym.search.cluster.jobs import Job, Json
from polygym.search.cluster.kinds import Kind, kind_from_json
from polygym.search.cluster.transport import Call, Site, Worker

Tell: TypeAlias = Callable[[str], None]


class State(Enum):
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
        return self in (State.JOINING, State.FREE, State.BUSY)


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a worker says when it joins; ``seconds`` is what its clock program took.

    Loops are planned there for ``machine``; ``niceness`` is how far it gives way to others.
    """

    kind: Kind
    machine: Machine
    version: str
    sources: str
    system: str
    seconds: float
    niceness: int = 0

    @property
    def where(self) -> Where:
        """The machine, as searches that follow a model of cost ask for it."""
        return Where(self.kind.machine, self.machine)


def greeting_from_json(row: Json) -> Greeting:
    """Return the greeting that a node has sent as a row.

    Raises:
        InputError: it sends something else.
    """
    try:
        return Greeting(
            kind_from_json(row["kind"]),
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


def most_frequent(greetings: tuple[Greeting, ...], key: str = "") -> Greeting:
    """Return the greeting of the kind of which there are most nodes, or of the kind of a key."""
    counts = Counter(one.kind.key for one in greetings)
    return max(greetings, key=lambda one: (one.kind.key == key, counts[one.kind.key]))


@dataclass(slots=True, eq=False)
class Member:
    """A worker, hired from a site; ``name`` is another one each time that the site is hired."""

    site: Site
    name: str
    worker: Worker
    state: State = State.JOINING
    greeting: Greeting | None = None
    calibration: Calibration | None = None
    call: Call | None = None
    talk: Call | None = None
    job: Job | None = None
    note: str = ""
    rows: int = 0
    jobs: int = 0
    began: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)
    clock_at: float = field(default_factory=time.monotonic)

    @property
    def label(self) -> str:
        """What people call it."""
        return f"{self.site.host} ({self.site.name[:8]})"

    def begin(self, call: Call) -> None:
        """Take note of a call that is under way."""
        self.call, self.began = call, time.monotonic()
        self.heard = self.began

    def end(self) -> Job | None:
        """Take note that its call is over; return the job that it was at."""
        job, self.job, self.call = self.job, None, None
        self.jobs += job is not None
        return job

    def clocked(self, seconds: float, drift: float) -> None:
        """Take note of its clock program's time."""
        self.clock_at = time.monotonic()
        if self.calibration is not None:
            self.calibration.see(seconds, drift)

    def is_due(self, after: float) -> bool:
        """Whether it should be calibrated: some time has passed, or the last time was off."""
        doubtful = self.calibration is not None and self.calibration.is_doubtful
        return doubtful or time.monotonic() - self.clock_at > after

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
