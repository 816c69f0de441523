"""Evaluations: one value for every end of a schedule, fast, slow, wrong or broken."""

from __future__ import annotations

import os
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any

from polygym.errors import InputError
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping, parse_mapping
from polygym.pickling import pickle_by_name
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.runtime.worker.outcome import OutcomeStatus

TIMING_NOISE = 0.03
"""Two runs of one program differ by that much, relatively, for no reason of the program's."""


MEMORY_VARIABLE = "POLYGYM_COMPILE_MEMORY"
"""The environment variable that says how many megabytes generating code may take."""

_DEFAULT_MEMORY = 2 * 2**30
MIN_MEMORY = 2**29
"""What code of small programs takes, with the process itself; less makes no sense."""


def default_memory() -> int:
    """Return how many bytes a process that generates code may take, unless it is told.

    Eight environments have eight of them.
    """
    text = os.environ.get(MEMORY_VARIABLE, "").strip()
    if not text:
        return _DEFAULT_MEMORY
    if not text.isdecimal() or len(text) > 9 or int(text) * 2**20 < MIN_MEMORY:
        raise InputError(
            f"{MEMORY_VARIABLE}: expected a number of megabytes from {MIN_MEMORY // 2**20} on, "
            f"found {text!r}"
        )
    return int(text) * 2**20


class Remeasure(Enum):
    """When a schedule that was measured before is measured again.

    NEVER: the first answer stays as long as the evaluator. BEST: an answer that would be the best
    of the program is measured twice more, and the median of the three stays. ALWAYS: whenever it is
    asked for.
    """

    NEVER = "never"
    BEST = "best"
    ALWAYS = "always"

    @staticmethod
    def named(name: str) -> Remeasure:
        """Return the member of that name."""
        try:
            return Remeasure(name)
        except ValueError:
            names = ", ".join(member.value for member in Remeasure)
            raise InputError(f"remeasure: expected one of {names}, found {name!r}") from None


@pickle_by_name
@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """How schedules are judged.

    A run is cut off after ``timeout_factor`` times the original's time, and generating code after
    ``compile_seconds``, or when it would take more than ``compile_memory`` bytes. ``mapping`` says
    what is done to each schedule for the machine's sake, and ``threads`` how many threads the code
    may use, whatever the mapping has.
    """

    threads: int = 1
    timeout_factor: float = 10.0
    compile_seconds: float = 5.0
    mapping: Mapping = DEFAULT_MAPPING
    compile_memory: int = field(default_factory=default_memory)
    remeasure: Remeasure = Remeasure.NEVER

    def __post_init__(self) -> None:
        """Refuse numbers under which nothing can be measured."""
        if type(self.threads) is not int or not 1 <= self.threads <= 1024:
            raise InputError(f"threads: expected 1 to 1024, found {self.threads!r}")
        if not 1.0 <= self.timeout_factor <= 1e6:
            raise InputError(
                f"timeout_factor: expected 1 to 1,000,000 times the original's time, found "
                f"{self.timeout_factor}"
            )
        if not 0.0 < self.compile_seconds <= 1e6:
            raise InputError(f"compile_seconds: expected more than 0, found {self.compile_seconds}")
        if not MIN_MEMORY <= self.compile_memory < 2**63:
            raise InputError(
                f"compile_memory: expected at least {MIN_MEMORY:,} bytes, found "
                f"{self.compile_memory:,}"
            )
        object.__setattr__(self, "mapping", replace(self.mapping, threads=self.threads))


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Evaluation:
    """A schedule under a mapping, and what was measured of it.

    ``seconds`` is the best of ``samples``, ``baseline_seconds`` the best time of the original order
    beside it, ``speedup`` their ratio. A schedule that failed has 0 for all of these and no
    samples; ``error_type`` and ``error_details`` say why ("" where nothing failed).
    ``applied_mapping`` is the mapping under which there is code, a simpler one where isl gives up;
    None where there is none. ``canonical_key`` is the same for schedules whose code is, but for
    where counters begin ("" where there is none): one of them was measured for all.
    """

    schedule: Schedule
    status: OutcomeStatus
    speedup: float = 0.0
    seconds: float = 0.0
    baseline_seconds: float = 0.0
    samples: tuple[float, ...] = ()
    baseline_samples: tuple[float, ...] = ()
    error_type: str = ""
    error_details: str = ""
    mapping: Mapping = SEQUENTIAL_MAPPING
    applied_mapping: Mapping | None = None
    canonical_key: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether it ran and computed what the original order computes."""
        return self.status is OutcomeStatus.OK

    def to_json(self) -> dict[str, Any]:
        """Return plain data; :meth:`from_json` reads it back."""
        return {member.name: _plain(getattr(self, member.name)) for member in fields(self)}

    @staticmethod
    def from_json(data: Dictionary[str, Any], scop: Scop) -> Evaluation:
        """Read what :meth:`to_json` wrote, for the program that it belongs to."""
        try:
            applied = data["applied_mapping"]
            return Evaluation(
                parse_schedule(_expect_text(data["schedule"]), scop),
                OutcomeStatus(data["status"]),
                _expect_time(data["speedup"]),
                _expect_time(data["seconds"]),
                _expect_time(data["baseline_seconds"]),
                tuple(map(_expect_time, data["samples"])),
                tuple(map(_expect_time, data["baseline_samples"])),
                _expect_text(data["error_type"]),
                _expect_text(data["error_details"]),
                parse_mapping(_expect_text(data["mapping"])),
                None if applied is None else parse_mapping(_expect_text(applied)),
                _expect_text(data["canonical_key"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(
                "an evaluation in JSON: expected what to_json() writes, found something else "
                f"({type(error).__name__}: {error})"
            ) from None


def _plain(value: object) -> object:
    match value:
        case Schedule() | Mapping():
            return str(value)
        case OutcomeStatus():
            return value.value
        case tuple():
            return list(value)
        case _:
            return value


def _expect_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, found {value!r}")
    return value


def _expect_time(value: object) -> float:
    """Return a time, or a ratio of two: a number that is finite and not negative."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"expected a number, found {value!r}")
    if not 0 <= value < float("inf"):
        raise ValueError(f"expected a finite number from 0 on, found {value}")
    return float(value)
