"""The steps of the mapping one by one, each with a case that it must refuse."""

import pytest

from polygym.codegen.machine import Machine
from polygym.codegen.trees.around import Around
from polygym.codegen.trees.arrange import Roles
from polygym.codegen.trees.build import build_tree
from polygym.codegen.trees.chain import is_chain
from polygym.codegen.trees.hold import holdable
from polygym.codegen.trees.model import tile_sizes
from polygym.codegen.trees.moves import Move, Moves
from polygym.codegen.trees.tile import coincident_first, tiles
from polygym.codegen.trees.tree import Band, Part, point
from polygym.codegen.trees.wavefront import diamond, wavefront
from polygym.frontend import parse_text
from polygym.ir.scop import Scop
from polygym.poly.baselines import original
from polygym.poly.distance import all_pairs
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Row, Schedule, parse

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


def around(scop: Scop, schedule: Schedule) -> Around:
    names = tuple(part.statement for part in schedule.statements)
    return Around(all_pairs(scop), {name: () for name in names}, schedule.parameters)


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
    steep = [point((Row((17, 10), (), 0),), True), *members[1:]]
    assert tile_sizes(steep, table, roles, 8, Machine(), rewarding=True) == (1, 1, 1)
