"""What the mapping needs to know of the machine: its caches and its vectors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from polygym.pickles import pickled_by_name


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Machine:
    """Cache sizes in bytes, the width of vectors in bits, and how many vector registers there are.

    ``level_2`` is how much of its own level 2 cache a core is taken to have: 512 KB, which is what
    most have at least. Larger tiles have not done better where there are 2 MB.
    """

    level_2: int = 512 << 10
    vector_bits: int = 256
    registers: int = 16


@cache
def converts_half() -> bool:
    """Whether the processor converts between numbers of 16 and of 32 bits by itself."""
    features = llvm.get_host_cpu_features()
    return bool(features.get("f16c", False) or features.get("neon", False))


@cache
def this_machine() -> Machine:
    """Return the machine that the process runs on."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f", False):
        bits, registers = 512, 32
    elif features.get("avx", False):
        bits, registers = 256, 16
    else:
        bits, registers = 128, 32 if features.get("neon", False) else 16
    return Machine(vector_bits=bits, registers=registers)


@dataclass(frozen=True, slots=True)
class Host:
    """What decides which machine code runs here: the processor, its features, LLVM's version."""

    processor: str
    features: str
    llvm: str


@cache
def host() -> Host:
    """Return what code is made for."""
    features = llvm.get_host_cpu_features().flatten()
    version = ".".join(map(str, llvm.llvm_version_info))
    return Host(llvm.get_host_cpu_name(), features, version)
