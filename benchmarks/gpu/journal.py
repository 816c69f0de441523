"""Results as lines of JSON: what is there is not done again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class Journal:
    """The rows of a run; each has a step and a name, by which it is found again."""

    def __init__(self, path: Path) -> None:
        """Read what is there; a line that was cut off by an end is left out."""
        self._path = path
        self._rows: dict[tuple[str, str], Row] = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        for line in lines:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            self._rows[row["step"], row["name"]] = row

    def __contains__(self, key: tuple[str, str]) -> bool:
        """Whether a row of a step and a name is there."""
        return key in self._rows

    def add(self, step: str, name: str, **values: Any) -> None:
        """Write a row at once."""
        row = {"step": step, "name": name, **values}
        self._rows[step, name] = row
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def row(self, step: str, name: str) -> Row | None:
        """Return a row, None where there is none."""
        return self._rows.get((step, name))

    def of_step(self, step: str) -> Iterator[Row]:
        """Yield the rows of a step."""
        return (row for (own, _), row in self._rows.items() if own == step)

    def write_page(self, text: str) -> None:
        """Write the page beside the rows."""
        self._path.with_name("GPU.md").write_text(text + "\n", encoding="utf-8")
