"""Times of the steps of a plan: kernels by the measuring worker, copies as a model runs them.

A step is known by a text that says what its time depends on: of a kernel its head, the functions of
elements that follow in any order, and the geometry of what it reads; of a copy the geometry of both
sides. So steps that are alike are timed once, and graphs that only order functions of elements in
another way cost the same.

An operator by itself is a graph of one node. What only looks at its operands in another way takes
no time: reshapes, transpositions, slices and the parts of splits are read where they lie, and
concatenations along the outermost axis are written where they belong.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from polygym.errors import PolygymError
from polygym.graphs.execution.ir.nests import nest_text
from polygym.graphs.execution.ir.views import ACTIVATION, ArrayView, view_strides, whole_array
from polygym.graphs.execution.lowering.graph_lowering import LoweredGraph, lower_graph
from polygym.graphs.execution.lowering.kernel_groups import KernelGroup, group_nest
from polygym.graphs.execution.planning.execution_plan import (
    ElementCopy,
    KernelLaunch,
    plan_execution,
)
from polygym.graphs.execution.planning.kernel_variants import (
    KernelSource,
    KernelVariants,
    has_variants,
)
from polygym.graphs.execution.timing.kernel_timing import kernel_seconds, process_worker
from polygym.graphs.execution.timing.step_profile import describe_step
from polygym.graphs.ir.graph import Graph
from polygym.graphs.operators.types import (
    NumberData,
    TensorPair,
    TensorType,
    TextData,
    numpy_type,
    shape_text,
)
from polygym.pickling import pickle_by_name
from polygym.rewrite.term import Head, Term, term

_LABEL_WORDS = 4
"""So many operators and operands of a step are named."""

_COPY_RUNS, _COPY_SECONDS = 7, 0.02
"""A copy is run so often, and for so long at least."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step: its operators and what they read, and what runs.

    ``kind`` is what its time depends on: the same for kernels whose functions of elements only come
    in another order. ``text`` is that of its comprehension, ``head_text`` that of its head alone,
    which takes no longer.
    """

    label: str
    kind: str
    text: str
    head_text: str
    operations: int
    bytes: int
    work: KernelSource | ElementCopy


def planned_steps(
    graph: Graph, threads: int, forms: KernelVariants | None = None
) -> tuple[PlannedStep, ...]:
    """Return the steps that a model of a graph runs; the values of weights do not matter."""
    return _steps_of(lower_graph(graph, None), threads, forms)


def _steps_of(
    model: LoweredGraph, threads: int, forms: KernelVariants | None = None
) -> tuple[PlannedStep, ...]:
    return tuple(map(_planned, plan_execution(model, threads, fuse=True, forms=forms).steps))


def operator_steps(
    head: Head, children: Sequence[Any], threads: int = 1
) -> tuple[PlannedStep, ...]:
    """Return the steps of an operator by itself, for children of these data.

    >>> operator_steps("reshape", (TensorType((2, 3)), NumberData(6)))
    ()

    Raises:
        PolygymError: there is no such operator, or it has no code.
    """
    if head == "split" or any(isinstance(child, TensorPair) for child in children):
        return ()
    graph = Graph.of("operator", term(head, *map(_leaf, range(len(children)), children)))
    model = lower_graph(graph, None)
    made = {operation.result for operation in model.operations}
    if any(view.source not in made for view in model.outputs):
        return ()
    if str(head).startswith("concat") and prod(children[1].shape[: children[0].value]) == 1:
        return ()
    return _steps_of(model, threads)


def _leaf(place: int, operand: Any) -> Term:
    match operand:
        case TensorType(shape, dtype, constant):
            identifier = f"x{place}@{shape_text(shape)}:{dtype}"
            return term("weight" if constant else "input", term(identifier))
        case NumberData(value) | TextData(value):
            return term(value)
        case _:
            raise TypeError(f"expected a tensor or a literal, found {operand!r}")


def _planned(step: KernelLaunch | ElementCopy) -> PlannedStep:
    seen = describe_step(step)
    label = " ".join((_shortened(seen.label), *seen.reads[:_LABEL_WORDS]))
    if isinstance(step, ElementCopy):
        text = f"copy {_geometry(step.view)} {_geometry(step.target)}"
        return PlannedStep(label, text, text, "", 0, seen.bytes, step)
    group, head = step.group, step.group.head
    # The text of a product or convolution is that of its usual form.
    usual = nest_text(group_nest(group)[0]) if has_variants(group) else step.recipe.text
    alone = usual
    if head is not None and len(group.members) > 1:
        alone = nest_text(group_nest(KernelGroup(head, [head], head))[0])
    kind = usual if len(group.members) == 1 else _kind(step, alone)
    return PlannedStep(label, kind, usual, alone, seen.operations, seen.bytes, step.recipe)


def _shortened(label: str) -> str:
    """Return the names of a step's operators, the first ones if there are many.

    >>> _shortened("+".join("abcdefghi"))
    'a+b+c+d+5 more'
    """
    names = label.split("+")
    more = len(names) - _LABEL_WORDS
    return label if more <= 0 else "+".join([*names[:_LABEL_WORDS], f"{more} more"])


def _kind(step: KernelLaunch, alone: str) -> str:
    """Return what a head, functions in any order, and what they read have in common."""
    group, head = step.group, step.group.head
    functions = sorted(
        operation.head.removeprefix(ACTIVATION)
        for operation in group.members
        if operation is not head
    )
    inner = {operation.result for operation in group.members}
    views = {view for operation in group.members for view in operation.operands}
    read = sorted(
        _geometry(view)
        for view in views - set(head.operands if head is not None else ())
        if view.source not in inner
    )
    is_update = step.nest.result in {array.name for array in step.nest.parameters}
    result = _geometry(whole_array(group.root.result)) + " in place" * is_update
    return "\n".join([" ".join(functions), *read, result, *([alone] if head is not None else [])])


def _geometry(view: ArrayView) -> str:
    return f"{view.dtype} {view.shape} {view_strides(view)[1]}"


def step_seconds(step: PlannedStep) -> float | None:
    """Return the seconds of a step, the best of several runs; None if it does not run."""
    try:
        if isinstance(step.work, ElementCopy):
            return _copy_seconds(step.work)
        return kernel_seconds(step.work, process_worker())
    except (PolygymError, MemoryError):
        return None


def _copy_seconds(step: ElementCopy) -> float:
    source, target = (
        view.as_array(np.zeros(prod(view.source.shape), numpy_type(view.dtype)))
        for view in (step.view, step.target)
    )
    best, begun, runs = float("inf"), time.monotonic(), 0
    while runs < _COPY_RUNS or time.monotonic() - begun < _COPY_SECONDS:
        start = time.perf_counter()
        target[...] = source
        best, runs = min(best, time.perf_counter() - start), runs + 1
    return best
