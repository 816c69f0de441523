"""Statistics of a sweep's outcomes: bests, means, counts, drift.

Numbers of one kind belong to one size: the distribution of speedups to the search's, ``best`` to
that of the confirmation where there is one. A mean over programs is geometric, the only one that is
the same whichever side of the ratio is called the baseline.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polygym.pickling import pickle_by_name
from polygym.programs import is_path
from polygym.runtime.evaluation.evaluation_results import Defects
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.sweep import rows
from polygym.search.sweep.reader import SweepContents

# So many programs are named where there may be many.
_NAMED = 5


@pickle_by_name
@dataclass(frozen=True, slots=True)
class KernelSummary:
    """What is known of one program.

    ``best`` and ``references`` are speedups over the original order; isl's schedule is among the
    best if the search began with it. They belong to ``dataset``, where the best were confirmed if
    ``is_confirmed``, else to the search's size, as do ``speedups`` (of every distinct schedule that
    ran) and ``search_references``. ``defects`` has isl's schedule too, and what went wrong when the
    best were confirmed. ``background_load`` is how many cores others had at most while it was
    measured. ``missing_compilers`` says of other compilers why they have no speedup. ``limit`` is
    the speedup of code that reaches the limit, at ``dataset``; ``bound_by`` says what it is due to.
    ``variant`` says how it is changed, of which its schedules are.
    """

    kernel: str
    label: str
    error: str
    dataset: str
    is_confirmed: bool
    best: float | None
    best_schedule: str
    references: Mapping[str, float]
    search_references: Mapping[str, float]
    speedups: tuple[float, ...]
    explored: int
    distinct: int
    statuses: Mapping[str, int]
    unscheduled: int
    defects: Defects
    drift: float | None
    background_load: float
    missing_compilers: Mapping[str, str] = field(default_factory=dict)
    limit: float | None = None
    bound_by: str = ""
    variant: rows.ProgramVariant | None = None

    @property
    def ok(self) -> int:
        """How many distinct schedules ran and were right."""
        return self.statuses.get(OutcomeStatus.OK.value, 0)

    @property
    def speedup_over_isl(self) -> float | None:
        """How many times faster than isl's schedule the best is."""
        isl = self.references.get(rows.ISL)
        return None if self.best is None or not isl else self.best / isl

    @property
    def share_of_limit(self) -> float | None:
        """Which share of its limit the best reaches."""
        return self._share(self.best)

    @property
    def isl_of_limit(self) -> float | None:
        """Which share of its limit isl's schedule reaches."""
        return self._share(self.references.get(rows.ISL))

    def _share(self, speedup: float | None) -> float | None:
        return speedup / self.limit if speedup and self.limit else None

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        variant = self.variant
        changed = {"splitting": variant.splitting, "storage": variant.storage} if variant else {}
        return {
            "kernel": self.kernel,
            "error": self.error or None,
            "dataset": self.dataset,
            "confirmed": self.is_confirmed,
            "best": self.best,
            "best_schedule": self.best_schedule or None,
            "over_isl": self.speedup_over_isl,
            "references": dict(self.references),
            "search_references": dict(self.search_references),
            "explored": self.explored,
            "distinct": self.distinct,
            "statuses": dict(self.statuses),
            "unscheduled": self.unscheduled,
            "wrong": self.defects.wrong,
            "crashed": self.defects.crashed,
            "drift": self.drift,
            "foreign_cores": self.background_load,
            "uncompared": dict(self.missing_compilers),
            "limit": self.limit,
            "of_limit": self.share_of_limit,
            "isl_of_limit": self.isl_of_limit,
            "bound_by": self.bound_by or None,
            **changed,
        }


def summaries(contents: SweepContents) -> tuple[KernelSummary, ...]:
    """Return what is known of every program, in their order."""
    labels = labels_of([row.name for row in contents.kernels])
    variants = {variant.kernel: variant for variant in contents.variants}
    pairs = [(row.name, _summary(contents, row.name, row.error)) for row in contents.kernels]
    return tuple(
        replace(summary, label=labels[name], variant=variants.get(name)) for name, summary in pairs
    )


def mean_best(summaries: Sequence[KernelSummary]) -> float | None:
    """Return the geometric mean of the best speedups."""
    return geometric_mean(summary.best for summary in summaries if summary.best)


def mean_reference(summaries: Sequence[KernelSummary], name: str) -> float | None:
    """Return the geometric mean of a reference's speedups."""
    speedups = (summary.references.get(name) for summary in summaries)
    return geometric_mean(filter(None, speedups))


def mean_over(summaries: Sequence[KernelSummary], name: str) -> float | None:
    """Return the geometric mean of the best over a reference, where there are both."""
    pairs = [(summary.best, summary.references.get(name)) for summary in summaries]
    return geometric_mean(best / other for best, other in pairs if best and other)


def mean_of_limit(summaries: Sequence[KernelSummary]) -> float | None:
    """Return the geometric mean of the shares of their limits that the best reach."""
    return geometric_mean(summary.share_of_limit for summary in summaries if summary.share_of_limit)


def other_compilers(summaries: Sequence[KernelSummary]) -> tuple[str, ...]:
    """Return the names of the other compilers that were measured."""
    names = (
        name for summary in summaries for name in (*summary.references, *summary.search_references)
    )
    return tuple(dict.fromkeys(name for name in names if name != rows.ISL))


