"""The fleet's rules, on pretended machines: who gets what; what a death, a drift, a stop mean."""

import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from threading import Timer

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from polygym.errors import InputError
from polygym.search.runner.ray.fleet.fleet import Fleet, FleetTimeouts
from polygym.search.runner.ray.fleet.jobs import ClusterJob, Json
from polygym.search.runner.ray.fleet.members import MemberState
from tests.search.runner.ray.fakes import FakeMachine, FakeSupply, FakeTransport, kind, three_rows

HASTY = FleetTimeouts(first_worker=1.5, silence=0.3, greeting=0.3, drain=0.5)


def fleet_of(said: list[str] | None = None, **machines: FakeMachine) -> Fleet:
    tell = (lambda _: None) if said is None else said.append
    return Fleet(FakeTransport(machines), tell, HASTY)


def test_all_jobs_are_done_once_and_spread() -> None:
    supply = FakeSupply(7)
    with fleet_of(a=FakeMachine(), b=FakeMachine()) as fleet:
        fleet.run(supply)
        assert {member.state for member in fleet.members.values()} == {MemberState.FREE}
        assert sum(fleet_member.rows for fleet_member in fleet.members.values()) == 21
    assert sorted(supply.rows) == [(job, row) for job in range(7) for row in range(3)]
    assert {name for names in supply.by.values() for name in names} == {"a/0", "b/0"}


@given(deaths=some.lists(some.integers(1, 12), min_size=1, max_size=2), jobs=some.integers(1, 8))
@settings(max_examples=20, deadline=None)
def test_whoever_dies_whenever_nothing_is_lost(deaths: list[int], jobs: int) -> None:
    dying = {f"d{number}": FakeMachine(dies_after=after) for number, after in enumerate(deaths)}
    supply = FakeSupply(jobs)
    with fleet_of(good=FakeMachine(), **dying) as fleet:
        fleet.run(supply)
    assert set(supply.rows) == {(job, row) for job in range(jobs) for row in range(3)}
    assert not supply.failures


def test_a_worker_that_cannot_be_reached_is_ended_before_its_job_is_given_away() -> None:
    cluster = FakeTransport({"a": FakeMachine(dies_after=3), "b": FakeMachine()})
    supply = FakeSupply(4)
    with Fleet(cluster, timeouts=HASTY) as fleet:
        fleet.run(supply)
        assert cluster.dismissed == ["a"]
    assert set(supply.rows) == {(job, row) for job in range(4) for row in range(3)}


def test_a_job_at_which_every_node_dies_is_given_up() -> None:
    def dies(job: Json) -> Iterator[list[Json]]:
        yield [{"row": "digest", "digest": "that it begins is no progress"}]
        cluster.machines.pop(next(iter(cluster.machines)), None)
        yield []

    machines = {name: FakeMachine(answer=dies) for name in "abcd"}
    cluster = FakeTransport(machines)
    supply, said = FakeSupply(1), []
    with Fleet(cluster, said.append, HASTY) as fleet:
        fleet.run(supply)
    assert "3 nodes in a row were lost" in supply.failures["q0"]
    assert sum("is lost" in line for line in said) == 3


def test_nodes_that_go_together_are_one_loss() -> None:
    """The end of another driver takes all nodes that it had hired: no job is to blame for it."""
    started: list[str] = []

    def goes_with_all(job: Json) -> Iterator[list[Json]]:
        started.append(job["job"])
        yield []
        while len(started) < 4:
            yield []
        cluster.machines.clear()
        yield []

    cluster = FakeTransport({name: FakeMachine(answer=goes_with_all) for name in "abcd"})
    supply, said = FakeSupply(4), []
    supply.waiting = [
        ClusterJob(cluster_job.number, "all of one program", cluster_job.document)
        for cluster_job in supply.waiting
    ]

    def stop() -> bool:
        if not cluster.machines:
            cluster.machines["e"] = FakeMachine()
        return False

    with Fleet(cluster, said.append, HASTY) as fleet:
        fleet.run(supply, stop)
    assert sum("is lost" in line for line in said) == 4
    assert supply.failures == {}
    assert set(supply.rows) == {(job, row) for job in range(4) for row in range(3)}


