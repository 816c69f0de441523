"""Running and timing compiled code in a process of its own.

``problem`` says what is to be run, ``outcome`` what became of it, ``options`` and ``timing`` how
it is measured; ``worker`` (with ``session``) is what others use. Behind it: ``connection`` starts
and talks to the ``supervisor``, whose ``keeper`` forks a ``runner`` for each ``job``; ``serving``
is how such a process begins, ``channel`` carries their messages, ``memory`` holds the arrays,
``progress`` is watched for time limits, ``compare`` decides whether outputs are right,
``spreading`` gives threads cores of their own, ``address_space`` bounds memory, and
``foreign_load`` says whether the machine was ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.runtime.worker.outcome import (
        Crash,
        DoesNotCompile,
        Ok,
        Outcome,
        OutcomeStatus,
        OutOfMemory,
        OutOfRange,
        ProblemError,
        Timeout,
        WorkerError,
        WrongOutput,
    )
    from polygym.runtime.worker.problem import Buffer, CompiledProgram, Problem
    from polygym.runtime.worker.session import Session
    from polygym.runtime.worker.timing import MeasureOptions, Repetition, TimeLimit, WorkerOptions
    from polygym.runtime.worker.worker import Worker
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "Buffer",
    "CompiledProgram",
    "Crash",
    "DoesNotCompile",
    "MeasureOptions",
    "Ok",
    "OutOfMemory",
    "OutOfRange",
    "Outcome",
    "OutcomeStatus",
    "Problem",
    "ProblemError",
    "Repetition",
    "Session",
    "TimeLimit",
    "Timeout",
    "Worker",
    "WorkerError",
    "WorkerOptions",
    "WrongOutput",
]
