"""Compilation databases: the flags with which a project's files are compiled.

A database is a list of commands in JSON, as CMake writes it with
``-DCMAKE_EXPORT_COMPILE_COMMANDS=ON``, Meson always and Bear for any build::

    [{"directory": "/p/build", "file": "../src/blur.c",
      "command": "cc -I../include -DN=4 -c ../src/blur.c"}]

Folders of headers, macros and files that are read before are taken from the commands. Folders that
are not there are passed over, as compilers do.
"""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polygym.errors import InputError
from polygym.frontend.c.source.compile_flags import CompileFlags, flags_of_arguments

FILE_NAME = "compile_commands.json"
_MAX_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class DatabaseEntry:
    """A file, absolute, and the flags that it is compiled with."""

    file: Path
    flags: CompileFlags


def read_database(path: Path) -> tuple[DatabaseEntry, ...]:
    """Return the entries of a compilation database, or of the one in a folder.

    A file that is compiled several times has several.

    Raises:
        InputError: It cannot be read, or is no compilation database.
    """
    path = path / FILE_NAME if path.is_dir() else path
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path}: expected {_MAX_BYTES} bytes at most")
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: expected a compilation database: {error}") from None
    if not isinstance(data, list):
        raise InputError(f"{path}: expected a list of commands, found {type(data).__name__}")
    return tuple(_entry(path, number, item) for number, item in enumerate(data))


def flags_from_database(database: Path, target: str) -> CompileFlags:
    """Return the flags of a file; of several commands the first one counts.

    Raises:
        InputError: The database does not have the file, or cannot be read.
    """
    entries = read_database(database)
    wanted = _resolved(Path(target).absolute())
    for entry in entries:
        if _resolved(entry.file) == wanted:
            return entry.flags
    raise InputError(
        f"{database}: expected a command for {target}, found those of {len(entries)} other files"
    )


def _entry(path: Path, number: int, item: Any) -> DatabaseEntry:
    if not isinstance(item, dict) or not isinstance(item.get("file"), str):
        raise InputError(f"{path}: expected an object with a file as entry {number}")
    folder = path.absolute().parent / str(item.get("directory", "."))
    arguments = list(_arguments(path, number, item))
    flags = flags_of_arguments(arguments, folder)
    folders = tuple(f for f in map(_normal, flags.include_directories) if Path(f).is_dir())
    return DatabaseEntry(
        _resolved(folder / item["file"]), replace(flags, include_directories=folders)
    )


def _arguments(path: Path, number: int, item: dict[str, Any]) -> Iterator[str]:
    given = item.get("arguments")
    if isinstance(given, list):
        yield from map(str, given)
        return
    try:
        yield from shlex.split(str(item.get("command", "")))
    except ValueError as error:
        raise InputError(f"{path}: the command of entry {number}: {error}") from None


def _normal(folder: str) -> str:
    return str(_resolved(Path(folder)))


def _resolved(path: Path) -> Path:
    """Return a path without links and dots, which need not be there."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path
