"""Which loop around a sum runs in vectors: O[n, f, x] += I[n, c, x + q] * K[f, c, q]."""

from dataclasses import replace

import pytest

from polygym.codegen.tree.analysis.access_strides import AccessStrides, StrideKind
from polygym.codegen.tree.analysis.default_sizes import RegisterBlock, reduction_block
from polygym.codegen.tree.analysis.vector_choice import (
    ReadFootprint,
    ReductionShape,
    choose_vector_loop,
)
from polygym.frontend.c import parse_text
from polygym.mapping.machine import Machine
from tests.codegen.transforms.test_tile_packing import BATCHES

SAME, NEXT, FAR = StrideKind
ALONG_N = AccessStrides(FAR, (FAR, NEXT, SAME), frozenset({1}))
ALONG_F = AccessStrides(FAR, (FAR, SAME, NEXT), frozenset({2}))
ALONG_X = AccessStrides(NEXT, (NEXT, NEXT, SAME))
N, F, X = range(3)
MACHINE = Machine(vector_bits=512, registers=32)


def sum_of(n: int, f: int, x: int, terms: int = 288) -> ReductionShape:
    statement = parse_text(BATCHES).statements[1]
    moves = (ALONG_N, ALONG_F, ALONG_X)
    return ReductionShape(
        statement, moves, (n, f, x), terms, is_replaced=True, vector_bytes=64, footprints=()
    )


def best(
    shape: ReductionShape, usual: int | None = X, coincident: tuple[bool, ...] = (True,) * 3
) -> int:
    way = choose_vector_loop(shape, usual, coincident, 16, MACHINE)
    assert way is not None
    return way.vector


def test_vectors_run_where_they_are_full() -> None:
    assert best(sum_of(32, 32, 64)) == X
    assert best(sum_of(512, 32, 5)) == F
    assert best(sum_of(512, 4, 54)) == X


def test_what_is_turned_must_be_read_often() -> None:
    """Two batches of rows of 5 read each weight ten times: turning costs more than it gains."""
    assert best(sum_of(2, 32, 5)) == X
    assert best(sum_of(64, 4, 5)) == X, "neither the four channels nor the image, for n"


def test_elements_apart_are_stored_after_many_terms() -> None:
    assert best(sum_of(4096, 32, 10, terms=1000)) == F
    assert best(sum_of(4096, 32, 10, terms=2)) == X


def test_rows_that_are_not_contiguous_leave_the_channels() -> None:
    """A stride of 2, say: vectors along x could not be loaded."""
    shape = sum_of(8, 32, 27)
    strided = replace(
        shape, access_strides=(ALONG_N, ALONG_F, AccessStrides(NEXT, (NEXT, FAR, SAME)))
    )
    assert best(strided, usual=None) == F
    assert choose_vector_loop(strided, None, (False, False, True), 16, MACHINE) is None
    assert (
        choose_vector_loop(replace(strided, is_replaced=False), None, (True,) * 3, 16, MACHINE)
        is None
    )


def test_loops_that_need_the_same_vectors() -> None:
    shape = sum_of(8, 32, 5)
    assert shape.reloading_loops(F) == {N, X}
    assert shape.reloading_loops(X) == {F}


@pytest.mark.parametrize("lengths", [(0, 32, 5), (4, 0, 5), (4, 32, 0), (1, 1, 1)])
def test_loops_without_iterations(lengths: tuple[int, int, int]) -> None:
    for place in (N, F, X):
        way = sum_of(*lengths).choice(place, 16, MACHINE)
        assert way.cycles >= 0
        assert way.copies.unroll_jam >= 1
        assert way.copies.vector_copies >= 1


