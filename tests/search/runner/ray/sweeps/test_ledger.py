"""What a driver writes down of what nodes send: once, however often it comes."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from polygym.errors import InputError
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.runner.ray.fleet.jobs import Json
from polygym.search.runner.ray.sweep_ledger import IndexRuns, ProgramLedger
from polygym.search.runner.ray.sweep_tasks import timing_from_json, timing_json
from polygym.search.sweep import reader
from polygym.search.sweep.rows import Timing
from polygym.search.sweep.store import SweepStore, create_or_open
from polygym.search.sweep.workload import SweepWorkload
from tests.search.sweep.fakes import SETTING, timing

ORDERS = SweepWorkload(("mvt",), ("one", "two"), 6, 0)


def episode(policy: str, index: int, schedule: str | None, speedup: float | None = 2.0) -> Json:
    json = None if speedup is None else timing_json(timing(speedup))
    keys = {"policy": policy, "index": index, "schedule": schedule, "timing": json}
    return {"row": "episode", **keys, "reason": "" if schedule else "none"}


def book_of(store: SweepStore) -> ProgramLedger:
    store.add_kernels(("mvt",))
    return ProgramLedger.read(store, "mvt", ORDERS, "mini")


ROWS = [
    episode("one", 0, "S"),
    episode("two", 0, "S", None),
    episode("one", 1, None, None),
    episode("two", 1, "T", 3.0),
    episode("one", 2, "T", 9.0),  # another node measured it too: the first one stays
]


@given(deliveries=some.lists(some.integers(0, len(ROWS) - 1), max_size=15))
@settings(max_examples=10, deadline=None)
def test_rows_are_kept_once_in_any_number(
    deliveries: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("sweep")
    with create_or_open(folder, SETTING) as store:
        store.connection.execute("PRAGMA synchronous = OFF")
        book = book_of(store)
        for number in [*range(len(ROWS)), *deliveries]:
            book.add_row(ROWS[number])
        assert [
            schedule_outcome.schedule for schedule_outcome in reader.outcomes(store.connection)
        ] == ["S", "T"]
        speedups = [outcome.timing.speedup for outcome in reader.outcomes(store.connection)]
        assert speedups == [2.0, 3.0]
        outcomes = {
            (episode_row.policy, episode_row.index): episode_row.outcome
            for episode_row in reader.episodes(store.connection)
        }
        assert outcomes == {("one", 0): 1, ("two", 0): 1, ("one", 1): None, ("two", 1): 2,
                         ("one", 2): 2}  # fmt: skip
        again = ProgramLedger.read(store, "mvt", ORDERS, "mini")
        assert (again.done, again.numbers) == (book.done, book.numbers)
        assert again.remaining.runs == [range(2, 6)]


def test_a_row_about_an_outcome_that_never_came_waits_for_another(tmp_path: Path) -> None:
    with create_or_open(tmp_path, SETTING) as store:
        book = book_of(store)
        book.add_row(episode("one", 0, "S", None))
        assert reader.episodes(store.connection) == ()
        book.return_indices(range(1))
        assert book.remaining.runs == [range(6)]


def test_episodes_are_taken_in_runs_and_given_back(tmp_path: Path) -> None:
    with create_or_open(tmp_path, SETTING) as store:
        book = book_of(store)
        left = book.remaining
        assert [left.take(2), left.take(2)] == [range(2), range(2, 4)]
        book.return_indices(range(2))
        assert left.runs == [range(2), range(4, 6)]
        assert [left.take(4), left.take(4)] == [range(2), range(4, 6)]
        assert not left
        book.add_row(episode("one", 3, "S"))
        book.add_row(episode("one", 4, "S"))
        book.add_row(episode("two", 4, "S"))
        book.return_indices(range(3, 6))
        assert left.runs == [range(3, 4), range(5, 6)]
        assert book.done_among(range(3, 6)) == [("one", 3), ("one", 4), ("two", 4)]


@given(parts=some.lists(some.tuples(some.integers(0, 12), some.integers(0, 5)), max_size=8))
def test_runs_are_a_set_of_numbers(parts: list[tuple[int, int]]) -> None:
    wanted = {number for first, count in parts for number in range(first, first + count)}
    left = IndexRuns(range(first, first + count) for first, count in parts)
    assert [number for run in left.runs for number in run] == sorted(wanted)
    assert all(one.stop < other.start for one, other in pairwise(left.runs))
    while left:
        taken = left.take(2)
        assert set(taken) <= wanted
        wanted -= set(taken)
        assert min(wanted, default=99) >= taken.stop
    assert not wanted


@pytest.mark.parametrize("status", OutcomeStatus)
def test_timings_go_through_json(status: OutcomeStatus) -> None:
    outcome = replace(Timing(status, 0.1, 0.3, (0.1, 0.2), (0.3,)), detail="why\n…")
    assert timing_from_json(timing_json(outcome)) == outcome


def test_a_store_is_of_one_kind_of_node(tmp_path: Path) -> None:
    with create_or_open(tmp_path, SETTING) as store:
        store.set_kind("a", "node A")
        store.set_kind("a", "node A")
        with pytest.raises(InputError, match=r"expected nodes of the kind .* a \(node A\), found"):
            store.set_kind("b", "node B")
