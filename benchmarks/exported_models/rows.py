"""Rows of a CSV file that grows row by row; columns are those of all rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polygym.files import write_atomically


class Journal:
    """The rows of a file, the newest for equal keys."""

    def __init__(self, path: Path) -> None:
        """Read what is there."""
        self.path = path
        self.rows: list[dict[str, str]] = []
        if path.exists():
            with path.open(newline="") as file:
                self.rows = list(csv.DictReader(file))

    def find(self, keys: Mapping[str, Any]) -> dict[str, str] | None:
        """Return the row with these values, None if there is none."""
        wanted = {key: str(value) for key, value in keys.items()}
        for row in self.rows:
            if all(row.get(key) == value for key, value in wanted.items()):
                return row
        return None

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row in the place of those with the same texts, and write the file."""
        new = {key: _text(value) for key, value in row.items()}
        keys = {key: new[key] for key in _KEYS if key in new}
        old = self.find(keys)
        self.rows = [kept for kept in self.rows if kept is not old] + [new]
        columns = list(dict.fromkeys(key for kept in self.rows for key in kept))
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        write_atomically(self.path, text.getvalue().encode())


_KEYS = ("model", "exporter", "threads", "costs")


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
