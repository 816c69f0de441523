"""Outcomes of a run: a closed union of values, never an exception.

Every member has a ``status`` (for tables and rewards) and turns into JSON and back. Match on the
union exhaustively and end with ``assert_never``. Times are seconds as floats; ``samples`` holds the
raw time of every completed repetition in the order in which they ran.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, TypeAlias, assert_never

from polygym.errors import PolygymError
from polygym.pickling import pickle_by_name


class OutcomeStatus(Enum):
    """The kind of an outcome; the value is how it is written in tables and JSON."""

    OK = "ok"
    WRONG_OUTPUT = "wrong output"
    TIMEOUT = "timeout"
    CRASH = "crash"
    DOES_NOT_COMPILE = "does not compile"
    OUT_OF_MEMORY = "out of memory"
    OUT_OF_RANGE = "out of range"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Ok:
    """The program ran and its outputs are those of the original."""

    status: ClassVar[OutcomeStatus] = OutcomeStatus.OK

    samples: tuple[float, ...]

    @property
    def best(self) -> float:
        """The smallest sample: what the program takes when nothing else disturbs it."""
        return min(self.samples)

    def __str__(self) -> str:
        """Describe the outcome in one line."""
        return f"ok: {self.best:.6g} s, best of {len(self.samples)}"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class WrongOutput:
    """An array differs from what the original leaves in it, or something was written beside it.

    ``index`` is the flat offset of the first element that differs, counted from the array's
    beginning. Below zero or past the array's end it names a place outside the array that should
    not have been touched. ``expected`` and ``found`` are the two values as text (exact: a float is
    written with as many digits as it takes to tell it from its neighbours).
    """

    status: ClassVar[OutcomeStatus] = OutcomeStatus.WRONG_OUTPUT

    array: str
    index: int
    expected: str
    found: str
    samples: tuple[float, ...]

    def __str__(self) -> str:
        """Describe the outcome in one line."""
        where = f"{self.array}, element {self.index}"
        return f"wrong output: {where}: expected {self.expected}, found {self.found}"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Timeout:
    """A run went past its limit and was cut off."""

    status: ClassVar[OutcomeStatus] = OutcomeStatus.TIMEOUT

    limit_seconds: float

    def __str__(self) -> str:
        """Describe the outcome in one line."""
        return f"timeout: cut off after {self.limit_seconds:.6g} s"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Crash:
    """The process that ran the program died.

    ``number`` is the signal's, and ``name`` is like ``SIGSEGV``. A process that ended without a
    signal before its work was done has number 0 and a name that says how.
    """

    status: ClassVar[OutcomeStatus] = OutcomeStatus.CRASH

    number: int
    name: str

    def __str__(self) -> str:
        """Describe the outcome in one line."""
        return f"crash: {self.name}"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class DoesNotCompile:
    """The program could not be compiled or loaded, or breaks the contract of its entry point."""

    status: ClassVar[OutcomeStatus] = OutcomeStatus.DOES_NOT_COMPILE

    message: str

    def __str__(self) -> str:
        """Describe the outcome in one line."""
        return f"does not compile: {self.message}"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """The program needs more memory than it may have."""

    status: ClassVar[OutcomeStatus] = OutcomeStatus.OUT_OF_MEMORY

    message: str

    def __str__(self) -> str:
        """Describe the outcome in one line."""
        return f"out of memory: {self.message}"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class OutOfRange:
    """A subscript that the program computes from its data is none of the array's."""

    status: ClassVar[OutcomeStatus] = OutcomeStatus.OUT_OF_RANGE

    message: str

    def __str__(self) -> str:
        """Describe the outcome in one line."""
        return f"out of range: {self.message}"


Outcome: TypeAlias = Ok | WrongOutput | Timeout | Crash | DoesNotCompile | OutOfMemory | OutOfRange


def crash_from_exit(exit_code: int) -> Crash:
    """Name how a process ended; the code is as ``os.waitstatus_to_exitcode`` returns it.

    >>> crash_from_exit(-11)
    Crash(number=11, name='SIGSEGV')
    >>> crash_from_exit(3)
    Crash(number=0, name='exit with status 3')
    """
    if exit_code >= 0:
        return Crash(0, f"exit with status {exit_code}")
    number = -exit_code
    try:
        return Crash(number, signal.Signals(number).name)
    except ValueError:  # the real-time signals between SIGRTMIN and SIGRTMAX have no names
        return Crash(number, f"signal {number}")


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome as a dictionary that ``json`` can write.

    >>> outcome_to_json(Timeout(0.5))
    {'status': 'timeout', 'limit_seconds': 0.5}
    """
    fields: dict[str, Any]
    match outcome:
        case Ok(samples):
            fields = {"samples": list(samples)}
        case WrongOutput(array, index, expected, found, samples):
            fields = {
                "array": array,
                "index": index,
                "expected": expected,
                "found": found,
                "samples": list(samples),
            }
        case Timeout(limit_seconds):
            fields = {"limit_seconds": limit_seconds}
        case Crash(number, name):
            fields = {"number": number, "name": name}
        case DoesNotCompile(message) | OutOfMemory(message) | OutOfRange(message):
            fields = {"message": message}
        case _:
            assert_never(outcome)
    return {"status": outcome.status.value, **fields}


def outcome_from_json(data: dict[str, Any]) -> Outcome:
    """Return the outcome that :func:`outcome_to_json` wrote.

    >>> outcome_from_json({"status": "crash", "number": 8, "name": "SIGFPE"})
    Crash(number=8, name='SIGFPE')
    """
    status = OutcomeStatus(data["status"])
    match status:
        case OutcomeStatus.OK:
            return Ok(tuple(data["samples"]))
        case OutcomeStatus.WRONG_OUTPUT:
            return WrongOutput(
                data["array"],
                data["index"],
                data["expected"],
                data["found"],
                tuple(data["samples"]),
            )
        case OutcomeStatus.TIMEOUT:
            return Timeout(data["limit_seconds"])
        case OutcomeStatus.CRASH:
            return Crash(data["number"], data["name"])
        case OutcomeStatus.DOES_NOT_COMPILE:
            return DoesNotCompile(data["message"])
        case OutcomeStatus.OUT_OF_MEMORY:
            return OutOfMemory(data["message"])
        case OutcomeStatus.OUT_OF_RANGE:
            return OutOfRange(data["message"])
        case _:
            assert_never(status)


class ProblemError(PolygymError):
    """A problem cannot be opened: its own initial data or its original program failed.

    ``stage`` says which, and ``outcome`` how.
    """

    def __init__(self, stage: str, outcome: Outcome) -> None:
        """Keep the parts, and render both as the text of the exception."""
        self.stage = stage
        self.outcome = outcome
        super().__init__(f"{stage}: expected it to run, found {outcome}")


class WorkerError(PolygymError):
    """The worker process itself cannot be started or does not stay alive."""
