"""The steps of the mapping one by one, each with a case that it must refuse."""

from dataclasses import replace

import pytest

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP as ALONE
from polygym.codegen.common.loop_annotation import ParallelLoop, UnrollAndJam
from polygym.codegen.tree.analysis.access_strides import AccessStrides, StrideKind
from polygym.codegen.tree.analysis.default_sizes import (
    default_tile_sizes,
    enlarged_row_tiles,
    whole_row_tiles,
)
from polygym.codegen.tree.analysis.loop_roles import LoopRoles
from polygym.codegen.tree.analysis.scalar_replacement import replaceable
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.inner_loops.arrangement import is_recurrence
from polygym.codegen.tree.ir import Band, BandMember, FlooredRow, Leaf, SequenceNode, point_member
from polygym.codegen.tree.loop_context import LoopContext
from polygym.codegen.tree.planning.tile_sizes import TiledBand, outer_band_sizes
from polygym.codegen.tree.transforms.parallelization import Parallelizer
from polygym.codegen.tree.transforms.sinking import interchange_inward, sink_points
from polygym.codegen.tree.transforms.tiling import (
    coincident_first,
    diamond_member,
    tile_bands,
    tile_members,
    wavefront_members,
)
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.distance import all_pairs
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule, ScheduleRow, parse_schedule
from polygym.poly.scheduling.baselines import original_schedule

# Rows over the iterators (i, j), without parameters.
FIRST, SECOND = ScheduleRow((1, 0), (), 0), ScheduleRow((0, 1), (), 0)

STENCIL = """
void step(int T, int n, double A[T + 1][n]) {
#pragma scop
  for (int t = 0; t < T; t++)
    for (int x = 1; x < n - 1; x++)
      A[t + 1][x] = A[t][x - 1] + A[t][x + 1];
#pragma endscop
}
"""

SWEEP = """
void sweep(int n, double A[n][n]) {
#pragma scop
  for (int i = 1; i < n; i++)
    for (int j = 1; j < n; j++)
      A[i][j] = A[i - 1][j] + A[i][j - 1];
#pragma endscop
}
"""

LU = """
void lu(int n, double A[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = i; j < n; j++)
      for (int k = 0; k < i; k++)
S:      A[i][j] -= A[i][k] * A[k][j];
#pragma endscop
}
"""


def around(scop: Scop, schedule: Schedule) -> LoopContext:
    names = tuple(part.statement for part in schedule.statements)
    return LoopContext(all_pairs(scop), {name: () for name in names}, schedule.parameters)


def band_of(scop: Scop, schedule: Schedule) -> Band:
    tree = build_tree(LegalSchedule(scop, schedule))
    assert isinstance(tree, Band)
    return tree


def test_tiles_divide_and_leave_out_what_stays_whole() -> None:
    members = (point_member((FIRST,), coincident=True), point_member((SECOND,), coincident=False))
    (tile,) = tile_members(members, (32, 1))
    assert tile.terms == (FlooredRow((FIRST,), 32),)
    assert tile.coincident
    assert [tile.coincident for tile in tile_members(members, (4, 4))] == [True, False]
    assert tile_members(members, (1, 1)) == ()


def test_coincident_members_come_first_and_keep_their_order() -> None:
    members = [
        point_member((row,), coincident=flag)
        for row, flag in [(FIRST, False), (SECOND, True), (FIRST, True)]
    ]
    assert coincident_first(members) == (members[1], members[2], members[0])


def test_a_wavefront_is_a_sum_of_tiles() -> None:
    first, second = tile_members(
        (point_member((FIRST,), False), point_member((SECOND,), False)), (8, 16)
    )
    diagonal, other = wavefront_members((first, second))
    assert diagonal.terms == (FlooredRow((FIRST,), 8), FlooredRow((SECOND,), 16))
    assert (diagonal.coincident, other.coincident) == (False, True)
    assert other.terms == second.terms


def test_diamonds_where_the_other_diagonal_is_legal_as_well() -> None:
    scop = parse_text(STENCIL)
    name = scop.statements[0].name
    names = ", ".join(parameter.name for parameter in scop.parameters)
    schedule = parse_schedule(f"[{names}] -> {{ {name}[t, x] -> [t, t + x] }}", scop)
    band = band_of(scop, schedule)
    diamond = diamond_member(*band.members, band.statements, around(scop, schedule))
    assert diamond is not None
    # t and t + x: 2t - (t + x) = t - x goes forward too, and t - (t + x) = -x does not.
    assert diamond.rows[0].iterators == (1, -1)


