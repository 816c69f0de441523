"""What a user of the worker can choose: limits of the process, and how a program is measured."""

from __future__ import annotations

from dataclasses import dataclass, field

from polygym.errors import InputError
from polygym.pickling import pickle_by_name
from polygym.runtime.worker.timing import Repetition, TimeLimit


@pickle_by_name
@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Limits of the worker.

    ``memory_limit`` is how many bytes one problem may take: the copies of its buffers
    (:attr:`polygym.runtime.worker.problem.Problem.memory`) and whatever its programs allocate. None
    stands for what is free on the machine when the problem is opened. ``original_seconds`` is the
    limit on each run of the original and of the initial-data program, for which there is no
    baseline yet.
    ``preparation_seconds`` is the limit on everything else: linking, restoring, comparing.
    """

    memory_limit: int | None = None
    original_seconds: float = 600.0
    preparation_seconds: float = 60.0

    def __post_init__(self) -> None:
        """Refuse limits under which nothing can run."""
        if self.memory_limit is not None and self.memory_limit <= 0:
            raise InputError(f"memory limit: expected more than 0 bytes, found {self.memory_limit}")
        if min(self.original_seconds, self.preparation_seconds) <= 0:
            raise InputError("time limits of the worker: expected more than 0 seconds")


@pickle_by_name
@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """How a program is measured.

    With ``keep_contents``, ``Session.contents`` can read what the last run left in the buffers.
    """

    repetition: Repetition = field(default_factory=Repetition)
    time_limit: TimeLimit = field(default_factory=TimeLimit)
    keep_contents: bool = False
