"""The kernels of a device program as one LLVM module for nvptx64.

What the host does, its loops and its launches, is no code: the runtime walks it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import assert_never

from llvmlite import ir

from polygym.errors import InternalError
from polygym.gpu.device_program import (
    DeviceProgram,
    HostGuard,
    HostLoop,
    HostNode,
    Kernel,
    Launch,
)
from polygym.gpu.ptx.emit_kernel import emit_kernel
from polygym.gpu.ptx.kernel_signature import KernelSignature
from polygym.gpu.ptx.math_library import resolve_math


def emit_device(
    device: DeviceProgram, library: Path | None
) -> tuple[str, tuple[KernelSignature, ...], bool]:
    """Return the text of an LLVM module, not yet optimised, and what its kernels take.

    The last value says whether it calls functions of libdevice, which is at ``library``.
    """
    program = replace(device.program, nontemporal_stores=frozenset(), prefetches=frozenset())
    module = ir.Module(name=program.scop.name)
    parameters = () if program.sizes is not None else program.scop.parameters
    kernels = launched_kernels(device.body)
    signatures = tuple(
        emit_kernel(module, program, kernel, (*(own.name for own in parameters), *counters))
        for kernel, counters in kernels
    )
    needs_library = resolve_math(module, library)
    return str(module), signatures, needs_library


def launched_kernels(body: Sequence[HostNode]) -> list[tuple[Kernel, tuple[str, ...]]]:
    """Return every kernel once, with the counters of all loops on the host around its launches."""
    kernels: dict[str, tuple[Kernel, tuple[str, ...]]] = {}
    for kernel, counters in _launches(body, ()):
        known, around = kernels.get(kernel.name, (kernel, ()))
        if known != kernel:
            raise InternalError(f"two kernels of one name: {kernel.name}")
        kernels[kernel.name] = (kernel, tuple(dict.fromkeys((*around, *counters))))
    return list(kernels.values())


def _launches(
    body: Sequence[HostNode], around: tuple[str, ...]
) -> Iterator[tuple[Kernel, tuple[str, ...]]]:
    for node in body:
        match node:
            case Launch(kernel):
                yield kernel, around
            case HostLoop(variable=variable, body=inside):
                yield from _launches(inside, (*around, variable))
            case HostGuard(body=inside):
                yield from _launches(inside, around)
            case _:
                assert_never(node)
