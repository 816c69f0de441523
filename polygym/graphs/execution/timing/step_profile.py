"""Profile of a model: time by step or by operator, beside the limit of the machine.

The limit of a step is the time below which it does not run on this machine, by what was measured of
it (:mod:`polygym.runtime.peaks`): operations at the highest rate, or bytes at that of the nearest
memory that holds them all, whichever takes longer. Products and convolutions multiply as often as
they add, so multiplications alone bound them too; what is cheaper than it looks (padding that is
known, zeros) is not seen.
"""

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
from polygym.graphs.execution.planning.kernel_variants import KernelSource
from polygym.graphs.operators.types import ELEMENT_BYTES, TensorType
from polygym.ir.types import ScalarType
from polygym.pickling import pickle_by_name
from polygym.runtime.peaks import Peaks
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
        moved = 2 * step.view.elements * ELEMENT_BYTES[step.view.dtype]
        return StepDescription("copy", (text,), text, "", 0, moved)
    result = step.group.root.result
    views = [view for _, view in step.reads if view.source is not result]
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
    written, expected = (prod(place.shape), place.dtype.name), (prod(result.shape), result.dtype)
    if written != expected:
        raise InternalError(f"{step.group.label}: expected {expected}, the code writes {written}")


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


_PRODUCTS = ("conv", "matmul")


@pickle_by_name
@dataclass(frozen=True, slots=True)
class StepProfile:
    """Steps of one name: how many, their seconds, and the seconds that are their limit, if known.

    ``operations`` and ``bytes`` are those of all of them.
    """

    label: str
    count: int
    seconds: float
    operations: int
    bytes: int
    limit: float | None

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.operations / self.seconds if self.seconds else 0.0

    @property
    def of_limit(self) -> float | None:
        """Which share of the limit is reached."""
        return None if self.limit is None or not self.seconds else self.limit / self.seconds


def profile_steps(
    steps: Sequence[StepDescription], seconds: Sequence[float], peaks: Peaks | None
) -> list[StepProfile]:
    """Return what was measured of each step, in order."""
    return [
        StepProfile(
            step.label,
            1,
            time,
            step.operations,
            step.bytes,
            None if peaks is None else _time_limit(step, peaks),
        )
        for step, time in zip(steps, seconds, strict=True)
    ]


def totals_by_operator(rows: Sequence[StepProfile]) -> list[StepProfile]:
    """Return the sums of steps of one name, in the order in which these come first."""
    profiles: dict[str, StepProfile] = {}
    for row in rows:
        before = profiles.get(row.label)
        if before is None:
            profiles[row.label] = row
            continue
        limits = (before.limit, row.limit)
        profiles[row.label] = StepProfile(
            row.label,
            before.count + row.count,
            before.seconds + row.seconds,
            before.operations + row.operations,
            before.bytes + row.bytes,
            None if limits[0] is None or limits[1] is None else limits[0] + limits[1],
        )
    return list(profiles.values())


def _time_limit(step: StepDescription, peaks: Peaks) -> float:
    rates = peaks.rates_of(ScalarType.FLOAT)
    compute = step.operations / rates.any
    if step.label.startswith(_PRODUCTS):
        compute = max(compute, step.operations / 2 / rates.multiply)
    nearest = next(peak for peak in peaks.levels if not peak.size or peak.size >= step.bytes)
    return max(compute, step.bytes / nearest.bandwidth)
