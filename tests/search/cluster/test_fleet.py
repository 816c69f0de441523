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
from polygym.search.cluster.fleet import Fleet, Patience
from polygym.search.cluster.jobs import Job, Json
from polygym.search.cluster.members import State
from tests.search.cluster.pretending import Machine, Pretended, Questions, kind, three_rows

HASTY = Patience(anybody=1.5, silence=0.3, greeting=0.3, drain=0.5)


def fleet_of(said: list[str] | None = None, **machines: Machine) -> Fleet:
    tell = (lambda _: None) if said is None else said.append
    return Fleet(Pretended(machines), tell, HASTY)


def test_all_jobs_are_done_once_and_spread() -> None:
    supply = Questions(7)
    with fleet_of(a=Machine(), b=Machine()) as fleet:
        fleet.run(supply)
        assert {one.state for one in fleet.members.values()} == {State.FREE}
        assert sum(one.rows for one in fleet.members.values()) == 21
    assert sorted(supply.rows) == [(job, row) for job in range(7) for row in range(3)]
    assert {name for names in supply.by.values() for name in names} == {"a/0", "b/0"}


@given(deaths=some.lists(some.integers(1, 12), min_size=1, max_size=2), jobs=some.integers(1, 8))
@settings(max_examples=20, deadline=None)
def test_whoever_dies_whenever_nothing_is_lost(deaths: list[int], jobs: int) -> None:
    dying = {f"d{number}": Machine(dies_after=after) for number, after in enumerate(deaths)}
    supply = Questions(jobs)
    with fleet_of(good=Machine(), **dying) as fleet:
        fleet.run(supply)
    assert set(supply.rows) == {(job, row) for job in range(jobs) for row in range(3)}
    assert not supply.failures


def test_a_worker_that_cannot_be_reached_is_ended_before_its_job_is_given_away() -> None:
    cluster = Pretended({"a": Machine(dies_after=3), "b": Machine()})
    supply = Questions(4)
    with Fleet(cluster, patience=HASTY) as fleet:
        fleet.run(supply)
        assert cluster.dismissed == ["a"]
    assert set(supply.rows) == {(job, row) for job in range(4) for row in range(3)}


def test_a_job_at_which_every_node_dies_is_given_up() -> None:
    def dies(job: Json) -> Iterator[list[Json]]:
        yield [{"row": "digest", "digest": "that it begins is no progress"}]
        cluster.machines.pop(next(iter(cluster.machines)), None)
        yield []

    machines = {name: Machine(answer=dies) for name in "abcd"}
    cluster = Pretended(machines)
    supply, said = Questions(1), []
    with Fleet(cluster, said.append, HASTY) as fleet:
        fleet.run(supply)
    assert "3 nodes in a row were lost" in supply.failures["q0"]
    assert sum("is lost" in one for one in said) == 3


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

    cluster = Pretended({name: Machine(answer=goes_with_all) for name in "abcd"})
    supply, said = Questions(4), []
    supply.waiting = [Job(one.number, "all of one program", one.document) for one in supply.waiting]

    def stop() -> bool:
        if not cluster.machines:
            cluster.machines["e"] = Machine()
        return False

    with Fleet(cluster, said.append, HASTY) as fleet:
        fleet.run(supply, stop)
    assert sum("is lost" in one for one in said) == 4
    assert supply.failures == {}
    assert set(supply.rows) == {(job, row) for job in range(4) for row in range(3)}


def test_a_site_that_dies_now_and_then_is_hired_again_and_again() -> None:
    """What counts are losses in a row; a night has more than eight."""
    mortal, said = Machine(), []

    def dies_every_second_time(job: Json) -> Iterator[list[Json]]:
        yield from three_rows(job)
        if len(mortal.jobs) % 2:
            mortal.dies_after = 0

    mortal.answer = dies_every_second_time
    supply, cluster = Questions(20), Pretended({"a": mortal})

    def revive() -> bool:
        if "a" not in cluster.machines:
            mortal.dies_after, cluster.machines["a"] = None, mortal
            fleet._looked = 0.0  # or a second would pass each time
        return False

    with Fleet(cluster, said.append, HASTY) as fleet:
        fleet.run(supply, revive)
    assert sum("is lost" in one for one in said) > 8
    assert supply.failures == {}
    assert set(supply.rows) == {(job, row) for job in range(20) for row in range(3)}


