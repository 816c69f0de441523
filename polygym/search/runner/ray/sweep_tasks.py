"""Sweep tasks of a node: a part of one program's search, or the confirmation of its best.

It is done by what does it without a cluster,
:func:`polygym.search.sweep.program_search.search_program` and
:func:`polygym.search.sweep.confirmation.confirm_program`, on a store in memory that has what they
need to know. Whatever they write there goes to the driver as a row.

Rows of a sweep on their way from a node to the driver, as JSON.

An outcome is known by its schedule's text on the way, since its number is the driver's to give. The
programs' names are left out: a job is about one program, which may have another path on the node.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.runner.ray.fleet.jobs import Json
from polygym.search.runner.ray.fleet.programs import ProgramTexts
from polygym.search.sweep import rows
from polygym.search.sweep.confirmation import confirm_program
from polygym.search.sweep.cores import JobCores, plan_cores, spare_cores, usable_cores
from polygym.search.sweep.program_search import search_program
from polygym.search.sweep.rows import ADDED_TABLES, TABLES, Timing
from polygym.search.sweep.settings import SweepSetting, sweep_setting_from_json
from polygym.search.sweep.store import SweepStore
from polygym.search.sweep.workload import SearchRequest

# What stands for a row of which only the key is known here.
_MEASURED_REMOTELY = Timing(OutcomeStatus.OK, detail="measured elsewhere")


def search_task(
    job: Json, texts: ProgramTexts, emit: Callable[[Json], None], is_stopped: Callable[[], bool]
) -> None:
    """Search the episodes from ``first`` to ``last`` that are not ``done``, for some seconds."""
    setting = sweep_setting_from_json(job["setting"])
    kernel = texts.resolve(job["program"])
    policies, against = tuple(job["policies"]), tuple(job["against"])
    limits = job["last"], job["seconds"]
    request = SearchRequest(policies, *limits, against, job["model"], job["first"])
    with _forwarding_store(emit, kernel, job["variant"]) as store:
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
    with _forwarding_store(emit, kernel, job["variant"]) as store:
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
    emit: Callable[[Json], None], kernel: str, variant: Sequence[str] | None
) -> Iterator[ForwardingStore]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(TABLES)
    for table in ADDED_TABLES:
        connection.execute(table)
    with ForwardingStore(connection, emit, kernel) as store:
        store.add_kernels([kernel])
        if variant is not None:
            store.add_known_variant(*variant)
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
        episode = rows.EpisodeRow(self._of, "", len(self._texts), None)
        self._texts[super().add_measured(episode, schedule, timing)] = schedule

    def add_known_episode(self, policy: str, index: int) -> None:
        """Add an episode that the driver has already."""
        detail = _MEASURED_REMOTELY.detail
        super().add_episode(rows.EpisodeRow(self._of, policy, index, None, detail))

    def add_known_reference(self, dataset: str, name: str) -> None:
        """Add something to compare with that is measured already, or elsewhere."""
        super().set_reference(rows.ReferenceTiming(self._of, dataset, name, _MEASURED_REMOTELY))

    def add_known_variant(self, splitting: str, storage: str) -> None:
        """Add how the program is changed, as the driver has it already."""
        super().set_variant(rows.ProgramVariant(self._of, splitting, storage))

    def set_variant(self, variant: rows.ProgramVariant) -> None:
        """Send how the program is changed."""
        super().set_variant(variant)
        self._emit(_row_json("variant", variant))

    def set_digest(self, kernel: str, digest: str) -> None:
        """Send the fingerprint of the program's text."""
        super().set_digest(kernel, digest)
        self._emit({"row": "digest", "digest": digest})

    def add_seconds(self, kernel: str, seconds: float) -> None:
        """Send how much longer the program has been searched."""
        super().add_seconds(kernel, seconds)
        self._emit({"row": "spent", "seconds": seconds})

    def add_measured(self, episode: rows.EpisodeRow, schedule: str, timing: Timing) -> int:
        """Send an episode with its schedule's outcome."""
        number = super().add_measured(episode, schedule, timing)
        self._texts[number] = schedule
        what = {"schedule": schedule, "timing": timing_json(timing)}
        self._emit(_row_json("episode", episode) | what)
        return number

    def add_episode(self, episode: rows.EpisodeRow) -> None:
        """Send an episode whose schedule is known, or that has none."""
        super().add_episode(episode)
        text = None if episode.outcome is None else self._texts[episode.outcome]
        self._emit(_row_json("episode", episode) | {"schedule": text, "timing": None})

    def add_baseline(self, baseline: rows.BaselineTiming) -> None:
        """Send what the original order took."""
        super().add_baseline(baseline)
        self._emit(_row_json("baseline", baseline))

    def add_background_load(self, load: rows.BackgroundLoadRow) -> None:
        """Send what else the machine did."""
        super().add_background_load(load)
        self._emit(_row_json("disturbance", load))

    def set_reference(self, reference: rows.ReferenceTiming) -> None:
        """Send what there is to compare with."""
        super().set_reference(reference)
        self._emit(_row_json("reference", reference))

    def set_confirmations(
        self, confirmations: Sequence[rows.Confirmation], references: Sequence[rows.ReferenceTiming]
    ) -> None:
        """Send what was measured side by side, all in one row."""
        super().set_confirmations(confirmations, references)
        best = [
            [self._texts[row.outcome], row.dataset, timing_json(row.timing)]
            for row in confirmations
        ]
        compared = [_row_json("reference", timing) for timing in references]
        self._emit({"row": "confirmed", "confirmations": best, "references": compared})


def _row_json(name: str, row: Any) -> Json:
    """Return a row of a store as plain data; all are of the program that the job is about."""
    values = {entry.name: getattr(row, entry.name) for entry in fields(row)}
    timing = {"timing": timing_json(row.timing)} if "timing" in values else {}
    return {"row": name, **{key: values[key] for key in values if key != "kernel"}, **timing}


def timing_json(timing: Timing) -> Json:
    """Return a timing as plain data; :func:`timing_from_json` reads it back."""
    return {**asdict(timing), "status": timing.status.value}


def timing_from_json(data: Json) -> Timing:
    """Return the timing that :func:`timing_json` wrote."""
    samples = {name: tuple(data[name]) for name in ("samples", "baseline_samples")}
    return Timing(**{**data, **samples, "status": OutcomeStatus(data["status"])})