def test_no_diamond_where_one_neighbour_waits_in_the_same_step() -> None:
    scop = parse_text(SWEEP)
    schedule = original_schedule(scop)
    band = band_of(scop, schedule)
    # c·i - j goes back by 1 from A[i][j - 1], whatever c is.
    assert diamond_member(*band.members, band.statements, around(scop, schedule)) is None


def test_what_registers_may_hold_is_decided_exactly() -> None:
    scop = parse_text(LU)
    i, j = (ScheduleRow(tuple(int(p == q) for p in range(3)), (0,), 0) for q in range(2))
    assert replaceable(scop, ["S"], ["S"], {"S": [i, j]}) == {"S"}
    with_equal = parse_text(LU.replace("k < i", "k <= i"))
    assert replaceable(with_equal, ["S"], ["S"], {"S": [i, j]}) == frozenset()


@pytest.mark.parametrize(("text", "waits"), [(SWEEP, True), (STENCIL, False)])
def test_chains(text: str, waits: bool) -> None:
    scop = parse_text(text)
    schedule = original_schedule(scop)
    assert is_recurrence(band_of(scop, schedule), around(scop, schedule)) is waits


def test_tile_sizes_of_a_product_follow_the_cache() -> None:
    members = [
        point_member((FIRST,), True),
        point_member((SECOND,), True),
        point_member((FIRST,), False),
    ]
    same, near = StrideKind.ZERO, StrideKind.UNIT
    table = [
        {"S": AccessStrides(write, reads)}
        for write, reads in [(near, (same,)), (near, (same, near)), (same, (near, same))]
    ]
    roles = LoopRoles(vector=1, reduction=2, jammed=0)
    wide = []
    for level_2 in (256 << 10, 1 << 20):
        sizes = default_tile_sizes(
            members, table, roles, 8, Machine(level_2=level_2), rewarding=True
        )
        assert sizes[0] < sizes[2]
        wide.append(sizes[1] * sizes[2] * 8)
        assert wide[-1] <= level_2 // 2
    assert wide[1] == 4 * wide[0]
    # Few rows stay together where there are columns enough for threads, and what they read fits.
    machine = Machine(level_2=1 << 20)
    for rows, columns, whole in [(128, 8192, True), (128, 1024, False), (500, 8192, False)]:
        tiles = whole_row_tiles(sizes, roles, (rows, columns, 4096), 8, machine, threads=2)
        assert tiles == ((rows, *sizes[1:]) if whole else sizes)
    steep = [point_member((ScheduleRow((17, 10), (), 0),), True), *members[1:]]
    assert default_tile_sizes(steep, table, roles, 8, Machine(), rewarding=True) == (1, 1, 1)


