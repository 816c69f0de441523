"""The table of a comparison: a row a program, a column a method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def report(rows: Sequence[dict[str, Any]]) -> str:
    """Return tables of costs and of seconds."""
    rows = [row for row in rows if "method" in row]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    by_place = {(row["program"], row["method"]): row for row in rows}
    lines = [f"| program | first | {' | '.join(methods)} |", "|---" * (len(methods) + 2) + "|"]
    for name in dict.fromkeys(row["program"] for row in rows):
        own = [by_place.get((name, method)) for method in methods]
        first = next(row["first"] for row in own if row)
        cells = [f"{row['cost']:,.1f}" + "!" * row["differs"] if row else "-" for row in own]
        lines.append(f"| {name} | {first:,.1f} | {' | '.join(cells)} |")
    totals = []
    for method in methods:
        totals.append(f"{sum(row['seconds'] for row in rows if row['method'] == method):.0f}")
    lines.append(f"| seconds in all | | {' | '.join(totals)} |")
    return "\n".join(lines) + "\n"
