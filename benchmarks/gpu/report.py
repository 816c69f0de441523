"""The results as a page: ``GPU.md``."""

from collections.abc import Iterator
from statistics import geometric_mean
from typing import Any

from benchmarks.gpu.journal import Journal, Row

CHECKS = ("library", "kernel", "random mapping")
TABLES = ("row", "product")
_HIDDEN = ("step", "name", "ok", "sources")


def report(journal: Journal) -> str:
    """Return the page of what was measured so far."""
    return "\n".join([*_machine(journal), *_checks(journal), *_table(journal), *_others(journal)])


def _machine(journal: Journal) -> Iterator[str]:
    yield "# Programs on a GPU"
    yield ""
    row = journal.row("machine", "machine")
    if row is not None:
        yield "Machine: " + ", ".join(f"{key} {row[key]}" for key in row if key not in _HIDDEN)
        yield ""


def _checks(journal: Journal) -> Iterator[str]:
    yield "## Outputs beside the CPU"
    yield ""
    yield "| programs | compared | equal to tolerance |"
    yield "|---|---|---|"
    for step in CHECKS:
        rows = list(journal.of_step(step))
        yield f"| {step} | {len(rows)} | {sum(bool(row['ok']) for row in rows)} |"
    yield ""
    for step in CHECKS:
        for row in journal.of_step(step):
            if not row["ok"]:
                mapping = row.get("mapping", "")
                yield f"* {step} {row['name']} {mapping}: {row['text']}"
    yield ""


def _table(journal: Journal) -> Iterator[str]:
    yield "## Beside PyTorch"
    yield ""
    yield "Times of the GPU in microseconds, single precision without TF32."
    yield "Ratios are PyTorch's time over ours; its launches are a graph, except at a star."
    yield ""
    yield "| row | PyTorch | default | ratio | tuned | ratio | tried | mapping |"
    yield "|---|---|---|---|---|---|---|---|"
    rows = [row for step in TABLES for row in journal.of_step(step)]
    for row in rows:
        yield _row_text(row)
    yield ""
    for column in ("default", "tuned"):
        right = [row for row in rows if row[column] and row["torch"] and not row["wrong"]]
        ratios = [row["torch"] / row[column] for row in right]
        if ratios:
            mean = geometric_mean(ratios)
            faster = sum(ratio >= 1.0 for ratio in ratios)
            yield f"{column}: {mean:.2f} in the mean, {faster} of {len(ratios)} as fast or faster."
    yield ""


def _row_text(row: Row) -> str:
    cells = [row["name"], _micros(row["torch"]) + "*" * (not row.get("torch_in_graph", True))]
    for column in ("default", "tuned"):
        cells += [_micros(row[column]), _ratio(row["torch"], row[column])]
    mapping = f"wrong: {row['wrong']}" if row["wrong"] else row["mapping"]
    return f"| {' | '.join([*cells, str(row['tried']), mapping])} |"


def _others(journal: Journal) -> Iterator[str]:
    yield "## Stencils: share of memory bandwidth"
    yield ""
    yield "| stencil | seconds | share | mapping |"
    yield "|---|---|---|---|"
    for row in journal.of_step("stencil"):
        share = "-" if row["share"] is None else f"{row['share']:.2f}"
        seconds = "-" if row["seconds"] is None else f"{row['seconds']:.4f}"
        yield f"| {row['name']} | {seconds} | {share} | {row['mapping'] or row['text']} |"
    yield ""


def _micros(seconds: Any) -> str:
    return "-" if seconds is None else f"{1e6 * seconds:.1f}"


def _ratio(theirs: Any, ours: Any) -> str:
    return "-" if not (theirs and ours) else f"{theirs / ours:.2f}"
