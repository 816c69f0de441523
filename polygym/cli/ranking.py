"""What ``polygym optimize`` has to say at its end: the table, the counts, the document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from polygym.cli.output import heading, say, seconds
from polygym.cli.tables import print_table
from polygym.cli.text import shorten
from polygym.compiler.poly.schedule import Schedule
from polygym.measure.evaluation import NOISE, Evaluation
from polygym.measure.worker.timing import this_machine
from polygym.programs.wording import without_parameters
from polygym.search.explore.folder import Search, as_json, summary
from polygym.search.explore.tally import Finding, Tally

ISL = "isl"
"""What findings call isl's schedule, which no episode led to."""

_LONGEST_SCHEDULE = 70


@dataclass(frozen=True, slots=True)
class Reference:
    """isl's schedule and what became of it, or why there is none."""

    schedule: Schedule | None
    evaluation: Evaluation | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The end of a search: the reference and the best findings, the fastest first.

    ``together`` says that they were measured side by side, not each in its own time.
    """

    original: Schedule
    isl: Reference
    findings: tuple[Finding, ...]
    together: bool

    @property
    def best(self) -> Finding | None:
        """The fastest that ran, isl's schedule among them, or None."""
        isl = [] if self.isl.evaluation is None else [Finding(ISL, self.isl.evaluation)]
        ran = [one for one in (*self.findings, *isl) if one.evaluation.is_ok]
        return max(ran, key=lambda one: one.evaluation.speedup, default=None)

    @property
    def is_improvement(self) -> bool:
        """Whether the best is faster than the original order, by more than noise."""
        return self.best is not None and self.best.evaluation.speedup > 1 + NOISE


def over(evaluation: Evaluation | None, reference: Evaluation | None) -> float | None:
    """Return how many times faster an evaluation is than a reference, where both ran.

    Both are relative to the original order in the same process, so their ratio is to each other.
    """
    if evaluation is None or reference is None or not (evaluation.is_ok and reference.is_ok):
        return None
    return evaluation.speedup / reference.speedup


def document(
    search: Search, ranking: Ranking, budget: int, files: Mapping[str, str]
) -> dict[str, Any]:
    """Return everything that ``--json`` prints and the summary holds in the end."""
    isl, best = ranking.isl, ranking.best
    return {
        **summary(search),
        "best": None if best is None else as_json(best),
        "budget": budget,
        "isl": None if isl.evaluation is None else isl.evaluation.to_json(),
        "isl_error": isl.reason or None,
        "measured_together": ranking.together,
        "tolerance": search.setting.measuring.mapping.tolerance,
        "caveat": search.setting.measuring.mapping.caveat,
        "improved": ranking.is_improvement,
        "ranking": [
            {**as_json(one), "speedup_over_isl": over(one.evaluation, isl.evaluation)}
            for one in ranking.findings
        ],
        "files": dict(files),
        "machine": asdict(this_machine()),
    }


def print_ranking(search: Search, ranking: Ranking, budget: int) -> None:
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
    say(_counted(tally, budget))
    if search.trials.count:
        _print_mappings(search.trials.count, ranking.findings)
    if caveat := search.setting.measuring.mapping.caveat:
        say(f"{caveat[0].upper()}{caveat[1:]}.")
    if ranking.isl.reason:
        say(f"isl: {ranking.isl.reason}")
    if tally.best is not None and (note := timed_again(tally.best, ranking)):
        say(note)
    if ranking.best is None:
        say("No schedule ran to a correct end.")
    elif not ranking.is_improvement:
        close = ranking.best.evaluation.speedup >= 1 - NOISE
        but = f": {ranking.best.label} is within {NOISE:.0%} of it" if close else ""
        say(f"Nothing faster than the original order was found{but}.")
    else:
        _print_best(ranking.best)


def timed_again(searched: Finding, ranking: Ranking) -> str:
    """Return what became of the best of the search when it was timed again; "" if it is the same.

    Each schedule is measured once while searching, and the best of many also is the luckiest.
    """
    same = (searched.index, searched.evaluation.mapping)
    again = {(one.index, one.evaluation.mapping): one.evaluation for one in ranking.findings}
    found, best = again.get(same), ranking.best
    if not ranking.together or found is None:
        return ""
    before = _ratio(searched.evaluation.speedup)
    now = _ratio(found.speedup) if found.is_ok else found.status.value
    is_best = best is not None and (best.index, best.evaluation.mapping) == same
    if is_best and now == before:
        return ""
    return (
        f"While searching, schedule #{searched.index} looked best with {before}; timed again with "
        f"the others: {now}."
    )


def _original_row(ranking: Ranking) -> Sequence[object]:
    known = [one.evaluation for one in ranking.findings]
    known += [ranking.isl.evaluation] if ranking.isl.evaluation is not None else []
    baseline = next((one for one in known if one.baseline_samples), None)
    time = "-" if baseline is None else seconds(baseline.baseline_seconds)
    count = "-" if baseline is None else len(baseline.baseline_samples)
    slower = next((1 / one.speedup for one in [ranking.isl.evaluation] if one and one.is_ok), None)
    return ("original", _shown(ranking.original), "ok", time, count, "1.00x", _ratio(slower))


def _isl_row(isl: Reference) -> Sequence[object]:
    if isl.evaluation is None:
        shown = "-" if isl.schedule is None else _shown(isl.schedule)
        return ("isl", shown, "-", "-", "-", "-", "-")
    return ("isl", *_cells(isl.evaluation), _ratio(over(isl.evaluation, isl.evaluation)))


def _rows(ranking: Ranking) -> list[Sequence[object]]:
    return [
        (
            one.label,
            *_cells(one.evaluation),
            _ratio(over(one.evaluation, ranking.isl.evaluation)),
        )
        for one in ranking.findings
    ]


def _cells(one: Evaluation) -> Sequence[object]:
    """Return the columns from the schedule to the speedup over the original order."""
    shown, status = _shown(one.schedule), one.status.value
    if not one.is_ok:
        return (shown, status, "-", "-", "-")
    return (shown, status, seconds(one.seconds), len(one.samples), _ratio(one.speedup))


def _shown(schedule: Schedule) -> str:
    return shorten(without_parameters(str(schedule)), _LONGEST_SCHEDULE)


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def _counted(tally: Tally, budget: int) -> str:
    """Return how many episodes there were and how they ended.

    Example: ``100 of 100 explored, 93 distinct: 80 ok, 13 timeout, 7 repeated``.
    """
    kinds = ", ".join(f"{count} {kind}" for kind, count in tally.counts.most_common())
    explored = f"{tally.explored} of {max(budget, tally.explored)} explored"
    return f"{explored}, {len(tally.findings)} distinct" + (f": {kinds}" if kinds else "")


def _print_best(best: Finding) -> None:
    say(f"Best: {_ratio(best.evaluation.speedup)}, schedule {best.label}:")
    say(f"  {without_parameters(str(best.evaluation.schedule))}")
    say(f"  mapping: {_mapping(best.evaluation)}")


def _print_mappings(count: int, findings: Sequence[Finding]) -> None:
    say(f"{count} mappings tried; those of the table:")
    for one in findings:
        say(f"  {one.label:8}  {_mapping(one.evaluation)}")


def _mapping(evaluation: Evaluation) -> str:
    """Return the mapping that was asked for, and under which one the code was made instead."""
    simpler = evaluation.mapping.simplified(evaluation.done)
    return f"{evaluation.mapping}{simpler and f' ({simpler})'}"
