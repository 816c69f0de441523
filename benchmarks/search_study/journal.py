"""Journal of the study: a line for every search, written when it has ended."""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from polygym.errors import PolygymError
from polygym.files import try_lock, write_atomically

T = TypeVar("T")
_FILE, _LOCK = "journal.jsonl", "lock"


@dataclass(frozen=True, order=True)
class StudySetting:
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
class SearchTask:
    """A search of the study."""

    setting: StudySetting
    program: str
    contender: str
    seed: int


@dataclass(frozen=True)
class SearchRecord:
    """What became of it: the speedup of every trial (0: it failed), and what was tried.

    A candidate is the number of its schedule in ``schedules``, and its mapping. ``version`` is the
    search's (:mod:`search_study.version`), empty where that is not known. ``again`` says of trials
    that it held how fast their candidates are beside those of other searches
    (:mod:`search_study.remeasurement`), if they were measured again.
    """

    task: SearchTask
    speedups: tuple[float, ...]
    seconds: float
    schedules: tuple[str, ...] = ()
    candidates: tuple[tuple[int, str], ...] = ()
    version: str = ""
    again: tuple[tuple[int, float], ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as a line's content."""
        own = asdict(self)
        task = own.pop("task")
        return {**task.pop("setting"), **task, **own}

    @staticmethod
    def from_json(data: dict[str, Any]) -> SearchRecord:
        """Return a line's search.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        setting = StudySetting(**{name: data[name] for name in StudySetting.__dataclass_fields__})
        task = SearchTask(setting, data["program"], data["contender"], int(data["seed"]))
        again = data.get("again")
        return SearchRecord(
            task,
            tuple(map(float, data["speedups"])),
            float(data["seconds"]),
            tuple(data["schedules"]),
            tuple((int(place), str(mapping)) for place, mapping in data["candidates"]),
            str(data.get("version", "")),
            None
            if again is None
            else tuple((int(place), float(speedup)) for place, speedup in again),
        )


@dataclass(frozen=True)
class ComparableSearches:
    """Searches that can be compared."""

    start: str
    dataset: str
    threads: int
    searches: tuple[SearchRecord, ...]

    @property
    def trials(self) -> int:
        """The most that a search was given."""
        return max(record.task.setting.trials for record in self.searches)

    def __str__(self) -> str:
        """Return what the searches have in common, and where they were made."""
        machines = ", ".join(sorted({record.task.setting.machine for record in self.searches}))
        about = f"start {self.start}, {self.dataset}, {self.threads} threads, machines {machines}"
        versions = sorted({record.version or "unknown" for record in self.searches})
        return f"{about}, searches of {len(versions)} versions" if len(versions) > 1 else about


def read_packed(path: Path) -> list[SearchRecord]:
    """Return the searches of a packed file.

    Raises:
        PolygymError: it cannot be read.
    """
    try:
        lines = lzma.decompress(path.read_bytes()).decode().splitlines()
        return [SearchRecord.from_json(json.loads(line)) for line in lines]
    except (OSError, lzma.LZMAError, ValueError, KeyError, TypeError) as error:
        raise PolygymError(f"{path}: expected packed searches, found: {error!r}") from None


def read_lines(path: Path, read: Callable[[Any], T]) -> Iterator[tuple[int, T]]:
    """Yield what the lines of a file say, with their numbers; damaged ones are left out, and said.

    A kill may have cut off one.
    """
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            try:
                entry = read(json.loads(line))
            except (KeyError, TypeError, ValueError) as error:
                print(f"{path}:{number} is left out: {error!r}", file=sys.stderr)
                continue
            yield number, entry


def append_line(path: Path, text: str) -> None:
    """Add a line to a file; what a kill has left of one before ends there."""
    with path.open("a+b") as file:
        if file.tell():
            file.seek(-1, 2)
            text = text if file.read(1) == b"\n" else "\n" + text
        file.write(text.encode() + b"\n")


@contextmanager
def exclusive_lock(folder: Path) -> Iterator[None]:
    """Inside, nobody else searches in the folder: two at once would take each other's time.

    Raises:
        PolygymError: somebody does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as file:
        if not try_lock(file.fileno()):
            raise PolygymError(
                f"{folder}: expected nobody else to search there, found another search at work"
            )
        yield


def _with_trials(task: SearchTask, trials: int) -> SearchTask:
    return replace(task, setting=replace(task.setting, trials=trials))


class StudyJournal:
    """The searches of a folder, and of packed files from elsewhere."""

    def __init__(self, folder: Path, packed: Sequence[Path] = ()) -> None:
        """Read what there is.

        Raises:
            PolygymError: a packed file cannot be read.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / _FILE
        self.searches = {record.task: record for file in packed for record in read_packed(file)}
        self.searches |= {
            record.task: record for _, record in read_lines(self.path, SearchRecord.from_json)
        }

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Whether a folder has searches, or somebody has begun one there."""
        return any((folder / name).exists() for name in (_FILE, _LOCK))

    def add(self, search: SearchRecord) -> None:
        """Keep a search."""
        append_line(self.path, json.dumps(search.to_json()))
        self.searches[search.task] = search

    def has(self, task: SearchTask) -> bool:
        """Whether there is that search, or one that was given more trials.

        What a search has after some trials does not depend on how many it was given.
        """
        trials = task.setting.trials
        return any(
            search_task.setting.trials >= trials and _with_trials(search_task, trials) == task
            for search_task in self.searches
        )

    def pack(self, path: Path) -> None:
        """Write all searches to one small file, without what they have tried."""
        lines = [
            json.dumps(replace(record, schedules=(), candidates=()).to_json())
            for _, record in sorted(self.searches.items())
        ]
        write_atomically(path, lzma.compress("\n".join(lines).encode()))

    def studies(self) -> list[ComparableSearches]:
        """Return what can be compared: settings on all machines, with any number of trials."""
        records: dict[tuple[str, str, int], list[SearchRecord]] = {}
        for task in sorted(self.searches):
            setting = task.setting
            key = (setting.start, setting.dataset, setting.threads)
            records.setdefault(key, []).append(self.searches[task])
        return [ComparableSearches(*key, tuple(searches)) for key, searches in records.items()]

    def of(self, setting: StudySetting) -> list[SearchRecord]:
        """Return the searches of a setting, in order."""
        return [self.searches[task] for task in sorted(self.searches) if task.setting == setting]
