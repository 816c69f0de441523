"""Statistics of a sweep's outcomes: bests, means, counts, drift.

Numbers of one kind belong to one size: the distribution of speedups to the search's, ``best`` to
that of the confirmation where there is one. A mean over programs is geometric, the only one that is
the same whichever side of the ratio is called the baseline.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polygym.pickling import pickle_by_name
from polygym.programs import is_path
from polygym.runtime.evaluation.evaluation_results import Defects
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
    labels = labels_of([program_row.name for program_row in contents.kernels])
    homes = {variant.kernel: variant for variant in contents.variants}
    return tuple(
        replace(
            _summary(contents, row.name, row.error),
            label=labels[row.name],
            variant=homes.get(row.name),
        )
        for row in contents.kernels
    )


def mean_best(found: Sequence[KernelSummary]) -> float | None:
    """Return the geometric mean of the best speedups."""
    return geometric_mean(summary.best for summary in found if summary.best)


def mean_reference(found: Sequence[KernelSummary], name: str) -> float | None:
    """Return the geometric mean of a reference's speedups."""
    return geometric_mean(
        summary.references[name] for summary in found if summary.references.get(name)
    )


def mean_over(found: Sequence[KernelSummary], name: str) -> float | None:
    """Return the geometric mean of the best over a reference, where there are both."""
    pairs = [(summary.best, summary.references.get(name)) for summary in found]
    return geometric_mean(best / other for best, other in pairs if best and other)


def mean_of_limit(found: Sequence[KernelSummary]) -> float | None:
    """Return the geometric mean of the shares of their limits that the best reach."""
    return geometric_mean(summary.share_of_limit for summary in found if summary.share_of_limit)


def other_compilers(found: Sequence[KernelSummary]) -> tuple[str, ...]:
    """Return the names of the other compilers that were measured."""
    names = (
        name for summary in found for name in (*summary.references, *summary.search_references)
    )
    return tuple(dict.fromkeys(name for name in names if name != ISL))


def background_load_note(found: Sequence[KernelSummary]) -> str:
    """Say that the machine was not the sweep's alone; nothing where it was."""
    disturbed = sorted(
        (summary for summary in found if summary.background_load),
        key=lambda one: -one.background_load,
    )
    if not disturbed:
        return ""
    worst = ", ".join(
        f"{kernel_summary.label} {kernel_summary.background_load:.1f}"
        for kernel_summary in disturbed[:_NAMED]
    )
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

    >>> label_of("/storage variant/me/blur.c"), label_of("gemm")
    ('blur', 'gemm')
    """
    return Path(kernel).stem if is_path(kernel) else kernel


def _summary(contents: SweepContents, kernel: str, error: str) -> KernelSummary:
    setting = contents.setting
    outcomes = [outcome for outcome in contents.outcomes if outcome.kernel == kernel]
    episodes = [episode_row for episode_row in contents.episodes if episode_row.kernel == kernel]
    statuses = Counter(outcome.timing.status.value for outcome in outcomes)
    again = [
        confirmation for confirmation in contents.confirmations if confirmation.kernel == kernel
    ]
    again = [one for one in again if one.dataset == str(setting.dataset)]
    speedups = tuple(
        outcome.timing.speedup for outcome in outcomes if outcome.timing.speedup is not None
    )
    dataset = str(setting.dataset if again else setting.search_dataset)
    texts = {schedule_outcome.number: schedule_outcome.schedule for schedule_outcome in outcomes}
    best, schedule = _best(outcomes) if not again else (None, "")
    for confirmation in again:
        speedup = confirmation.timing.speedup
        if speedup is not None and (best is None or speedup > best):
            best, schedule = speedup, texts.get(confirmation.outcome, "")
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
        sum(row.outcome is None for row in episodes),
        _defects(contents, kernel),
        _drift(contents, kernel),
        _foreign(contents, kernel),
        {
            timing.name: f"{timing.timing.status.value}: {timing.timing.detail}"
            for timing in contents.references
            if timing.kernel == kernel and not timing.timing.is_ok
        },
        *_limit(contents, kernel, dataset),
    )


def _defects(contents: SweepContents, kernel: str) -> Defects:
    """Count what was wrong or crashed, at either size; isl's schedule, which may be explored, once.

    Other compilers' code is none of polygym's.
    """
    setting = contents.setting
    episodes = [episode_row for episode_row in contents.episodes if episode_row.kernel == kernel]
    isl, search = _isl_seed(contents, episodes), str(setting.search_dataset)
    found = {
        *(
            (outcome.number, search, outcome.timing.status)
            for outcome in contents.outcomes
            if outcome.kernel == kernel
        ),
        *(
            (confirmation.outcome, confirmation.dataset, confirmation.timing.status)
            for confirmation in contents.confirmations
            if (confirmation.kernel, confirmation.dataset) == (kernel, str(setting.dataset))
        ),
        *(
            (isl, timing.dataset, timing.timing.status)
            for timing in contents.references
            if (timing.kernel, timing.name) == (kernel, ISL)
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
    return next(
        (episode_row.outcome for episode_row in episodes if episode_row.index == place), None
    )


def _best(outcomes: Sequence[ScheduleOutcome]) -> tuple[float | None, str]:
    best: tuple[float | None, str] = (None, "")
    for outcome in outcomes:
        speedup = outcome.timing.speedup
        if speedup is not None and (best[0] is None or speedup > best[0]):
            best = (speedup, outcome.schedule)
    return best


def _references(contents: SweepContents, kernel: str, dataset: str) -> dict[str, float]:
    """Return the speedups of what there is to compare with, at a size."""
    return {
        timing.name: speedup
        for timing in contents.references
        if (timing.kernel, timing.dataset) == (kernel, dataset)
        and timing.name != LIMIT
        and (speedup := timing.timing.speedup) is not None
    }


def _limit(contents: SweepContents, kernel: str, dataset: str) -> tuple[float | None, str]:
    """Return the speedup that the limit is, and what it is due to."""
    for timing in contents.references:
        if (timing.kernel, timing.dataset, timing.name) == (
            kernel,
            dataset,
            LIMIT,
        ) and timing.timing.is_ok:
            return timing.timing.speedup, timing.timing.detail
    return None, ""


def _foreign(contents: SweepContents, kernel: str) -> float:
    return max(
        (row.others + row.stolen for row in contents.background_loads if row.kernel == kernel),
        default=0.0,
    )


def _drift(contents: SweepContents, kernel: str) -> float | None:
    """Return the slowest of the original order's times during the search over the fastest."""
    dataset = str(contents.setting.search_dataset)
    times = [
        timing.seconds
        for timing in contents.baselines
        if (timing.kernel, timing.dataset) == (kernel, dataset) and timing.samples
    ]
    return max(times) / max(min(times), 1e-9) if len(times) > 1 else None