def test_a_site_that_dies_now_and_then_is_hired_again_and_again() -> None:
    """What counts are losses in a row; a night has more than eight."""
    mortal, said = FakeMachine(), []

    def dies_every_second_time(job: Json) -> Iterator[list[Json]]:
        yield from three_rows(job)
        if len(mortal.jobs) % 2:
            mortal.dies_after = 0

    mortal.answer = dies_every_second_time
    supply, cluster = FakeSupply(20), FakeTransport({"a": mortal})

    def revive() -> bool:
        if "a" not in cluster.machines:
            mortal.dies_after, cluster.machines["a"] = None, mortal
            fleet._looked = 0.0  # or a second would pass each time
        return False

    with Fleet(cluster, said.append, HASTY) as fleet:
        fleet.run(supply, revive)
    assert sum("is lost" in line for line in said) > 8
    assert supply.failures == {}
    assert set(supply.rows) == {(job, row) for job in range(20) for row in range(3)}


def test_a_worker_that_came_and_went_is_hired_later() -> None:
    cluster, supply = FakeTransport({"a": FakeMachine()}), FakeSupply(1)
    cluster.vanishing.add("a")
    with Fleet(cluster, timeouts=HASTY) as fleet:
        fleet.run(supply)
    assert cluster.hired == ["a"]
    assert len(supply.rows) == 3


def test_a_node_of_another_kind_is_refused_and_said() -> None:
    said: list[str] = []
    supply = FakeSupply(4, refused="two")
    cluster = FakeTransport({"a": FakeMachine(), "b": FakeMachine(kind("two"))})
    with Fleet(cluster, said.append, HASTY) as fleet:
        fleet.run(supply)
        assert fleet.members["b"].state is MemberState.REFUSED
        assert (cluster.left, cluster.dismissed) == (["b"], [])  # another driver may want it
    assert {name for names in supply.by.values() for name in names} == {"a/0"}
    assert said == ["node host (b) is refused: not here"]


def test_a_node_with_another_polygym_is_refused() -> None:
    said: list[str] = []
    with fleet_of(said, a=FakeMachine(), b=FakeMachine(sources="other")) as fleet:
        assert len(fleet.assemble()) == 1
    assert "expected polygym as it is here" in said[0]


def test_a_node_that_waits_for_its_host_is_not_lost_and_said() -> None:
    """Another cluster measures on the same host for longer than a greeting may take."""
    patient, said = FakeMachine(), []

    def texts(method: str, text: str) -> Iterator[str]:
        for _ in range(4) if method == "greet" else ():
            time.sleep(0.1)
            yield '[{"row": "waiting"}]'
        yield from FakeMachine().texts(method, text)

    patient.texts = texts  # type: ignore[method-assign]
    with fleet_of(said, a=patient) as fleet:
        assert len(fleet.assemble()) == 1
    assert said == ["node host (a) waits: others measure on its host"]


def test_a_node_that_gives_way_to_others_is_said() -> None:
    said: list[str] = []
    with fleet_of(said, a=FakeMachine(niceness=15), b=FakeMachine()) as fleet:
        assert len(fleet.assemble()) == 2
    assert len(said) == 1
    assert "node host (a) gives way to all others (niceness 15)" in said[0]


def test_a_node_that_drifts_is_drained_and_said() -> None:
    def slowly(job: Json) -> Iterator[list[Json]]:
        time.sleep(0.02)
        yield from three_rows(job)

    said: list[str] = []
    machines = {
        "a": FakeMachine(answer=slowly),
        "b": FakeMachine(answer=slowly, clocks=[1.0, 1.5, 1.5]),
    }
    supply = FakeSupply(20)
    with Fleet(FakeTransport(machines), said.append, FleetTimeouts(calibrated=0.01)) as fleet:
        fleet.run(supply)
        assert fleet.members["b"].state is MemberState.DRAINED
        assert fleet.members["a"].state is MemberState.FREE
    assert said == ["node host (b) is drained: its clock has drifted: 1e+03 ms at first, "
                    "1.5e+03 ms now"]  # fmt: skip


def test_a_clock_that_is_off_once_is_asked_again() -> None:
    with fleet_of(a=FakeMachine(clocks=[1.0, 1.5, 1.0])) as fleet:
        fleet.assemble()
        member = fleet.members["a"]
        member.record_clock(1.5, 1.25)
        assert member.is_due(1e9)
        member.record_clock(1.0, 1.25)
        assert not member.is_due(1e9)


