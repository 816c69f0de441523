"""Which dots and arrows there are: exact on small programs, bounded on all."""

import pytest

import polybench
from polygym.errors import InputError
from polygym.pictures.scenes.instances import (
    MAX_ARROWS,
    MAX_DOTS,
    Dot,
    VisibleInstances,
    shown_statements,
    visible_instances,
)
from polygym.poly.evaluation import context_holds
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.c_programs import SMALL_PROGRAMS, kernel_scop
from tests.pictures.scenes.sample_scenes import parsed, small

KERNELS = [kernel.name for kernel in polybench.select(("*",))]

CONSTANT = """
void f(double a[1000][1000]) {
#pragma scop
  for (int i = 0; i < 1000; i++)
    for (int j = 999 - i; j < 1000; j++)
      a[i][j] = a[i][j] + 1.0;
#pragma endscop
}
"""

SAME_SIZES = """
void f(int m, int n, double a[m], double b[n]) {
  assert(n >= m + 2);
#pragma scop
  for (int i = 9; i < m; i++)
    a[i] = b[i + n - m] + a[i];
#pragma endscop
}
"""


def named(shown: VisibleInstances) -> set[str]:
    """Return the arrows as text."""

    def name(dot: Dot) -> str:
        return f"{shown.statements[dot.statement].name}{list(dot.point)}"

    return {f"{name(shown.dots[a])} {name(shown.dots[b])}" for a, b in shown.arrows}


def test_y_ax_is_the_picture_of_the_paper() -> None:
    shown = visible_instances(small("y_ax"), {"n": 3})
    assert shown.axes == ("i", "j")
    assert len(shown.dots) == 3 + 9
    starts = {f"S[{i}] T[{i}, 0]" for i in range(3)}
    chains = {f"T[{i}, {j}] T[{i}, {j + 1}]" for i in range(3) for j in range(2)}
    assert named(shown) == starts | chains
    assert shown.notes == ()


def test_dots_come_in_the_order_in_which_they_run() -> None:
    shown = visible_instances(small("downward"), {"n": 4})
    assert [dot.point for dot in shown.dots] == [(4,), (3,), (2,), (1,)]


def test_a_schedule_moves_the_dots() -> None:
    scop = small("y_ax")
    schedule = parse_schedule("[n] -> { S[i] -> [0, i - n, 0]; T[i, j] -> [0, i, 2j + 1] }", scop)
    shown = visible_instances(scop, {"n": 2}, schedule)
    assert shown.axes == ("time 2", "time 3")
    places = {dot.point for dot in shown.dots if dot.statement == 0}
    assert places == {(-2, 0), (-1, 0)}
    assert {dot.point for dot in shown.dots if dot.statement == 1} == {
        (i, 2 * j + 1) for i in range(2) for j in range(2)
    }
    assert named(shown) >= {"T[0, 1] T[0, 3]", "T[1, 1] T[1, 3]"}


def test_single_dependences_have_arrows_of_their_own() -> None:
    shown = visible_instances(small("y_ax"), {"n": 2})
    by_dependence = dict(shown.by_dependence)
    assert set(by_dependence) == {0, 1}
    # S[i] -> T[i, 1] follows from others, but not from pairs of S and T alone.
    assert len(by_dependence[0]) == 4
    assert len(by_dependence[1]) == 2


@pytest.mark.parametrize("name", [*KERNELS, *SMALL_PROGRAMS])
def test_every_program_is_small_enough_and_goes_forward(name: str) -> None:
    scop = small(name) if name in SMALL_PROGRAMS else kernel_scop(name)
    shown = visible_instances(scop)
    assert context_holds(scop.context, dict(shown.sizes))
    assert {name for name, _ in shown.sizes} == {parameter.name for parameter in scop.parameters}
    assert 0 < len(shown.dots) <= MAX_DOTS
    assert len(shown.arrows) <= MAX_ARROWS
    for statement in shown.statements:
        assert statement in scop.statements
    if scop.depth <= 3:
        assert all(source < sink for source, sink in shown.arrows)
    in_time = visible_instances(scop, dict(shown.sizes), original_schedule(scop))
    assert in_time.sizes == shown.sizes
    assert len(in_time.axes) <= 3
    for source, sink in in_time.arrows:
        assert in_time.dots[source].point <= in_time.dots[sink].point


def test_a_legal_schedule_never_goes_back_in_time() -> None:
    scop = kernel_scop("seidel-2d")
    shown = visible_instances(scop, None, isl_schedule(scop))
    assert shown.arrows
    for source, sink in shown.arrows:
        assert shown.dots[source].point <= shown.dots[sink].point


def test_what_is_left_out_is_said() -> None:
    assert "6 of 47 statements" in visible_instances(kernel_scop("deriche")).notes
    scop = kernel_scop("heat-3d")
    assert visible_instances(scop).extent == "first 3 of 4 loops"
    # t, which of the two statements, i, j and k tell instances apart; the rest is constant.
    assert (
        visible_instances(scop, None, original_schedule(scop)).extent == "first 3 of 5 dimensions"
    )
    assert visible_instances(small("y_ax")).extent == ""
    assert all(statement.depth == 2 for statement in shown_statements(kernel_scop("deriche")))


def test_wanted_statements_come_first() -> None:
    scop = kernel_scop("deriche")
    shown = shown_statements(scop, ("S0", "S13"))
    assert [statement.name for statement in shown][:2] == ["S0", "S13"]
    assert len(shown) == 6
    assert visible_instances(scop, wanted=("S0",)).statements[0].name == "S0"


def test_constant_bounds_are_narrowed_around_the_first_instance() -> None:
    shown = visible_instances(parsed(CONSTANT))
    assert 0 < len(shown.dots) <= MAX_DOTS
    assert (0, 999) in {dot.point for dot in shown.dots}
    assert "only the first instances" in shown.notes


def test_sizes_grow_until_there_is_something_to_see() -> None:
    shown = visible_instances(parsed(SAME_SIZES))
    assert shown.dots
    sizes = dict(shown.sizes)
    assert sizes["m"] > 9
    assert sizes["n"] >= sizes["m"] + 2


@pytest.mark.parametrize("loops", ["i < 100000", "i < 100000 && i <= 7"])
def test_no_set_is_too_large_to_be_drawn(loops: str) -> None:
    scop = parsed(f"""
void f(double a[100000][100000]) {{
#pragma scop
  for (int i = 0; {loops}; i++)
    for (int j = 0; j < 100000; j++)
      for (int k = 0; k <= j; k++)
        a[i][j] = a[i][j] + 1.0 * k;
#pragma endscop
}}
""")
    shown = visible_instances(scop)
    assert 0 < len(shown.dots) <= MAX_DOTS
    assert shown.arrows
    assert shown.notes == ("only the first instances",)


def test_given_sizes_may_be_large() -> None:
    shown = visible_instances(small("downward"), {"n": 10**6})
    assert 0 < len(shown.dots) <= MAX_DOTS
    assert (1,) in {dot.point for dot in shown.dots}


def test_every_parameter_needs_a_value() -> None:
    with pytest.raises(InputError, match="found none for nj, nk"):
        visible_instances(kernel_scop("gemm"), {"ni": 3})
    given = {"unknown": 9, "nk": 2, "nj": 3, "ni": 4}
    assert visible_instances(kernel_scop("gemm"), given).sizes == (("ni", 4), ("nj", 3), ("nk", 2))


def test_small_programs_are_shown_whole() -> None:
    for name in SMALL_PROGRAMS:
        assert "only the first instances" not in visible_instances(small(name)).notes
