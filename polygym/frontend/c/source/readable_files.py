"""Folder below which included files must be, where a reader is not trusted.

A server reads C files for its clients, below a folder that its user names. Inside of
:func:`files_below` the preprocessor finds no other file, whatever ``#include`` says: links are
followed before the question is decided. System headers are never opened at any time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_root: ContextVar[str | None] = ContextVar("root of files that may be read", default=None)


@contextmanager
def files_below(root: str | os.PathLike[str]) -> Iterator[None]:
    """Inside, only files below a folder are read as included ones."""
    token = _root.set(os.path.realpath(root))
    try:
        yield
    finally:
        _root.reset(token)


def may_read(path: str | os.PathLike[str]) -> bool:
    """Whether an included file may be read."""
    root = _root.get()
    return root is None or is_below(path, root)


def is_below(path: str | os.PathLike[str], root: str) -> bool:
    """Whether a path leads to a place in a folder, links resolved; ``root`` has none.

    >>> is_below("/srv/a/../b.c", "/srv"), is_below("/srv/../etc/passwd", "/srv")
    (True, False)
    """
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):
        return False
    return real.startswith(root.rstrip(os.sep) + os.sep)
