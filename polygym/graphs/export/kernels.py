"""The objects of a library's kernels: as they were measured, or made for another processor.

For the processor of this machine the machine code is that of the compiled model, byte by byte. For
another one the same loops are compiled again: under the same schedule and mapping, with vectors no
wider than its registers.
"""

from __future__ import annotations

from pathlib import Path

from polygym.codegen.llvm.core.binary_interface import ENTRY_POINT, FORK_FUNCTION
from polygym.export.c_compiler import redefine_symbols
from polygym.export.cpu_levels import NATIVE, CpuLevel
from polygym.export.object_code import object_for_level
from polygym.graphs.execution.planning.kernel_variants import KernelSource, kernel_builder
from polygym.graphs.export.plan import LibraryPlan

_OPENMP_FORK = "GOMP_parallel"


def kernel_symbol(plan: LibraryPlan, code: int, level: CpuLevel) -> str:
    """Return the name of a kernel's function."""
    return f"{plan.name}_kernel_{code}_{level.symbol}"


def write_kernels(plan: LibraryPlan, levels: tuple[CpuLevel, ...], folder: Path) -> list[Path]:
    """Write an object for every kernel and level; each defines :func:`kernel_symbol`."""
    result = []
    for level in levels:
        for number, (code, measured) in enumerate(zip(plan.codes, plan.objects, strict=True)):
            if not isinstance(code, KernelSource) or measured is None:
                continue
            symbol = kernel_symbol(plan, number, level)
            path = folder / f"{symbol}.o"
            path.write_bytes(measured if level.name == NATIVE else _compiled(code, level))
            redefine_symbols(path, {ENTRY_POINT: symbol, FORK_FUNCTION: _OPENMP_FORK})
            result.append(path)
    return result


def _compiled(code: KernelSource, level: CpuLevel) -> bytes:
    """Return the object of a kernel for a level, by the schedule and mapping that are used here."""
    legal, mapping, sizes = kernel_builder(code).chosen_loops({})
    return object_for_level(legal, mapping, sizes, level)
