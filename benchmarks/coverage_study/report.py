"""Tables of a run: nests, totals by folder, refusals by kind."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from statistics import geometric_mean
from typing import Any

from coverage_study.outcomes import AS_IS, OPTION, CoverageRow

_FASTER, _SLOWER = 1.5, 0.95
_HEADS = ("folder", "nests", "found", "as is", "option", "legal", "equal", "timed", "faster",
          "slower", "refused rightly", "shortcoming")  # fmt: skip


def nest_table(rows: Sequence[CoverageRow]) -> str:
    """Return the table of all nests."""
    lines = ["| nest | found | modelled | legal | faster | equal | remark |", "|" + "---|" * 7]
    for row in rows:
        cells = (
            f"{row.file}:{row.line} {row.nest}",
            "yes" if row.found else "no",
            f"{row.modelled} {row.options}".strip() if row.is_modelled else row.modelled,
            row.legal or "-",
            _speedup_text(row),
            row.equal or "-",
            remark(row),
        )
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(lines)


def _speedup_text(row: CoverageRow) -> str:
    """Return the speedup of a nest, "short" where its source takes less than a millisecond."""
    if row.speedup is not None:
        return f"{row.speedup:.2f}"
    return "-" if row.ratio is None else "short"


def remark(row: CoverageRow) -> str:
    """Return the reason of a refusal with its place, or what could not be compared."""
    if row.is_modelled:
        return row.detail
    place = row.place.removeprefix("benchmarks/suite/")
    word = "refused rightly: " if row.is_refused_rightly else ""
    return f"{word}{place}: {row.reason}" if place else f"{word}{row.reason}"


def total_table(rows: Sequence[CoverageRow]) -> str:
    """Return the totals of each folder, and of all."""
    by_folder: dict[str, list[CoverageRow]] = defaultdict(list)
    for row in rows:
        by_folder[PurePosixPath(row.file).parts[0] if "/" in row.file else "."].append(row)
    lines = [f"| {' | '.join(_HEADS)} |", "|" + "---|" * len(_HEADS)]
    lines += [_total_line(folder, own) for folder, own in sorted(by_folder.items())]
    if len(by_folder) != 1:
        lines.append(_total_line("**all**", rows))
    return "\n".join(lines)


def _total_line(name: str, rows: Sequence[CoverageRow]) -> str:
    counts = totals(rows)
    cells = [name, *(str(counts[head]) for head in _HEADS[1:])]
    return f"| {' | '.join(cells)} |"


def totals(rows: Sequence[CoverageRow]) -> dict[str, int]:
    """Return how many nests came how far."""
    tests: dict[str, Callable[[CoverageRow], bool]] = {
        "nests": lambda row: True,
        "found": lambda row: row.found,
        "as is": lambda row: row.modelled == AS_IS,
        "option": lambda row: row.modelled == OPTION,
        "legal": lambda row: row.legal == "yes",
        "equal": lambda row: row.is_equal,
        "timed": lambda row: row.speedup is not None,
        "faster": lambda row: row.speedup is not None and row.speedup >= _FASTER,
        "slower": lambda row: row.speedup is not None and row.speedup < _SLOWER,
        "refused rightly": lambda row: row.is_refused_rightly,
        "shortcoming": lambda row: row.is_shortcoming,
    }
    return {name: sum(map(test, rows)) for name, test in tests.items()}


def refusal_list(rows: Sequence[CoverageRow]) -> str:
    """Return the refusals by kind, most frequent first, those through a shortcoming before."""
    refused = [row for row in rows if not row.is_modelled]
    open_rows = [row for row in refused if not row.is_refused_rightly]
    parts = []
    has_list = any(row.expected for row in rows)
    heading = "refused through a shortcoming" if has_list else "refused"
    for title, own in ((heading, open_rows), ("refused rightly", _rightly(refused))):
        if own:
            parts.append(f"{len(own)} {title}:")
            parts += _by_kind(own)
    return "\n".join(parts)


def _rightly(rows: Sequence[CoverageRow]) -> list[CoverageRow]:
    return [row for row in rows if row.is_refused_rightly]


def _by_kind(rows: Sequence[CoverageRow]) -> list[str]:
    counts = Counter(row.kind for row in rows)
    lines = []
    for kind, count in counts.most_common():
        lines.append(f"{count:4}  {kind}")
        for row in rows:
            if row.kind == kind:
                habit = f" ({row.habit})" if row.habit else ""
                part = " [in part]" if row.modelled == "in part" else ""
                lines.append(f"        {row.file}:{row.line} {row.nest}{habit}{part}")
                lines.append(f"            {remark(row)[:240]}")
    return lines


def disagreements(rows: Sequence[CoverageRow]) -> str:
    """Return the nests that are modelled though the list says that they are refused rightly."""
    own = [row for row in rows if row.is_modelled and row.expected.startswith("refuse")]
    names = ", ".join(f"{row.file} {row.nest}" for row in own)
    return f"modelled, though the list says refused: {names}" if own else ""


def defect_list(rows: Sequence[CoverageRow]) -> str:
    """Return wrong outputs and crashes."""
    return "\n".join(
        f"DEFECT {row.file}:{row.line} {row.nest}: {row.equal or row.detail}"
        for row in rows
        if row.is_defect
    )


def unequal_list(rows: Sequence[CoverageRow]) -> str:
    """Return the nests that are modelled and not compared with another compiler, with the cause."""
    own = [row for row in rows if row.is_modelled and not row.is_equal and not row.is_defect]
    lines = [f"{len(own)} modelled, and not compared with gcc:"] if own else []
    lines += [
        f"    {row.file}:{row.line} {row.nest}: {row.equal or 'no code'}; {row.detail[:200]}"
        for row in own
    ]
    return "\n".join(lines)


def _speedups(rows: Sequence[CoverageRow]) -> list[float]:
    return [row.speedup for row in rows if row.speedup]


def _mean_text(speedups: Sequence[float]) -> str:
    """Return a sentence on the speedups of nests of a millisecond or more; "" for none."""
    if not speedups:
        return ""
    faster = sum(speedup >= _FASTER for speedup in speedups)
    slower = sum(speedup < _SLOWER for speedup in speedups)
    return (
        f"{len(speedups)} nests of a millisecond or more: geometric mean of the speedups "
        f"{geometric_mean(speedups):.2f}, {faster} of at least {_FASTER}, {slower} below {_SLOWER}"
    )


def to_json(rows: Sequence[CoverageRow]) -> dict[str, Any]:
    """Return the document of --json."""
    ratios = _speedups(rows)
    return {
        "totals": totals(rows),
        "geometric_mean": geometric_mean(ratios) if ratios else None,
        "nests": [row.to_json() for row in rows],
    }


def text_report(rows: Sequence[CoverageRow]) -> str:
    """Return everything for people."""
    mean = _mean_text(_speedups(rows))
    parts = (
        nest_table(rows), total_table(rows), mean, refusal_list(rows), unequal_list(rows),
        disagreements(rows), defect_list(rows),
    )  # fmt: skip
    return "\n\n".join(filter(None, parts))