def test_few_registers_are_not_filled_where_llvm_needs_some() -> None:
    """What neighbouring rows share is kept in registers, too: 16 hold 4 by 2 sums beside it."""
    few = Machine(vector_bits=256, registers=16)
    shape = replace(sum_of(1, 64, 56, terms=300), vector_bytes=32)
    assert shape.choice(F, 8, few).copies == RegisterBlock(4, 2)
    assert shape.choice(X, 8, few).copies == reduction_block(64, 56, 8, few), (
        "vectors share nothing"
    )
    assert sum_of(1, 64, 56).choice(F, 16, MACHINE).copies == reduction_block(56, 64, 16, MACHINE)


def test_vectors_from_the_level_2_cache_are_used_for_many_rows() -> None:
    """Two rows of four vectors would wait for them: 128 bytes a step, in the time of eight sums."""
    few = Machine(vector_bits=256, registers=16)
    long = replace(sum_of(1, 256, 14, terms=1152), vector_bytes=32)
    assert long.choice(F, 8, few).copies == RegisterBlock(7, 1)
    assert replace(long, terms=100).choice(F, 8, few).copies == RegisterBlock(2, 4)


def test_a_block_reads_no_more_than_the_cache_holds() -> None:
    shape = sum_of(1, 512, 7, terms=2304)
    assert shape.column == 2304 * 64
    assert shape.vectors_in_cache(MACHINE) == 1
    assert shape.choice(F, 16, MACHINE).copies.vector_copies == 1


def test_one_vector_may_have_more_of_the_cache() -> None:
    """Of 512 KB half for several, three quarters for one alone."""
    assert sum_of(1, 512, 7, terms=4608).vectors_in_cache(MACHINE) == 1
    assert sum_of(1, 512, 7, terms=6144).vectors_in_cache(MACHINE) == 1
    assert sum_of(1, 512, 7, terms=6145).vectors_in_cache(MACHINE) == 0


# The statement reads the element itself, the image, and the weights.
NOTHING = ReadFootprint(0, 0)


def test_what_does_not_stay_is_read_again() -> None:
    """Weights of 2.4 MB for each of 14 rows: vectors along the channels read them once."""
    shape = sum_of(14, 256, 14, terms=2304)
    image, weights = ReadFootprint(9216, 262144), ReadFootprint(9216, 256 * 9216)
    far = replace(shape, footprints=(NOTHING, image, weights))
    there, here = (reduction_shape.choice(X, 16, MACHINE) for reduction_shape in (shape, far))
    assert here.copies == there.copies
    assert here.cycles - there.cycles == pytest.approx(13 * weights.array / 32 / (14 * 256 * 14))
    assert shape.choice(F, 16, MACHINE) == far.choice(F, 16, MACHINE), "tiles of copies stay"
    assert best(far) == F
    near = replace(shape, footprints=(NOTHING, image, ReadFootprint(9216, 262144)))
    assert near.choice(X, 16, MACHINE) == there, "half of the cache"
    once = replace(shape, lengths=(1, 256, 14), footprints=far.footprints)
    without = replace(once, footprints=())
    assert once.choice(X, 16, MACHINE) == without.choice(X, 16, MACHINE), "one row"


def test_loops_that_need_the_same_vectors_are_inside() -> None:
    """Vectors along x, 64 f: the image of each n stays for all blocks of f, and is read once."""
    shape = sum_of(64, 64, 16, terms=2304)
    image = ReadFootprint(9216, 64 * 16 * 9216)
    far = replace(shape, footprints=(NOTHING, image, NOTHING))
    assert far.choice(X, 16, MACHINE) == shape.choice(X, 16, MACHINE)
    larger = replace(far, footprints=(NOTHING, ReadFootprint(36864, 64 * 16 * 36864), NOTHING))
    blocks = 64 / larger.choice(X, 16, MACHINE).copies.unroll_jam
    more = larger.choice(X, 16, MACHINE).cycles - shape.choice(X, 16, MACHINE).cycles
    assert more == pytest.approx((blocks - 1) * 64 * 16 * 36864 / 32 / (64 * 64 * 16))
