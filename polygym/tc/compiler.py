"""Which compiler polygym is: its version, and a fingerprint of all that decides what code it makes.

Machine code of yesterday's polygym may be slower than today's, or wrong where a defect has been
mended since. Between two releases the version alone does not tell: so the sources count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache

from polygym.errors import InternalError
from polygym.version import PACKAGE, __version__

_DECIDING = ("compiler", "tc")


@cache
def compiler() -> str:
    """Return the version and the fingerprint."""
    return f"{__version__}+{fingerprint_of(_DECIDING)}"


def fingerprint_of(parts: Sequence[str]) -> str:
    """Return the fingerprint of the sources in some folders of the package."""
    root = PACKAGE
    found = hashlib.sha256()
    for part in parts:
        modules = sorted((root / part).rglob("*.py"))
        if not modules:
            raise InternalError(f"the sources of polygym.{part}: expected modules, found none")
        for path in modules:
            found.update(f"{path.relative_to(root).as_posix()}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:16]
