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

# Each for itself: should one of them move, it is missed. `tests/tc/test_compiler.py` looks whether
# there are others.
DECIDING = (
    "compiler/codegen",
    "compiler/frontend/tc",
    "compiler/ir",
    "compiler/poly",
    "tc",
)
"""The folders of the package whose modules decide what a comprehension's code is."""


@cache
def compiler() -> str:
    """Return the version and the fingerprint."""
    return f"{__version__}+{fingerprint_of(DECIDING)}"


def fingerprint_of(parts: Sequence[str]) -> str:
    """Return the fingerprint of the sources in some folders of the package."""
    found = hashlib.sha256()
    for part in parts:
        modules = sorted((PACKAGE / part).rglob("*.py"))
        if not modules:
            raise InternalError(f"the sources of polygym/{part}: expected modules, found none")
        for path in modules:
            found.update(f"{path.relative_to(PACKAGE).as_posix()}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:16]
