"""The objects of a library's kernels: as they were measured, or made for another processor.

For the processor of this machine the machine code is that of the compiled model, byte by byte. For
another one the same loops are compiled again: under the same schedule and mapping, with vectors no
wider than its registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from polygym.codegen.llvm.core.binary_interface import ENTRY_POINT, FORK_FUNCTION
from polygym.export.c_compiler import redefine_symbols
from polygym.export.cpu_levels import NATIVE, CpuLevel
from polygym.export.object_code import OPENMP_FORK, object_for_level
from polygym.graphs.execution.planning.kernel_variants import KernelSource, kernel_builder
from polygym.graphs.export.plan import LibraryPlan


def kernel_symbol(plan: LibraryPlan, code: int, level: CpuLevel) -> str:
    """Return the name of a kernel's function."""
    return f"{plan.name}_kernel_{code}_{level.symbol}"


def write_kernels(plan: LibraryPlan, levels: tuple[CpuLevel, ...], folder: Path) -> list[Path]:
    """Write an object for every kernel and level; each defines :func:`kernel_symbol`."""
    result = []
    for number, (code, measured) in enumerate(zip(plan.codes, plan.objects, strict=True)):
        if not isinstance(code, KernelSource) or measured is None:
            continue
        for level, machine_code in zip(levels, _objects(code, measured, levels), strict=True):
            symbol = kernel_symbol(plan, number, level)
            path = folder / f"{symbol}.o"
            path.write_bytes(machine_code)
            redefine_symbols(path, {ENTRY_POINT: symbol, FORK_FUNCTION: OPENMP_FORK})
            result.append(path)
    return result


def _objects(code: KernelSource, measured: bytes, levels: tuple[CpuLevel, ...]) -> Iterator[bytes]:
    """Yield the object of a kernel for each level, by the schedule and mapping used here."""
    if all(level.name == NATIVE for level in levels):
        yield from (measured for _ in levels)
        return
    loops = kernel_builder(code).chosen_loops({})
    for level in levels:
        yield measured if level.name == NATIVE else object_for_level(*loops, level)
