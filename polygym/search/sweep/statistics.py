"""What a sweep's outcomes amount to: bests, means, counts, drift.

Numbers of one kind belong to one size: the distribution of speedups to the search's, ``best`` to
that of the confirmation where there is one. A mean over programs is geometric, the only one that is
the same whichever side of the ratio is called the baseline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polygym.pickling import pickle_by_name
from polygym.programs import is_path
from polygym.runtime.evaluation.defects import Defects
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.means import geometric_mean
from polygym.search.sweep.reader import SweepContents
from polygym.search.sweep.rows import ISL, LIMIT, EpisodeRow, ProgramVariant, ScheduleOutcome

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
    variant: ProgramVariant | None = None

    @property
    def ok(self) -> int:
        """How many distinct schedules ran and were right."""
        return self.statuses.get(OutcomeStatus.OK.value, 0)

    @property
    def speedup_over_isl(self) -> float | None:
        """How many times faster than isl's schedule the best is."""
        isl = self.references.get(ISL)
        return None if self.best is None or not isl else self.best / isl

    @property
    def share_of_limit(self) -> float | None:
        """Which share of its limit the best reaches."""
        return self._share(self.best)

    @property
    def isl_of_limit(self) -> float | None:
        """Which share of its limit isl's schedule reaches."""
        return self._share(self.references.get(ISL))

    def _share(self, speedup: float | None) -> float | None:
        return speedup / self.limit if speedup and self.limit else None

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
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
            **(
                {}
                if self.variant is None
                else {"splitting": self.variant.splitting, "storage": self.variant.storage}
            ),
        }


def summaries(contents: SweepContents) -> tuple[KernelSummary, ...]:
    """Return what is known of every program, in their order."""
    labels = labels_of([one.name for one in contents.kernels])
    homes = {one.kernel: one for one in contents.variants}
    return tuple(
        replace(
            _summary(contents, one.name, one.error),
            label=labels[one.name],
            variant=homes.get(one.name),
        )
        for one in contents.kernels
    )


def mean_best(found: Sequence[KernelSummary]) -> float | None:
    """Return the geometric mean of the best speedups."""
    return geometric_mean(one.best for one in found if one.best)


def mean_reference(found: Sequence[KernelSummary], name: str) -> float | None:
    """Return the geometric mean of a reference's speedups."""
    return geometric_mean(one.references[name] for one in found if one.references.get(name))


def mean_over(found: Sequence[KernelSummary], name: str) -> float | None:
    """Return the geometric mean of the best over a reference, where there are both."""
    pairs = [(one.best, one.references.get(name)) for one in found]
    return geometric_mean(best / other for best, other in pairs if best and other)


def mean_of_limit(found: Sequence[KernelSummary]) -> float | None:
    """Return the geometric mean of the shares of their limits that the best reach."""
    return geometric_mean(one.share_of_limit for one in found if one.share_of_limit)


def other_compilers(found: Sequence[KernelSummary]) -> tuple[str, ...]:
    """Return the names of the other compilers that were measured."""
    names = (name for one in found for name in (*one.references, *one.search_references))
    return tuple(dict.fromkeys(name for name in names if name != ISL))


