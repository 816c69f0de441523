"""Answers that are remembered are those that would be worked out, and no more are worked out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping, WorkSharing
from polygym.mapping.mapping_memo import MappingMemo
from polygym.search.strategies.neighborhood import mutate_mapping

QUESTIONS: tuple[Callable[[Mapping], Any], ...] = (
    lambda one: one.tile,
    lambda one: one.tile_for(1),
    lambda one: one.tile_for(2),
    lambda one: one.outer_tile_for(3),
    lambda one: one.is_tiled,
    lambda one: one.sink,
    lambda one: one.diamond,
    lambda one: one.is_parallel,
    lambda one: one.keeps_schedule_order,
    lambda one: one.vector_bits_on(512),
    lambda one: one.unroll_jam,
    lambda one: one.vector_copies,
    lambda one: one.for_nest(("S0",)),
    lambda one: one.for_nest(("S0", "S1")),
)


class Asking:
    """Asks a mapping one question after the other; which comes next depends on what was said."""

    def __init__(self, seed: int, length: int) -> None:
        self.seed, self.length = seed, length
        self.count = 0

    def __call__(self, mapping: Mapping) -> tuple[Any, ...]:
        self.count += 1
        said: tuple[Any, ...] = ()
        for _ in range(self.length):
            rng = np.random.default_rng([self.seed, *repr(said).encode()])
            said = (*said, QUESTIONS[int(rng.integers(len(QUESTIONS)))](mapping))
        return said


def walk(seed: int, count: int) -> list[Mapping]:
    """Return mappings that differ by little from those before."""
    rng = np.random.default_rng(seed)
    mappings = [replace(DEFAULT_MAPPING, threads=2)]
    while len(mappings) < count:
        mappings.append(mutate_mapping(mappings[int(rng.integers(len(mappings)))], rng))
    return mappings


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(0, 8), st.integers(0, 1000))
def test_an_answer_is_the_one_that_would_be_worked_out(seed: int, length: int, rng: int) -> None:
    asking, again = Asking(seed, length), Asking(seed, length)
    answers: MappingMemo[tuple[Any, ...]] = MappingMemo()
    for mapping in walk(rng, 60):
        assert answers.get_or_compute(mapping, asking) == again(mapping)
    # Whoever says the same to the same questions is asked once.
    assert asking.count == len({again(mapping) for mapping in walk(rng, 60)})


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(0, 1000))
def test_answers_that_are_made_of_answers(seed: int, rng: int) -> None:
    """What an inner answer depends on, the outer one depends on, remembered or not."""
    inner = [Asking(seed + place, 3) for place in range(3)]
    known: list[MappingMemo[Any]] = [MappingMemo() for _ in inner]
    outer: MappingMemo[Any] = MappingMemo()

    def whole(mapping: Mapping) -> tuple[Any, ...]:
        return (
            mapping.pack,
            *(a.get_or_compute(mapping, one) for a, one in zip(known, inner, strict=True)),
        )

    for mapping in walk(rng, 60):
        expected = (mapping.pack, *(asking(mapping) for asking in inner))
        assert outer.get_or_compute(mapping, whole) == expected


def test_what_is_not_asked_does_not_matter() -> None:
    answers: MappingMemo[int] = MappingMemo()
    made: list[str] = []

    def answer(mapping: Mapping) -> int:
        made.append(str(mapping.sink))
        return 1 if mapping.sink else (mapping.tile_for(2) or (0,))[0]

    def ask(**entries: Any) -> int:
        return answers.get_or_compute(Mapping(**entries), answer)

    assert ask() == ask(tile=(32,)) == ask(diamond=False, parallel=WorkSharing.STATIC) == 1
    assert len(made) == 1
    assert ask(sink=False) == 0
    assert ask(sink=False, tile=(8,)) == ask(sink=False, tile=(8, 8)) == 8
    assert ask(sink=False, tile=(8, 8, 64)) == 8
    assert len(made) == 3
    assert ask(sink=False, tile=(16,)) == 16
    assert len(made) == 4


def test_an_error_is_no_answer() -> None:
    answers: MappingMemo[int] = MappingMemo()

    def fails(mapping: Mapping) -> int:
        raise ValueError(mapping.tile)

    for _ in range(2):
        with pytest.raises(ValueError, match="None"):
            answers.get_or_compute(DEFAULT_MAPPING, fails)
    assert answers.get_or_compute(DEFAULT_MAPPING, lambda mapping: 3 if mapping.sink else 4) == 3


def test_a_watched_mapping_is_a_mapping() -> None:
    """It says what it is made of says; asking for all of it is asking every question."""
    seen: list[tuple[str, Any, bool]] = []

    def answer(mapping: Mapping) -> str:
        seen.append((str(mapping), replace(mapping, threads=3), isinstance(mapping, Mapping)))
        return str(mapping)

    answers: MappingMemo[str] = MappingMemo()
    one = Mapping(threads=2, tile=(4, 8))
    assert answers.get_or_compute(one, answer) == "threads=2 tile=4x8"
    assert seen == [("threads=2 tile=4x8", replace(one, threads=3), True)]
    assert answers.get_or_compute(DEFAULT_MAPPING, answer) == "default"


def test_memory_is_bounded() -> None:
    answers: MappingMemo[int] = MappingMemo(8)
    for size in (*range(1, 60), *range(1, 60)):
        assert (
            answers.get_or_compute(Mapping(tile=(size,)), lambda mapping: (mapping.tile or (0,))[0])
            == size
        )
        assert len(answers) <= 8
