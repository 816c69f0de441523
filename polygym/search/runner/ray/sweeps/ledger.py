"""Ledger of a sweep's driver for one program, and storage of the rows that nodes send.

The store is the driver's alone. An episode is identified by its policy and its number, an outcome
by its schedule; a row of something that is there already changes nothing, no matter who sends it
and how often. So a job may be done twice, by a node that was taken for dead or by two at once, and
the store has one row of each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from polygym.search.runner.ray.fleet.jobs import Json
from polygym.search.runner.ray.sweeps.index_runs import IndexRuns, index_runs
from polygym.search.runner.ray.sweeps.row_encoding import timing_from_json
from polygym.search.sweep import reader
from polygym.search.sweep.rows import (
    BackgroundLoadRow,
    BaselineTiming,
    Confirmation,
    EpisodeRow,
    ProgramVariant,
    ReferenceTiming,
)
from polygym.search.sweep.store import SweepStore
from polygym.search.sweep.workload import SweepWorkload


@dataclass(slots=True)
class ProgramLedger:
    """One program: its episodes that are done, its outcomes' numbers, and what is to be done.

    ``remaining`` are the numbers of episodes that no job has and that some policy has not played;
    ``spent`` are the seconds for which it was searched, by all nodes together.
    """

    store: SweepStore
    kernel: str
    policies: tuple[str, ...]
    done: set[tuple[str, int]]
    numbers: dict[str, int]
    compared: set[str]
    spent: float = 0.0
    remaining: IndexRuns = field(default_factory=IndexRuns)

    @staticmethod
    def read(store: SweepStore, kernel: str, orders: SweepWorkload, dataset: str) -> ProgramLedger:
        """Return what a store knows of a program."""
        connection = store.connection
        ledger = ProgramLedger(
            store,
            kernel,
            orders.policies,
            {
                (episode_row.policy, episode_row.index)
                for episode_row in reader.episodes(connection, kernel)
            },
            {outcome.schedule: outcome.number for outcome in reader.outcomes(connection, kernel)},
            set(reader.reference_names(connection, kernel, dataset)),
            {
                program_row.name: program_row.seconds for program_row in reader.kernels(connection)
            }.get(kernel, 0.0),
        )
        indices = sorted({index for _, index in ledger.done if index < orders.budget})
        whole = [-1, *filter(ledger.is_done, indices), orders.budget]
        for before, after in pairwise(whole):
            ledger.remaining.add(range(before + 1, after))
        return ledger

    def return_indices(self, indices: range) -> None:
        """Take episodes back that a job had; those that are done are done."""
        for run in index_runs(index for index in indices if not self.is_done(index)):
            self.remaining.add(run)

    def is_done(self, index: int) -> bool:
        """Whether all policies have played an episode."""
        return all((policy, index) in self.done for policy in self.policies)

    def done_among(self, indices: range) -> list[tuple[str, int]]:
        """Return what is done of some episodes, of which not all policies have played each."""
        return [
            (policy, index)
            for index in indices
            for policy in self.policies
            if (policy, index) in self.done
        ]

    def add_row(self, row: Json) -> None:
        """Write a row down, unless it is there.

        Raises:
            InputError: the program's text was another one when its schedules were measured.
            OSError: the store cannot be written.
        """
        store, kernel = self.store, self.kernel
        match row["row"]:
            case "episode":
                self._keep_episode(row)
            case "digest":
                store.set_digest(kernel, row["digest"])
            case "home":
                store.set_variant(ProgramVariant(kernel, row["splitting"], row["storage"]))
            case "spent":
                self.spent += float(row["seconds"])
                store.add_seconds(kernel, float(row["seconds"]))
            case "baseline":
                samples = tuple(map(float, row["samples"]))
                store.add_baseline(BaselineTiming(kernel, row["dataset"], row["moment"], samples))
            case "disturbance":
                values = (float(row[name]) for name in ("moment", "seconds", "others", "stolen"))
                store.add_background_load(BackgroundLoadRow(kernel, row["dataset"], *values))
            case "reference":
                self.compared.add(row["name"])
                store.set_reference(self._reference(row))
            case "confirmed":
                store.set_confirmations(
                    [
                        Confirmation(self.numbers[text], kernel, dataset, timing_from_json(timing))
                        for text, dataset, timing in row["confirmations"]
                    ],
                    [self._reference(one) for one in row["references"]],
                )

    def _keep_episode(self, row: Json) -> None:
        key = row["policy"], int(row["index"])
        if key in self.done:
            return
        text = row["schedule"]
        number = None if text is None else self.numbers.get(text)
        episode = EpisodeRow(self.kernel, *key, number, row["reason"])
        if text is None or number is not None:
            self.store.add_episode(episode)
        elif row["timing"] is None:
            return  # known on the node from a row that never came here: it is played again
        else:
            timing = timing_from_json(row["timing"])
            self.numbers[text] = self.store.add_measured(episode, text, timing)
        self.done.add(key)

    def _reference(self, row: Json) -> ReferenceTiming:
        return ReferenceTiming(
            self.kernel, row["dataset"], row["name"], timing_from_json(row["timing"])
        )
