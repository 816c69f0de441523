"""Which compiler polygym is: its version, and a fingerprint of all that decides what code it makes.

Machine code of yesterday's polygym may be slower than today's, or wrong where a defect has been
mended since. Between two releases the version alone does not tell: so the sources count.
"""

from __future__ import annotations

from functools import cache

from polygym.source_fingerprint import source_fingerprint
from polygym.version import __version__

# Each for itself: should one of them move, it is missed. `tests/tc/test_compiler_version.py` looks
# whether there are others.
COMPILER_FOLDERS = (
    "codegen",
    "frontend/tc",
    "ir",
    "mapping",
    "poly",
    "runtime/loader.py",
    "tc",
)
"""The folders of the package whose modules decide what a comprehension's code is."""


@cache
def compiler_fingerprint() -> str:
    """Return the version and the fingerprint."""
    return f"{__version__}+{source_fingerprint(COMPILER_FOLDERS)}"
