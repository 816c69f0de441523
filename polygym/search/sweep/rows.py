"""Rows of a sweep store's tables, as values.

The tables of a sweep's store, and rows as they hold them.

=================  ============================================================================
table              one row for
=================  ============================================================================
``setting``        the setting of the sweep, as JSON
``runs``           a time that the sweep was begun or gone on with, and where
``kernels``        a program, with what was spent on it and why it was left
``outcomes``       a distinct schedule of a program, measured once
``episodes``       an episode of a policy; several may have one outcome
``baselines``      the original order's samples at a moment
``confirmations``  one of the best schedules, measured again at the larger size
``reference_times``  isl's schedule or another compiler's code, at a size
``disturbances``   a while for which a program was measured, and what else the machine did
``variants``       a program that is changed before: where it is cut, where its values are
``kinds``          the kind of node that a cluster measured on, of which there is one
=================  ============================================================================
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from polygym.runtime.evaluation import Evaluation
from polygym.runtime.evaluation.measurement_rule import speedup_ratio
from polygym.runtime.worker.outcome import OutcomeStatus

LLVM, ISL, LIMIT = "llvm-O3", "isl", "limit"


@dataclass(frozen=True, slots=True)
class Timing:
    """What was measured of some code, and of the original order beside it.

    Times and samples are in seconds; those of code that failed are 0 and empty, and ``detail`` says
    why.
    """

    status: OutcomeStatus
    seconds: float = 0.0
    baseline_seconds: float = 0.0
    samples: tuple[float, ...] = ()
    baseline_samples: tuple[float, ...] = ()
    detail: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether it ran and was right."""
        return self.status is OutcomeStatus.OK

    @property
    def speedup(self) -> float | None:
        """How many times faster than the original order it is, where both ran."""
        if not (self.is_ok and self.baseline_seconds > 0):
            return None
        return speedup_ratio(self.baseline_seconds, self.seconds)

    @staticmethod
    def of(evaluation: Evaluation) -> Timing:
        """Return the timing that is in an evaluation."""
        detail = ": ".join(filter(None, (evaluation.error_type, evaluation.error_details)))
        names = [entry.name for entry in fields(Timing) if entry.name != "detail"]
        return Timing(**{name: getattr(evaluation, name) for name in names}, detail=detail)


@dataclass(frozen=True, slots=True)
class ProgramVariant:
    """How a program is changed before there are schedules of it, as texts."""

    kernel: str
    splitting: str
    storage: str

    def __str__(self) -> str:
        """Return how, for people."""
        return f"split {self.splitting or 'none'}, storage {self.storage}"


@dataclass(frozen=True, slots=True)
class ScheduleOutcome:
    """A distinct schedule of a kernel, and what became of it at the size of the search."""

    number: int
    kernel: str
    schedule: str
    timing: Timing


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One episode: which outcome its schedule has, or the reason why there is no schedule."""

    kernel: str
    policy: str
    index: int
    outcome: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """An outcome's schedule measured again, beside the others of its kernel."""

    outcome: int
    kernel: str
    dataset: str
    timing: Timing


@dataclass(frozen=True, slots=True)
class ReferenceTiming:
    """What there is to compare with: ``name`` is :data:`ISL`, :data:`LIMIT`, or a compiler's."""

    kernel: str
    dataset: str
    name: str
    timing: Timing


@dataclass(frozen=True, slots=True)
class BaselineTiming:
    """The original order's time at a moment, which is in seconds since 1970."""

    kernel: str
    dataset: str
    moment: float
    samples: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """The best of the samples."""
        return min(self.samples)


