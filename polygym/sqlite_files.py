"""SQLite files: made whole or not at all, changed by transactions, with errors of polygym.

What SQLite complains of is an InputError where the file is damaged, an OSError where the disk is
full.
"""

import errno
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from polygym.errors import InputError
from polygym.files import atomic_file

# SQLite's names of what is the machine's trouble and not the file's.
_SYSTEM_ERRORS = {
    "SQLITE_FULL": errno.ENOSPC,
    "SQLITE_IOERR": errno.EIO,
    "SQLITE_READONLY": errno.EROFS,
    "SQLITE_BUSY": errno.EBUSY,
    "SQLITE_CANTOPEN": errno.EACCES,
}


_NOT_A_DATABASE = "SQLITE_NOTADB"


class UnusableFileError(InputError):
    """SQLite cannot use a file, which is damaged or something else; what it says is the context."""


@contextmanager
def sqlite_errors(path: Path, what: str, advice: str = "") -> Iterator[None]:
    """Inside, what SQLite complains of is an InputError, or an OSError where the disk is full.

    ``what`` is what the file is expected to be, ``advice`` what can be done if it is damaged.
    """
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        for prefix, number in _SYSTEM_ERRORS.items():
            if name.startswith(prefix):
                raise OSError(number, str(error), str(path)) from None
        hint = f"; {advice}" if advice and name != _NOT_A_DATABASE else ""
        raise UnusableFileError(
            f"{path}: expected {what}, found a file that SQLite cannot use: {error}{hint}"
        ) from None
    except UnicodeDecodeError as error:  # what SQLite says quotes the file
        raise UnusableFileError(
            f"{path}: expected {what}, found a file that SQLite cannot use: {error}"
        ) from None


@contextmanager
def transaction(
    connection: sqlite3.Connection, path: Path, what: str, advice: str = ""
) -> Iterator[None]:
    """All that is written inside, or nothing; on the disk when it ends."""
    with sqlite_errors(path, what, advice):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            # SQLite may have rolled back already, where the disk is full for example; what it says
            # to another attempt would hide why.
            if connection.in_transaction:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            raise


@contextmanager
def read_snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """What is asked inside is of one moment, whatever other processes write meanwhile."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.rollback()


def create_database(path: Path, what: str, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Make a file, under another name until it is whole: who is killed leaves no half a file."""
    with atomic_file(path) as beside, sqlite_errors(path, what):
        with closing(sqlite3.connect(beside, isolation_level=None)) as file:
            fill(file)
