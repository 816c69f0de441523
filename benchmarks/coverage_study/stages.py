"""Scan of the files, then the stages of each nest.

A nest of the suite is *found* where the scan lists it, as a region or as a refused loop with its
reason. It is *modelled* where a region contains the whole loop: as it is, or with an option. In a
folder without a list every region and every refused loop is a nest.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from coverage_study.bounded import run_bounded
from coverage_study.journal import CoverageJournal, digest_of
from coverage_study.loop_text import LoopText, loop_at
from coverage_study.nest_stages import stages
from coverage_study.nests import SuiteNest, SuiteProgram, suite_nests, suite_programs
from coverage_study.outcomes import AS_IS, IN_PART, OPTION, CoverageRow
from coverage_study.reasons import kind_of_reason
from polygym.frontend.c.discovery.found_regions import RefusedLoop
from polygym.frontend.c.source.compile_flags import NO_FLAGS, CompileFlags
from polygym.scan.file_scan import ScanOptions
from polygym.scan.pool import scan_files
from polygym.scan.results import FileScan, FileStatus, RegionRow
from polygym.scan.sources import ScanSource

_SCAN = ScanOptions(64)


@dataclass(frozen=True, slots=True)
class CoverageOptions:
    """What is asked for: threads, times, limits in seconds for a file and for a nest."""

    threads: int = 2
    is_timed: bool = False
    file_seconds: float = 120.0
    nest_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class CoverageTarget:
    """A file to look at: its name in the table, how it is read, and its nests in a list."""

    name: str
    source: ScanSource
    flags: CompileFlags = NO_FLAGS
    nests: tuple[SuiteNest, ...] | None = None
    units: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class _Nest:
    """A nest before its stages: its row, its loop, the region that has all of it."""

    row: CoverageRow
    loop: LoopText
    region: RegionRow | None
    flags: CompileFlags
    options: tuple[str, ...] = field(default=())


def suite_targets(folder: Path) -> tuple[CoverageTarget, ...]:
    """Return the files of a suite that have nests, with the programs that they are part of."""
    by_unit: dict[str, SuiteProgram] = {}
    for program in suite_programs(folder):
        by_unit |= dict.fromkeys(program.units, program)
    nests: dict[str, list[SuiteNest]] = {}
    for nest in suite_nests(folder):
        nests.setdefault(nest.file, []).append(nest)
    return tuple(
        CoverageTarget(
            file,
            ScanSource(str(folder / file), NO_FLAGS, root=str(folder.absolute())),
            by_unit[file].flags,
            tuple(own),
            by_unit[file].paths(folder),
        )
        for file, own in nests.items()
    )


def look_at(
    target: CoverageTarget, options: CoverageOptions, journal: CoverageJournal
) -> Iterator[CoverageRow]:
    """Yield the nests of a file that are not in the journal, as they are done."""
    path = Path(target.source.path)
    if not journal.begin_file(target.name, digest_of(path)):
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    scan, used = _scan(target, options)
    nests = _listed(target, scan, used) if target.nests else _scanned(target, scan, text)
    for nest in nests:
        if nest.row.key not in journal.rows:
            row = _with_stages(nest, target, options)
            journal.add(row)
            yield row
    journal.end_file(target.name)


def _scan(target: CoverageTarget, options: CoverageOptions) -> tuple[FileScan, CompileFlags]:
    """Return the scan of a file as it is; where that fails, with the flags of its program."""
    for flags in dict.fromkeys((NO_FLAGS, target.flags)):
        source = replace(target.source, flags=target.source.flags.joined(flags))
        (scan,) = scan_files([source], _SCAN, options.file_seconds, 1, lambda: False)
        if scan.status is not FileStatus.REFUSED:
            return scan, flags
    return scan, flags


def _listed(target: CoverageTarget, scan: FileScan, flags: CompileFlags) -> Iterator[_Nest]:
    """Yield the nests of the list, each with its region, or with the reason that there is none."""
    assert target.nests is not None
    for nest in target.nests:
        row = CoverageRow(
            target.name, nest.function, nest.loop.name, nest.loop.line, nest.expected, nest.habit
        )
        region = next((each for each in scan.regions if _contains(each, nest.loop)), None)
        refused = _refusal(scan, nest.loop)
        row = replace(row, found=region is not None or refused is not None)
        if region is not None:
            is_option = flags != NO_FLAGS
            row = replace(row, modelled=OPTION if is_option else AS_IS, options=_flag_text(flags))
        else:
            row = _refused_row(row, scan, refused, _has_part(scan, nest.loop))
        yield _Nest(row, nest.loop, region, flags, nest.options)


def _scanned(target: CoverageTarget, scan: FileScan, text: str) -> Iterator[_Nest]:
    """Yield the regions and the refused loops of a file."""
    if scan.status is FileStatus.REFUSED:
        row = CoverageRow(target.name, "", "whole file", scan.place.line if scan.place else 0)
        yield _Nest(_refused_row(row, scan, None, False), LoopText("", 0, 0, 0), None, NO_FLAGS)
    for region in scan.regions:
        first, last = region.first, region.last
        loop = LoopText(region.name, first.line, first.column, last.line)
        row = CoverageRow(
            target.name, region.name, f"{first.line}:{first.column}", first.line, found=True,
            modelled=AS_IS, habit=region.pattern,
        )  # fmt: skip
        yield _Nest(row, loop, region, NO_FLAGS)
    for refused in scan.refused:
        place = refused.loop
        loop = loop_at(text, place.line, place.column, refused.function)
        name = f"{place.line}:{place.column}"
        row = CoverageRow(target.name, refused.function, name, place.line, found=True)
        row = _refused_row(row, scan, refused, _has_part(scan, loop))
        yield _Nest(row, loop, None, NO_FLAGS)


def _contains(region: RegionRow, loop: LoopText) -> bool:
    begins = (region.first.line, region.first.column) <= (loop.line, loop.column)
    return begins and region.last.line >= loop.last_line


def _has_part(scan: FileScan, loop: LoopText) -> bool:
    return any(loop.line <= region.first.line <= loop.last_line for region in scan.regions)


def _refusal(scan: FileScan, loop: LoopText) -> RefusedLoop | None:
    """Return the refusal of a loop, or of the first one inside; None where there is none."""
    inside = [each for each in scan.refused if loop.line <= each.loop.line <= loop.last_line]
    around = [
        each
        for each in scan.refused
        if each.place.file == scan.file and loop.line <= each.place.line <= loop.last_line
    ]
    return next(iter([*inside, *around]), None)


def _refused_row(
    row: CoverageRow, scan: FileScan, refused: RefusedLoop | None, has_part: bool
) -> CoverageRow:
    """Return the row of a nest that is in no region, with the reason."""
    reason, place = scan.reason, "" if scan.place is None else str(scan.place)
    if refused is not None:
        reason, place = refused.message, str(refused.place)
    row = replace(row, reason=reason, place=_short(place), kind=kind_of_reason(reason))
    return replace(row, modelled=IN_PART if has_part else row.modelled)


def _short(place: str) -> str:
    """Return a place relative to the current folder, where it is below it."""
    here = os.getcwd() + os.sep
    return place.removeprefix(here)


def _flag_text(flags: CompileFlags) -> str:
    words = [f"-I {os.path.relpath(path)}" for path in flags.include_directories]
    return " ".join([*words, *(f"-D {macro}" for macro in flags.macros)])


def _with_stages(nest: _Nest, target: CoverageTarget, options: CoverageOptions) -> CoverageRow:
    """Return the row of a nest after its stages; no stage where it is not modelled."""
    row, tried = nest.row, " ".join(nest.options)
    if nest.region is None and not tried and row.reason:
        return row
    request = _request(nest, target, options, "" if nest.region else tried)
    found, failure = run_bounded(partial(stages, request), options.nest_seconds)
    for stage in found:
        row = _after_stage(row, nest, stage, tried)
    if failure and (row.is_modelled or nest.region):
        row = replace(row, detail=failure, kind=kind_of_reason(failure))
        row = replace(row, equal=failure) if failure.startswith("crash") else row
    return row


def _after_stage(row: CoverageRow, nest: _Nest, stage: dict[str, Any], tried: str) -> CoverageRow:
    """Return a row with what a stage has found."""
    match stage["stage"]:
        case "modelled":
            row = replace(row, sizes=stage["sizes"])
            if nest.region is None:
                row = replace(row, modelled=OPTION if tried else AS_IS, options=tried)
                row = replace(row, reason="", place="", kind="", found=True)
            return row
        case "legal":
            return replace(row, legal="yes")
        case "equal":
            return replace(row, equal=stage["equal"], detail=stage["detail"])
        case "faster":
            row = replace(row, ratio=stage.get("ratio"), seconds=stage.get("seconds"))
            row = replace(row, sizes=stage["sizes"])
            return replace(row, equal=stage["equal"]) if "equal" in stage else row
        case _:
            reason = stage["reason"]
            if row.is_modelled:
                return replace(row, detail=reason, kind=kind_of_reason(reason))
            if row.reason and "are a region" in reason:
                return row
            if row.reason and not stage["place"]:
                return row
            return replace(
                row, reason=reason, place=_short(stage["place"]), kind=kind_of_reason(reason)
            )


def _request(
    nest: _Nest, target: CoverageTarget, options: CoverageOptions, tried: str
) -> dict[str, Any]:
    flags = target.source.flags.joined(nest.flags if nest.region else target.flags)
    units: Sequence[Path] = target.units
    return {
        "path": target.source.path,
        "selection": nest.region.selection if nest.region else None,
        "line": nest.loop.line,
        "column": nest.loop.column,
        "last_line": nest.loop.last_line,
        "options": tried,
        "include_directories": list(flags.include_directories),
        "macros": list(flags.macros),
        "threads": options.threads,
        "timed": options.is_timed,
        "units": [str(path.resolve()) for path in units],
        "flags": [f"-I{path}" for path in target.flags.include_directories]
        + [f"-D{macro}" for macro in target.flags.macros],
    }
