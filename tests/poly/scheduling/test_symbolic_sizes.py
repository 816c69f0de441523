"""Numbers that are sizes, as parameters: one program at its values, and isl comes to an end."""

import islpy as isl
import pytest

from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.evaluation import context_holds, fix_parameters
from polygym.poly.legality import is_legal
from polygym.poly.schedule import Schedule, ScheduleRow, StatementSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.poly.scheduling.strategy import parse_strategy
from polygym.poly.scheduling.symbolic_sizes import has_constant_sizes, with_symbolic_sizes

HEAT = """
void heat(double old[N][N][N], double new[N][N][N]) {
#pragma scop
  for (long t = 0; t < T; t++) {
    for (long i = 1; i < N - 1; i++)
      for (long j = 1; j < N - 1; j++)
        for (long k = 1; k < N - 1; k++)
          new[i][j][k] = old[i][j][k] + 0.1 * (old[i - 1][j][k] + old[i + 1][j][k]
            + old[i][j - 1][k] + old[i][j + 1][k] + old[i][j][k - 1] + old[i][j][k + 1]);
    for (long i = 1; i < N - 1; i++)
      for (long j = 1; j < N - 1; j++)
        for (long k = 1; k < N - 1; k++)
          old[i][j][k] = new[i][j][k];
  }
#pragma endscop
}
"""

PROGRAMS = {
    "two_sizes": "for (int t = 0; t < 9; t++) for (int i = 1; i < 39; i++) x[i] = x[i-1] + x[i+1];",
    "strided": "for (int i = 3; i < 50; i += 4) for (int j = i; j <= 49 - i; j++) x[j] += x[i];",
    "peeled": "for (int i = 0; i < 40; i++) { x[i] = i; if (i == 39) x[0] += x[i]; }",
    "mixed": "for (int i = 0; i < n; i++) for (int j = 0; j < 100; j++) if (i + j < 70) x[j] += i;",
    "small": "for (int u = 0; u < 2; u++) for (int i = u; i < 3; i++) x[i] = x[i + u] * 2;",
    "many": (
        "for (int i = 0; i < 10; i++) for (int j = 0; j < 20; j++) for (int k = 0; k < 30; k++)"
        " for (int l = 0; l < 40; l++) for (int m = 0; m < 60; m++) x[i + j] += k * l - m;"
    ),
}


def scop_of(name: str) -> Scop:
    return parse_text(
        f"void f(int n, int size_0, double x[n + 200]) {{\n#pragma scop\n{PROGRAMS[name]}\n"
        "x[0] += size_0;\n#pragma endscop\n}"
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_at_its_values_the_program_is_the_same(name: str) -> None:
    scop = scop_of(name)
    made = with_symbolic_sizes(scop)
    assert made is not None
    values = {size.name: size.value for size in made.sizes}
    assert context_holds(made.scop.context, values)
    for before, after in zip(scop.statements, made.scop.statements, strict=True):
        domain = fix_parameters(isl.Set(after.domain), values)
        known = isl.Set(before.domain).align_params(domain.get_space())
        assert domain.is_equal(fix_parameters(known, values))
        assert (before.body, before.write) == (after.body, after.write)


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("strategy", ["isl", "isl skew=off", "isl negative=off fusion=maximum"])
def test_schedules_are_legal_and_have_the_programs_parameters(name: str, strategy: str) -> None:
    scop = scop_of(name)
    schedule = isl_schedule(scop, parse_strategy(strategy))
    assert schedule.parameters == tuple(parameter.name for parameter in scop.parameters)
    assert is_legal(scop, schedule)


def test_values_are_put_back_into_rows() -> None:
    made = with_symbolic_sizes(scop_of("two_sizes"))
    assert made is not None
    assert [(size.name, size.value) for size in made.sizes] == [("size_1", 8), ("size_2", 38)]
    names = tuple(parameter.name for parameter in made.scop.parameters)
    row = ScheduleRow((1, 2), (*(0,) * (len(names) - 2), 3, -1), 5)
    schedule = made.with_constant_sizes(
        Schedule(names, (StatementSchedule("S0", ("t", "i"), (row,)),))
    )
    assert schedule.statements[0].rows == (
        ScheduleRow((1, 2), (0,) * (len(names) - 2), 5 + 24 - 38),
    )
    assert schedule.parameters == names[:-2]


def test_a_program_without_numbers_stays() -> None:
    text = "void f(int n, double x[n]) {\n#pragma scop\nfor (int i = 1; i < n; i++) x[i] = x[i-1];"
    assert with_symbolic_sizes(parse_text(text + "\n#pragma endscop\n}")) is None


@pytest.mark.parametrize(("size", "steps"), [("40L", "9L"), ("5L", "3L")])
def test_a_stencil_with_numbers_for_sizes_is_scheduled(size: str, steps: str) -> None:
    """Isl alone was killed after minutes."""
    scop = parse_text(f"#define N {size}\n#define T {steps}\n{HEAT}")
    schedule = isl_schedule(scop)
    assert is_legal(scop, schedule)
    assert [row.iterators for row in schedule.rows("S0")] == [
        (1, 0, 0, 0),
        (2, 1, 0, 0),
        (2, 0, 1, 0),
        (2, 0, 0, 1),
    ]


@pytest.mark.parametrize(
    ("region", "expected"),
    [
        ("for (int i = 0; i < 40; i++) x[i] = 1;", True),
        ("for (int i = 0; i < n; i++) if (i >= 9) x[i] = 1;", True),
        ("for (int i = 0; i < n - 8; i++) x[i] = 1;", False),
        ("for (int i = 8; i < n; i++) x[i] = 1; for (int u = 0; u < 3; u++) x[u] = 2;", True),
        ("for (int i = 1; i < n; i++) x[i] = 1; for (int u = 0; u < 3; u++) x[u] = 2;", False),
    ],
)
def test_numbers_that_are_sizes(region: str, expected: bool) -> None:
    scop = parse_text(
        f"void f(int n, double x[n + 40]) {{\n#pragma scop\n{region}\n#pragma endscop\n}}"
    )
    assert has_constant_sizes(scop) == expected
