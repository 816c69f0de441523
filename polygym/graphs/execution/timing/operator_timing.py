"""The time of one operator, taken by the measuring worker in a process of its own.

What is timed is what a compiled model would run for the operator alone: its kernels on data of
their own, best of several runs. What only looks at its operands in another way takes no time by
itself: reshapes, transpositions, slices and the parts of splits are read where they lie; and
concatenations along the outermost axis are written where they belong. Others are timed as a kernel
that copies as much.
"""

import os
from collections.abc import Sequence
from math import inf, prod
from typing import Any

import numpy as np

from polygym.codegen.pipeline import compile_program, lower
from polygym.errors import PolygymError
from polygym.graphs.execution.ir.nests import nest_text
from polygym.graphs.execution.ir.views import ArrayOperation, ArraySource
from polygym.graphs.execution.lowering.graph_lowering import lower_graph
from polygym.graphs.execution.lowering.kernel_groups import KernelGroup, group_nest
from polygym.graphs.execution.planning.execution_plan import (
    ElementCopy,
    KernelLaunch,
    plan_execution,
)
from polygym.graphs.execution.planning.kernel_variants import (
    KernelSource,
    compiled_kernel,
    kernel_builder,
)
from polygym.graphs.ir.graph import Graph
from polygym.graphs.operators.types import (
    NumberData,
    TensorPair,
    TensorType,
    TextData,
    numpy_type,
    shape_text,
)
from polygym.mapping.mapping import SEQUENTIAL_MAPPING
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import Program
from polygym.rewrite.term import Head, Term, term
from polygym.runtime.worker.problem import Buffer, CompiledProgram, Problem
from polygym.runtime.worker.timing import Repetition, WorkerOptions
from polygym.runtime.worker.worker import Worker

_REPETITION = Repetition(minimum=5, minimum_seconds=0.05, maximum=200)
_LIMITS = WorkerOptions(original_seconds=30.0)


def operator_seconds(
    head: Head, children: Sequence[Any], threads: int = 1, worker: Worker | None = None
) -> float:
    """Return the seconds that an operator takes for children of these data; inf if it fails.

    Operands that are known from weights are laid out ahead, as in a model. ``worker`` is a process
    other than the one that is kept for this.

    >>> operator_seconds("reshape", (TensorType((2, 3)), NumberData(6)))
    0.0
    """
    try:
        recipes = operator_kernels(head, children, threads)
        return sum((kernel_seconds(source, worker or process_worker()) for source in recipes), 0.0)
    except (PolygymError, MemoryError):
        return inf


def operator_kernels(head: Head, children: Sequence[Any], threads: int = 1) -> list[KernelSource]:
    """Return the kernels that an operator alone runs, those that stand for copies among them.

    Raises:
        PolygymError: there is no such operator.
    """
    if any(isinstance(child, TensorPair) for child in children) or head == "split":
        return []
    leaves = [_leaf(place, child) for place, child in enumerate(children)]
    node = term(head, *leaves)
    graph = Graph.of("operator", node)
    weights = {
        signature.name: np.zeros(signature.tensor.shape, numpy_type(signature.tensor.dtype))
        for signature in graph.weights
    }
    model = lower_graph(graph, weights)
    if any(
        view.source not in {operation.result for operation in model.operations}
        for view in model.outputs
    ):
        return []
    is_joined = str(head).startswith("concat")
    if is_joined and prod(children[1].shape[: children[0].value]) == 1:
        return []
    result = []
    for step in plan_execution(model, threads, fuse=True).steps:
        match step:
            case KernelLaunch():
                result.append(step.recipe)
            case ElementCopy(view):
                # A kernel cannot write into the middle of rows: one that reads as much stands here.
                made = ArrayOperation("copy", (), (view,), ArraySource(view.shape, view.dtype))
                nest, _ = group_nest(KernelGroup(made, [made]))
                result.append(KernelSource(nest_text(nest), threads))
    return result


def _leaf(place: int, operand: Any) -> Term:
    match operand:
        case TensorType(shape, dtype, constant):
            identifier = f"x{place}@{shape_text(shape)}:{dtype}"
            return term("weight" if constant else "input", term(identifier))
        case NumberData(value) | TextData(value):
            return term(value)
        case _:
            raise TypeError(f"expected a tensor or a literal, found {operand!r}")


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
