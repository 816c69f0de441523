"""Results as lines of JSON: what is there and right is not done again."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class Journal:
    """The rows of a run; each has a step and a name, by which it is found again.

    A row has ``ok``, and the ``stamp`` of its run: rows with another stamp, as of other sources or
    another GPU, are left alone.
    """

    def __init__(self, path: Path, stamp: Mapping[str, str] | None = None) -> None:
        """Read what is there; a line that was cut off by an end is left out."""
        self._path, self._stamp = path, dict(stamp or {})
        self._rows: dict[tuple[str, str], Row] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        self._is_cut = bool(text) and not text.endswith("\n")
        for line in text.splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if all(row.get(key) == value for key, value in self._stamp.items()):
                self._rows[row["step"], row["name"]] = row

    def is_done(self, step: str, name: str) -> bool:
        """Whether a row of a step and a name is there, and right."""
        row = self.row(step, name)
        return row is not None and bool(row["ok"])

    def open_names(self, step: str, names: Iterable[str]) -> list[str]:
        """Return the names that are to be done, those that failed before at the end."""
        left = [name for name in names if not self.is_done(step, name)]
        return sorted(left, key=lambda name: self.row(step, name) is not None)

    def add(self, step: str, name: str, *, ok: bool, **values: Any) -> None:
        """Write a row at once."""
        row = {"step": step, "name": name, "ok": ok, **self._stamp, **values}
        self._rows[step, name] = row
        self._path.parent.mkdir(parents=True, exist_ok=True)
        before, self._is_cut = "\n" * self._is_cut, False
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{before}{json.dumps(row)}\n")

    def row(self, step: str, name: str) -> Row | None:
        """Return a row, None where there is none."""
        return self._rows.get((step, name))

    def of_step(self, step: str) -> Iterator[Row]:
        """Yield the rows of a step."""
        return (row for (own, _), row in self._rows.items() if own == step)

    def write_page(self, text: str) -> None:
        """Write the page beside the rows."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.with_name("GPU.md").write_text(text + "\n", encoding="utf-8")