def background_load_note(summaries: Sequence[KernelSummary]) -> str:
    """Say that the machine was not the sweep's alone; nothing where it was."""
    disturbed = [summary for summary in summaries if summary.background_load]
    if not disturbed:
        return ""
    disturbed.sort(key=lambda summary: -summary.background_load)
    worst = ", ".join(
        f"{summary.label} {summary.background_load:.1f}" for summary in disturbed[:_NAMED]
    )
    more = f" and {len(disturbed) - _NAMED} more" if len(disturbed) > _NAMED else ""
    return (
        "warning: machine busy, times unreliable: other processes used cores while programs were "
        f"measured: {worst}{more}. Times of several threads suffer most."
    )


def labels_of(kernels: Sequence[str]) -> dict[str, str]:
    """Return short names of programs that tell them apart.

    >>> labels_of(["/a/x/blur.c", "/a/y/blur.c", "gemm"])
    {'/a/x/blur.c': 'x/blur', '/a/y/blur.c': 'y/blur', 'gemm': 'gemm'}
    """
    labels = {kernel: label_of(kernel) for kernel in kernels}
    for kernel, label in labels.items():
        alike = [other for other in kernels if label_of(other) == label]
        parts = Path(kernel).with_suffix("").parts
        for count in range(2, len(parts) + 1):
            tails = {Path(other).with_suffix("").parts[-count:] for other in alike}
            if len(alike) == 1 or not is_path(kernel):
                break
            labels[kernel] = "/".join(parts[-count:])
            if len(tails) == len(alike):
                break
    return labels


def label_of(kernel: str) -> str:
    """Return the short name of a program.

    >>> label_of("/storage variant/me/blur.c"), label_of("gemm")
    ('blur', 'gemm')
    """
    return Path(kernel).stem if is_path(kernel) else kernel


def _summary(contents: SweepContents, kernel: str, error: str) -> KernelSummary:
    setting = contents.setting
    timings = [row for row in contents.references if row.kernel == kernel]
    outcomes = [row for row in contents.outcomes if row.kernel == kernel]
    episodes = [row for row in contents.episodes if row.kernel == kernel]
    where = kernel, str(setting.dataset)
    again = [row for row in contents.confirmations if (row.kernel, row.dataset) == where]
    dataset = str(setting.dataset if again else setting.search_dataset)
    texts = {outcome.number: outcome.schedule for outcome in outcomes}
    isl = _isl_seed(contents, episodes)
    references = _speedups(timings, dataset)
    measured = [(row.timing.speedup, row.schedule) for row in outcomes]
    if again:
        measured = [(row.timing.speedup, texts.get(row.outcome, "")) for row in again]
        if isl is not None:
            # Explored like the others, and measured beside the best even if not among them.
            measured.append((references.get(rows.ISL), texts.get(isl, "")))
    ran = [(speedup, schedule) for speedup, schedule in measured if speedup is not None]
    best: tuple[float | None, str] = max(ran, key=lambda pair: pair[0], default=(None, ""))
    own = (row for row in timings if (row.dataset, row.name) == (dataset, rows.LIMIT))
    limits = [(row.timing.speedup, row.timing.detail) for row in own if row.timing.is_ok]
    return KernelSummary(
        kernel,
        label_of(kernel),
        error,
        dataset,
        bool(again),
        *best,
        references,
        _speedups(timings, str(setting.search_dataset)),
        tuple(row.timing.speedup for row in outcomes if row.timing.speedup is not None),
        len(episodes),
        len(outcomes),
        dict(Counter(outcome.timing.status.value for outcome in outcomes)),
        sum(row.outcome is None for row in episodes),
        _defects(
            [
                *((row.number, str(setting.search_dataset), row.timing) for row in outcomes),
                *((row.outcome, row.dataset, row.timing) for row in again),
                *((isl, row.dataset, row.timing) for row in timings if row.name == rows.ISL),
            ]
        ),
        _drift(contents, kernel),
        max((row.cores for row in contents.background_loads if row.kernel == kernel), default=0.0),
        {
            row.name: f"{row.timing.status.value}: {row.timing.detail}"
            for row in timings
            if not row.timing.is_ok
        },
        *(limits[0] if limits else (None, "")),
    )


def _defects(timings: Sequence[tuple[int | None, str, rows.Timing]]) -> Defects:
    """Count what was wrong or crashed, at either size; isl's schedule, which may be explored, once.

    Other compilers' code is none of polygym's.
    """
    kinds = [kind for *_, kind in {(number, size, row.status) for number, size, row in timings}]
    return Defects(kinds.count(OutcomeStatus.WRONG_OUTPUT), kinds.count(OutcomeStatus.CRASH))


def _isl_seed(contents: SweepContents, episodes: Sequence[rows.EpisodeRow]) -> int | None:
    """Return the outcome of isl's schedule, if the search began with it."""
    seeds = contents.setting.initial_schedules
    if rows.ISL not in seeds:
        return None
    return next((row.outcome for row in episodes if row.index == seeds.index(rows.ISL)), None)


def _speedups(timings: Sequence[rows.ReferenceTiming], dataset: str) -> dict[str, float]:
    """Return the speedups of what there is to compare with, at a size."""
    known = {row.name: row.timing.speedup for row in timings if row.dataset == dataset}
    return {
        name: value for name, value in known.items() if name != rows.LIMIT and value is not None
    }


def _drift(contents: SweepContents, kernel: str) -> float | None:
    """Return the slowest of the original order's times during the search over the fastest."""
    where = kernel, str(contents.setting.search_dataset)
    baselines = (row for row in contents.baselines if (row.kernel, row.dataset) == where)
    times = [row.seconds for row in baselines if row.samples]
    return max(times) / max(min(times), 1e-9) if len(times) > 1 else None


def geometric_mean(values: Iterable[float]) -> float | None:
    """Return the geometric mean of positive numbers, None of none.

    >>> round(geometric_mean([2, 8]), 6)
    4.0
    """
    numbers = list(values)
    return statistics.geometric_mean(numbers) if numbers else None
