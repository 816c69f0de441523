"""Description of a step for users, and the memory that its kernel needs for itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from polygym.errors import InternalError
from polygym.graphs.execution.ir.nests import TensorNest, operation_count
from polygym.graphs.execution.ir.views import ArrayView
from polygym.graphs.execution.lowering.kernel_groups import KernelGroup
from polygym.graphs.execution.planning.arena import ArenaBlock
from polygym.graphs.execution.planning.execution_plan import (
    ElementCopy,
    ExecutionPlan,
    KernelLaunch,
)
from polygym.graphs.execution.planning.kernel_source import KernelSource
from polygym.graphs.operators.types import DTYPES, TensorType
from polygym.pickling import pickle_by_name
from polygym.tc.kernel import ArrayBinding, CompiledKernel


@pickle_by_name
@dataclass(frozen=True, slots=True)
class StepDescription:
    """What a step does: operators, shapes, the comprehension of its kernel ("" for a copy).

    ``operation_count`` counts functions and terms of sums, ``bytes`` what is read and written at
    least.
    """

    label: str
    reads: tuple[str, ...]
    writes: str
    text: str
    operations: int
    bytes: int


def describe_step(step: KernelLaunch | ElementCopy) -> StepDescription:
    """Return the description of a step."""
    if isinstance(step, ElementCopy):
        text = str(TensorType(step.view.shape, step.view.dtype))
        moved = 2 * step.view.elements * DTYPES[step.view.dtype]
        return StepDescription("copy", (text,), text, "", 0, moved)
    views = [view for _, view in step.reads]
    return describe_kernel(step.group, step.nest, step.recipe, views)


def describe_kernel(
    group: KernelGroup, nest: TensorNest, recipe: KernelSource, views: Sequence[ArrayView]
) -> StepDescription:
    """Return the description of a kernel, wherever its parameters lie."""
    reads = [TensorType(view.shape, view.dtype) for view in views]
    written = TensorType(group.root.result.shape, group.root.result.dtype)
    moved = sum(tensor_type.bytes for tensor_type in (*reads, written))
    names = tuple(map(str, reads))
    return StepDescription(
        group.label, names, str(written), recipe.text, operation_count(nest), moved
    )


def _check(place: ArrayBinding, step: KernelLaunch) -> None:
    """Refuse code that would write other elements, or more of them, than there is memory for."""
    if place.is_partial:
        raise InternalError(f"{step.group.label}: expected every element to be assigned")
    if place.output is None:
        return
    result = step.group.root.result
    found, expected = (prod(place.shape), place.dtype.name), (prod(result.shape), result.dtype)
    if found != expected:
        raise InternalError(f"{step.group.label}: expected {expected}, the code writes {found}")


def plan_temporaries(
    layout: ExecutionPlan, kernels: Sequence[CompiledKernel | None]
) -> tuple[list[list[int]], list[ArenaBlock]]:
    """Return the blocks of the temporary arrays of every kernel, and all blocks."""
    blocks = list(layout.blocks)
    result: list[list[int]] = []
    for number, (step, kernel) in enumerate(zip(layout.steps, kernels, strict=True)):
        own: list[int] = []
        for binding in kernel.places if kernel is not None else ():
            assert isinstance(step, KernelLaunch)
            _check(binding, step)
            if binding.output is None and binding.argument is None:
                own.append(len(blocks))
                size = prod(binding.shape) * binding.dtype.itemsize
                blocks.append(ArenaBlock(size, number, number))
        result.append(own)
    return result, blocks
