"""The collector looks less often while searches run, and as often as before afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from polygym.search.planning import PlanningLimits, explore
from polygym.search.planning.gc_thresholds import reduced_gc


@pytest.fixture(autouse=True)
def as_usual() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


class Counting:
    """A chain of numbers, and how often the collector was to look as they were made."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def successors(self, state: int) -> list[int]:
        self.seen.add(gc.get_threshold()[0])
        return [state + 1]

    def cost(self, state: int) -> float:
        return float(-state)

    def key(self, state: int) -> int:
        return state

    def features(self, state: int) -> int:
        return state


def test_a_search_has_it_look_rarely() -> None:
    system = Counting()
    explore("astar", system, 0, PlanningLimits(3, 10))
    assert min(system.seen) > 700
    assert gc.get_threshold() == (700, 10, 10)


def test_searches_within_searches() -> None:
    with reduced_gc():
        with reduced_gc():
            inner = gc.get_threshold()
        assert gc.get_threshold() == inner != (700, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("said", [(0, 10, 10), (10**6, 10, 10)])
def test_what_was_said_holds(said: tuple[int, int, int]) -> None:
    gc.set_threshold(*said)
    with reduced_gc():
        assert gc.get_threshold() == said
    assert gc.get_threshold() == said


def test_an_error_puts_it_back() -> None:
    with pytest.raises(ValueError, match="no"), reduced_gc():
        raise ValueError("no")
    assert gc.get_threshold() == (700, 10, 10)
