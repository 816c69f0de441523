"""Fingerprints of machines: times of two machines are never compared."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from polygym.mapping.machine import compile_target
from polygym.runtime.worker.timing import describe_host

_CACHE_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True, slots=True)
class MachineFingerprint:
    """A kind of machine: processor, its vector features, caches, cores, and LLVM."""

    processor: str
    features: str
    cores: int
    caches: tuple[str, ...]
    llvm: str

    @property
    def key(self) -> str:
        """A short name that is the same for machines that are alike."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def is_like(self, other: MachineFingerprint) -> bool:
        """Whether code that is good on one is taken to be good on the other, LLVM aside."""
        return (self.processor, self.features) == (other.processor, other.features)


@cache
def machine_fingerprint() -> MachineFingerprint:
    """Return the fingerprint of this machine."""
    machine, code = describe_host(), compile_target()
    features = hashlib.sha256(code.features.encode()).hexdigest()[:12]
    return MachineFingerprint(
        machine.processor, features, machine.cores, _cache_descriptions(), code.llvm
    )


def _cache_descriptions() -> tuple[str, ...]:
    """Return the caches of a core, as ``L2 unified 2048K``; none where the system does not say."""
    result = []
    for index in sorted(_CACHE_FOLDER.glob("index*")):
        try:
            level, kind, size = (
                (index / name).read_text().strip() for name in ("level", "type", "size")
            )
        except OSError:
            continue
        result.append(f"L{level} {kind.lower()} {size}")
    return tuple(result)
