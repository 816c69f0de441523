"""C files to scan: one file, those of a folder, or those of a compilation database.

A folder with a ``compile_commands.json``, in it or in ``build``, is read with the flags that this
one has. Its files that the database does not name are read without.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from polygym.errors import InputError
from polygym.files import path_from_here
from polygym.frontend.c.source.compilation_database import FILE_NAME, read_database
from polygym.frontend.c.source.compile_flags import NO_FLAGS, CompileFlags
from polygym.frontend.c.source.cpp.signs import CPP_SUFFIXES
from polygym.pickling import pickle_by_name

_SUFFIXES = frozenset({".c"}) | (CPP_SUFFIXES - {".hh", ".hpp", ".hxx"})
_DATABASE_FOLDERS = ("", "build", "builddir", "_build")
_SKIPPED_FOLDERS = frozenset({"CMakeFiles", "node_modules", "__pycache__"})


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ScanSource:
    """A file, as it is shown, and the flags that it is read with.

    ``has_command`` says whether these are from a database; else headers are looked for in ``root``.
    ``is_named`` says that the file itself was asked for, not its folder.
    """

    path: str
    flags: CompileFlags
    has_command: bool = False
    root: str | None = None
    is_named: bool = False


def scan_sources(target: Path, given: CompileFlags = NO_FLAGS) -> tuple[ScanSource, ...]:
    """Return the files of a target, with the given flags behind their own.

    Raises:
        InputError: It is not there, or is no C file, folder or compilation database.
    """
    if target.is_dir():
        return tuple(_in_folder(target, given))
    if not target.exists():
        raise InputError(f"{target}: expected a C file, a folder or {FILE_NAME}, found none")
    if target.suffix == ".json":
        return tuple(_in_database(target, given))
    root = str(target.absolute().parent)
    return (ScanSource(str(target), given, root=root, is_named=True),)


def _in_database(database: Path, given: CompileFlags) -> Iterator[ScanSource]:
    """Yield the files of a database, each once, with the flags of its first command."""
    known: set[Path] = set()
    for entry in read_database(database):
        if entry.file not in known and entry.file.suffix in _SUFFIXES:
            known.add(entry.file)
            yield ScanSource(
                str(path_from_here(entry.file)), entry.flags.joined(given), has_command=True
            )


def _in_folder(folder: Path, given: CompileFlags) -> Iterator[ScanSource]:
    commands: dict[str, ScanSource] = {}
    for name in _DATABASE_FOLDERS:
        database = folder / name / FILE_NAME
        if database.is_file():
            commands |= {
                os.path.realpath(source.path): source for source in _in_database(database, given)
            }
            break
    for path in _files_below(folder):
        known = commands.get(os.path.realpath(path))
        flags, has_command = (known.flags, True) if known else (given, False)
        root = None if has_command else str(folder.absolute())
        yield ScanSource(str(path), flags, has_command, root)


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the C and C++ files below a folder, sorted; hidden folders and links are left out."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS
        )
        for name in sorted(names):
            if Path(name).suffix in _SUFFIXES:
                yield Path(place, name)
