"""Mappings as numbers: a column for every entry."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polygym.cost.features.candidates.candidate_vector import MAPPING_COLUMNS, mapping_vector
from polygym.mapping.mapping import Mapping, WorkSharing, parse_mapping

START = parse_mapping("threads=2 tile=32x8 vector_bits=256 vector_copies=2 unroll_jam=4")


def differing(one: Mapping, other: Mapping) -> set[str]:
    pairs = zip(MAPPING_COLUMNS, mapping_vector(one), mapping_vector(other), strict=True)
    return {name for name, a, b in pairs if a != b}


@pytest.mark.parametrize(
    ("changed", "columns"),
    [
        (replace(START, tile=(32, 16)), {"tile_1"}),
        (replace(START, tile=(32,)), {"tile_1"}),
        (replace(START, tile=None), {"tile_0", "tile_1", "tile_is_free"}),
        (replace(START, outer_tile=(4,)), {"outer_tile_0"}),
        (replace(START, vector_bits=0), {"vector_bits"}),
        (replace(START, vector_bits=None), {"vector_bits"}),
        (replace(START, vector_copies=None), {"vector_copies"}),
        (replace(START, unroll_jam=1), {"unroll_jam"}),
        (replace(START, parallel=next(kind for kind in WorkSharing if kind is not START.parallel)),
         {"parallel"}),
        *((replace(START, **{name: not getattr(START, name)}), {name})
          for name in ("sink", "separate", "scalar_replacement", "pack", "wavefront", "diamond")),
    ],
)  # fmt: skip
def test_an_entry_has_a_column(changed: Mapping, columns: set[str]) -> None:
    assert differing(START, changed) == columns


def test_tiles_come_first() -> None:
    assert mapping_vector(START)[:3].tolist() == [32.0, 8.0, 0.0]


def test_more_tiles_than_columns_are_cut_off() -> None:
    floats = mapping_vector(replace(START, tile=(1, 2, 3, 4, 5, 6, 7, 8)))
    assert floats.shape == mapping_vector(START).shape == (len(MAPPING_COLUMNS),)
    assert np.isfinite(floats).all()
