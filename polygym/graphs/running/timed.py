"""The time of one operator, taken by the measuring worker in a process of its own.

What is timed is what a compiled model would run for the operator alone: its kernels on data of
their own, best of several runs. What only looks at its operands in another way takes no time by
itself: reshapes, transpositions, slices and the parts of splits are read where they lie; and
concatenations along the outermost axis are written where they belong. Others are timed as a kernel
that copies as much.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import inf, prod
from typing import Any

import numpy as np

from polygym.compiler.codegen.common.mapping import SEQUENTIAL
from polygym.compiler.codegen.pipeline import compile_program, lower
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.legality import LegalSchedule
from polygym.errors import PolygymError
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.types import Number, Pair, Tensor, Text, shape_text
from polygym.graphs.running.groups import Group, nest_of
from polygym.graphs.running.kernels import Recipe, builder_of, kernel_of
from polygym.graphs.running.lowering import traced
from polygym.graphs.running.operations import Operation
from polygym.graphs.running.plan import Copy, Launch, laid_out
from polygym.graphs.running.texts import text_of
from polygym.graphs.running.views import Source
from polygym.measure.worker.options import WorkerOptions
from polygym.measure.worker.problem import Buffer, CompiledProgram, Problem
from polygym.measure.worker.timing import Repetition
from polygym.measure.worker.worker import Worker
from polygym.programs import Program
from polygym.rewrite.term import Head, Term, term

__all__ = ["own_worker", "recipes_of", "seconds_of", "seconds_of_kernel"]

_RULE = Repetition(minimum=5, minimum_seconds=0.05, maximum=200)
_LIMITS = WorkerOptions(original_seconds=30.0)


def seconds_of(
    head: Head, children: Sequence[Any], threads: int = 1, worker: Worker | None = None
) -> float:
    """Return the seconds that an operator takes for children of these data; inf if it fails.

    Operands that are known from weights are laid out ahead, as in a model. ``worker`` is a process
    other than the one that is kept for this.

    >>> seconds_of("reshape", (Tensor((2, 3)), Number(6)))
    0.0
    """
    try:
        recipes = recipes_of(head, children, threads)
        return sum((seconds_of_kernel(one, worker or own_worker()) for one in recipes), 0.0)
    except (PolygymError, MemoryError):
        return inf


def recipes_of(head: Head, children: Sequence[Any], threads: int = 1) -> list[Recipe]:
    """Return the kernels that an operator alone runs, those that stand for copies among them.

    Raises:
        PolygymError: there is no such operator.
    """
    if any(isinstance(one, Pair) for one in children) or head == "split":
        return []
    leaves = [_leaf(place, one) for place, one in enumerate(children)]
    node = term(head, *leaves)
    graph = Graph.of("operator", node)
    weights = {one.name: np.zeros(one.tensor.shape, one.tensor.dtype) for one in graph.weights}
    model = traced(graph, weights)
    if any(view.source not in {one.result for one in model.operations} for view in model.outputs):
        return []
    is_joined = str(head).startswith("concat")
    if is_joined and prod(children[1].shape[: children[0].value]) == 1:
        return []
    found = []
    for step in laid_out(model, threads, fuse=True).steps:
        match step:
            case Launch():
                found.append(step.recipe)
            case Copy(view):
                # A kernel cannot write into the middle of rows: one that reads as much stands here.
                made = Operation("copy", (), (view,), Source(view.shape, view.dtype))
                nest, _ = nest_of(Group(made, [made]))
                found.append(Recipe(text_of(nest), threads))
    return found


def _leaf(place: int, one: Any) -> Term:
    match one:
        case Tensor(shape, dtype, constant):
            identifier = f"x{place}@{shape_text(shape)}:{dtype}"
            return term("weight" if constant else "input", term(identifier))
        case Number(value) | Text(value):
            return term(value)
        case _:
            raise TypeError(f"expected a tensor or a literal, found {one!r}")


def seconds_of_kernel(recipe: Recipe, worker: Worker) -> float:
    """Return the seconds of a kernel, the best of several runs.

    Raises:
        PolygymError: it cannot be compiled, or does not run.
    """
    session = worker.open(_problem(recipe), _RULE)
    try:
        return session.baseline.best
    finally:
        session.close()


def _problem(recipe: Recipe) -> Problem:
    """Return a kernel as the program that a worker runs, on data by the usual rule."""
    kernel = kernel_of(recipe)
    program: Program = builder_of(recipe).program({})
    arrays = program.scop.arrays
    written = {one.write.array for one in program.scop.statements}
    names = [one.name for one in arrays]
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
    filling = compile_program(lower(LegalSchedule(initial, original(initial)), SEQUENTIAL, {}))
    extra = [one for one in initial.arrays if one.name not in names]
    assert not extra, "initial data need no arrays of their own"
    filled = tuple(names.index(one.name) for one in initial.arrays)
    return Problem(
        buffers,
        CompiledProgram(filling, filled),
        CompiledProgram(kernel.object_code, tuple(range(len(names)))),
    )


class _Kept:
    """The worker of this process; a forked copy gets one of its own."""

    worker: Worker | None = None
    owner = -1


def own_worker() -> Worker:
    """Return the worker that is kept for this."""
    if _Kept.worker is None or _Kept.owner != os.getpid():
        _Kept.worker, _Kept.owner = Worker(_LIMITS), os.getpid()
    return _Kept.worker
