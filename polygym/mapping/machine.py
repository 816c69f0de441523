"""Facts of the machine that a mapping depends on: its caches and its vectors."""

from dataclasses import dataclass
from functools import cache

from polygym.pickling import pickle_by_name

LAST_LEVEL_CACHE = 32 << 20
"""How many bytes the last cache is taken to have: what is larger comes from memory and goes there.
"""


@pickle_by_name
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
def _processor_features() -> dict[str, bool]:
    import llvmlite.binding as llvm  # here, since environments begin without LLVM

    return dict(llvm.get_host_cpu_features())


@cache
def has_half_conversion() -> bool:
    """Whether the processor converts between numbers of 16 and of 32 bits by itself."""
    features = _processor_features()
    return bool(features.get("f16c", False) or features.get("neon", False))


@cache
def has_nontemporal_stores() -> bool:
    """Whether vectors can be stored past the caches, with a fence that puts them in order."""
    return bool(_processor_features().get("sse2", False))


@cache
def this_machine() -> Machine:
    """Return the machine that the process runs on."""
    features = _processor_features()
    if features.get("avx512f", False):
        bits, registers = 512, 32
    elif features.get("avx", False):
        bits, registers = 256, 16
    else:
        bits, registers = 128, 32 if features.get("neon", False) else 16
    return Machine(vector_bits=bits, registers=registers)


@dataclass(frozen=True, slots=True)
class CompileTarget:
    """What decides which machine code runs here: the processor, its features, LLVM's version."""

    processor: str
    features: str
    llvm: str

    @property
    def target(self) -> str:
        """What LLVM makes code for: the features, and what it does not know of the processor.

        AMD's Zen takes a gather apart, into more operations than the loads that it stands for.
        LLVM counts it as if it were cheap, and makes gathers of rows that are summed up together:
        sums along the rows of 2000 by 2000 numbers took 5.8 ms with them and take 1.4 without.

        >>> CompileTarget("znver4", "+avx512f", "22.1.0").target
        '+avx512f,+prefer-no-gather'
        >>> CompileTarget("sapphirerapids", "+avx512f", "22.1.0").target
        '+avx512f'
        """
        if self.processor.startswith("znver"):
            return f"{self.features},+prefer-no-gather"
        return self.features


@cache
def compile_target() -> CompileTarget:
    """Return what code is made for."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    version = ".".join(map(str, llvm.llvm_version_info))
    return CompileTarget(llvm.get_host_cpu_name(), features, version)
