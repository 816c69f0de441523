"""The steps of the mapping one by one, each with a case that it must refuse."""

from dataclasses import replace

import pytest

from polygym.compiler.codegen.common.loop_annotation import SEQUENTIAL as ALONE
from polygym.compiler.codegen.common.loop_annotation import Jam, Parallel
from polygym.compiler.codegen.common.machine import Machine
from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.codegen.trees.build import build_tree
from polygym.compiler.codegen.trees.chain import is_chain
from polygym.compiler.codegen.trees.hold import holdable
from polygym.compiler.codegen.trees.levels import levels
from polygym.compiler.codegen.trees.model import few_rows, more_rows, tile_sizes
from polygym.compiler.codegen.trees.moves import Move, Moves
from polygym.compiler.codegen.trees.part import Part
from polygym.compiler.codegen.trees.roles import Roles
from polygym.compiler.codegen.trees.share import Threads
from polygym.compiler.codegen.trees.sink import sink
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.through import run_through
from polygym.compiler.codegen.trees.tile import coincident_first, tiles
from polygym.compiler.codegen.trees.tile_choice import sizes_above
from polygym.compiler.codegen.trees.tree import Band, Leaf, Member, Sequence, point
from polygym.compiler.codegen.trees.wavefront import diamond, wavefront
from polygym.compiler.frontend.c import parse_text
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.distance import all_pairs
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Row, Schedule, parse

# Rows over the iterators (i, j), without parameters.
FIRST, SECOND = Row((1, 0), (), 0), Row((0, 1), (), 0)

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


def around(scop: Scop, schedule: Schedule) -> Surroundings:
    names = tuple(part.statement for part in schedule.statements)
    return Surroundings(all_pairs(scop), {name: () for name in names}, schedule.parameters)


def band_of(scop: Scop, schedule: Schedule) -> Band:
    tree = build_tree(LegalSchedule(scop, schedule))
    assert isinstance(tree, Band)
    return tree


def test_tiles_divide_and_leave_out_what_stays_whole() -> None:
    members = (point((FIRST,), coincident=True), point((SECOND,), coincident=False))
    (tile,) = tiles(members, (32, 1))
    assert tile.parts == (Part((FIRST,), 32),)
    assert tile.coincident
    assert [tile.coincident for tile in tiles(members, (4, 4))] == [True, False]
    assert tiles(members, (1, 1)) == ()


def test_coincident_members_come_first_and_keep_their_order() -> None:
    members = [
        point((row,), coincident=flag)
        for row, flag in [(FIRST, False), (SECOND, True), (FIRST, True)]
    ]
    assert coincident_first(members) == (members[1], members[2], members[0])


def test_a_wavefront_is_a_sum_of_tiles() -> None:
    first, second = tiles((point((FIRST,), False), point((SECOND,), False)), (8, 16))
    diagonal, other = wavefront((first, second))
    assert diagonal.parts == (Part((FIRST,), 8), Part((SECOND,), 16))
    assert (diagonal.coincident, other.coincident) == (False, True)
    assert other.parts == second.parts


def test_diamonds_where_the_other_diagonal_is_legal_as_well() -> None:
    scop = parse_text(STENCIL)
    name = scop.statements[0].name
    names = ", ".join(parameter.name for parameter in scop.parameters)
    schedule = parse(f"[{names}] -> {{ {name}[t, x] -> [t, t + x] }}", scop)
    band = band_of(scop, schedule)
    found = diamond(
        *band.members, band.statements, around(scop, schedule).pairs, schedule.parameters
    )
    assert found is not None
    # t and t + x: 2t - (t + x) = t - x goes forward too, and t - (t + x) = -x does not.
    assert found.rows[0].iterators == (1, -1)


def test_no_diamond_where_one_neighbour_waits_in_the_same_step() -> None:
    scop = parse_text(SWEEP)
    schedule = original(scop)
    band = band_of(scop, schedule)
    pairs = around(scop, schedule).pairs
    # c·i - j goes back by 1 from A[i][j - 1], whatever c is.
    assert diamond(*band.members, band.statements, pairs, schedule.parameters) is None


def test_what_registers_may_hold_is_decided_exactly() -> None:
    scop = parse_text(LU)
    i, j = (Row(tuple(int(p == q) for p in range(3)), (0,), 0) for q in range(2))
    assert holdable(scop, ["S"], ["S"], {"S": [i, j]}) == {"S"}
    with_equal = parse_text(LU.replace("k < i", "k <= i"))
    assert holdable(with_equal, ["S"], ["S"], {"S": [i, j]}) == frozenset()


