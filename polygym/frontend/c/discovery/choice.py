"""Choice of a region that has no pragmas: by its function, by a line, or the best of a file.

==================================  ==========================================================
nothing given, pragmas in the file  what the pragmas mark, as ever
nothing given, no pragmas           the region with the greatest benefit (gain times work)
a function                          its marked region; else the best that is found in it
a function and a number, ``f:2``    its second marked region; else its second one that is found
a line                              the region that the line is in, marked or found
==================================  ==========================================================

The result names the region by its place, so it is not looked for again, and stays the same region
wherever the choice goes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polygym.errors import InputError, SourceError
from polygym.frontend.c.discovery.found_regions import FileRegions, FoundRegion
from polygym.frontend.c.discovery.region_search import find_in_text, functions_of_text
from polygym.frontend.c.regions.completion import completed_source
from polygym.frontend.c.source.parser import (
    ScopRegion,
    cached_result,
    find_regions,
    parse_cached,
    preprocess_cached,
)
from polygym.frontend.c.source.region_mark import LineMark, RegionMark
from polygym.frontend.c.source.region_selection import RegionSelection
from polygym.frontend.c.source.unreadable import problem_error, unread_nodes
from polygym.poly.estimates.benefit import benefit

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class ChosenRegion:
    """A region by its place, out of how many; ``region`` is None where pragmas mark it."""

    selection: RegionSelection
    region: FoundRegion | None = None
    candidates: int = 1

    def sentence(self, file: str) -> str:
        """Return a sentence about a region that was found; "" for one that pragmas mark."""
        if self.region is None:
            return ""
        lines = f"lines {self.region.first.line} to {self.region.last.line}"
        if self.region.first.line == self.region.last.line:
            lines = f"line {self.region.first.line}"
        which = "the only one" if self.candidates == 1 else f"of {self.candidates} regions"
        return f"{file}: no pragmas; takes {self.region.name}, {lines} ({which})"


def choose(text: str, file: str, given: RegionSelection) -> ChosenRegion:
    """Return the region of a text that a selection means.

    Raises:
        InputError: There is no region, none by that name, or none at that line.
        SourceError: The text is no C.
    """
    if isinstance(given.mark, RegionMark):
        return ChosenRegion(given)
    source = preprocess_cached(text, file, given.flags)
    key = (choose, str(given))
    return cached_result(source, key, lambda: _choose(text, file, given))


def _choose(text: str, file: str, given: RegionSelection) -> ChosenRegion:
    """Choose among marked regions first, then among those that are found."""
    source = preprocess_cached(text, file, given.flags)
    marked: Sequence[ScopRegion] = ()
    if any(token.text == "#pragma scop" for token in source.tokens):
        whole = completed_source(text, file, replace(given, mark=None)).source
        marked = find_regions(parse_cached(whole), whole)
        if isinstance(given.mark, LineMark):
            for region in marked:
                first, last = whole.location(region.begin).line, whole.location(region.end).line
                if first <= given.mark.line <= last:
                    return ChosenRegion(replace(given, region_name=region.name, mark=None))
        elif given.region_name is None or _is_marked(given.region_name, marked):
            return ChosenRegion(given)
    if isinstance(given.mark, LineMark):
        return _at_line(text, file, given, given.mark.line)
    name, _, number = (given.region_name or "").partition(":")
    if given.region_name is None:
        found = find_in_text(text, file, given)
        return _best(found, text, file, given, "")
    if name not in (known := [row[0] for row in functions_of_text(text, file, given)]):
        if marked:
            return ChosenRegion(given)  # the reader says which there are
        listed = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
        raise InputError(f"{file}: no function is called {name}; there are: {listed or 'none'}")
    found = find_in_text(text, file, given, name)
    if not number:
        return _best(found, text, file, given, f" in {name}")
    for own in found.regions:
        if str(own.number) == number:
            return ChosenRegion(own.selection(given), own, len(found.regions))
    raise InputError(
        f"{file}: expected one of {len(found.regions)} regions of {name}, found {given.region_name}"
    )


def _is_marked(name: str, marked: Sequence[ScopRegion]) -> bool:
    return any(name in (region.name, region.function.decl.name) for region in marked)


def _best(
    found: FileRegions, text: str, file: str, given: RegionSelection, where: str
) -> ChosenRegion:
    """Return the region with the greatest benefit.

    Of a file without loops the first part that is not read is refused.
    """
    if not found.regions and not found.refused:
        source = preprocess_cached(text, file, given.flags)
        for node in unread_nodes(parse_cached(source)):
            raise problem_error(node.problem, source)
    _expect_region(found, file, where)
    region = max(found.regions, key=lambda region: benefit(region.scop))
    return ChosenRegion(region.selection(given), region, len(found.regions))


def _at_line(text: str, file: str, given: RegionSelection, line: int) -> ChosenRegion:
    """Return the region that a line is in."""
    functions = functions_of_text(text, file, given)
    around = [name for name, first, last in functions if first <= line <= last]
    if not around:
        raise InputError(f"{file}:{line}: expected a line of a function, found none there")
    found = find_in_text(text, file, given, around[0])
    for region in found.regions:
        if region.contains_line(line):
            return ChosenRegion(region.selection(given), region, len(found.regions))
    _expect_region(found, file, f" in {around[0]}")
    for refused in found.refused:
        if refused.loop.line == line:
            raise SourceError(refused.place, refused.message, refused.hint)
    places = ", ".join(f"{r.name} in lines {r.first.line} to {r.last.line}" for r in found.regions)
    raise InputError(f"{file}:{line}: expected a line of a region, found none; there are: {places}")


def _expect_region(found: FileRegions, file: str, where: str) -> None:
    """Refuse a file or a function without regions; say why its first loop is none."""
    if found.regions:
        return
    if found.refused:
        first = found.refused[0]
        raise SourceError(first.place, first.message, first.hint)
    raise InputError(f"{file}: expected loops{where}, found none")
