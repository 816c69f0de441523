"""Rows of a scan: files, regions with estimates, refused loops; and the order of the regions."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from polygym.errors import SourceLocation
from polygym.frontend.c.discovery.found_regions import RefusedLoop
from polygym.pickling import pickle_by_name


class FileStatus(Enum):
    """The outcome of a file; one that polygym generated is left out."""

    READ = "read"
    NO_LOOPS = "no loops"
    GENERATED = "generated"
    REFUSED = "refused"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class RegionRow:
    """A region: its place, what it is, and its estimates.

    ``selection`` is the text that chooses it, ``flags`` the arguments that its file is read with.
    ``work`` is in operations at ``sizes``, ``gain`` a factor: the rule of thumb, or what the models
    expect where ``is_predicted``. Numbers that could not be had in time are None.
    """

    file: str
    name: str
    first: SourceLocation
    last: SourceLocation
    depth: int
    statements: int
    pattern: str
    sizes: tuple[tuple[str, int], ...]
    work: float | None
    gain: float | None
    is_predicted: bool
    selection: str
    flags: tuple[str, ...] = ()
    counters_used_after: tuple[str, ...] = ()

    @property
    def benefit(self) -> float:
        """Gain times work, by which regions are sorted."""
        return (self.work or 0.0) * (self.gain or 1.0)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "file": self.file,
            "function": self.name,
            "line": self.first.line,
            "column": self.first.column,
            "last_line": self.last.line,
            "last_column": self.last.column,
            "depth": self.depth,
            "statements": self.statements,
            "computes": self.pattern,
            "sizes": dict(self.sizes),
            "work": self.work,
            "gain": self.gain,
            "gain_is_predicted": self.is_predicted,
            "counters_used_after": list(self.counters_used_after),
            "region": self.selection,
            "flags": list(self.flags),
        }


@pickle_by_name
@dataclass(frozen=True, slots=True)
class FileScan:
    """A file: its regions, the loops that are refused, and why it is refused as a whole."""

    file: str
    status: FileStatus
    regions: tuple[RegionRow, ...] = ()
    refused: tuple[RefusedLoop, ...] = ()
    functions: int = 0
    loops: int = 0
    reason: str = ""
    place: SourceLocation | None = None
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return plain data, without the regions."""
        place = {} if self.place is None else place_json(self.place)
        return {
            "file": self.file,
            "status": self.status.value,
            "functions": self.functions,
            "loops": self.loops,
            "regions": len(self.regions),
            "seconds": round(self.seconds, 3),
            **({"reason": self.reason, **place} if self.reason else {}),
        }


def place_json(place: SourceLocation) -> dict[str, Any]:
    """Return a place as plain data."""
    return {"place_file": place.file, "line": place.line, "column": place.column}


def refused_json(file: str, refused: RefusedLoop) -> dict[str, Any]:
    """Return a refused loop as plain data."""
    return {
        "file": file,
        "function": refused.function,
        "loop_line": refused.loop.line,
        "loop_column": refused.loop.column,
        "line": refused.place.line,
        "column": refused.place.column,
        "reason": refused.message,
        "hint": refused.hint,
    }


def sorted_regions(files: Iterable[FileScan]) -> list[RegionRow]:
    """Return the regions of files, those with the greatest benefit first."""
    rows = [row for scan in files for row in scan.regions]
    return sorted(rows, key=lambda row: (-row.benefit, row.file, row.first.line, row.first.column))