@pytest.mark.rotates
@pytest.mark.parametrize("threads", [1, 2, 3, 16])
@pytest.mark.parametrize("length", [1, 63, 64, 65, 200, 257, 800, 1000, 1201, 5000])
def test_tiles_of_many_rows_are_shared_out(length: int, threads: int) -> None:
    sizes, roles = (64, 128, 256), LoopRoles(vector=1, reduction=2, jammed=0)
    rows, *others = enlarged_row_tiles(sizes, roles, length, threads, are_even=True)
    assert others == [128, 256]
    assert 64 <= rows <= 256
    assert rows % 8 == 0
    if rows > 64:  # as many tiles for each thread, two where there are several
        tiles = -(-length // rows)
        most = -(-tiles // threads)
        assert most >= (1 if threads == 1 else 2)
        assert most * rows <= length / threads + 8 * most
    alone = threads == 1
    uneven = enlarged_row_tiles(sizes, roles, length, threads, are_even=False)
    assert uneven == ((rows, *others) if alone else sizes)


def test_other_bands_keep_the_tiles_that_they_have() -> None:
    roles = LoopRoles(vector=1, reduction=2, jammed=0)
    for sizes in ((64, 128, 1), (32, 64, 128, 256), (64, 128)):
        assert enlarged_row_tiles(sizes, roles, 1000, 1, are_even=True) == sizes
    without = LoopRoles(vector=1, reduction=2, jammed=None)
    assert enlarged_row_tiles((64, 128, 256), without, 1000, 1, are_even=True) == (64, 128, 256)


IMPERFECT = """
void f(int n, double A[n][n], double x[n], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
S:  y[i] = 0;
    for (int j = 0; j < n; j++)
T:    y[i] += A[i][j] * x[j];
  }
#pragma endscop
}
"""

BACK = """
void f(int n, double a[n + 1], double b[n + 1], double c[n][n]) {
#pragma scop
  for (int i = 1; i < n; i++) {
S:  a[i] = b[i - 1];
    for (int j = 0; j < n; j++)
T:    b[i] += a[i] * c[i][j];
  }
#pragma endscop
}
"""

TWO_SUMS = """
void f(int n, int m, double C[n], double A[m][m][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int k = 0; k < m; k++)
      for (int l = 0; l < k; l++)
S:      C[i] = C[i] * 0.5 + A[k][l][i];
#pragma endscop
}
"""


def first_band(text: str) -> tuple[Band, LoopContext]:
    scop = parse_text(text)
    schedule = original_schedule(scop)
    return band_of(scop, schedule), around(scop, schedule)


def test_points_sink_into_the_branches_and_join_their_bands() -> None:
    band, outside = first_band(IMPERFECT)
    branches = sink_points(band, outside)
    assert branches is not None
    first, second = branches
    assert (first.band.statements, first.own_members) == (("S",), 0)
    assert (second.band.statements, second.own_members) == (("T",), 1)
    assert [m.rows[0].iterators for m in second.band.members] == [(1, 0), (0, 1)]
    assert [m.coincident for m in second.band.members] == [True, False]


def test_points_do_not_sink_where_a_later_branch_is_needed_first() -> None:
    band, outside = first_band(BACK)
    assert isinstance(band.child, SequenceNode)
    assert sink_points(band, outside) is None


def test_points_sink_only_into_sequences() -> None:
    assert sink_points(*first_band(TWO_SUMS)) is None


def test_points_stay_above_members_that_are_not_permutable_with_them() -> None:
    """T: A[i][j] needs A[i - 1][j + 1] along the second loop: j may not run outside i."""
    text = IMPERFECT.replace("y[i] += A[i][j] * x[j]", "A[i][j] = A[i - 1][j + 1]")
    text = text.replace("int i = 0", "int i = 1").replace("j < n;", "j < n - 1;")
    band, outside = first_band(text)
    branches = sink_points(band, outside)
    assert branches is not None
    second = branches[1]
    assert second.own_members == 0
    assert isinstance(second.band.child, Band)
    assert len(second.band.members) == 1


def test_independent_loops_run_through_those_that_stay() -> None:
    scop = parse_text(TWO_SUMS)
    schedule = parse_schedule("[n, m] -> { S[i, k, l] -> [k, i, l] }", scop)
    band = band_of(scop, schedule)
    outside = around(scop, schedule)
    assert isinstance(band.child, Band), "the sums over k and l are no band"
    interchange = interchange_inward(band, outside)
    assert interchange is not None
    assert interchange.moved_positions == (1,)
    assert [m.rows[0].iterators for m in interchange.staying_members] == [(0, 1, 0)]
    assert [m.rows[0].iterators for m in interchange.inner_band.members] == [(1, 0, 0), (0, 0, 1)]
    assert [m.coincident for m in interchange.inner_band.members] == [True, False]


def test_nothing_runs_through_where_every_loop_waits() -> None:
    scop = parse_text(TWO_SUMS.replace("C[i] * 0.5", "C[0] * 0.5").replace("C[i]", "C[0]"))
    schedule = original_schedule(scop)
    band = band_of(scop, schedule)
    assert not any(member.coincident for member in band.members)
    assert interchange_inward(band, around(scop, schedule)) is None


def leveled(text: str, schedule: str, mapping: str, sizes: tuple[int, ...]) -> list[list[str]]:
    """Return levels of tiles as the sizes of their parts, coincident ones with a star."""
    scop = parse_text(text)
    order = parse_schedule(schedule, scop)
    band = band_of(scop, order)
    members = tile_bands(
        band.members, sizes, band.statements, parse_mapping(mapping), around(scop, order)
    )
    return [
        ["+".join(str(part.size) for part in m.terms) + "*" * m.coincident for m in level]
        for level in members
    ]


SKEWED = "[T, n] -> { S0[t, x] -> [t, t + x] }"


@pytest.mark.parametrize(
    ("mapping", "sizes", "expected"),
    [
        ("threads=2 diamond=off", (8, 16), [["8+16", "16*"]]),
        ("threads=2", (8, 16), [["16+16", "16*"]]),
        ("threads=2 diamond=off outer_tile=2x4", (8, 16), [["16+64", "64*"], ["8", "16"]]),
        ("threads=2 wavefront=off", (8, 16), [["8", "16"]]),
        ("threads=1", (8, 16), [["8", "16"]]),
        ("threads=2", (8, 1), [["8"]]),
        ("threads=2", (1, 1), []),
    ],
)
def test_levels_of_tiles(mapping: str, sizes: tuple[int, ...], expected: list[list[str]]) -> None:
    assert leveled(STENCIL, SKEWED, mapping, sizes) == expected


def threads(mapping: str, **sizes: int) -> Parallelizer:
    scop = parse_text(SWEEP)
    return Parallelizer(scop, parse_mapping(mapping), ("n",), sizes or None)


def test_only_the_outermost_coincident_loop_is_shared_out() -> None:
    rows = (ScheduleRow((1, 0), (0,), 0), ScheduleRow((0, 1), (0,), 0))
    members = tuple(point_member((row,), coincident=True) for row in rows)
    tree = Band(("S0",), (), Band(("S0",), members, Leaf()))
    static = threads("threads=2 parallel=static")
    shared = static.parallelize_tree(tree, parallel=False)
    assert isinstance(shared, Band)
    assert [m.annotation for m in shared.members] == [ParallelLoop(is_dynamic=False), ALONE]
    assert static.parallelize_tree(tree.child, parallel=True) == tree.child
    waiting = (
        point_member((rows[0],), coincident=False),
        replace(members[1], annotation=UnrollAndJam(4)),
    )
    assert static.parallelize_members(("S0",), waiting, parallel=False) == (waiting, False)
    assert threads("threads=1").parallelize_members(("S0",), members, parallel=False) == (
        members,
        False,
    )


def test_threads_get_a_loop_that_is_long_enough() -> None:
    # i and j run from 1 to n - 1; i + j takes more values, their tiles take fewer.
    long = point_member((ScheduleRow((1, 1), (0,), 0),), coincident=True)
    short = point_member((ScheduleRow((1, 0), (0,), 0),), coincident=True)
    (band_member,) = tile_members((short,), (64,))

    def chosen(members: tuple[BandMember, ...], mapping: str, **sizes: int) -> list[bool]:
        band_members, _ = threads(mapping, **sizes).parallelize_members(
            ("S0",), members, parallel=False
        )
        return [isinstance(member.annotation, ParallelLoop) for member in band_members]

    assert chosen((short, long), "threads=4", n=5) == [True, False]
    assert chosen((short, long), "threads=5", n=5) == [False, True]
    assert chosen((short, long), "threads=50", n=5) == [False, True], "the longest"
    assert chosen((band_member, short), "threads=2", n=60) == [False, True]
    assert chosen((band_member, short), "threads=2", n=70) == [True, False]
    assert chosen((band_member,), "threads=2", n=60) == [False], "what is inside may do"
    assert chosen((band_member, short), "threads=2") == [True, False], "any size"


def test_bands_above_others_are_tiled_when_asked_or_for_a_wavefront() -> None:
    members = [point_member((row,), coincident=False) for row in (FIRST, SECOND)]
    band = Band(("S0",), tuple(members), Leaf())
    outside, scop = LoopContext((), {"S0": ()}, ()), parse_text(SWEEP)
    untiled = (1, 1)

    def sizes(text: str, band: Band = band, tiled: tuple[int, ...] = untiled) -> tuple[int, ...]:
        return outer_band_sizes(TiledBand(band, tiled, outside), parse_mapping(text), scop)

    assert sizes("tile=8x16") == (8, 16)
    assert sizes("default") == untiled, "tiles gain nothing here without threads"
    assert min(sizes("threads=2")) > 1
    assert sizes("threads=2 wavefront=off") == untiled
    assert sizes("threads=2 tile=off") == untiled
    assert sizes("tile=8x1") == untiled, "tiles of one loop change no order"
    assert sizes("tile=8", tiled=(8, 1)) == untiled
    parallel = replace(band, members=(replace(members[0], coincident=True), members[1]))
    assert sizes("threads=2", parallel) == untiled
