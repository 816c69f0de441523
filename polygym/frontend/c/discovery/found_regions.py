"""Results of the search for regions: those that are found, and loops that are refused, and why."""

from dataclasses import dataclass, replace

from polygym.errors import SourceLocation
from polygym.frontend.c.source.region_mark import RegionMark
from polygym.frontend.c.source.region_selection import RegionSelection
from polygym.ir.scop import Scop
from polygym.pickling import pickle_by_name


@pickle_by_name
@dataclass(frozen=True, slots=True)
class FoundRegion:
    """A region: its function, its number among the function's regions (from 1), and its places.

    ``counters_used_after`` are counters of its loops whose last values the code behind it uses: a
    function that has generated code in the region's place has to set them.
    """

    function: str
    number: int
    is_only: bool
    first: SourceLocation
    last: SourceLocation
    needs_braces: bool
    scop: Scop
    counters_used_after: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name by which ``--function`` takes it: ``f``, or ``f:2`` for the second one."""
        return self.function if self.is_only else f"{self.function}:{self.number}"

    @property
    def mark(self) -> RegionMark:
        """Its place in the file."""
        first, last = self.first, self.last
        return RegionMark((first.line, first.column), (last.line, last.column), self.needs_braces)

    def contains_line(self, line: int) -> bool:
        """Whether a line of the file has a part of it."""
        return self.first.line <= line <= self.last.line

    def selection(self, given: RegionSelection) -> RegionSelection:
        """Return the choice of this region, with what was given beside the file."""
        return replace(given, region_name=self.function, mark=self.mark)


@pickle_by_name
@dataclass(frozen=True, slots=True)
class RefusedLoop:
    """A loop that is in no region: where it begins, where it is refused, and why."""

    function: str
    loop: SourceLocation
    place: SourceLocation
    message: str
    hint: str = ""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class FileRegions:
    """The regions of a file, or of one of its functions, in the order of the text."""

    regions: tuple[FoundRegion, ...] = ()
    refused: tuple[RefusedLoop, ...] = ()
    functions: int = 0
    loops: int = 0
