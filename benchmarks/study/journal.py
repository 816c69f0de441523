"""What there is of the study: a line for every search, which is written when it has ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, order=True)
class Setting:
    """What all searches that are compared have in common; ``machine`` is a kind of machine."""

    start: str
    dataset: str
    threads: int
    trials: int
    machine: str

    def __str__(self) -> str:
        """Return it in words."""
        return (
            f"start {self.start}, {self.dataset}, {self.threads} threads, {self.trials} trials, "
            f"machine {self.machine}"
        )


@dataclass(frozen=True, order=True)
class Task:
    """A search of the study."""

    setting: Setting
    program: str
    contender: str
    seed: int


@dataclass(frozen=True)
class Search:
    """What became of it: the speedup of every trial (0: it failed), and what was tried.

    A candidate is the number of its schedule in ``schedules``, and its mapping.
    """

    task: Task
    speedups: tuple[float, ...]
    seconds: float
    schedules: tuple[str, ...] = ()
    candidates: tuple[tuple[int, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as a line's content."""
        own = asdict(self)
        task = own.pop("task")
        return {**task.pop("setting"), **task, **own}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Search:
        """Return a line's search.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        setting = Setting(**{name: data[name] for name in Setting.__dataclass_fields__})
        task = Task(setting, data["program"], data["contender"], int(data["seed"]))
        return Search(
            task,
            tuple(map(float, data["speedups"])),
            float(data["seconds"]),
            tuple(data["schedules"]),
            tuple((int(place), str(mapping)) for place, mapping in data["candidates"]),
        )


class Journal:
    """The searches of a folder."""

    def __init__(self, folder: Path) -> None:
        """Read what there is; lines that are cut off or damaged are left out, and said."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "journal.jsonl"
        self.searches: dict[Task, Search] = {}
        for number, line in enumerate(self._lines(), start=1):
            try:
                search = Search.from_json(json.loads(line))
            except (KeyError, TypeError, ValueError) as error:
                print(f"{self.path}:{number} is left out: {error!r}", file=sys.stderr)
                continue
            self.searches[search.task] = search

    def _lines(self) -> Iterator[str]:
        if self.path.exists():
            with self.path.open(encoding="utf-8", errors="replace") as file:
                yield from file

    def add(self, search: Search) -> None:
        """Keep a search; what a kill has left of a line before ends there."""
        text = json.dumps(search.to_json())
        with self.path.open("a+b") as file:
            if file.tell():
                file.seek(-1, 2)
                text = text if file.read(1) == b"\n" else "\n" + text
            file.write(text.encode() + b"\n")
        self.searches[search.task] = search

    def settings(self) -> list[Setting]:
        """Return the settings that there are."""
        return sorted({task.setting for task in self.searches})

    def of(self, setting: Setting) -> list[Search]:
        """Return the searches of a setting, in order."""
        return [self.searches[task] for task in sorted(self.searches) if task.setting == setting]
