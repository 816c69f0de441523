"""A fingerprint of polygym's own sources: what is kept of yesterday's counts for its own alone.

Between two releases the version alone does not tell what a part of polygym does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from polygym.errors import InternalError
from polygym.version import PACKAGE


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
