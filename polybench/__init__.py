"""The thirty kernels of PolyBench/C 4.2.1: C text, sizes, initial data and live-out arrays.

The package stands beside polygym and imports nothing from it: it is material for a compiler, not
part of one. ``kernels/`` holds one C file a kernel with two functions, ``init_…`` and ``kernel_…``;
:mod:`polybench.catalogue` finds kernels by name, pattern or category; :mod:`polybench.summary`
condenses what a kernel leaves in its arrays to a few numbers that can be compared (it is not
imported here, because it brings numpy).
"""

from polybench.catalogue import CATEGORIES, KERNELS, UnknownKernelError, kernel, select
from polybench.model import ArrayPart, Dataset, DataType, LiveOut, PolybenchKernel

__all__ = [
    "CATEGORIES",
    "KERNELS",
    "ArrayPart",
    "DataType",
    "Dataset",
    "LiveOut",
    "PolybenchKernel",
    "UnknownKernelError",
    "kernel",
    "select",
]
