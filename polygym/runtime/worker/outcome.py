"""Outcomes of a run: a closed union of values, never an exception.

Every member has a ``status`` (for tables and rewards) and turns into JSON and back. Match on the
union exhaustively and end with ``assert_never``. Times are seconds as floats; ``samples`` holds the
raw time of every completed repetition in the order in which they ran.
"""

import signal
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, ClassVar, TypeAlias, cast, get_args

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


@dataclass(frozen=True, slots=True)
class _Refusal:
    """An outcome of which a message tells the reason."""

    status: ClassVar[OutcomeStatus]
    message: str

    def __str__(self) -> str:
        """Describe the outcome in one line."""
        return f"{self.status.value}: {self.message}"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class DoesNotCompile(_Refusal):
    """The program could not be compiled or loaded, or breaks the contract of its entry point."""

    status: ClassVar[OutcomeStatus] = OutcomeStatus.DOES_NOT_COMPILE


@pickle_by_name
@dataclass(frozen=True, slots=True)
class OutOfMemory(_Refusal):
    """The program needs more memory than it may have."""

    status: ClassVar[OutcomeStatus] = OutcomeStatus.OUT_OF_MEMORY


@pickle_by_name
@dataclass(frozen=True, slots=True)
class OutOfRange(_Refusal):
    """A subscript that the program computes from its data is outside of its array."""

    status: ClassVar[OutcomeStatus] = OutcomeStatus.OUT_OF_RANGE


Outcome: TypeAlias = Ok | WrongOutput | Timeout | Crash | DoesNotCompile | OutOfMemory | OutOfRange
_BY_STATUS = {kind.status: kind for kind in get_args(Outcome)}


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
    values = {field.name: getattr(outcome, field.name) for field in fields(outcome)}
    if "samples" in values:
        values["samples"] = list(values["samples"])
    return {"status": outcome.status.value, **values}


def outcome_from_json(data: dict[str, Any]) -> Outcome:
    """Return the outcome that :func:`outcome_to_json` wrote.

    >>> outcome_from_json({"status": "crash", "number": 8, "name": "SIGFPE"})
    Crash(number=8, name='SIGFPE')
    """
    values = {name: value for name, value in data.items() if name != "status"}
    if "samples" in values:
        values["samples"] = tuple(values["samples"])
    return cast("Outcome", _BY_STATUS[OutcomeStatus(data["status"])](**values))


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
