"""What SQLite complains of: a damaged file is an InputError, a full disk an OSError."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polygym.errors import InputError

# SQLite's names of what is the machine's trouble and not the file's.
_OF_THE_SYSTEM = {
    "SQLITE_FULL": errno.ENOSPC,
    "SQLITE_IOERR": errno.EIO,
    "SQLITE_READONLY": errno.EROFS,
    "SQLITE_BUSY": errno.EBUSY,
    "SQLITE_CANTOPEN": errno.EACCES,
}


@contextmanager
def explained(path: Path, what: str = "the whole store of a sweep") -> Iterator[None]:
    """Inside, what SQLite complains of is an InputError, or an OSError where the disk is full.

    ``what`` is what the file is expected to be.
    """
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        for prefix, number in _OF_THE_SYSTEM.items():
            if name.startswith(prefix):
                raise OSError(number, str(error), str(path)) from None
        raise InputError(
            f"{path}: expected {what}, found a file that SQLite cannot use: {error}"
        ) from None
