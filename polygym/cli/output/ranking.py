"""What ``polygym optimize`` prints at its end: the table, the counts, what came of it."""

from __future__ import annotations

from collections.abc import Sequence

from polygym.cli.output.console import format_seconds, heading, write_text
from polygym.cli.output.tables import print_table
from polygym.cli.output.text import shorten
from polygym.poly.schedule import Schedule
from polygym.programs.isl_text import without_parameters
from polygym.runtime.evaluation import TIMING_NOISE, Evaluation
from polygym.search.folder import SearchFolder
from polygym.search.ranking import (
    IslReference,
    Ranking,
    confirmed_evaluation,
    is_same_finding,
    speedup_over,
)
from polygym.search.tally import Finding, SearchTally

_LONGEST_SCHEDULE = 70


def print_ranking(search: SearchFolder, ranking: Ranking, budget: int) -> None:
    """Write the table, the counts, and a sentence that says what came of it."""
    program, tally = search.setting.subject.program, search.tally
    sizes = ", ".join(f"{name} = {value}" for name, value in program.parameters)
    heading(f"{program.name}: {program.scop.name}({sizes})")
    print_table(
        ("", "SCHEDULE", "STATUS", "TIME", "SAMPLES", "OVER -O3", "OVER ISL"),
        [_original_row(ranking), _isl_row(ranking.isl), *_rows(ranking)],
        "lllrrrr",
        optional=("SAMPLES", "STATUS"),
    )
    write_text(_counts(tally, budget))
    if search.trials.count:
        _print_mappings(search.trials.count, ranking.findings)
    if caveat := search.setting.evaluation.mapping.timing_caveat:
        write_text(f"{caveat[0].upper()}{caveat[1:]}.")
    if ranking.isl.reason:
        write_text(f"isl: {ranking.isl.reason}")
    if tally.best is not None and (note := confirmation_note(tally.best, ranking)):
        write_text(note)
    if ranking.best is None:
        write_text("No schedule ran to a correct end.")
    elif not ranking.is_improvement:
        close = ranking.best.evaluation.speedup >= 1 - TIMING_NOISE
        but = f": {ranking.best.label} is within {TIMING_NOISE:.0%} of it" if close else ""
        write_text(f"Nothing faster than the original order was found{but}.")
    else:
        _print_best(ranking.best)


def confirmation_note(searched: Finding, ranking: Ranking) -> str:
    """Say what became of the best of the search when it was timed again; "" if it is the same."""
    again, best = confirmed_evaluation(searched, ranking), ranking.best
    if again is None:
        return ""
    before = _ratio(searched.evaluation.speedup)
    now = _ratio(again.speedup) if again.is_ok else again.status.value
    is_best = best is not None and is_same_finding(best, searched)
    if is_best and now == before:
        return ""
    return (
        f"While searching, schedule #{searched.index} looked best with {before}; timed again with "
        f"the others: {now}."
    )


def _original_row(ranking: Ranking) -> Sequence[object]:
    known = [finding.evaluation for finding in ranking.findings]
    known += [ranking.isl.evaluation] if ranking.isl.evaluation is not None else []
    baseline = next((evaluation for evaluation in known if evaluation.baseline_samples), None)
    time = "-" if baseline is None else format_seconds(baseline.baseline_seconds)
    count = "-" if baseline is None else len(baseline.baseline_samples)
    slower = next((1 / one.speedup for one in [ranking.isl.evaluation] if one and one.is_ok), None)
    return ("original", _shown(ranking.original), "ok", time, count, "1.00x", _ratio(slower))


def _isl_row(isl: IslReference) -> Sequence[object]:
    if isl.evaluation is None:
        shown = "-" if isl.schedule is None else _shown(isl.schedule)
        return ("isl", shown, "-", "-", "-", "-", "-")
    return ("isl", *_cells(isl.evaluation), _ratio(speedup_over(isl.evaluation, isl.evaluation)))


def _rows(ranking: Ranking) -> list[Sequence[object]]:
    return [
        (
            finding.label,
            *_cells(finding.evaluation),
            _ratio(speedup_over(finding.evaluation, ranking.isl.evaluation)),
        )
        for finding in ranking.findings
    ]


def _cells(one: Evaluation) -> Sequence[object]:
    """Return the columns from the schedule to the speedup over the original order."""
    shown, status = _shown(one.schedule), one.status.value
    if not one.is_ok:
        return (shown, status, "-", "-", "-")
    return (shown, status, format_seconds(one.seconds), len(one.samples), _ratio(one.speedup))


def _shown(schedule: Schedule) -> str:
    return shorten(without_parameters(str(schedule)), _LONGEST_SCHEDULE)


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def _counts(tally: SearchTally, budget: int) -> str:
    """Return how many episodes there were and how they ended.

    Example: ``100 of 100 explored, 93 distinct: 80 ok, 13 timeout, 7 repeated``.
    """
    kinds = ", ".join(f"{count} {kind}" for kind, count in tally.counts.most_common())
    explored = f"{tally.explored} of {max(budget, tally.explored)} explored"
    return f"{explored}, {len(tally.findings)} distinct" + (f": {kinds}" if kinds else "")


def _print_best(best: Finding) -> None:
    write_text(f"Best: {_ratio(best.evaluation.speedup)}, schedule {best.label}:")
    write_text(f"  {without_parameters(str(best.evaluation.schedule))}")
    write_text(f"  mapping: {_mapping(best.evaluation)}")


def _print_mappings(count: int, findings: Sequence[Finding]) -> None:
    write_text(f"{count} mappings tried; those of the table:")
    for finding in findings:
        write_text(f"  {finding.label:8}  {_mapping(finding.evaluation)}")


def _mapping(evaluation: Evaluation) -> str:
    """Return the mapping that was asked for, and under which one the code was made instead."""
    simpler = evaluation.mapping.simplification_note(evaluation.applied_mapping)
    return f"{evaluation.mapping}{simpler and f' ({simpler})'}"