@dataclass(frozen=True, slots=True)
class SweepRun:
    """A time that a sweep was begun or gone on with: on what machine, and by which programs.

    ``moment`` is in seconds since 1970; ``compilers`` has what each other compiler calls itself.
    """

    moment: float
    version: str
    processor: str
    cores: int
    system: str
    compilers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class BackgroundLoadRow:
    """How many cores others had on average while a program was measured at a size.

    It was measured for ``seconds`` from ``moment`` on, which is in seconds since 1970. ``others``
    were kept busy by other processes, ``stolen`` taken by a hypervisor.
    """

    kernel: str
    dataset: str
    moment: float
    seconds: float
    others: float
    stolen: float

    @property
    def cores(self) -> float:
        """The cores that were busy with anything else."""
        return self.others + self.stolen


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """A program of the sweep.

    ``digest`` is the fingerprint of its text ("" until it was read), ``error`` why it was left
    ("" where it was not), ``seconds`` how long it has been searched in all.
    """

    name: str
    digest: str = ""
    error: str = ""
    seconds: float = 0.0


EXPECTED = "the whole store of a sweep"

_TIMING = """status TEXT NOT NULL, seconds REAL NOT NULL, baseline_seconds REAL NOT NULL,
    samples TEXT NOT NULL, baseline_samples TEXT NOT NULL, detail TEXT NOT NULL"""

TABLES = f"""
CREATE TABLE setting (only INTEGER PRIMARY KEY CHECK (only = 1), document TEXT NOT NULL);
CREATE TABLE kernels (name TEXT PRIMARY KEY, digest TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT '', seconds REAL NOT NULL DEFAULT 0);
CREATE TABLE outcomes (number INTEGER PRIMARY KEY, kernel TEXT NOT NULL, schedule TEXT NOT NULL,
    {_TIMING}, UNIQUE (kernel, schedule));
CREATE TABLE episodes (kernel TEXT NOT NULL, policy TEXT NOT NULL, number INTEGER NOT NULL,
    outcome INTEGER REFERENCES outcomes (number), reason TEXT NOT NULL,
    PRIMARY KEY (kernel, policy, number)) WITHOUT ROWID;
CREATE TABLE baselines (kernel TEXT NOT NULL, dataset TEXT NOT NULL, moment REAL NOT NULL,
    samples TEXT NOT NULL);
CREATE TABLE confirmations (outcome INTEGER NOT NULL REFERENCES outcomes (number),
    kernel TEXT NOT NULL, dataset TEXT NOT NULL, {_TIMING}, PRIMARY KEY (outcome, dataset));
CREATE TABLE reference_times (kernel TEXT NOT NULL, dataset TEXT NOT NULL, name TEXT NOT NULL,
    {_TIMING}, PRIMARY KEY (kernel, dataset, name));
"""

# Tables that are not in the first stores of this version; opening a store for writing makes them.
ADDED_TABLES = (
    """CREATE TABLE IF NOT EXISTS runs (moment REAL NOT NULL, version TEXT NOT NULL,
    processor TEXT NOT NULL, cores INTEGER NOT NULL, system TEXT NOT NULL, compilers TEXT NOT NULL)
    """,
    """CREATE TABLE IF NOT EXISTS disturbances (kernel TEXT NOT NULL, dataset TEXT NOT NULL,
    moment REAL NOT NULL, seconds REAL NOT NULL, others REAL NOT NULL, stolen REAL NOT NULL)
    """,
    """CREATE TABLE IF NOT EXISTS kinds (only INTEGER PRIMARY KEY CHECK (only = 1),
    key TEXT NOT NULL, document TEXT NOT NULL)
    """,
    """CREATE TABLE IF NOT EXISTS variants (kernel TEXT PRIMARY KEY, splitting TEXT NOT NULL,
    storage TEXT NOT NULL)
    """,
)


def column_values(row: Any) -> tuple[object, ...]:
    """Return the values of a row's columns: a timing has several, samples are JSON."""
    values: list[object] = []
    for entry in fields(row):
        value = getattr(row, entry.name)
        if isinstance(value, Timing):
            values += column_values(value)
        elif isinstance(value, OutcomeStatus):
            values.append(value.value)
        else:
            values.append(json.dumps(value) if isinstance(value, tuple) else value)
    return tuple(values)