@pytest.mark.parametrize(("text", "waits"), [(SWEEP, True), (STENCIL, False)])
def test_chains(text: str, waits: bool) -> None:
    scop = parse_text(text)
    schedule = original(scop)
    assert is_chain(band_of(scop, schedule), around(scop, schedule)) is waits


def test_tile_sizes_of_a_product_follow_the_cache() -> None:
    members = [point((FIRST,), True), point((SECOND,), True), point((FIRST,), False)]
    same, near = Move.SAME, Move.NEXT
    table = [
        {"S": Moves(write, reads)}
        for write, reads in [(near, (same,)), (near, (same, near)), (same, (near, same))]
    ]
    roles = Roles(vector=1, held=2, jammed=0)
    wide = []
    for level_2 in (256 << 10, 1 << 20):
        sizes = tile_sizes(members, table, roles, 8, Machine(level_2=level_2), rewarding=True)
        assert sizes[0] < sizes[2]
        wide.append(sizes[1] * sizes[2] * 8)
        assert wide[-1] <= level_2 // 2
    assert wide[1] == 4 * wide[0]
    # Few rows stay together where there are columns enough for threads, and what they read fits.
    machine = Machine(level_2=1 << 20)
    for rows, columns, whole in [(128, 8192, True), (128, 1024, False), (500, 8192, False)]:
        found = few_rows(sizes, roles, (rows, columns, 4096), 8, machine, threads=2)
        assert found == ((rows, *sizes[1:]) if whole else sizes)
    steep = [point((Row((17, 10), (), 0),), True), *members[1:]]
    assert tile_sizes(steep, table, roles, 8, Machine(), rewarding=True) == (1, 1, 1)


