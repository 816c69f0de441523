"""Splits of the kernels for training and test: the table ``splits.yaml``, by name.

A selection of an experiment may name a part of a split, ``split:train`` or ``split:stencils/test``,
as one of its entries; ``split:train`` is ``split:usual/train``. C files of a split stand in a clone
of polygym: a package without them refuses the part.
"""

import os
from functools import cache
from pathlib import Path

from polygym.errors import InputError
from polygym.mdp.problems.loading import program_targets
from polygym.programs.selection import select_programs

SPLITS_FILE = Path(__file__).with_name("splits.yaml")
SPLIT_PREFIX = "split:"
_DEFAULT_SPLIT = "usual"
_PARTS = ("train", "test")
_ROOT = Path(__file__).parents[3]


@cache
def _table() -> dict[str, dict[str, list[str]]]:
    import yaml

    result: dict[str, dict[str, list[str]]] = yaml.safe_load(
        SPLITS_FILE.read_text(encoding="utf-8")
    )
    return result


def split_names() -> tuple[str, ...]:
    """Return what may stand behind ``split:``."""
    every = tuple(f"{split}/{part}" for split in _table() for part in _PARTS)
    return (*_PARTS, *every)


def split_part(name: str) -> tuple[str, ...]:
    """Return the kernels of a part of a split.

    Raises:
        InputError: there is none of that name.
    """
    if name not in split_names():
        raise InputError(
            f"a split: expected one of {', '.join(SPLIT_PREFIX + name for name in split_names())}, "
            f"found {SPLIT_PREFIX}{name}"
        )
    split, _, which = name.rpartition("/")
    entries = _table()[split or _DEFAULT_SPLIT][which]
    return select_programs([_located(entry, name) for entry in entries])


def _located(entry: str, part: str) -> str:
    """Return an entry; of a path, which is relative to the clone, that from the working folder.

    Raises:
        InputError: there is no such file.
    """
    if not entry.endswith(".c"):
        return entry
    path = _ROOT / entry
    if not path.is_file():
        raise InputError(f"{SPLIT_PREFIX}{part}: expected a clone of polygym, found no file {path}")
    return os.path.relpath(path)


def selected_kernels(selection: str) -> tuple[str, ...]:
    """Return the kernels and files of a selection in which parts of splits may stand.

    Raises:
        InputError: a part is none, or the rest is no selection.
    """
    entries = [pattern.strip() for pattern in selection.split(",")]
    parts = [entry for entry in entries if entry.startswith(SPLIT_PREFIX)]
    rest = [entry for entry in entries if not entry.startswith(SPLIT_PREFIX)]
    kernels = [name for part in parts for name in split_part(part.removeprefix(SPLIT_PREFIX))]
    if not kernels:
        return program_targets(selection)
    excluded = [pattern.removeprefix("!").strip() for pattern in rest if pattern.startswith("!")]
    added = [pattern for pattern in rest if not pattern.startswith("!")]
    gone = set(program_targets(", ".join(excluded))) if excluded else set()
    more = program_targets(", ".join(added)) if added else ()
    kept = [name for name in dict.fromkeys((*kernels, *more)) if name not in gone]
    if not kept:
        raise InputError(f"a selection: expected something to be left of {selection!r}")
    return tuple(kept)
