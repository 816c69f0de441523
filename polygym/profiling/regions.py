"""Samples joined with regions: what of the time is in which loops, and in which functions.

A sample belongs to the region whose lines hold its line. One that is in no region belongs to its
function, and where a loop of that function was refused near the line, that is said. Time in
functions that a region calls is theirs, unless the compiler has put them into the region.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from polygym.frontend.c.discovery.found_regions import RefusedLoop
from polygym.pickling import pickle_by_name
from polygym.profiling.samples import Profile, Sample
from polygym.scan.results import FileScan, RegionRow

_KERNEL = "system"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class HotPlace:
    """A place that takes time: a region, or a function outside of all regions.

    ``share`` is the part of all samples, ``reason`` why there is no region, if that is known.
    """

    count: float
    share: float
    symbol: str
    file: str | None
    line: int | None
    region: RegionRow | None = None
    reason: str = ""


def source_paths(profile: Profile) -> tuple[str, ...]:
    """Return the C files that samples are in and that are there, those with the most first."""
    counts: dict[str, float] = defaultdict(float)
    for sample in profile.samples:
        if sample.file is not None and os.path.isfile(sample.file):
            counts[os.path.realpath(sample.file)] += sample.count
    return tuple(sorted(counts, key=lambda path: -counts[path]))


def hot_places(profile: Profile, scans: Sequence[FileScan]) -> list[HotPlace]:
    """Return the places that take time, the hottest first."""
    by_file = {os.path.realpath(scan.file): scan for scan in scans}
    counts: dict[object, float] = defaultdict(float)
    first: dict[object, tuple[Sample, RegionRow | None, str]] = {}
    for sample in profile.samples:
        scan = by_file.get(os.path.realpath(sample.file)) if sample.file else None
        region = _region_at(scan, sample.line)
        if _is_kernel(sample):
            sample = replace(sample, symbol=_KERNEL)
        key = id(region) if region else (sample.object_file, sample.symbol, sample.file)
        counts[key] += sample.count
        first.setdefault(key, (sample, region, "" if region else _reason(scan, sample)))
    total = profile.total or 1.0
    places = [
        HotPlace(count, count / total, sample.symbol, sample.file, sample.line, region, reason)
        for key, count in counts.items()
        for sample, region, reason in (first[key],)
    ]
    return sorted(places, key=lambda place: -place.count)


def _is_kernel(sample: Sample) -> bool:
    """Whether a sample is in the kernel of the system."""
    return sample.object_file.startswith("[")


def _region_at(scan: FileScan | None, line: int | None) -> RegionRow | None:
    """Return the region that has a line."""
    if scan is None or line is None:
        return None
    inside = [row for row in scan.regions if row.first.line <= line <= row.last.line]
    return min(inside, key=lambda row: row.last.line - row.first.line, default=None)


def _reason(scan: FileScan | None, sample: Sample) -> str:
    """Return why a sample is in no region, as far as it is known."""
    if scan is None:
        return "" if sample.file or _is_kernel(sample) else "no debug information: compile with -g"
    if scan.reason:
        return f"the file is refused: {scan.reason}"
    before = _last_before(scan.refused, sample.line or 0)
    if before is None:
        return ""
    return f"line {before.place.line}: {before.message}"


def _last_before(refused: Iterable[RefusedLoop], line: int) -> RefusedLoop | None:
    """Return the last refused loop that begins at a line or before it."""
    return max(
        (loop for loop in refused if loop.loop.line <= line),
        key=lambda loop: loop.loop.line,
        default=None,
    )
