"""Statistics of a corpus: rows by program and machine, outcomes, spread, drift, outliers.

A row is an *outlier* where the original order, which was measured beside it, took a third more, or
a quarter less, than in the median of its visit: then something else was going on. A machine
*drifts* as far as the program that is always the same took longer or shorter, between the tenth and
the ninetieth of a hundred measurements of it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import log
from statistics import geometric_mean, median
from typing import Any

from polygym.programs import is_path
from polygym.programs.comprehensions import PREFIX as COMPREHENSION
from polygym.programs.generate import prefix_of
from polygym.search.corpus.rows import CorpusCase, CorpusRow
from polygym.search.corpus.store import Corpus

_OUTLIER = log(1.33)
_BUSY_SHARE = 0.25
DRIFT = 1.1
"""A machine drifts where its time of the same program changes by more than this factor."""


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

    @property
    def drifts(self) -> bool:
        """Whether times of different hours do not compare."""
        return self.drift > DRIFT


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
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


def program_kind(program: str) -> str:
    """Return the kind of a program.

    >>> [program_kind(name) for name in ("random:3", "scalars:3", "tc:matmul", "gemm", "mine.c")]
    ['random', 'scalars', 'comprehensions', 'kernels', 'files']
    """
    if prefix := prefix_of(program):
        return prefix.removesuffix(":")
    if program.startswith(COMPREHENSION):
        return "comprehensions"
    return "files" if is_path(program) else "kernels"


def outliers(rows: Iterable[CorpusRow]) -> set[CorpusRow]:
    """Return the rows of a visit beside which the original order was unusually fast or slow."""
    ran = [row for row in rows if row.is_ok]
    if len(ran) < 3:
        return set()
    usual = median(row.baseline_seconds for row in ran)
    return {row for row in ran if abs(log(row.baseline_seconds / usual)) > _OUTLIER}


def corpus_statistics(corpus: Corpus) -> CorpusStatistics:
    """Count what is in a corpus; two files of one name are two programs if their texts differ."""
    cases: dict[tuple[CorpusCase, str, str, int], list[float]] = defaultdict(list)
    kinds: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    by_machine: Counter[str] = Counter()
    loads: dict[str, list[float]] = defaultdict(list)
    strange = 0
    for visit, rows in corpus.visits():
        if not rows:
            continue
        strange += len(outliers(rows))
        cases[visit.case, visit.text, visit.machine, visit.threads] += [row.speedup for row in rows]
        kinds[program_kind(visit.case.program)] += len(rows)
        statuses.update(row.status.value for row in rows)
        by_machine[visit.machine] += len(rows)
        loads[visit.machine].append(visit.background_load)
    bests = [max(values) for values in cases.values() if max(values) > 0]
    positive = ([value for value in values if value > 0] for values in cases.values())
    ratios = [max(values) / median(values) for values in positive if len(values) > 1]
    return CorpusStatistics(
        sum(by_machine.values()),
        len({(case.program, case.function, text) for case, text, *_ in cases}),
        len({(case, text) for case, text, *_ in cases}),
        dict(kinds.most_common()),
        dict(statuses.most_common()),
        strange,
        geometric_mean(bests) if bests else 0.0,
        geometric_mean(ratios) if ratios else 0.0,
        tuple(
            MachineStatistics(
                *(key, machine.processor, machine.cores, machine.llvm),
                by_machine[key],
                len(loads[key]),
                sum(others > _BUSY_SHARE for others in loads[key]),
                _drift(corpus, key),
            )
            for key, machine in corpus.machines().items()
        ),
    )


def _drift(corpus: Corpus, machine: str) -> float:
    """Return by what factor the program that is always the same has changed; 1 where it has not."""
    times = sorted(seconds for key, _, seconds in corpus.clocks() if key == machine)
    if len(times) < 2:
        return 1.0
    tenth = len(times) // 10
    return times[-1 - tenth] / times[tenth]