def test_a_worker_that_came_and_went_is_hired_later() -> None:
    cluster, supply = Pretended({"a": Machine()}), Questions(1)
    cluster.vanishing.add("a")
    with Fleet(cluster, patience=HASTY) as fleet:
        fleet.run(supply)
    assert cluster.hired == ["a"]
    assert len(supply.rows) == 3


def test_a_node_of_another_kind_is_refused_and_said() -> None:
    said: list[str] = []
    supply = Questions(4, refused="two")
    cluster = Pretended({"a": Machine(), "b": Machine(kind("two"))})
    with Fleet(cluster, said.append, HASTY) as fleet:
        fleet.run(supply)
        assert fleet.members["b"].state is State.REFUSED
        assert (cluster.left, cluster.dismissed) == (["b"], [])  # another driver may want it
    assert {name for names in supply.by.values() for name in names} == {"a/0"}
    assert said == ["node host (b) is refused: not here"]


def test_a_node_with_another_polygym_is_refused() -> None:
    said: list[str] = []
    with fleet_of(said, a=Machine(), b=Machine(sources="other")) as fleet:
        assert len(fleet.assemble()) == 1
    assert "expected polygym as it is here" in said[0]


def test_a_node_that_waits_for_its_host_is_not_lost_and_said() -> None:
    """Another cluster measures on the same host for longer than a greeting may take."""
    patient, said = Machine(), []

    def texts(method: str, text: str) -> Iterator[str]:
        for _ in range(4) if method == "greet" else ():
            time.sleep(0.1)
            yield '[{"row": "waiting"}]'
        yield from Machine().texts(method, text)

    patient.texts = texts  # type: ignore[method-assign]
    with fleet_of(said, a=patient) as fleet:
        assert len(fleet.assemble()) == 1
    assert said == ["node host (a) waits: others measure on its host"]


def test_a_node_that_gives_way_to_others_is_said() -> None:
    said: list[str] = []
    with fleet_of(said, a=Machine(niceness=15), b=Machine()) as fleet:
        assert len(fleet.assemble()) == 2
    assert len(said) == 1
    assert "node host (a) gives way to all others (niceness 15)" in said[0]


def test_a_node_that_drifts_is_drained_and_said() -> None:
    def slowly(job: Json) -> Iterator[list[Json]]:
        time.sleep(0.02)
        yield from three_rows(job)

    said: list[str] = []
    machines = {"a": Machine(answer=slowly), "b": Machine(answer=slowly, clocks=[1.0, 1.5, 1.5])}
    supply = Questions(20)
    with Fleet(Pretended(machines), said.append, Patience(calibrated=0.01)) as fleet:
        fleet.run(supply)
        assert fleet.members["b"].state is State.DRAINED
        assert fleet.members["a"].state is State.FREE
    assert said == ["node host (b) is drained: its clock has drifted: 1e+03 ms at first, "
                    "1.5e+03 ms now"]  # fmt: skip


def test_a_clock_that_is_off_once_is_asked_again() -> None:
    with fleet_of(a=Machine(clocks=[1.0, 1.5, 1.0])) as fleet:
        fleet.assemble()
        member = fleet.members["a"]
        member.clocked(1.5, 1.25)
        assert member.is_due(1e9)
        member.clocked(1.0, 1.25)
        assert not member.is_due(1e9)


def test_a_silent_node_loses_its_job() -> None:
    silent = Machine()

    def falls_silent(job: Json) -> Iterator[list[Json]]:
        yield [{"row": "result", "of": job["of"], "number": 0}]
        silent.is_silent = True
        yield []

    silent.answer = falls_silent
    supply, said = Questions(3), []
    cluster = Pretended({"a": silent})
    with Fleet(cluster, said.append, HASTY) as fleet:
        fleet.assemble()
        cluster.machines["b"] = Machine()
        fleet.run(supply)
    assert set(supply.rows) == {(job, row) for job in range(3) for row in range(3)}
    assert "a" in cluster.dismissed
    assert any("nothing was heard of it" in one for one in said)


