"""Background load: cores that were busy with other work during a measurement.

Linux counts, for every core, the time in which it was busy with anything and the time that a
hypervisor has taken from it (``/proc/stat``), and for every process the time that it and those of
its children that have ended took (``/proc/PID/stat``). What the whole machine was busy with, less
what this process and all processes beneath it were, is others'::

    others = (busy after - busy before - (ours after - ours before)) / seconds

Example: in ten seconds two cores were busy for 19 s together, of which our processes had 10 s: the
others kept 0.9 cores busy on average.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_PROC = Path("/proc")

# What a machine does by itself; less is not worth a word. Clocks tick a hundred times a second, so
# that a short while says nothing.
_NOTABLE_CORES = 0.15
_MIN_SECONDS = 0.5

# Looking takes some milliseconds, which clocks would notice.
_MIN_INTERVAL = 2.0

# Columns of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
_BUSY, _STOLEN = (1, 2, 3, 6, 7), 8

# Behind the name of a process: its state, its parent; then, from the twelfth on, the ticks that it
# and its children that have ended have taken in their own code and in the system.
_PARENT, _TIMES = 1, slice(11, 15)


@dataclass(frozen=True, slots=True)
class BackgroundLoad:
    """How many cores, on average for some seconds, others kept busy or a hypervisor has taken."""

    seconds: float
    other_cores: float
    stolen_cores: float
    cores: int

    @property
    def is_notable(self) -> bool:
        """Whether it is more than a machine does by itself."""
        return (
            self.seconds >= _MIN_SECONDS and self.other_cores + self.stolen_cores >= _NOTABLE_CORES
        )

    @property
    def warning(self) -> str:
        """What to tell people; nothing where it is not worth a word."""
        if not self.is_notable:
            return ""
        return f"warning: machine busy, times unreliable: {self}"

    def to_json(self) -> dict[str, float]:
        """Return plain data."""
        return {
            "seconds": self.seconds,
            "others": self.other_cores,
            "stolen": self.stolen_cores,
            "cores": self.cores,
        }

    def __str__(self) -> str:
        """Return a sentence's part.

        >>> str(BackgroundLoad(10.0, 0.9, 0.0, 2))
        'other processes kept 0.9 of the 2 cores busy'
        >>> str(BackgroundLoad(10.0, 0.0, 0.25, 4))
        'a hypervisor took 0.2 of the 4 cores'
        """
        parts = []
        if self.other_cores >= 0.05 or self.stolen_cores < 0.05:
            parts.append(
                f"other processes kept {self.other_cores:.1f} of the {self.cores} cores busy"
            )
        if self.stolen_cores >= 0.05:
            parts.append(f"a hypervisor took {self.stolen_cores:.1f} of the {self.cores} cores")
        return " and ".join(parts)


@dataclass(frozen=True, slots=True)
class _TickCounts:
    """What was counted until a moment: by the whole machine, and by our processes."""

    timestamp: float
    busy: int
    stolen: int
    own: int


@dataclass(slots=True)
class LoadMonitor:
    """Watches the machine from the moment it is made.

    The process ``root`` and all beneath it are ours: usually this one. Of a process that ends only
    what its parent has waited for goes on to count, so that :meth:`load` is to be asked before
    those that measure are ended.
    """

    proc: Path = _PROC
    root: int = field(default_factory=os.getpid)
    last_load: BackgroundLoad | None = field(init=False, default=None)
    _before: _TickCounts | None = field(init=False)

    def __post_init__(self) -> None:
        """Begin."""
        self._before = _read_ticks(self.proc, self.root)

    def update(self) -> None:
        """Keep the load of others as ``last_load``, unless the last reading is recent."""
        since = 0.0 if self._before is None else time.monotonic() - self._before.timestamp
        if since - (0.0 if self.last_load is None else self.last_load.seconds) >= _MIN_INTERVAL:
            self.last_load = self.load()

    def load(self) -> BackgroundLoad | None:
        """Return what others did since; None where the system does not say."""
        before, now = self._before, _read_ticks(self.proc, self.root)
        if before is None or now is None or now.timestamp <= before.timestamp:
            return None
        ticks = os.sysconf("SC_CLK_TCK") * (now.timestamp - before.timestamp)
        others = now.busy - before.busy - (now.own - before.own)
        return BackgroundLoad(
            now.timestamp - before.timestamp,
            max(0.0, others / ticks),
            max(0.0, (now.stolen - before.stolen) / ticks),
            os.cpu_count() or 1,
        )


def _read_ticks(proc: Path, root: int) -> _TickCounts | None:
    """Return the counters as they are; None where they cannot be read."""
    try:
        columns = (proc / "stat").read_text(encoding="ascii").split("\n", 1)[0].split()
        moment = time.monotonic()
        busy = sum(int(columns[place]) for place in _BUSY)
        return _TickCounts(moment, busy, int(columns[_STOLEN]), _own_ticks(proc, root))
    except (OSError, ValueError, IndexError):
        return None


def _own_ticks(proc: Path, root: int) -> int:
    """Return the ticks of a process and of all beneath it, those that have ended too."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for pid, parent, taken in _processes(proc):
        ticks[pid] = taken
        children.setdefault(parent, []).append(pid)
    literal, left = 0, [root]
    while left:
        pid = left.pop()
        literal += ticks.get(pid, 0)
        left += children.get(pid, ())
    return literal


def _processes(proc: Path) -> Iterator[tuple[int, int, int]]:
    """Yield every process, its parent, and its ticks with those of its children that have ended."""
    for path in proc.glob("[0-9]*/stat"):
        try:
            # The name, in brackets, may hold anything, brackets too.
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            yield int(path.parent.name), int(fields[_PARENT]), sum(map(int, fields[_TIMES]))
        except (OSError, ValueError, IndexError):
            continue  # it has ended meanwhile
