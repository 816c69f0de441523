"""Which node gets which part of a sweep, and when a program is left."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from polygym.search.cluster.jobs import Job, Json
from polygym.search.cluster.sweep_rows import timing_json
from polygym.search.cluster.sweep_supply import Confirmations, Searches
from polygym.search.sweep import reading
from polygym.search.sweep.opening import create_or_open
from polygym.search.sweep.orders import Orders
from polygym.search.sweep.store import Store
from tests.search.cluster.pretending import kind
from tests.search.sweep.pretending import SETTING, timing

KIND = kind()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with create_or_open(tmp_path, SETTING) as found:
        found.connection.execute("PRAGMA synchronous = OFF")
        found.add_kernels(("mvt", "gemm"))
        yield found


def searches(store: Store, *kernels: str, budget: int = 100) -> Searches:
    return Searches(store, SETTING, Orders(kernels, ("uniform",), budget, 2), KIND, set())


def episode(index: int) -> Json:
    row = {"row": "episode", "policy": "uniform", "index": index, "schedule": f"S{index}"}
    return row | {"timing": timing_json(timing(2.0)), "reason": ""}


def isl() -> Json:
    return {"row": "reference", "dataset": "mini", "name": "isl", "timing": timing_json(timing(2))}


def part(job: Job | None) -> tuple[str, int, int]:
    assert job is not None
    return job.about, job.document["first"], job.document["last"]


def test_nodes_take_different_programs_and_share_where_they_are_more(store: Store) -> None:
    supply = searches(store, "mvt", "gemm")
    first, second = (supply.next(name, KIND, 4) for name in ("a", "b"))
    assert part(first) == ("mvt", 0, 25)
    assert part(second) == ("gemm", 0, 25)
    third = supply.next("c", KIND, 4)
    assert part(third) == ("mvt", 25, 44)
    assert first is not None
    assert third is not None
    assert first.document["compared"] == []
    assert third.document["compared"] == ["isl"]  # the first one measures it
    supply.keep(first, [isl(), *map(episode, range(10))])
    supply.ended(first)
    assert part(supply.next("a", KIND, 4)) == ("mvt", 10, 25)


def test_a_lost_part_comes_back_and_only_what_is_missing(store: Store) -> None:
    supply = searches(store, "mvt")
    job = supply.next("a", KIND, 1)
    assert part(job) == ("mvt", 0, 100)
    assert job is not None
    supply.keep(job, [episode(0), episode(2)])
    supply.lost(job)
    again = supply.next("b", KIND, 1)
    assert part(again) == ("mvt", 1, 2)
    assert again is not None
    assert again.document["news"] == ["S0", "S2"]
    supply.lost(again)
    more = supply.next("b", KIND, 1)
    assert more is not None
    assert more.document["news"] == []  # the worker has been told


def test_a_program_whose_jobs_come_to_nothing_is_left(store: Store) -> None:
    supply = searches(store, "mvt")
    for _ in range(10):
        job = supply.next("a", KIND, 1)
        if job is None:
            break
        supply.keep(job, [{"row": "spent", "seconds": 1.0}])
        supply.ended(job)
    assert supply.is_done
    (left,) = (one for one in reading.kernels(store.connection) if one.error)
    assert (left.name, "ended without a result" in left.error) == ("mvt", True)


@pytest.mark.parametrize("of_machine", [True, False])
def test_a_failure_of_a_machine_is_tried_again(store: Store, of_machine: bool) -> None:
    supply = searches(store, "mvt")
    job = supply.next("a", KIND, 1)
    assert job is not None
    supply.keep(job, [{"row": "failed", "reason": "no worker", "machine": of_machine}])
    supply.ended(job)
    assert (supply.next("b", KIND, 1) is not None) is of_machine


def test_the_best_are_confirmed_once(store: Store) -> None:
    supply = searches(store, "mvt", budget=3)
    job = supply.next("a", KIND, 1)
    assert job is not None
    supply.keep(job, [isl(), *map(episode, range(3))])
    supply.ended(job)
    assert supply.is_done
    orders = Orders(("mvt",), ("uniform",), 3, 2)
    confirming = Confirmations(store, SETTING, orders, KIND, set())
    job = confirming.next("a", KIND, 2)
    assert job is not None
    assert [text for text, _ in job.document["best"]] == ["S0", "S1"]
    assert confirming.next("b", KIND, 2) is None
    found = [[text, "small", timing_json(timing(3.0))] for text in ("S0", "S1")]
    row = {"row": "confirmed", "confirmations": found, "references": [isl() | {"dataset": "small"}]}
    confirming.keep(job, [row])
    confirming.ended(job)
    assert confirming.is_done
    assert Confirmations(store, SETTING, orders, KIND, set()).is_done
    assert "expected nodes of one kind, one," in supply.accepts(kind("other"))
