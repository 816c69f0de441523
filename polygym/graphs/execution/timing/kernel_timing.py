"""The time of one kernel, taken by the measuring worker in a process of its own.

It runs on data of its own; the best of several runs counts.
"""

import os
from math import prod

from polygym.codegen.pipeline import compile_program, lower
from polygym.graphs.execution.planning.kernel_variants import (
    KernelSource,
    compiled_kernel,
    kernel_builder,
)
from polygym.mapping.mapping import SEQUENTIAL_MAPPING
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import Program
from polygym.runtime.worker.problem import Buffer, CompiledProgram, Problem
from polygym.runtime.worker.timing import Repetition, WorkerOptions
from polygym.runtime.worker.worker import Worker

_REPETITION = Repetition(minimum=5, minimum_seconds=0.05, maximum=200)
_LIMITS = WorkerOptions(original_seconds=30.0)


def kernel_seconds(recipe: KernelSource, worker: Worker) -> float:
    """Return the seconds of a kernel, the best of several runs.

    Raises:
        PolygymError: it cannot be compiled, or does not run.
    """
    session = worker.open(_kernel_problem(recipe), _REPETITION)
    try:
        return session.baseline.best
    finally:
        session.close()


def _kernel_problem(recipe: KernelSource) -> Problem:
    """Return a kernel as the program that a worker runs, on data by the usual rule."""
    kernel = compiled_kernel(recipe)
    program: Program = kernel_builder(recipe).program({})
    arrays = program.scop.arrays
    written = {statement.write.array for statement in program.scop.statements}
    names = [array.name for array in arrays]
    buffers = tuple(
        Buffer(
            array.name,
            array.type,
            prod(place.shape),
            compared=False,
            constant=array.name not in written,
        )
        for array, place in zip(arrays, kernel.places, strict=True)
    )
    initial = program.initial_data
    filling = compile_program(
        lower(LegalSchedule(initial, original_schedule(initial)), SEQUENTIAL_MAPPING, {})
    )
    extra = [array for array in initial.arrays if array.name not in names]
    assert not extra, "initial data need no arrays of their own"
    filled = tuple(names.index(array.name) for array in initial.arrays)
    return Problem(
        buffers,
        CompiledProgram(filling, filled),
        CompiledProgram(kernel.object_code, tuple(range(len(names)))),
    )


class _WorkerHolder:
    """The worker of this process; a forked copy gets one of its own."""

    worker: Worker | None = None
    owner = -1


def process_worker() -> Worker:
    """Return the worker that is kept for this."""
    if _WorkerHolder.worker is None or _WorkerHolder.owner != os.getpid():
        _WorkerHolder.worker, _WorkerHolder.owner = Worker(_LIMITS), os.getpid()
    return _WorkerHolder.worker
