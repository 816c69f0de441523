"""Samples of a running program, and the tools that take them.

A tool interrupts a program at regular times and notes where it is. ``perf`` does that to any
program; ``gprof`` to one that was built for it. Debug information says which line that is.
"""

from dataclasses import dataclass
from enum import Enum

from polygym.pickling import pickle_by_name


class ProfilingTool(Enum):
    """The tools."""

    PERF = "perf"
    GPROF = "gprof"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Sample:
    """The number of times at a place; ``file`` and ``line`` are None without debug information."""

    count: float
    object_file: str
    symbol: str
    file: str | None
    line: int | None


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """The end of a program: its exit code, and the signal that asked it to stop, or 0."""

    code: int
    stop_signal: int = 0


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Profile:
    """The samples of a run, the tool, and how the program ended."""

    tool: ProfilingTool
    samples: tuple[Sample, ...]
    end: ProgramEnd

    @property
    def total(self) -> float:
        """The number of all samples."""
        return sum(sample.count for sample in self.samples)

    @property
    def has_lines(self) -> bool:
        """Whether any sample knows its line."""
        return any(sample.line is not None for sample in self.samples)


def parse_place(text: str) -> tuple[str | None, int | None]:
    """Return the file and the line of ``path:line``; None and None where there are none.

    >>> parse_place("/home/me/blur.c:12"), parse_place("??:0"), parse_place("memset+0x12")
    (('/home/me/blur.c', 12), (None, None), (None, None))
    """
    file, colon, line = text.strip().rpartition(":")
    number = line.split(" ")[0]
    if not colon or not number.isdecimal() or int(number) == 0 or file in ("", "??"):
        return None, None
    return file, int(number)
