"""The host's work of a device program, as the list of its launches at known sizes.

Example: a time loop of 100 steps with two kernels is 200 launches, of which those of one kernel may
be equal: its counter is an argument only where the kernel uses it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from polygym.codegen.loopir.index_arithmetic import evaluate_index
from polygym.errors import LimitError
from polygym.gpu.device_program import (
    LARGEST_GRID,
    DeviceProgram,
    HostGuard,
    HostLoop,
    HostNode,
    Launch,
)
from polygym.gpu.ptx.kernel_signature import KernelSignature

MOST_LAUNCHES = 2_000_000
"""The most launches of one run."""


@dataclass(frozen=True, slots=True)
class PlannedLaunch:
    """A launch: the kernel, the grid, and the values of the kernel's variables."""

    kernel: str
    grid: tuple[int, int, int]
    values: tuple[int, ...]


def launch_plan(
    device: DeviceProgram, kernels: Sequence[KernelSignature], parameters: Mapping[str, int]
) -> tuple[PlannedLaunch, ...]:
    """Return the launches of a program, in order; those without blocks are left out.

    Raises:
        LimitError: there are too many, or a grid is larger than devices allow.
    """
    signatures = {kernel.name: kernel for kernel in kernels}
    plan: list[PlannedLaunch] = []
    for planned in _launches(device.body, signatures, dict(parameters)):
        if len(plan) == MOST_LAUNCHES:
            raise LimitError(f"kernels: expected at most {MOST_LAUNCHES} launches, found more")
        plan.append(planned)
    return tuple(plan)


def _launches(
    body: Sequence[HostNode], kernels: Mapping[str, KernelSignature], values: dict[str, int]
) -> Iterator[PlannedLaunch]:
    for node in body:
        match node:
            case Launch(kernel):
                x, y, z = (evaluate_index(extent, values) for extent in kernel.grid)
                if min(x, y, z) <= 0:
                    continue
                _expect_grid(kernel.name, (x, y, z))
                # A counter of a loop that is not around this launch is no number it uses.
                numbers = (values.get(name, 0) for name in kernels[kernel.name].variables)
                yield PlannedLaunch(kernel.name, (x, y, z), tuple(numbers))
            case HostLoop(variable, lower, upper, step, inside):
                first, last = (evaluate_index(bound, values) for bound in (lower, upper))
                for value in range(first, last + 1, step):
                    yield from _launches(inside, kernels, {**values, variable: value})
            case HostGuard(condition, inside):
                if evaluate_index(condition, values):
                    yield from _launches(inside, kernels, values)
            case _:
                assert_never(node)


def _expect_grid(kernel: str, grid: tuple[int, int, int]) -> None:
    if any(extent > most for extent, most in zip(grid, LARGEST_GRID, strict=True)):
        raise LimitError(
            f"kernel {kernel}: expected a grid of at most {LARGEST_GRID}, found {grid}"
        )
