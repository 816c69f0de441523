"""The folder of a study: a journal of trials, so that it goes on where it was ended.

The first line of ``study.jsonl`` is the setting, every other one a trial with what it found. A
journal of another setting, or of another machine where times are measured, is not gone on with.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polygym.errors import InputError
from polygym.search.journal import SearchJournal, read_journal
from polygym.search.settings import FORMAT, VERSION

__all__ = ["JOURNAL", "open_study", "study_rows"]

JOURNAL = "study.jsonl"


def open_study(
    folder: Path, setting: Mapping[str, Any]
) -> tuple[SearchJournal, list[Mapping[str, Any]]]:
    """Return the journal, begun or gone on with, and the rows that are there already.

    Raises:
        InputError: it is one of another setting; says which.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / JOURNAL
    if not path.exists():
        return SearchJournal.create(path, {"format": FORMAT, "version": VERSION, **setting}), []
    journal, contents = SearchJournal.open(path)
    for name, value in setting.items():
        if contents.setting.get(name) != value:
            journal.close()
            raise InputError(
                f"{path}: expected a study with {name} {value}, found {contents.setting.get(name)}"
                ": give another folder to --out"
            )
    return journal, list(contents.episodes)


def study_rows(folder: Path) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """Return setting and rows of a study that was begun.

    Raises:
        InputError: there is none.
    """
    path = folder / JOURNAL
    if not path.exists():
        raise InputError(f"{path}: expected a study, found none")
    contents = read_journal(path)
    return contents.setting, list(contents.episodes)
