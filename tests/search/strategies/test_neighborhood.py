"""Changes of a mapping: every entry, nothing else, as the seed says."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping, parse_mapping
from polygym.search.strategies.neighborhood import (
    initial_variants,
    mutate_mapping,
    sample_parent,
    sample_value,
    searchable_options,
    tile_sizes,
)

THREADED = {"parallel", "wavefront", "diamond"}
FIXED = {"nests", "threads", "reassociate"}


@pytest.mark.parametrize("threads", [1, 4])
def test_every_entry_of_a_mapping_can_be_rolled_but_what_is_given(threads: int) -> None:
    named = set(asdict(DEFAULT_MAPPING)) - FIXED - (set() if threads > 1 else THREADED)
    assert set(searchable_options(threads)) == named


@settings(deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(
        [DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping(threads=3), parse_mapping("tile=4x8x16")]
    ),
)
def test_a_change_is_of_one_entry_and_can_be_written(seed: int, mapping: Mapping) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(5):
        before, mapping = mapping, mutate_mapping(mapping, rng)
        others = [name for name in asdict(before) if asdict(before)[name] != asdict(mapping)[name]]
        assert len(others) <= 1
        assert not set(others) & FIXED
        assert before.threads > 1 or not set(others) & THREADED
        assert parse_mapping(str(mapping)) == mapping


@settings(deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(1, 3000), max_size=4), st.integers(1, 6))
def test_what_is_rolled_can_be_written(seed: int, sizes: list[int], depth: int) -> None:
    rng, tiles = np.random.default_rng(seed), tile_sizes(sizes)
    values = {name: sample_value(name, tiles, depth, rng) for name in searchable_options(2)}
    mapping = replace(Mapping(threads=2), **values)
    assert parse_mapping(str(mapping)) == mapping
    assert len(mapping.tile or ()) <= depth
    assert set(mapping.tile or ()) <= set(tiles)


def test_orders_are_among_what_is_drawn() -> None:
    rng = np.random.default_rng(1)
    orders = [sample_value("order", (1,), 3, rng) for _ in range(400)]
    assert {len(order) for order in orders} == {0, 1, 2}
    assert 200 < orders.count(()) < 360
    assert {loop for order in orders for loop in order} == {1, 2, 3}
    variants = {mutate_mapping(parse_mapping("order=2"), rng).order for _ in range(400)}
    assert {(), (1,), (2,), (3,)} <= variants
    assert any(len(variant) == 2 for variant in variants)


def test_tiles_leave_small_rests() -> None:
    for size in range(1, 200):
        tiles = tile_sizes([size])
        assert {size, -(-size // 2), -(-size // 3), 1} <= set(tiles)
        assert tiles == tuple(sorted(set(tiles)))
        assert max(tiles) <= size


def test_ideas_are_others_each_once() -> None:
    for start in (
        DEFAULT_MAPPING,
        SEQUENTIAL_MAPPING,
        Mapping(threads=2),
        parse_mapping("tile=32 pack=off"),
    ):
        mappings = initial_variants(start)
        assert len(set(mappings)) == len(mappings) > 10
        assert start not in mappings
        assert {mapping.threads for mapping in mappings} == {start.threads}


def test_the_best_is_changed_half_of_the_time() -> None:
    rng = np.random.default_rng(0)
    places = [sample_parent(9, rng) for _ in range(2000)]
    assert set(places) == {0, 1, 2, 3}
    assert 900 < places.count(0) < 1100
    assert 400 < places.count(1) < 600
    assert {sample_parent(1, rng) for _ in range(20)} == {0}


def test_ideas_and_changes_keep_what_is_said_of_nests() -> None:
    start = parse_mapping("threads=2 mydefault:tile=8 S1:parallel=static")
    mappings = initial_variants(start)
    assert all(mapping.nests in (start.nests, ()) for mapping in mappings)
    assert sum(mapping.nests == () for mapping in mappings) <= 1  # the order of the text as it is
    rng, mapping = np.random.default_rng(0), start
    for _ in range(200):
        mapping = mutate_mapping(mapping, rng)
        assert mapping.nests == start.nests
