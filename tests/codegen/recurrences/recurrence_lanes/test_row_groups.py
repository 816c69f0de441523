"""Rows that share a turned tile: families, and the cut with the least to turn."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.codegen.loopir.index_arithmetic import add_constant, coefficient
from polygym.codegen.loopir.ir import (
    Index,
    IndexConstant,
    IndexOperation,
    IndexOperator,
    IndexVariable,
)
from polygym.codegen.recurrences.recurrence_lanes.plan import (
    NearRow,
    TileFormat,
    group_rows,
    row_key_and_shift,
)

ROW, K = IndexVariable("i"), IndexVariable("k")


def times(factor: int, index: Index) -> Index:
    return IndexOperation(IndexOperator.MULTIPLY, (IndexConstant(factor), index))


def runs(shifts: list[int], height: int = 16, line: int = 8) -> list[list[int]]:
    """Return the runs of rows that access the same column."""
    rows = [NearRow(shift, 0, 0) for shift in shifts]
    return [
        [row.shift for row in run] for run in group_rows(rows, TileFormat(height, line, 64, 16))
    ]


@pytest.mark.parametrize(
    ("shifts", "expected"),
    [
        ([0], [[0]]),
        ([1, -1, 0], [[-1, 0, 1]]),  # 3 blocks in place of 6
        ([0, 100], [[0], [100]]),
        ([0, 1, 100, 102], [[0, 1], [100, 102]]),
        ([0, 8], [[0, 8]]),  # 3 in place of 4
        ([0, 9], [[0], [9]]),  # 4 either way
        ([0, 1, 8, 9], [[0, 1, 8, 9]]),  # 4; in two tiles 6, in four 8
    ],
)
def test_rows_share_a_tile_where_that_is_less_to_turn(
    shifts: list[int], expected: list[list[int]]
) -> None:
    assert runs(shifts) == expected


def test_two_rows_of_one_block_have_tiles_of_their_own_and_three_share_one() -> None:
    # 8 rows in blocks of 8: of two reads that is two blocks either way, of three two and not three.
    assert runs([0, 1], height=8) == [[0], [1]]
    assert runs([0, 1, 2], height=8) == [[0, 1, 2]]


def test_columns_far_apart_never_share_a_tile() -> None:
    room = TileFormat(16, 8, 64, 16)
    near = (NearRow(0, 0, 0), NearRow(1, 16, 16))
    far = (NearRow(0, 0, 0), NearRow(1, 17, 17))
    assert group_rows(near, room) == (near,)
    assert group_rows(far, room) == ((far[0],), (far[1],))


@given(
    st.dictionaries(
        st.integers(-40, 40),
        st.tuples(st.integers(-9, 9), st.integers(0, 9)),
        min_size=1,
        max_size=7,
    ),
    st.sampled_from([8, 16, 32]),
    st.sampled_from([4, 8, 16]),
)
def test_no_other_cut_into_runs_has_less_to_turn(
    drawn: dict[int, tuple[int, int]], height: int, line: int
) -> None:
    rows = [NearRow(shift, least, least + more) for shift, (least, more) in drawn.items()]
    room = TileFormat(height, line, 64, 16)
    near_rows = group_rows(rows, room)
    ordered = sorted(rows, key=lambda row: row.shift)
    assert [row for run in near_rows for row in run] == ordered

    def cost(cut: list[list[NearRow]]) -> int | None:
        parts = [room.transposed_elements(run) for run in cut]
        return None if None in parts else sum(part or 0 for part in parts)

    costs = []
    for count in range(len(rows)):
        for places in combinations(range(1, len(rows)), count):
            ends = (0, *places, len(rows))
            cut = [ordered[a:b] for a, b in pairwise(ends)]
            costs.append(cost(cut))
    assert cost([list(run) for run in near_rows]) == min(cost for cost in costs if cost is not None)


@pytest.mark.parametrize(
    ("subscripts", "shift"),
    [
        ((ROW,), 0),
        ((add_constant(ROW, -3),), -3),
        ((add_constant(times(2, ROW), 4),), 2),
        ((add_constant(times(-1, ROW), 5),), -5),
        ((K, add_constant(ROW, 2)), 2),
        ((add_constant(ROW, 2), add_constant(times(3, ROW), 6)), 2),
    ],
)
def test_a_shifted_row_is_another_iteration_s(subscripts: tuple[Index, ...], shift: int) -> None:
    family, offset = row_key_and_shift(subscripts, "i")
    assert offset == shift
    touch = tuple(
        add_constant(index, -shift * step)
        for index, step in zip(subscripts, _steps(subscripts), strict=True)
    )
    assert row_key_and_shift(touch, "i") == (family, 0)


def _steps(subscripts: tuple[Index, ...]) -> list[int]:
    return [coefficient(index, "i") or 0 for index in subscripts]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((times(2, ROW),), (add_constant(times(2, ROW), 1),)),  # every second row: never the same
        ((ROW,), (times(2, ROW),)),
        ((ROW, K), (ROW, add_constant(K, 1))),
        ((ROW, ROW), (add_constant(ROW, 1), ROW)),  # not along the diagonal
        ((ROW,), (IndexOperation(IndexOperator.ADD, (ROW, K)),)),
    ],
)
def test_rows_that_no_number_of_iterations_is_between_are_no_family(
    one: tuple[Index, ...], other: tuple[Index, ...]
) -> None:
    assert row_key_and_shift(one, "i")[0] != row_key_and_shift(other, "i")[0]
