"""What is in a corpus, in numbers: rows by program and machine, outcomes, spread, drift, outliers.

A row is an *outlier* where the original order, which was measured beside it, took a third more or
less than in the other rows of its visit, in the median: then something else was going on. A machine
*drifts* as far as the program that is always the same took longer or shorter, between the tenth and
the ninetieth of a hundred measurements of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import log
from statistics import median
from typing import Any, TypeAlias

from polygym.programs import is_path
from polygym.programs.generate import PREFIX as RANDOM
from polygym.search.corpus.rows import Row
from polygym.search.corpus.store import Corpus, Found
from polygym.search.explore.means import geometric_mean

_OUTLIER = log(1.33)
_BUSY = 0.25

Key: TypeAlias = tuple[str, int, int]
"""A visit: its machine, its seed, its number."""


@dataclass(frozen=True, slots=True)
class MachineStatistics:
    """What there is of one kind of machine."""

    key: str
    processor: str
    cores: int
    llvm: str
    rows: int
    visits: int
    busy_visits: int
    drift: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """What there is in a corpus."""

    rows: int
    programs: int
    cases: int
    kinds: dict[str, int]
    statuses: dict[str, int]
    outliers: int
    speedup_of_best: float
    spread: float
    machines: tuple[MachineStatistics, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def kind_of(program: str) -> str:
    """Return the kind of a program.

    >>> [kind_of(name) for name in ("random:3", "tc:matmul", "gemm", "mine.c")]
    ['random', 'comprehensions', 'kernels', 'files']
    """
    if program.startswith(RANDOM):
        return "random"
    if program.startswith("tc:"):
        return "comprehensions"
    return "files" if is_path(program) else "kernels"


def outliers(rows: Iterable[Row]) -> set[Row]:
    """Return the rows of a visit beside which the original order was unusually fast or slow."""
    ran = [row for row in rows if row.is_ok]
    if len(ran) < 3:
        return set()
    usual = median(row.baseline_seconds for row in ran)
    return {row for row in ran if abs(log(row.baseline_seconds / usual)) > _OUTLIER}


def statistics(corpus: Corpus) -> Statistics:
    """Count what is in a corpus."""
    visits: dict[Key, list[Found]] = defaultdict(list)
    cases: dict[tuple[object, ...], list[float]] = defaultdict(list)
    kinds: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    by_machine: Counter[str] = Counter()
    visits_of: dict[str, dict[Key, float]] = defaultdict(dict)
    for found in corpus.all():
        visit = found.visit
        place = (visit.machine, visit.seed, visit.number)
        visits[place].append(found)
        cases[visit.case, visit.machine, visit.threads].append(found.row.speedup)
        kinds[kind_of(visit.case.program)] += 1
        statuses[found.row.status.value] += 1
        by_machine[visit.machine] += 1
        visits_of[visit.machine][place] = visit.others
    strange = sum(len(outliers(one.row for one in group)) for group in visits.values())
    bests = [max(values) for values in cases.values() if max(values) > 0]
    ratios = [
        max(values) / median(value for value in values if value)
        for values in cases.values()
        if sum(value > 0 for value in values) > 1
    ]
    return Statistics(
        sum(by_machine.values()),
        len({visit[0].visit.case.program for visit in visits.values()}),
        len({case for case, *_ in cases}),
        dict(kinds.most_common()),
        dict(statuses.most_common()),
        strange,
        geometric_mean(bests) or 0.0,
        geometric_mean(ratios) or 0.0,
        tuple(
            MachineStatistics(
                key,
                machine.processor,
                machine.cores,
                machine.llvm,
                by_machine[key],
                len(visits_of[key]),
                sum(others > _BUSY for others in visits_of[key].values()),
                _drift(corpus, key),
            )
            for key, machine in corpus.machines().items()
        ),
    )


def _drift(corpus: Corpus, machine: str) -> float:
    """Return by what factor the program that is always the same has changed; 1 where it has not."""
    query = "SELECT seconds FROM clocks WHERE machine = ? ORDER BY seconds"
    times = [float(seconds) for (seconds,) in corpus.connection.execute(query, (machine,))]
    if len(times) < 2:
        return 1.0
    tenth = len(times) // 10
    return times[-1 - tenth] / times[tenth]
