"""Runs and times of compiled code in processes of its own.

=====================  ==========================================================================
``background_load``    Background load: cores that were busy with other work during a measurement
``buffer_memory``      Memory of programs
``connection``         The parent's side of a server process: start, messages, end
``core_probe``         A short loop that tells whether this core is ours alone at the moment
``job_messages``       Jobs of a runner and its answers, as messages over a stream socket
``measurement_turn``   Turns: at most one measurement on a core, whichever process asks for it
``outcome``            Outcomes of a run: a closed union of values, never an exception
``output_comparison``  Comparison of a program's output with the output of the original
``problem``            Problems as values
``runner``             The runner
``runner_control``     The supervisor's side of a runner: fork, job, limits, end
``runner_progress``    Progress of a runner, in a page of memory shared with the supervisor
``server_process``     The start of every server process
``supervisor``         The supervisor: the process between the parent and the measured code
``timing``             Repetitions and time limits of a measurement
``worker``             The worker: programs measured without risk to the process that asks
=====================  ==========================================================================
"""

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
    from polygym.runtime.worker.timing import MeasureOptions, Repetition, TimeLimit, WorkerOptions
    from polygym.runtime.worker.worker import Session, Worker
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
