"""The collector looks less often while searches run, and as often as before afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from polygym.search.planning import Plan, explore
from polygym.search.planning.memory import collecting_rarely


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
    explore("astar", system, 0, Plan(3, 10))
    assert min(system.seen) > 700
    assert gc.get_threshold() == (700, 10, 10)


def test_searches_within_searches() -> None:
    with collecting_rarely():
        with collecting_rarely():
            inner = gc.get_threshold()
        assert gc.get_threshold() == inner != (700, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("said", [(0, 10, 10), (10**6, 10, 10)])
def test_what_was_said_holds(said: tuple[int, int, int]) -> None:
    gc.set_threshold(*said)
    with collecting_rarely():
        assert gc.get_threshold() == said
    assert gc.get_threshold() == said


def test_an_error_puts_it_back() -> None:
    with pytest.raises(ValueError, match="no"), collecting_rarely():
        raise ValueError("no")
    assert gc.get_threshold() == (700, 10, 10)
