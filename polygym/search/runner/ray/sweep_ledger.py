"""Ledger of a sweep's driver for one program, and storage of the rows that nodes send.

The store is the driver's alone. An episode is identified by its policy and its number, an outcome
by its schedule; a row of something that is there already changes nothing, no matter who sends it
and how often. So a job may be done twice, by a node that was taken for dead or by two at once, and
the store has one row of each.

Numbers that are left, as runs: a million episodes are one run until some of them are taken.

Runs are kept in order, disjoint, and not touching.

>>> left = IndexRuns([range(0, 10)])
>>> left.take(3), left.take(2), len(left)
(range(0, 3), range(3, 5), 5)
>>> left.add(range(1, 2)); left.add(range(3, 5)); left.runs
[range(1, 2), range(3, 10)]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise, product

from polygym.search.runner.ray.fleet.jobs import Json
from polygym.search.runner.ray.sweep_tasks import timing_from_json
from polygym.search.sweep import reader, rows
from polygym.search.sweep.store import SweepStore
from polygym.search.sweep.workload import SweepWorkload


class IndexRuns:
    """A set of numbers, of which the smallest are taken first."""

    def __init__(self, runs: Iterable[range] = ()) -> None:
        """Begin with some runs, in any order."""
        self.runs: list[range] = []
        for run in runs:
            self.add(run)

    def __len__(self) -> int:
        """Return how many numbers there are."""
        return sum(map(len, self.runs))

    def add(self, new: range) -> None:
        """Add the numbers of a run, of which some may be there."""
        if not new:
            return
        first, last = new.start, new.stop
        kept = []
        for run in self.runs:
            if run.stop < first or last < run.start:
                kept.append(run)
            else:
                first, last = min(first, run.start), max(last, run.stop)
        self.runs = sorted([*kept, range(first, last)], key=lambda run: run.start)

    def take(self, count: int) -> range:
        """Take the smallest numbers that follow one another, ``count`` at most; one is there."""
        run = self.runs[0]
        taken = range(run.start, min(run.stop, run.start + count))
        self.runs[0] = range(taken.stop, run.stop)
        if not self.runs[0]:
            del self.runs[0]
        return taken


def index_runs(numbers: Iterable[int]) -> list[range]:
    """Return numbers in order as runs.

    >>> index_runs([1, 2, 3, 7, 9, 10])
    [range(1, 4), range(7, 8), range(9, 11)]
    """
    result: list[range] = []
    for number in numbers:
        if result and result[-1].stop == number:
            result[-1] = range(result[-1].start, number + 1)
        else:
            result.append(range(number, number + 1))
    return result


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
            {(row.policy, row.index) for row in reader.episodes(connection, kernel)},
            {outcome.schedule: outcome.number for outcome in reader.outcomes(connection, kernel)},
            set(reader.reference_names(connection, kernel, dataset)),
            sum(row.seconds for row in reader.kernels(connection) if row.name == kernel),
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
        steps = product(indices, self.policies)
        return [(policy, index) for index, policy in steps if (policy, index) in self.done]

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
            case "variant":
                store.set_variant(rows.ProgramVariant(kernel, row["splitting"], row["storage"]))
            case "spent":
                self.spent += float(row["seconds"])
                store.add_seconds(kernel, float(row["seconds"]))
            case "baseline":
                samples = tuple(map(float, row["samples"]))
                store.add_baseline(
                    rows.BaselineTiming(kernel, row["dataset"], row["moment"], samples)
                )
            case "disturbance":
                values = (
                    row[name] for name in ("dataset", "moment", "seconds", "others", "stolen")
                )
                store.add_background_load(rows.BackgroundLoadRow(kernel, *values))
            case "reference":
                self.compared.add(row["name"])
                store.set_reference(self._reference(row))
            case "confirmed":
                store.set_confirmations(
                    [
                        rows.Confirmation(
                            self.numbers[text], kernel, size, timing_from_json(timing)
                        )
                        for text, size, timing in row["confirmations"]
                    ],
                    list(map(self._reference, row["references"])),
                )

    def _keep_episode(self, row: Json) -> None:
        key = row["policy"], int(row["index"])
        if key in self.done:
            return
        text = row["schedule"]
        number = None if text is None else self.numbers.get(text)
        episode = rows.EpisodeRow(self.kernel, *key, number, row["reason"])
        if text is None or number is not None:
            self.store.add_episode(episode)
        elif row["timing"] is None:
            return  # known on the node from a row that never came here: it is played again
        else:
            timing = timing_from_json(row["timing"])
            self.numbers[text] = self.store.add_measured(episode, text, timing)
        self.done.add(key)

    def _reference(self, row: Json) -> rows.ReferenceTiming:
        timing = timing_from_json(row["timing"])
        return rows.ReferenceTiming(self.kernel, row["dataset"], row["name"], timing)
