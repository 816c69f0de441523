"""Cuts that are found: those that are known to be worth it, and none where nothing is gained."""

import pytest

from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.poly.scheduling.properties import schedule_properties
from polygym.poly.transform.splitting import selection
from polygym.poly.transform.splitting.apply import apply_splitting
from polygym.poly.transform.splitting.conditions import NO_SPLITTING, Splitting, parse_splitting
from polygym.poly.transform.splitting.merit import SplittingMerit, splitting_merit
from polygym.poly.transform.splitting.selection import select_splitting, select_splitting_quickly
from polygym.poly.transform.splitting.suggestions import candidate_splittings
from tests.c_programs import kernel_scop

RING = """
void f(int steps, int n, double a[steps + 1][n]) {
#pragma scop
  for (int t = 0; t < steps; t++)
    for (int i = 0; i < n; i++)
      a[t + 1][i] = a[t][i == 0 ? n - 1 : i - 1] + a[t][i] + a[t][i == n - 1 ? 0 : i + 1];
#pragma endscop
}
"""
ENDS_APART = """
void f(int steps, int n, double a[steps + 1][n]) {
#pragma scop
  for (int t = 0; t < steps; t++) {
    a[t + 1][0] = a[t][n - 1] + a[t][0] + a[t][1];
    for (int i = 1; i < n - 1; i++)
      a[t + 1][i] = a[t][i - 1] + a[t][i] + a[t][i + 1];
    a[t + 1][n - 1] = a[t][n - 2] + a[t][n - 1] + a[t][0];
  }
#pragma endscop
}
"""
MIRRORED = """
void f(int n, double a[2 * n]) {
#pragma scop
  for (int i = 0; i < 2 * n; i++)
    a[i] = a[2 * n - 1 - i] + 1.0;
#pragma endscop
}
"""
COPIED = """
void f(int n, double a[3 * n]) {
#pragma scop
  for (int i = 0; i < 2 * n; i++)
    a[i + n] = a[i] + 1.0;
#pragma endscop
}
"""
NUMBERS = MIRRORED.replace("int n, ", "").replace("2 * n", "100")

TILED, PARALLEL = (2, 0, -2), (1, 1, 0)


@pytest.mark.parametrize(
    ("text", "cuts", "gained"),
    [
        (RING, "S0: 2*i < n", TILED),
        (ENDS_APART, "S1: 2*i < n", TILED),
        (MIRRORED, "S0: i < n", PARALLEL),
        (COPIED, "S0: n <= i", PARALLEL),
        (NUMBERS, "S0: 49 < i", PARALLEL),
    ],
)
def test_cuts_that_are_worth_it(text: str, cuts: str, gained: tuple[int, int, int]) -> None:
    scop = parse_text(text)
    splitting = select_splitting(scop)
    assert str(splitting) == cuts
    assert splitting_merit(scop, splitting) == gained > splitting_merit(scop, NO_SPLITTING)


@pytest.mark.parametrize(
    ("name", "cuts"),
    [
        ("floyd-warshall", "S0: i = k, j = k"),
        ("nussinov", ""),
        ("gemm", ""),
        ("heat-3d", ""),
        ("doitgen", ""),
    ],
)
def test_a_quick_look(name: str, cuts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds what matters, asks isl seldom, and not at all where some loop is parallel."""
    asked: list[object] = []

    def counted(scop: Scop, splitting: Splitting) -> SplittingMerit:
        asked.append(splitting)
        return splitting_merit(scop, splitting)

    monkeypatch.setattr(selection, "splitting_merit", counted)
    scop = kernel_scop(name)
    select_splitting_quickly.cache_clear()
    assert str(select_splitting_quickly(scop, isl_schedule(scop))) == cuts
    assert len(asked) == len(set(asked)) <= 10
    if name in ("gemm", "heat-3d", "doitgen"):
        assert asked == []
    if cuts:
        select_splitting.cache_clear()
        quickly = len(asked)
        asked.clear()
        assert str(select_splitting(scop)) == cuts
        assert quickly < len(asked) / 2


def test_one_half_of_a_ring_is_reversed() -> None:
    pieces = apply_splitting(parse_text(RING), parse_splitting("S0: 2*i < n"))
    lower, upper = isl_schedule(pieces).statements
    assert [row.iterators for row in lower.rows[:2]] == [(1, 0), (1, 1)]
    assert [row.iterators for row in upper.rows[:2]] == [(1, 0), (1, -1)]


def test_floyd_and_warshall() -> None:
    """Each step of its pieces is parallel in both directions, which the whole is in none."""
    scop, cuts = kernel_scop("floyd-warshall"), parse_splitting("S0: i = k, j = k")
    assert splitting_merit(scop, NO_SPLITTING) == (2, 0, -3)
    assert splitting_merit(scop, parse_splitting("S0: i = k")) == (2, 1, -1)
    assert splitting_merit(scop, cuts) == (2, 2, -1)
    assert {f"S0: {literal}" for literal in ("i = k", "j = k")} <= set(
        map(str, candidate_splittings(scop))
    )
    pieces = apply_splitting(scop, cuts)
    properties = schedule_properties(pieces, isl_schedule(pieces))
    loops = {
        statement_properties.statement: [loop.parallel for loop in statement_properties.loops]
        for statement_properties in properties.statements
    }
    assert loops["S0_0"] == loops["S0_8"] == [False, True, True]
    whole = schedule_properties(scop, isl_schedule(scop)).of("S0")
    assert [loop.parallel for loop in whole.loops] == [False, False, False]


@pytest.mark.nightly
def test_the_cuts_of_floyd_and_warshall_are_found() -> None:
    assert str(select_splitting(kernel_scop("floyd-warshall"))) == "S0: i = k, j = k"


@pytest.mark.parametrize("name", ["gemm", "mvt", "jacobi-1d", "trisolv"])
def test_nothing_is_cut_where_nothing_is_gained(name: str) -> None:
    assert select_splitting(kernel_scop(name)) == NO_SPLITTING
