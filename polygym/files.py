"""Files that are whole or not there, whatever ends the process, and that one process has alone."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, contents: bytes) -> None:
    """Replace a file's contents in one step, on the disk before this returns.

    The new contents go to a file beside it, which takes the other's name when it is complete. What
    fails (a full disk) leaves the old contents as they are.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError) and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
    sync_folder(path.parent)


def locked(descriptor: int) -> bool:
    """Lock a file as long as it is open, unless somebody else has; return whether it is ours."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def sync_folder(path: Path) -> None:
    """Put the names in a folder on the disk, where the file system can do that."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_new_folder(parent: Path, name: str) -> Path:
    """Make and return the first of ``name``, ``name-2``, ``name-3`` … that does not exist."""
    number = 1
    while True:
        path = parent / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path
