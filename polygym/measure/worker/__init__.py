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

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.measure.worker.options import MeasureOptions, WorkerOptions
    from polygym.measure.worker.outcome import (
        Crash,
        DoesNotCompile,
        Ok,
        Outcome,
        OutOfMemory,
        OutOfRange,
        ProblemError,
        Status,
        Timeout,
        WorkerError,
        WrongOutput,
    )
    from polygym.measure.worker.problem import Buffer, CompiledProgram, Problem
    from polygym.measure.worker.session import Session
    from polygym.measure.worker.timing import Repetition, TimeLimit
    from polygym.measure.worker.worker import Worker
else:
    __getattr__ = lazily(
        __name__,
        {
            "options": ("MeasureOptions", "WorkerOptions"),
            "outcome": (
                "Crash",
                "DoesNotCompile",
                "Ok",
                "OutOfMemory",
                "OutOfRange",
                "Outcome",
                "ProblemError",
                "Status",
                "Timeout",
                "WorkerError",
                "WrongOutput",
            ),
            "problem": ("Buffer", "CompiledProgram", "Problem"),
            "session": ("Session",),
            "timing": ("Repetition", "TimeLimit"),
            "worker": ("Worker",),
        },
    )

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
    "Problem",
    "ProblemError",
    "Repetition",
    "Session",
    "Status",
    "TimeLimit",
    "Timeout",
    "Worker",
    "WorkerError",
    "WorkerOptions",
    "WrongOutput",
]