@pytest.mark.parametrize("threads", [1, 2, 3, 16])
@pytest.mark.parametrize("length", [1, 63, 64, 65, 200, 257, 800, 1000, 1201, 5000])
def test_tiles_of_many_rows_are_shared_out(length: int, threads: int) -> None:
    sizes, roles = (64, 128, 256), Roles(vector=1, held=2, jammed=0)
    rows, *others = more_rows(sizes, roles, length, threads, are_even=True)
    assert others == [128, 256]
    assert 64 <= rows <= 256
    assert rows % 8 == 0
    if rows > 64:  # as many tiles for each thread, two where there are several
        tiles = -(-length // rows)
        most = -(-tiles // threads)
        assert most >= (1 if threads == 1 else 2)
        assert most * rows <= length / threads + 8 * most
    alone = threads == 1
    uneven = more_rows(sizes, roles, length, threads, are_even=False)
    assert uneven == ((rows, *others) if alone else sizes)


def test_other_bands_keep_the_tiles_that_they_have() -> None:
    roles = Roles(vector=1, held=2, jammed=0)
    for sizes in ((64, 128, 1), (32, 64, 128, 256), (64, 128)):
        assert more_rows(sizes, roles, 1000, 1, are_even=True) == sizes
    without = Roles(vector=1, held=2, jammed=None)
    assert more_rows((64, 128, 256), without, 1000, 1, are_even=True) == (64, 128, 256)


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


def first_band(text: str) -> tuple[Band, Surroundings]:
    scop = parse_text(text)
    schedule = original(scop)
    return band_of(scop, schedule), around(scop, schedule)


def test_points_sink_into_the_branches_and_join_their_bands() -> None:
    band, outside = first_band(IMPERFECT)
    found = sink(band, outside)
    assert found is not None
    first, second = found
    assert (first.band.statements, first.own) == (("S",), 0)
    assert (second.band.statements, second.own) == (("T",), 1)
    assert [m.rows[0].iterators for m in second.band.members] == [(1, 0), (0, 1)]
    assert [m.coincident for m in second.band.members] == [True, False]


def test_points_do_not_sink_where_a_later_branch_is_needed_first() -> None:
    band, outside = first_band(BACK)
    assert isinstance(band.child, Sequence)
    assert sink(band, outside) is None


def test_points_sink_only_into_sequences() -> None:
    assert sink(*first_band(TWO_SUMS)) is None


def test_points_stay_above_members_that_are_not_permutable_with_them() -> None:
    """T: A[i][j] needs A[i - 1][j + 1] along the second loop: j may not run outside i."""
    text = IMPERFECT.replace("y[i] += A[i][j] * x[j]", "A[i][j] = A[i - 1][j + 1]")
    text = text.replace("int i = 0", "int i = 1").replace("j < n;", "j < n - 1;")
    band, outside = first_band(text)
    found = sink(band, outside)
    assert found is not None
    second = found[1]
    assert second.own == 0
    assert isinstance(second.band.child, Band)
    assert len(second.band.members) == 1


def test_independent_loops_run_through_those_that_stay() -> None:
    scop = parse_text(TWO_SUMS)
    schedule = parse("[n, m] -> { S[i, k, l] -> [k, i, l] }", scop)
    band = band_of(scop, schedule)
    outside = around(scop, schedule)
    assert isinstance(band.child, Band), "the sums over k and l are no band"
    found = run_through(band, outside)
    assert found is not None
    assert found.moving == (1,)
    assert [m.rows[0].iterators for m in found.staying] == [(0, 1, 0)]
    assert [m.rows[0].iterators for m in found.inside.members] == [(1, 0, 0), (0, 0, 1)]
    assert [m.coincident for m in found.inside.members] == [True, False]


def test_nothing_runs_through_where_every_loop_waits() -> None:
    scop = parse_text(TWO_SUMS.replace("C[i] * 0.5", "C[0] * 0.5").replace("C[i]", "C[0]"))
    schedule = original(scop)
    band = band_of(scop, schedule)
    assert not any(member.coincident for member in band.members)
    assert run_through(band, around(scop, schedule)) is None


def leveled(text: str, schedule: str, mapping: str, sizes: tuple[int, ...]) -> list[list[str]]:
    """Return levels of tiles as the sizes of their parts, coincident ones with a star."""
    scop = parse_text(text)
    order = parse(schedule, scop)
    band = band_of(scop, order)
    found = levels(
        band.members, sizes, band.statements, parse_mapping(mapping), around(scop, order)
    )
    return [
        ["+".join(str(part.size) for part in m.parts) + "*" * m.coincident for m in level]
        for level in found
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


def threads(mapping: str, **sizes: int) -> Threads:
    scop = parse_text(SWEEP)
    return Threads(scop, parse_mapping(mapping), ("n",), sizes or None)


def test_only_the_outermost_coincident_loop_is_shared_out() -> None:
    rows = (Row((1, 0), (0,), 0), Row((0, 1), (0,), 0))
    members = tuple(point((row,), coincident=True) for row in rows)
    tree = Band(("S0",), (), Band(("S0",), members, Leaf()))
    static = threads("threads=2 parallel=static")
    found = static.inside(tree, parallel=False)
    assert isinstance(found, Band)
    assert [m.annotation for m in found.members] == [Parallel(dynamic=False), ALONE]
    assert static.inside(tree.child, parallel=True) == tree.child
    waiting = (point((rows[0],), coincident=False), replace(members[1], annotation=Jam(4)))
    assert static.shared(("S0",), waiting, parallel=False) == (waiting, False)
    assert threads("threads=1").shared(("S0",), members, parallel=False) == (members, False)


def test_threads_get_a_loop_that_is_long_enough() -> None:
    # i and j run from 1 to n - 1; i + j takes more values, their tiles take fewer.
    long = point((Row((1, 1), (0,), 0),), coincident=True)
    short = point((Row((1, 0), (0,), 0),), coincident=True)
    (one,) = tiles((short,), (64,))

    def chosen(members: tuple[Member, ...], mapping: str, **sizes: int) -> list[bool]:
        found, _ = threads(mapping, **sizes).shared(("S0",), members, parallel=False)
        return [isinstance(member.annotation, Parallel) for member in found]

    assert chosen((short, long), "threads=4", n=5) == [True, False]
    assert chosen((short, long), "threads=5", n=5) == [False, True]
    assert chosen((short, long), "threads=50", n=5) == [False, True], "the longest"
    assert chosen((one, short), "threads=2", n=60) == [False, True]
    assert chosen((one, short), "threads=2", n=70) == [True, False]
    assert chosen((one,), "threads=2", n=60) == [False], "what is inside may do"
    assert chosen((one, short), "threads=2") == [True, False], "any size"


def test_bands_above_others_are_tiled_when_asked_or_for_a_wavefront() -> None:
    members = [point((row,), coincident=False) for row in (FIRST, SECOND)]
    band = Band(("S0",), tuple(members), Leaf())
    outside, scop = Surroundings((), {"S0": ()}, ()), parse_text(SWEEP)
    untiled = (1, 1)

    def sizes(text: str, band: Band = band, tiled: tuple[int, ...] = untiled) -> tuple[int, ...]:
        return sizes_above(band, tiled, outside, parse_mapping(text), scop)

    assert sizes("tile=8x16") == (8, 16)
    assert sizes("default") == untiled, "tiles gain nothing here without threads"
    assert min(sizes("threads=2")) > 1
    assert sizes("threads=2 wavefront=off") == untiled
    assert sizes("threads=2 tile=off") == untiled
    assert sizes("tile=8x1") == untiled, "tiles of one loop change no order"
    assert sizes("tile=8", tiled=(8, 1)) == untiled
    parallel = replace(band, members=(replace(members[0], coincident=True), members[1]))
    assert sizes("threads=2", parallel) == untiled
