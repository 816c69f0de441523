"""Rows of a sweep store's tables, as values."""

from __future__ import annotations

from dataclasses import dataclass

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
        return Timing(
            evaluation.status,
            evaluation.seconds,
            evaluation.baseline_seconds,
            evaluation.samples,
            evaluation.baseline_samples,
            detail,
        )


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
