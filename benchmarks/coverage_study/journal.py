"""Results as lines of a file, written as soon as they are there, so that a run is continued.

A line is a nest, or a file whose nests are all there. A file that has changed since is looked at
anew. The last line may be cut where a run was ended.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from coverage_study.outcomes import CoverageRow, row_from_json
from polygym.errors import InputError


@dataclass(slots=True)
class CoverageJournal:
    """Nests by their names, and the files that are done; without a path nothing is written."""

    path: Path | None
    setting: dict[str, Any]
    rows: dict[tuple[str, str, str], CoverageRow] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    def begin_file(self, file: str, digest: str) -> bool:
        """Return whether a file is still to be looked at; forget what is there of another text."""
        if self.digests.get(file) == digest:
            return file not in self.done
        self.rows = {key: row for key, row in self.rows.items() if key[0] != file}
        self.done.discard(file)
        self.digests[file] = digest
        self._write({"begun": file, "digest": digest})
        return True

    def add(self, row: CoverageRow) -> None:
        """Take a nest."""
        self.rows[row.key] = row
        self._write(row.to_json())

    def end_file(self, file: str) -> None:
        """Note that all nests of a file are there."""
        self.done.add(file)
        self._write({"done": file})

    def sorted_rows(self, files: Sequence[str]) -> list[CoverageRow]:
        """Return the nests of some files in the order of their texts."""
        places = {file: place for place, file in enumerate(files)}
        rows = [row for row in self.rows.values() if row.file in places]
        return sorted(rows, key=lambda row: (places[row.file], row.line, row.nest))

    def _write(self, data: dict[str, Any]) -> None:
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(data) + "\n")


def digest_of(path: Path) -> str:
    """Return a short digest of a file's contents."""
    return sha256(path.read_bytes()).hexdigest()[:16]


def open_journal(folder: Path | None, setting: dict[str, Any]) -> CoverageJournal:
    """Return the journal of a folder, with what is there.

    Raises:
        InputError: it was begun with another setting.
    """
    if folder is None:
        return CoverageJournal(None, setting)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    entries = list(_entries(text))
    if text and not text.endswith("\n"):  # the command was ended while it wrote
        path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    journal = CoverageJournal(None, setting)
    for entry in entries:
        _replay(journal, entry, path)
    journal.path = path
    if not entries:
        journal._write({"setting": setting})
    return journal


def _entries(text: str) -> list[dict[str, Any]]:
    result = []
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            result.append(entry)
    return result


def _replay(journal: CoverageJournal, entry: dict[str, Any], path: Path) -> None:
    """Bring a line of a file into the journal."""
    if "setting" in entry:
        if entry["setting"] != journal.setting:
            raise InputError(
                f"{path}: expected the setting {entry['setting']}, found {journal.setting}; "
                "take another folder for --out"
            )
    elif "begun" in entry:
        journal.begin_file(entry["begun"], entry["digest"])
    elif "done" in entry:
        journal.done.add(entry["done"])
    else:
        row = row_from_json(entry)
        journal.rows[row.key] = row
