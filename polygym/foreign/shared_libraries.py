"""Libraries that a user lends: their functions by address, each library for itself.

A library is opened from its bytes, under a name that no other one has: two of one path, before and
after it was built anew, are two, and neither sees the other's names.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache

from polygym.errors import ForeignCallError
from polygym.foreign._libc import ffi

_library = ffi.dlopen(None)
_NOW, _LOCAL = 2, 0  # RTLD_NOW, RTLD_LOCAL


def library_digest(content: bytes) -> str:
    """Return what tells a library from others."""
    return hashlib.sha256(content).hexdigest()


@cache
def open_library(path: str, digest: str) -> int:
    """Open a library, whose file must have that digest; return its handle.

    Raises:
        OSError: there is no such file.
        ForeignCallError: the file has changed, or is no library.
    """
    with open(path, "rb") as file:
        content = file.read()
    if library_digest(content) != digest:
        raise ForeignCallError(0, f"{path} has changed since the program was read")
    descriptor = os.memfd_create("polygym-lent")
    with open(descriptor, "wb", closefd=False) as memory:
        memory.write(content)
    handle = _library.dlopen(f"/proc/self/fd/{descriptor}".encode(), _NOW | _LOCAL)
    if handle == ffi.NULL:
        raise ForeignCallError(0, f"{path}: {_loader_error()}")
    return int(ffi.cast("uintptr_t", handle))


def function_at(library: int, name: str) -> int | None:
    """Return the address of a library's function, None if it has none of that name."""
    result = _library.dlsym(ffi.cast("void *", library), name.encode())
    return None if result == ffi.NULL else int(ffi.cast("uintptr_t", result))


def _loader_error() -> str:
    text = _library.dlerror()
    return "no library" if text == ffi.NULL else ffi.string(text).decode(errors="replace")