def background_load_note(found: Sequence[KernelSummary]) -> str:
    """Say that the machine was not the sweep's alone; nothing where it was."""
    disturbed = sorted(
        (one for one in found if one.background_load), key=lambda one: -one.background_load
    )
    if not disturbed:
        return ""
    worst = ", ".join(f"{one.label} {one.background_load:.1f}" for one in disturbed[:_NAMED])
    more = f" and {len(disturbed) - _NAMED} more" if len(disturbed) > _NAMED else ""
    return (
        "The machine was not the sweep's alone; cores that others had on average while a program "
        f"was measured: {worst}{more}. Times of several threads suffer most."
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

    >>> label_of("/home/me/blur.c"), label_of("gemm")
    ('blur', 'gemm')
    """
    return Path(kernel).stem if is_path(kernel) else kernel


def _summary(contents: SweepContents, kernel: str, error: str) -> KernelSummary:
    setting = contents.setting
    outcomes = [one for one in contents.outcomes if one.kernel == kernel]
    episodes = [one for one in contents.episodes if one.kernel == kernel]
    statuses = Counter(one.timing.status.value for one in outcomes)
    again = [one for one in contents.confirmations if one.kernel == kernel]
    again = [one for one in again if one.dataset == str(setting.dataset)]
    speedups = tuple(one.timing.speedup for one in outcomes if one.timing.speedup is not None)
    dataset = str(setting.dataset if again else setting.search_dataset)
    texts = {one.number: one.schedule for one in outcomes}
    best, schedule = _best(outcomes) if not again else (None, "")
    for one in again:
        speedup = one.timing.speedup
        if speedup is not None and (best is None or speedup > best):
            best, schedule = speedup, texts.get(one.outcome, "")
    references = _references(contents, kernel, dataset)
    if again and (seed := _isl_seed(contents, episodes)) is not None:
        # Explored like the others, and measured beside the best whether or not it was among them.
        speedup = references.get(ISL)
        if speedup is not None and (best is None or speedup > best):
            best, schedule = speedup, texts.get(seed, "")
    return KernelSummary(
        kernel,
        label_of(kernel),
        error,
        dataset,
        bool(again),
        best,
        schedule,
        references,
        _references(contents, kernel, str(setting.search_dataset)),
        speedups,
        len(episodes),
        len(outcomes),
        dict(statuses),
        sum(one.outcome is None for one in episodes),
        _defects(contents, kernel),
        _drift(contents, kernel),
        _foreign(contents, kernel),
        {
            one.name: f"{one.timing.status.value}: {one.timing.detail}"
            for one in contents.references
            if one.kernel == kernel and not one.timing.is_ok
        },
        *_limit(contents, kernel, dataset),
    )


def _defects(contents: SweepContents, kernel: str) -> Defects:
    """Count what was wrong or crashed, at either size; isl's schedule, which may be explored, once.

    Other compilers' code is none of polygym's.
    """
    setting = contents.setting
    episodes = [one for one in contents.episodes if one.kernel == kernel]
    isl, search = _isl_seed(contents, episodes), str(setting.search_dataset)
    found = {
        *(
            (one.number, search, one.timing.status)
            for one in contents.outcomes
            if one.kernel == kernel
        ),
        *(
            (one.outcome, one.dataset, one.timing.status)
            for one in contents.confirmations
            if (one.kernel, one.dataset) == (kernel, str(setting.dataset))
        ),
        *(
            (isl, one.dataset, one.timing.status)
            for one in contents.references
            if (one.kernel, one.name) == (kernel, ISL)
        ),
    }
    kinds = [status for _, _, status in found]
    return Defects(kinds.count(OutcomeStatus.WRONG_OUTPUT), kinds.count(OutcomeStatus.CRASH))


def _isl_seed(contents: SweepContents, episodes: Sequence[EpisodeRow]) -> int | None:
    """Return the outcome of isl's schedule, if the search began with it."""
    seeds = contents.setting.initial_schedules
    if ISL not in seeds:
        return None
    place = seeds.index(ISL)
    return next((one.outcome for one in episodes if one.index == place), None)


def _best(outcomes: Sequence[ScheduleOutcome]) -> tuple[float | None, str]:
    best: tuple[float | None, str] = (None, "")
    for one in outcomes:
        speedup = one.timing.speedup
        if speedup is not None and (best[0] is None or speedup > best[0]):
            best = (speedup, one.schedule)
    return best


def _references(contents: SweepContents, kernel: str, dataset: str) -> dict[str, float]:
    """Return the speedups of what there is to compare with, at a size."""
    return {
        one.name: speedup
        for one in contents.references
        if (one.kernel, one.dataset) == (kernel, dataset)
        and one.name != LIMIT
        and (speedup := one.timing.speedup) is not None
    }


def _limit(contents: SweepContents, kernel: str, dataset: str) -> tuple[float | None, str]:
    """Return the speedup that the limit is, and what it is due to."""
    for one in contents.references:
        if (one.kernel, one.dataset, one.name) == (kernel, dataset, LIMIT) and one.timing.is_ok:
            return one.timing.speedup, one.timing.detail
    return None, ""


def _foreign(contents: SweepContents, kernel: str) -> float:
    return max(
        (one.others + one.stolen for one in contents.background_loads if one.kernel == kernel),
        default=0.0,
    )


def _drift(contents: SweepContents, kernel: str) -> float | None:
    """Return the slowest of the original order's times during the search over the fastest."""
    dataset = str(contents.setting.search_dataset)
    times = [
        one.seconds
        for one in contents.baselines
        if (one.kernel, one.dataset) == (kernel, dataset) and one.samples
    ]
    return max(times) / max(min(times), 1e-9) if len(times) > 1 else None
