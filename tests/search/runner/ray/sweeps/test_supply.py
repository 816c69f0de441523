"""Which node gets which part of a sweep, and when a program is left."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from polygym.search.runner.ray.fleet.jobs import ClusterJob, Json
from polygym.search.runner.ray.sweep_tasks import timing_json
from polygym.search.runner.ray.sweeps import ConfirmationSupply, SearchSupply
from polygym.search.sweep import reader
from polygym.search.sweep.store import SweepStore, create_or_open
from polygym.search.sweep.workload import SweepWorkload
from tests.search.runner.ray.fakes import kind
from tests.search.sweep.fakes import SETTING, timing

KIND = kind()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SweepStore]:
    with create_or_open(tmp_path, SETTING) as sweep_store:
        sweep_store.connection.execute("PRAGMA synchronous = OFF")
        sweep_store.add_kernels(("mvt", "gemm"))
        yield sweep_store


def searches(store: SweepStore, *kernels: str, budget: int = 100) -> SearchSupply:
    return SearchSupply(
        store, SETTING, SweepWorkload(kernels, ("uniform",), budget, 2), KIND, set()
    )


def episode(index: int) -> Json:
    row = {"row": "episode", "policy": "uniform", "index": index, "schedule": f"S{index}"}
    return row | {"timing": timing_json(timing(2.0)), "reason": ""}


def isl() -> Json:
    return {"row": "reference", "dataset": "mini", "name": "isl", "timing": timing_json(timing(2))}


def part(job: ClusterJob | None) -> tuple[str, int, int]:
    assert job is not None
    return job.about, job.document["first"], job.document["last"]


def test_nodes_take_different_programs_and_share_where_they_are_more(store: SweepStore) -> None:
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
    supply.add_rows(first, [isl(), *map(episode, range(10))])
    supply.job_ended(first)
    assert part(supply.next("a", KIND, 4)) == ("mvt", 10, 25)


def test_a_lost_part_comes_back_and_only_what_is_missing(store: SweepStore) -> None:
    supply = searches(store, "mvt")
    job = supply.next("a", KIND, 1)
    assert part(job) == ("mvt", 0, 100)
    assert job is not None
    supply.add_rows(job, [episode(0), episode(2)])
    supply.job_lost(job)
    again = supply.next("b", KIND, 1)
    assert part(again) == ("mvt", 1, 2)
    assert again is not None
    assert again.document["news"] == ["S0", "S2"]
    supply.job_lost(again)
    more = supply.next("b", KIND, 1)
    assert more is not None
    assert more.document["news"] == []  # the worker has been told


def test_a_program_whose_jobs_come_to_nothing_is_left(store: SweepStore) -> None:
    supply = searches(store, "mvt")
    for _ in range(10):
        job = supply.next("a", KIND, 1)
        if job is None:
            break
        supply.add_rows(job, [{"row": "spent", "seconds": 1.0}])
        supply.job_ended(job)
    assert supply.is_done
    (left,) = (program_row for program_row in reader.kernels(store.connection) if program_row.error)
    assert (left.name, "ended without a result" in left.error) == ("mvt", True)


@pytest.mark.parametrize("of_machine", [True, False])
def test_a_failure_of_a_machine_is_tried_again(store: SweepStore, of_machine: bool) -> None:
    supply = searches(store, "mvt")
    job = supply.next("a", KIND, 1)
    assert job is not None
    supply.add_rows(job, [{"row": "failed", "reason": "no worker", "machine": of_machine}])
    supply.job_ended(job)
    assert (supply.next("b", KIND, 1) is not None) is of_machine


def test_the_best_are_confirmed_once(store: SweepStore) -> None:
    supply = searches(store, "mvt", budget=3)
    job = supply.next("a", KIND, 1)
    assert job is not None
    supply.add_rows(job, [isl(), *map(episode, range(3))])
    supply.job_ended(job)
    assert supply.is_done
    orders = SweepWorkload(("mvt",), ("uniform",), 3, 2)
    confirming = ConfirmationSupply(store, SETTING, orders, KIND, set())
    job = confirming.next("a", KIND, 2)
    assert job is not None
    assert [text for text, _ in job.document["best"]] == ["S0", "S1"]
    assert confirming.next("b", KIND, 2) is None
    confirmations = [[text, "small", timing_json(timing(3.0))] for text in ("S0", "S1")]
    row = {
        "row": "confirmed",
        "confirmations": confirmations,
        "references": [isl() | {"dataset": "small"}],
    }
    confirming.add_rows(job, [row])
    confirming.job_ended(job)
    assert confirming.is_done
    assert ConfirmationSupply(store, SETTING, orders, KIND, set()).is_done
    assert "expected nodes of one kind, one," in supply.accepts(kind("other"))