def test_a_slow_node_keeps_its_job_and_gets_fewer() -> None:
    slow, said = Machine(), []

    def pauses(job: Json) -> Iterator[list[Json]]:
        for rows in three_rows(job):
            yield rows
            slow.is_silent = True
            Timer(0.1, setattr, (slow, "is_silent", False)).start()

    slow.answer = pauses
    supply = Questions(12)
    cluster = Pretended({"a": slow, "b": Machine()})
    with Fleet(cluster, said.append, Patience(silence=60.0)) as fleet:
        fleet.run(supply)
    assert said == []
    assert sorted(supply.rows) == [(job, row) for job in range(12) for row in range(3)]
    counts = Counter(name for names in supply.by.values() for name in names)
    assert 0 < counts["a/0"] < counts["b/0"]


def test_a_node_that_joins_later_gets_work() -> None:
    def slowly(job: Json) -> Iterator[list[Json]]:
        time.sleep(0.3)
        yield from three_rows(job)

    cluster = Pretended({"a": Machine(answer=slowly)})
    supply = Questions(8)
    with Fleet(cluster, patience=HASTY) as fleet:
        fleet.assemble()
        cluster.machines["b"] = Machine()
        fleet.run(supply)
    counts = Counter(names[0] for names in supply.by.values())
    assert counts["b/0"] > 0 < counts["a/0"]


def test_a_stop_keeps_what_came_and_ends_the_jobs() -> None:
    def endless(job: Json) -> Iterator[list[Json]]:
        for number in count():
            yield [{"row": "result", "of": job["of"], "number": number}]

    supply = Questions(2)
    machine = Machine(answer=endless)
    with fleet_of(a=machine) as fleet:
        fleet.run(supply, lambda: len(supply.rows) > 5)
        assert machine.stopped == {machine.jobs[0]["job"]}
        assert not supply.under_way
        assert fleet.members["a"].state is State.FREE
    assert len(supply.rows) > 5


def test_a_job_that_does_not_stop_is_ended_with_its_worker() -> None:
    deaf = Machine()

    def sleeps(job: Json) -> Iterator[list[Json]]:
        yield [{"row": "result", "of": job["of"], "number": 0}]
        deaf.is_silent = True
        yield []

    deaf.answer = sleeps
    supply, cluster = Questions(1), Pretended({"a": deaf})
    started = time.monotonic()
    with Fleet(cluster, patience=HASTY) as fleet:
        fleet.run(supply, lambda: deaf.is_silent)
    assert time.monotonic() - started < 5
    assert cluster.dismissed[0] == "a"
    assert not supply.under_way


def test_an_empty_cluster_is_said() -> None:
    with fleet_of() as fleet, pytest.raises(InputError, match=r"measuring slot .* found none"):
        fleet.assemble()


def test_a_cluster_of_refused_nodes_is_said() -> None:
    with fleet_of(a=Machine(kind("two"))) as fleet, pytest.raises(InputError, match="not here"):
        fleet.run(Questions(1, refused="two"))


def test_rows_that_nobody_waits_for_are_dropped() -> None:
    machine = Machine()
    with fleet_of(a=machine) as fleet:
        fleet.assemble()
        member = fleet.members["a"]
        member.begin(fleet.transport.call("a", "work", '{"job": "x", "of": 1}'))
        supply = Questions(0)
        for _ in range(5):
            if member.call is not None:
                fleet._hear(supply, member)
        assert supply.rows == []


def test_closing_ends_the_workers() -> None:
    cluster = Pretended({"a": Machine(), "b": Machine()})
    with Fleet(cluster, patience=HASTY) as fleet:
        fleet.assemble()
    assert sorted(cluster.left) == ["a", "b"]
    assert cluster.dismissed == []
    assert cluster.closed
