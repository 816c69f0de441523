"""Memory of this process: mapped and resident bytes, and bounds on them."""

import os
import resource
from pathlib import Path

_MAPPED, _RESIDENT = 0, 1  # columns of /proc/self/statm, in pages


def mapped_bytes() -> int:
    """Return the bytes of address space that this process has mapped."""
    return _bytes(_MAPPED)


def resident_bytes() -> int:
    """Return how much memory this process holds."""
    return _bytes(_RESIDENT)


def set_soft_limit(kind: int, wanted: int) -> None:
    """Set the soft limit of a resource, such as RLIMIT_AS, no higher than the hard one allows."""
    _, most = resource.getrlimit(kind)
    soft = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(kind, (soft, most))


def _bytes(column: int) -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[column])
    return pages * os.sysconf("SC_PAGE_SIZE")
