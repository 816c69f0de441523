"""The C file of a record, where it is now.

A project may have moved, or been copied, since a record of it was written. The record says where
its file was: as the user named it, the full path, and, in a result of a search, the way from the
result's own folder::

    project/blur.c                       moved/blur.c
    project/found/best.json      →       moved/found/best.json     its file is ../blur.c

The first of these files that has the text of the record is the one that is meant, from the
result's folder first; if none has, the first one that is there. Folders of headers move with it.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from polygym.errors import InputError
from polygym.frontend.c.source.region_selection import parse_selection
from polygym.mdp.problems.loading import ProgramSource, source_digest
from polygym.mdp.records.record_checks import CheckedRecord
from polygym.programs import is_path


def relative_file(file: str, folder: Path) -> str:
    """Return the way from a folder to a file; links to folders are followed."""
    path = Path(file)
    return os.path.relpath(path.parent.resolve() / path.name, folder.resolve())


def current_source(
    said: CheckedRecord, name: str, folder: Path | None, file: str | None
) -> ProgramSource:
    """Return what loads the program of a record: its file is ``file``, or is looked for.

    ``folder`` is that of the record, None where it stands in none; ``name`` is for messages.

    Raises:
        InputError: the file is not there, or ``file`` is given for a program that has none.
    """
    source = said.source
    if not is_path(source.target):
        if file is not None:
            message = f"expected no other C file, since it is about kernel {source.target}"
            raise InputError(f"{name}: {message}")
        return source
    if file is not None:
        return _moved(said, file)
    places = [path for path in dict.fromkeys(_places(said, folder)) if os.path.isfile(path)]
    if not places:
        raise InputError(
            f"{name}: the C file of the episode is no longer there: {said.file}; if it has moved, "
            "`--file NEW.c` takes it from its new place"
        )
    return _moved(said, next((path for path in places if _has_text(said, path)), places[0]))


def _places(said: CheckedRecord, folder: Path | None) -> Iterator[str]:
    """Yield where the file of a record may be, the likeliest place first."""
    if said.relative_file is not None and folder is not None:
        yield os.path.normpath(folder.resolve() / said.relative_file)
    yield said.source.target
    yield said.file


def _moved(said: CheckedRecord, path: str) -> ProgramSource:
    """Return the source of a record with its file, and its folders of headers, at another place."""
    old, new = Path(said.file).parent, Path(path).absolute().parent
    source = replace(said.source, target=path)
    if said.source.function is None or old == new:
        return source
    selection = parse_selection(said.source.function)
    flags = selection.flags
    flags = replace(
        flags,
        include_directories=tuple(_moved_path(own, old, new) for own in flags.include_directories),
        included_files=tuple(_moved_path(own, old, new) for own in flags.included_files),
    )
    return replace(source, function=str(replace(selection, flags=flags)))


def _moved_path(path: str, old: Path, new: Path) -> str:
    """Return a header, or a folder of them, as it lies beside a file that has moved, if there."""
    moved = os.path.normpath(new / os.path.relpath(path, old))
    return moved if os.path.exists(moved) else path


def _has_text(said: CheckedRecord, path: str) -> bool:
    """Whether a file has the text that a record is about."""
    try:
        return source_digest(Path(path), _moved(said, path).function) == said.digest
    except (OSError, InputError):
        return False
