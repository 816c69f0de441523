"""Processors that exported code is made for, and how the code asks what it runs on.

A *CPU level* is a name that ``--cpu`` takes: ``native``, this machine's processor, or one of the
levels of the x86-64 ABI. Each needs features, which ``cpuid`` reports as bits::

    avx2      leaf 7, subleaf 0, register ebx, bit 5
    zmm       bits 5 to 7 of XCR0: the system saves the registers of AVX-512

Code that runs on a processor without them is never reached: the kernel asks first.
"""

import platform
from dataclasses import dataclass

from polygym.errors import InputError
from polygym.mapping.machine import compile_target

NATIVE = "native"


@dataclass(frozen=True, slots=True)
class FeatureBit:
    """The place of a feature's bit: leaf and subleaf of ``cpuid``, and a register (0: eax …)."""

    leaf: int
    subleaf: int
    register: int
    bit: int


_EAX, _EBX, _ECX, _EDX = range(4)
_EXTENDED = 0x80000001

FEATURE_BITS = {
    "sse3": FeatureBit(1, 0, _ECX, 0),
    "pclmul": FeatureBit(1, 0, _ECX, 1),
    "ssse3": FeatureBit(1, 0, _ECX, 9),
    "fma": FeatureBit(1, 0, _ECX, 12),
    "cx16": FeatureBit(1, 0, _ECX, 13),
    "sse4.1": FeatureBit(1, 0, _ECX, 19),
    "sse4.2": FeatureBit(1, 0, _ECX, 20),
    "movbe": FeatureBit(1, 0, _ECX, 22),
    "popcnt": FeatureBit(1, 0, _ECX, 23),
    "xsave": FeatureBit(1, 0, _ECX, 27),
    "avx": FeatureBit(1, 0, _ECX, 28),
    "f16c": FeatureBit(1, 0, _ECX, 29),
    "bmi": FeatureBit(7, 0, _EBX, 3),
    "avx2": FeatureBit(7, 0, _EBX, 5),
    "bmi2": FeatureBit(7, 0, _EBX, 8),
    "avx512f": FeatureBit(7, 0, _EBX, 16),
    "avx512dq": FeatureBit(7, 0, _EBX, 17),
    "avx512ifma": FeatureBit(7, 0, _EBX, 21),
    "avx512cd": FeatureBit(7, 0, _EBX, 28),
    "avx512bw": FeatureBit(7, 0, _EBX, 30),
    "avx512vl": FeatureBit(7, 0, _EBX, 31),
    "avx512vbmi": FeatureBit(7, 0, _ECX, 1),
    "avx512vbmi2": FeatureBit(7, 0, _ECX, 6),
    "gfni": FeatureBit(7, 0, _ECX, 8),
    "vaes": FeatureBit(7, 0, _ECX, 9),
    "vpclmulqdq": FeatureBit(7, 0, _ECX, 10),
    "avx512vnni": FeatureBit(7, 0, _ECX, 11),
    "avx512bitalg": FeatureBit(7, 0, _ECX, 12),
    "avx512vpopcntdq": FeatureBit(7, 0, _ECX, 14),
    "avx512fp16": FeatureBit(7, 0, _EDX, 23),
    "avxvnni": FeatureBit(7, 1, _EAX, 4),
    "avx512bf16": FeatureBit(7, 1, _EAX, 5),
    "lzcnt": FeatureBit(_EXTENDED, 0, _ECX, 5),
    "sse4a": FeatureBit(_EXTENDED, 0, _ECX, 6),
}
"""The features that code may use and that are asked for, by their names in LLVM."""

_SECOND = ("cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3")
_THIRD = (*_SECOND, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
_FOURTH = (*_THIRD, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")


@dataclass(frozen=True, slots=True)
class CpuLevel:
    """A kind of processor: LLVM's name and features for it, and what it must have.

    ``vector_bits`` is the width of its vectors.
    """

    name: str
    processor: str
    features: str
    required: tuple[str, ...]
    vector_bits: int

    @property
    def symbol(self) -> str:
        """The name as a part of the names of functions."""
        return self.name.replace("-", "_")

    @property
    def uses_avx(self) -> bool:
        """Whether the system has to save registers of 256 bits."""
        return "avx" in self.required

    @property
    def uses_avx512(self) -> bool:
        """Whether the system has to save registers of 512 bits."""
        return "avx512f" in self.required

    @property
    def saved_registers(self) -> int:
        """The bits of XCR0 of the registers that the system has to save."""
        return 0x6 * self.uses_avx | 0xE0 * self.uses_avx512

    @property
    def runs_here(self) -> bool:
        """Whether this machine has what the level needs."""
        return set(self.required) <= set(native_level().required)


_X86_LEVELS = {
    level.name: level
    for level in (
        CpuLevel("x86-64", "x86-64", "", (), 128),
        CpuLevel("x86-64-v2", "x86-64-v2", "", _SECOND, 128),
        CpuLevel("x86-64-v3", "x86-64-v3", "", _THIRD, 256),
        CpuLevel("x86-64-v4", "x86-64-v4", "+prefer-no-gather", _FOURTH, 512),
    )
}


def is_x86() -> bool:
    """Whether code is made for x86-64."""
    return platform.machine() in ("x86_64", "AMD64")


def native_level() -> CpuLevel:
    """Return the level of this machine: its processor, with all that it has."""
    target = compile_target()
    names = [text[1:] for text in target.features.split(",") if text.startswith("+")]
    required = tuple(name for name in names if name in FEATURE_BITS) if is_x86() else ()
    bits = 512 if "avx512f" in required else 256 if "avx" in required else 128
    return CpuLevel(NATIVE, target.processor, target.target, required, bits)


def cpu_names() -> tuple[str, ...]:
    """Return what ``--cpu`` takes on this kind of machine."""
    return (NATIVE, *_X86_LEVELS) if is_x86() else (NATIVE,)


def cpu_level(name: str) -> CpuLevel:
    """Return the level of a name.

    Raises:
        InputError: there is none.
    """
    if name == NATIVE:
        return native_level()
    if not is_x86() or name not in _X86_LEVELS:
        raise InputError(f"--cpu: expected {', '.join(cpu_names())}, found {name!r}")
    return _X86_LEVELS[name]


def best_first(levels: tuple[CpuLevel, ...]) -> tuple[CpuLevel, ...]:
    """Return levels in the order in which they are tried: those that need most first."""
    return tuple(sorted(levels, key=lambda level: -len(level.required)))