def test_a_silent_node_loses_its_job() -> None:
    silent = FakeMachine()

    def falls_silent(job: Json) -> Iterator[list[Json]]:
        yield [{"row": "result", "of": job["of"], "number": 0}]
        silent.is_silent = True
        yield []

    silent.answer = falls_silent
    supply, said = FakeSupply(3), []
    cluster = FakeTransport({"a": silent})
    with Fleet(cluster, said.append, HASTY) as fleet:
        fleet.assemble()
        cluster.machines["b"] = FakeMachine()
        fleet.run(supply)
    assert set(supply.rows) == {(job, row) for job in range(3) for row in range(3)}
    assert "a" in cluster.dismissed
    assert any("nothing was heard of it" in line for line in said)


def test_a_slow_node_keeps_its_job_and_gets_fewer() -> None:
    slow, said = FakeMachine(), []

    def pauses(job: Json) -> Iterator[list[Json]]:
        for rows in three_rows(job):
            yield rows
            slow.is_silent = True
            Timer(0.1, setattr, (slow, "is_silent", False)).start()

    slow.answer = pauses
    supply = FakeSupply(12)
    cluster = FakeTransport({"a": slow, "b": FakeMachine()})
    with Fleet(cluster, said.append, FleetTimeouts(silence=60.0)) as fleet:
        fleet.run(supply)
    assert said == []
    assert sorted(supply.rows) == [(job, row) for job in range(12) for row in range(3)]
    counts = Counter(name for names in supply.by.values() for name in names)
    assert 0 < counts["a/0"] < counts["b/0"]


def test_a_node_that_joins_later_gets_work() -> None:
    def slowly(job: Json) -> Iterator[list[Json]]:
        time.sleep(0.3)
        yield from three_rows(job)

    cluster = FakeTransport({"a": FakeMachine(answer=slowly)})
    supply = FakeSupply(8)
    with Fleet(cluster, timeouts=HASTY) as fleet:
        fleet.assemble()
        cluster.machines["b"] = FakeMachine()
        fleet.run(supply)
    counts = Counter(names[0] for names in supply.by.values())
    assert counts["b/0"] > 0 < counts["a/0"]


def test_a_stop_keeps_what_came_and_ends_the_jobs() -> None:
    def endless(job: Json) -> Iterator[list[Json]]:
        for number in count():
            yield [{"row": "result", "of": job["of"], "number": number}]

    supply = FakeSupply(2)
    machine = FakeMachine(answer=endless)
    with fleet_of(a=machine) as fleet:
        fleet.run(supply, lambda: len(supply.rows) > 5)
        assert machine.stopped == {machine.jobs[0]["job"]}
        assert not supply.under_way
        assert fleet.members["a"].state is MemberState.FREE
    assert len(supply.rows) > 5


def test_a_job_that_does_not_stop_is_ended_with_its_worker() -> None:
    deaf = FakeMachine()

    def sleeps(job: Json) -> Iterator[list[Json]]:
        yield [{"row": "result", "of": job["of"], "number": 0}]
        deaf.is_silent = True
        yield []

    deaf.answer = sleeps
    supply, cluster = FakeSupply(1), FakeTransport({"a": deaf})
    started = time.monotonic()
    with Fleet(cluster, timeouts=HASTY) as fleet:
        fleet.run(supply, lambda: deaf.is_silent)
    assert time.monotonic() - started < 5
    assert cluster.dismissed[0] == "a"
    assert not supply.under_way


def test_an_empty_cluster_is_said() -> None:
    with fleet_of() as fleet, pytest.raises(InputError, match=r"measuring slot .* found none"):
        fleet.assemble()


def test_a_cluster_of_refused_nodes_is_said() -> None:
    with fleet_of(a=FakeMachine(kind("two"))) as fleet, pytest.raises(InputError, match="not here"):
        fleet.run(FakeSupply(1, refused="two"))


def test_rows_that_nobody_waits_for_are_dropped() -> None:
    machine = FakeMachine()
    with fleet_of(a=machine) as fleet:
        fleet.assemble()
        member = fleet.members["a"]
        member.begin(fleet.transport.call("a", "work", '{"job": "x", "of": 1}'))
        supply = FakeSupply(0)
        for _ in range(5):
            if member.call is not None:
                fleet._receive(supply, member)
        assert supply.rows == []


def test_closing_ends_the_workers() -> None:
    cluster = FakeTransport({"a": FakeMachine(), "b": FakeMachine()})
    with Fleet(cluster, timeouts=HASTY) as fleet:
        fleet.assemble()
    assert sorted(cluster.left) == ["a", "b"]
    assert cluster.dismissed == []
    assert cluster.closed
