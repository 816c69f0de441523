"""What a node does of a sweep: a part of one program's search, or the confirmation of its best.

It is done by what does it without a cluster, :func:`polygym.search.sweep.searching.search` and
:func:`polygym.search.sweep.confirming.confirm`, on a store in memory that has what they need to
know. Whatever they write there goes to the driver as a row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from polygym.measure.worker.outcome import Status
from polygym.search.cluster.jobs import Json
from polygym.search.cluster.sweep_rows import timing_from_json, timing_json
from polygym.search.cluster.texts import Texts
from polygym.search.sweep.confirming import confirm
from polygym.search.sweep.cores import Place, cores_beside, plan_cores, usable_cores
from polygym.search.sweep.requests import SearchRequest
from polygym.search.sweep.rows import (
    Baseline,
    Confirmation,
    Disturbance,
    Episode,
    Home,
    Reference,
    Timing,
)
from polygym.search.sweep.schema import LATER_TABLES, TABLES
from polygym.search.sweep.searching import search
from polygym.search.sweep.setting import SweepSetting, setting_from_json
from polygym.search.sweep.store import Store

# What stands for a row of which only the key is known here.
_ELSEWHERE = Timing(Status.OK, detail="measured elsewhere")


def search_task(
    job: Json, texts: Texts, emit: Callable[[Json], None], is_stopped: Callable[[], bool]
) -> None:
    """Search the episodes from ``first`` to ``last`` that are not ``done``, for some seconds."""
    setting = setting_from_json(job["setting"])
    kernel = texts.place(job["program"])
    policies, against = tuple(job["policies"]), tuple(job["against"])
    request = SearchRequest(
        policies, job["last"], job["seconds"], against, job["model"], job["first"]
    )
    with _sending(emit, kernel, job["home"]) as store:
        for text in texts.told((job["sweep"], kernel), job["news"]):
            store.know(text)
        for policy, index in job["done"]:
            store.know_episode(policy, index)
        for name in job["compared"]:
            store.know_reference(str(setting.search_dataset), name)
        place = _place(setting)
        search(store, setting, kernel, request, place, is_stopped, cores_beside(place))


def confirm_task(
    job: Json, texts: Texts, emit: Callable[[Json], None], is_stopped: Callable[[], bool]
) -> None:
    """Measure the best again, side by side; all of them are one flight."""
    setting = setting_from_json(job["setting"])
    kernel = texts.place(job["program"])
    with _sending(emit, kernel, job["home"]) as store:
        for text, timing in job["best"]:
            store.know(text, timing_from_json(timing))
        if not is_stopped():
            confirm(store, setting, kernel, job["count"], tuple(job["against"]), _place(setting))


def _place(setting: SweepSetting) -> Place:
    """Return the cores of a node: some measure, all generate code before that, some meanwhile."""
    threads = setting.measuring.threads
    return plan_cores(usable_cores(threads), 1, threads).places[0]


@contextmanager
def _sending(
    emit: Callable[[Json], None], kernel: str, home: Sequence[str] | None
) -> Iterator[SendingStore]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(TABLES)
    for table in LATER_TABLES:
        connection.execute(table)
    with SendingStore(connection, emit, kernel) as store:
        store.add_kernels([kernel])
        if home is not None:
            store.know_home(*home)
        yield store


class SendingStore(Store):
    """A store in memory that sends on what is written into it."""

    def __init__(
        self, connection: sqlite3.Connection, emit: Callable[[Json], None], kernel: str
    ) -> None:
        """Send nothing yet."""
        super().__init__(Path(":memory:"), connection)
        self._emit = emit
        self._of = kernel
        self._texts: dict[int, str] = {}

    def know(self, schedule: str, timing: Timing = _ELSEWHERE) -> None:
        """Add an outcome that the driver has already."""
        episode = Episode(self._of, "", len(self._texts), None)
        number = super().add_measured(episode, schedule, timing)
        self._texts[number] = schedule

    def know_episode(self, policy: str, index: int) -> None:
        """Add an episode that the driver has already."""
        super().add_episode(Episode(self._of, policy, index, None, _ELSEWHERE.detail))

    def know_reference(self, dataset: str, name: str) -> None:
        """Add something to compare with that is measured already, or elsewhere."""
        super().set_reference(Reference(self._of, dataset, name, _ELSEWHERE))

    def know_home(self, splitting: str, storage: str) -> None:
        """Add how the program is changed, as the driver has it already."""
        super().keep_home(Home(self._of, splitting, storage))

    def keep_home(self, home: Home) -> None:
        """Send how the program is changed."""
        super().keep_home(home)
        self._emit({"row": "home", "splitting": home.splitting, "storage": home.storage})

    def keep_digest(self, kernel: str, digest: str) -> None:
        """Send the fingerprint of the program's text."""
        super().keep_digest(kernel, digest)
        self._emit({"row": "digest", "digest": digest})

    def spend(self, kernel: str, seconds: float) -> None:
        """Send how much longer the program has been searched."""
        super().spend(kernel, seconds)
        self._emit({"row": "spent", "seconds": seconds})

    def add_measured(self, episode: Episode, schedule: str, timing: Timing) -> int:
        """Send an episode with its schedule's outcome."""
        number = super().add_measured(episode, schedule, timing)
        self._texts[number] = schedule
        self._emit(
            {**_episode(episode), "schedule": schedule, "timing": timing_json(timing), "reason": ""}
        )
        return number

    def add_episode(self, episode: Episode) -> None:
        """Send an episode whose schedule is known, or that has none."""
        super().add_episode(episode)
        text = None if episode.outcome is None else self._texts[episode.outcome]
        self._emit(
            {**_episode(episode), "schedule": text, "timing": None, "reason": episode.reason}
        )

    def add_baseline(self, baseline: Baseline) -> None:
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

    def add_disturbance(self, one: Disturbance) -> None:
        """Send what else the machine did."""
        super().add_disturbance(one)
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

    def set_reference(self, reference: Reference) -> None:
        """Send what there is to compare with."""
        super().set_reference(reference)
        self._emit(_reference(reference))

    def set_confirmations(
        self, confirmations: Sequence[Confirmation], references: Sequence[Reference]
    ) -> None:
        """Send what was measured side by side, all in one row."""
        super().set_confirmations(confirmations, references)
        self._emit(
            {
                "row": "confirmed",
                "confirmations": [
                    [self._texts[one.outcome], one.dataset, timing_json(one.timing)]
                    for one in confirmations
                ],
                "references": [_reference(one) for one in references],
            }
        )


def _episode(episode: Episode) -> Json:
    return {"row": "episode", "policy": episode.policy, "index": episode.index}


def _reference(one: Reference) -> Json:
    return {
        "row": "reference",
        "dataset": one.dataset,
        "name": one.name,
        "timing": timing_json(one.timing),
    }
