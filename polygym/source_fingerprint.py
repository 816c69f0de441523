"""A fingerprint of polygym's own sources, which invalidates caches of other versions.

Between two releases the version alone does not tell what a part of polygym does.
"""

import hashlib
from collections.abc import Sequence

from polygym.errors import InternalError
from polygym.version import PACKAGE


def source_fingerprint(parts: Sequence[str]) -> str:
    """Return the fingerprint of some folders and modules of the package."""
    result = hashlib.sha256()
    for part in parts:
        path = PACKAGE / part
        modules = [path] if path.is_file() else sorted(path.rglob("*.py"))
        if not modules:
            raise InternalError(f"the sources of polygym/{part}: expected modules, found none")
        for path in modules:
            result.update(f"{path.relative_to(PACKAGE).as_posix()}\0".encode())
            result.update(path.read_bytes())
    return result.hexdigest()[:16]
