"""Scan of one file: its regions with estimates, and the loops that are refused, with the reasons.

A file without the words ``for``, ``while`` and ``do`` is not parsed, nor is one that polygym wrote,
unless it was named itself. A header that is missing is
looked for in the project, unless a compile command names the folders.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from polygym.errors import LimitError, PolygymError, SourceError
from polygym.frontend.c import read_text
from polygym.frontend.c.discovery.found_regions import FileRegions, FoundRegion
from polygym.frontend.c.discovery.region_search import find_in_text
from polygym.frontend.c.generated_text import is_generated
from polygym.frontend.c.source.compile_flags import CompileFlags
from polygym.frontend.c.source.region_selection import RegionSelection
from polygym.frontend.c.tokens.origins import blank_comments
from polygym.pickling import pickle_by_name
from polygym.poly.estimates.benefit import estimated_gain
from polygym.poly.estimates.patterns import pattern_of
from polygym.poly.estimates.work import estimated_work, sizes_near
from polygym.scan.headers import folder_of_header
from polygym.scan.prediction import predicted_gain
from polygym.scan.results import FileScan, FileStatus, RegionRow
from polygym.scan.sources import ScanSource

_LOOP_WORD = re.compile(r"\b(?:for|while|do)\b")
_MISSING = re.compile(r'included file "([^"]+)" is not in ')
_MOST_FOLDERS = 12


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ScanOptions:
    """Sizes of all parameters, values of single ones, and whether models are asked."""

    size: int
    parameters: tuple[tuple[str, int], ...] = ()
    is_predicted: bool = False


def scan_file(source: ScanSource, options: ScanOptions) -> FileScan:
    """Return what there is in a file; whatever refuses it becomes the reason."""
    begin = time.monotonic()
    try:
        result = _scan(source, options)
    except SourceError as error:
        result = FileScan(
            source.path, FileStatus.REFUSED, reason=error.message, place=error.location
        )
    except PolygymError as error:
        reason = str(error).split("\n")[0].removeprefix(f"{source.path}: ")
        result = FileScan(source.path, FileStatus.REFUSED, reason=reason)
    return replace(result, seconds=time.monotonic() - begin)


def _scan(source: ScanSource, options: ScanOptions) -> FileScan:
    text = read_text(source.path)
    if is_generated(text) and not source.is_named:
        return FileScan(source.path, FileStatus.GENERATED)
    if not _LOOP_WORD.search(blank_comments(text)):
        return FileScan(source.path, FileStatus.NO_LOOPS)
    flags, found = _found(text, source)
    rows = tuple(_row(source.path, region, flags, options) for region in found.regions)
    return FileScan(source.path, FileStatus.READ, rows, found.refused, found.functions, found.loops)


def _found(text: str, source: ScanSource) -> tuple[CompileFlags, FileRegions]:
    """Return the regions of a file, and the flags that it is read with in the end."""
    flags = source.flags
    while True:
        try:
            return flags, find_in_text(text, source.path, RegionSelection(flags=flags))
        except SourceError as error:
            missing = _MISSING.match(error.message)
            if missing is None or source.root is None:
                raise
            folder = folder_of_header(missing[1], source.root, source.path)
            if folder is None or len(flags.include_directories) >= _MOST_FOLDERS:
                raise
            if folder in flags.include_directories:
                raise
            flags = flags.joined(CompileFlags((folder,)))


def _row(file: str, region: FoundRegion, flags: CompileFlags, options: ScanOptions) -> RegionRow:
    scop = region.scop
    sizes: Mapping[str, int] = {}
    work = gain = None
    pattern, is_predicted = "", False
    try:
        sizes = sizes_near(scop, options.size, dict(options.parameters))
        work = estimated_work(scop, sizes)
        gain = estimated_gain(scop, sizes)
        pattern = pattern_of(scop, sizes).value
        if options.is_predicted and (expected := predicted_gain(scop, sizes)) is not None:
            gain, is_predicted = expected, True
    except LimitError:
        pass  # what is there by then is told, the rest is not known
    return RegionRow(
        file=file,
        name=region.name,
        first=region.first,
        last=region.last,
        depth=scop.depth,
        statements=len(scop.statements),
        pattern=pattern,
        sizes=tuple(sizes.items()),
        work=work,
        gain=gain,
        is_predicted=is_predicted,
        selection=str(region.selection(RegionSelection(flags=flags))),
        flags=flags.arguments,
        counters_used_after=region.counters_used_after,
    )
