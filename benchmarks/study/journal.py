"""What there is of the study: a line for every search, which is written when it has ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from polygym.errors import PolygymError
from polygym.files import locked

T = TypeVar("T")


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


def read_lines(path: Path, read: Callable[[Any], T]) -> Iterator[tuple[int, T]]:
    """Yield what the lines of a file say, with their numbers; damaged ones are left out, and said.

    A kill may have cut off one.
    """
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            try:
                found = read(json.loads(line))
            except (KeyError, TypeError, ValueError) as error:
                print(f"{path}:{number} is left out: {error!r}", file=sys.stderr)
                continue
            yield number, found


def add_line(path: Path, text: str) -> None:
    """Add a line to a file; what a kill has left of one before ends there."""
    with path.open("a+b") as file:
        if file.tell():
            file.seek(-1, 2)
            text = text if file.read(1) == b"\n" else "\n" + text
        file.write(text.encode() + b"\n")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Inside, nobody else searches in the folder: two at once would take each other's time.

    Raises:
        PolygymError: somebody does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        if not locked(file.fileno()):
            raise PolygymError(
                f"{folder}: expected nobody else to search there, found another search at work"
            )
        yield


class Journal:
    """The searches of a folder."""

    def __init__(self, folder: Path) -> None:
        """Read what there is."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "journal.jsonl"
        self.searches = {one.task: one for _, one in read_lines(self.path, Search.from_json)}

    def add(self, search: Search) -> None:
        """Keep a search."""
        add_line(self.path, json.dumps(search.to_json()))
        self.searches[search.task] = search

    def settings(self) -> list[Setting]:
        """Return the settings that there are."""
        return sorted({task.setting for task in self.searches})

    def of(self, setting: Setting) -> list[Search]:
        """Return the searches of a setting, in order."""
        return [self.searches[task] for task in sorted(self.searches) if task.setting == setting]
