"""Sweep tasks of a node: a part of one program's search, or the confirmation of its best.

It is done by what does it without a cluster,
:func:`polygym.search.sweep.program_search.search_program` and
:func:`polygym.search.sweep.confirmation.confirm_program`, on a store in memory that has what they
need to know. Whatever they write there goes to the driver as a row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.runner.ray.fleet.jobs import Json
from polygym.search.runner.ray.fleet.program_texts import ProgramTexts
from polygym.search.runner.ray.sweeps.row_encoding import timing_from_json, timing_json
from polygym.search.sweep.confirmation import confirm_program
from polygym.search.sweep.cores import JobCores, plan_cores, spare_cores, usable_cores
from polygym.search.sweep.program_search import search_program
from polygym.search.sweep.requests import SearchRequest
from polygym.search.sweep.rows import (
    BackgroundLoadRow,
    BaselineTiming,
    Confirmation,
    EpisodeRow,
    ProgramVariant,
    ReferenceTiming,
    Timing,
)
from polygym.search.sweep.schema import ADDED_TABLES, TABLES
from polygym.search.sweep.settings import SweepSetting, sweep_setting_from_json
from polygym.search.sweep.store import SweepStore

# What stands for a row of which only the key is known here.
_MEASURED_REMOTELY = Timing(OutcomeStatus.OK, detail="measured elsewhere")


def search_task(
    job: Json, texts: ProgramTexts, emit: Callable[[Json], None], is_stopped: Callable[[], bool]
) -> None:
    """Search the episodes from ``first`` to ``last`` that are not ``done``, for some seconds."""
    setting = sweep_setting_from_json(job["setting"])
    kernel = texts.resolve(job["program"])
    policies, against = tuple(job["policies"]), tuple(job["against"])
    request = SearchRequest(
        policies, job["last"], job["seconds"], against, job["model"], job["first"]
    )
    with _forwarding_store(emit, kernel, job["home"]) as store:
        for text in texts.known_about((job["sweep"], kernel), job["news"]):
            store.add_known_outcome(text)
        for policy, index in job["done"]:
            store.add_known_episode(policy, index)
        for name in job["compared"]:
            store.add_known_reference(str(setting.search_dataset), name)
        place = _node_cores(setting)
        search_program(store, setting, kernel, request, place, is_stopped, spare_cores(place))


def confirm_task(
    job: Json, texts: ProgramTexts, emit: Callable[[Json], None], is_stopped: Callable[[], bool]
) -> None:
    """Measure the best again, side by side; all of them are one flight."""
    setting = sweep_setting_from_json(job["setting"])
    kernel = texts.resolve(job["program"])
    with _forwarding_store(emit, kernel, job["home"]) as store:
        for text, timing in job["best"]:
            store.add_known_outcome(text, timing_from_json(timing))
        if not is_stopped():
            confirm_program(
                store, setting, kernel, job["count"], tuple(job["against"]), _node_cores(setting)
            )


def _node_cores(setting: SweepSetting) -> JobCores:
    """Return the cores of a node: some measure, all generate code before that, some meanwhile."""
    threads = setting.evaluation.threads
    return plan_cores(usable_cores(threads), 1, threads).places[0]


@contextmanager
def _forwarding_store(
    emit: Callable[[Json], None], kernel: str, home: Sequence[str] | None
) -> Iterator[ForwardingStore]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(TABLES)
    for table in ADDED_TABLES:
        connection.execute(table)
    with ForwardingStore(connection, emit, kernel) as store:
        store.add_kernels([kernel])
        if home is not None:
            store.add_known_variant(*home)
        yield store


class ForwardingStore(SweepStore):
    """A store in memory that sends on what is written into it."""

    def __init__(
        self, connection: sqlite3.Connection, emit: Callable[[Json], None], kernel: str
    ) -> None:
        """Send nothing yet."""
        super().__init__(Path(":memory:"), connection)
        self._emit = emit
        self._of = kernel
        self._texts: dict[int, str] = {}

    def add_known_outcome(self, schedule: str, timing: Timing = _MEASURED_REMOTELY) -> None:
        """Add an outcome that the driver has already."""
        episode = EpisodeRow(self._of, "", len(self._texts), None)
        number = super().add_measured(episode, schedule, timing)
        self._texts[number] = schedule

    def add_known_episode(self, policy: str, index: int) -> None:
        """Add an episode that the driver has already."""
        super().add_episode(EpisodeRow(self._of, policy, index, None, _MEASURED_REMOTELY.detail))

    def add_known_reference(self, dataset: str, name: str) -> None:
        """Add something to compare with that is measured already, or elsewhere."""
        super().set_reference(ReferenceTiming(self._of, dataset, name, _MEASURED_REMOTELY))

    def add_known_variant(self, splitting: str, storage: str) -> None:
        """Add how the program is changed, as the driver has it already."""
        super().set_variant(ProgramVariant(self._of, splitting, storage))

    def set_variant(self, home: ProgramVariant) -> None:
        """Send how the program is changed."""
        super().set_variant(home)
        self._emit({"row": "home", "splitting": home.splitting, "storage": home.storage})

    def set_digest(self, kernel: str, digest: str) -> None:
        """Send the fingerprint of the program's text."""
        super().set_digest(kernel, digest)
        self._emit({"row": "digest", "digest": digest})

    def add_seconds(self, kernel: str, seconds: float) -> None:
        """Send how much longer the program has been searched."""
        super().add_seconds(kernel, seconds)
        self._emit({"row": "spent", "seconds": seconds})

    def add_measured(self, episode: EpisodeRow, schedule: str, timing: Timing) -> int:
        """Send an episode with its schedule's outcome."""
        number = super().add_measured(episode, schedule, timing)
        self._texts[number] = schedule
        self._emit(
            {**_episode(episode), "schedule": schedule, "timing": timing_json(timing), "reason": ""}
        )
        return number

    def add_episode(self, episode: EpisodeRow) -> None:
        """Send an episode whose schedule is known, or that has none."""
        super().add_episode(episode)
        text = None if episode.outcome is None else self._texts[episode.outcome]
        self._emit(
            {**_episode(episode), "schedule": text, "timing": None, "reason": episode.reason}
        )

    def add_baseline(self, baseline: BaselineTiming) -> None:
        """Send what the original order took."""
        super().add_baseline(baseline)
        self._emit(
            {
                "row": "baseline",
                "dataset": baseline.dataset,
                "moment": baseline.moment,
                "samples": list(baseline.samples),
            }
        )

    def add_background_load(self, one: BackgroundLoadRow) -> None:
        """Send what else the machine did."""
        super().add_background_load(one)
        self._emit(
            {
                "row": "disturbance",
                "dataset": one.dataset,
                "moment": one.moment,
                "seconds": one.seconds,
                "others": one.others,
                "stolen": one.stolen,
            }
        )

    def set_reference(self, reference: ReferenceTiming) -> None:
        """Send what there is to compare with."""
        super().set_reference(reference)
        self._emit(_reference(reference))

    def set_confirmations(
        self, confirmations: Sequence[Confirmation], references: Sequence[ReferenceTiming]
    ) -> None:
        """Send what was measured side by side, all in one row."""
        super().set_confirmations(confirmations, references)
        self._emit(
            {
                "row": "confirmed",
                "confirmations": [
                    [
                        self._texts[confirmation.outcome],
                        confirmation.dataset,
                        timing_json(confirmation.timing),
                    ]
                    for confirmation in confirmations
                ],
                "references": [_reference(timing) for timing in references],
            }
        )


def _episode(episode: EpisodeRow) -> Json:
    return {"row": "episode", "policy": episode.policy, "index": episode.index}


def _reference(one: ReferenceTiming) -> Json:
    return {
        "row": "reference",
        "dataset": one.dataset,
        "name": one.name,
        "timing": timing_json(one.timing),
    }
