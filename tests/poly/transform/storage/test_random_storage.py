"""Whatever the plan, the schedule and the mapping: the program leaves the same bits."""

import pytest

from polygym.programs.generate import generate_source
from tests.oracles.threads import every_loop_shared
from tests.poly.transform.storage.random_plans import (
    NOT_FITTING,
    PROGRAMS,
    REFUSED,
    STORED_PROGRAMS,
    disagreement,
)


@pytest.mark.parametrize("name", STORED_PROGRAMS)
def test_random_plans_schedules_and_mappings(name: str) -> None:
    with every_loop_shared():
        disagreements = [disagreement(name, seed, is_watched=seed % 4 == 3) for seed in range(3, 6)]
    assert [said for said in disagreements if said not in (None, NOT_FITTING, REFUSED)] == []
    assert None in disagreements


@pytest.mark.nightly
@pytest.mark.parametrize("name", PROGRAMS)
def test_many_of_them(name: str) -> None:
    with every_loop_shared():
        disagreements = [
            disagreement(name, seed, is_watched=seed % 4 == 3) for seed in range(100, 140)
        ]
    assert [said for said in disagreements if said not in (None, NOT_FITTING, REFUSED)] == []


@pytest.mark.parametrize("seed", [1])
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"random:{seed}"
    monkeypatch.setitem(PROGRAMS, name, generate_source(seed))
    assert disagreement(name, seed) in (None, NOT_FITTING, REFUSED)


@pytest.mark.parametrize("name", STORED_PROGRAMS)
def test_what_is_not_dead_is_left_as_it_was(name: str) -> None:
    disagreements = [disagreement(name, seed, with_dead=True) for seed in (200, 201)]
    assert [said for said in disagreements if said not in (None, NOT_FITTING, REFUSED)] == []
