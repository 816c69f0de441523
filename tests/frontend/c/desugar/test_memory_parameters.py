"""Integers of memory as parameters: only while nothing may change the memory."""

from __future__ import annotations

import pytest

from polygym.frontend.c import parse_text

HEAD = """struct mesh { int nx, ny; double *a; };
void resize(struct mesh *m);
void f(struct mesh *m, int steps) {
  int nx = m->nx, all = m->nx * m->ny;
"""
LOOPS = """  for (int t = 0; t < steps; t++) {
#pragma scop
    for (int y = 0; y < m->ny; y++)
      for (int x = 0; x < m->nx; x++)
        m->a[y * nx + x] = 1;
#pragma endscop
"""


def parameters(text: str) -> list[str]:
    return [parameter.name for parameter in parse_text(text).parameters]


def test_a_variable_that_has_the_value_is_the_parameter() -> None:
    assert "nx" in parameters(HEAD + LOOPS + "  }\n}\n")
    assert len(parameters(HEAD + LOOPS + "  }\n}\n")) == 2


@pytest.mark.parametrize(
    ("before", "behind"),
    [("", "resize(m);"), ("", "m->nx++;"), ("resize(m);", ""), ("m->nx = 4;", "")],
)
def test_memory_that_may_change_is_read_where_the_region_begins(before: str, behind: str) -> None:
    text = f"{HEAD}{before}\n{LOOPS}{behind}\n  }}\n}}\n"
    scop = parse_text(text)
    assert len(scop.parameters) == 3, "the variable may have another value"
    assert any(">=" in condition for condition in scop.conditions)


def test_a_product_of_members_that_bounds_loops_alone_is_one_parameter() -> None:
    head = "struct mesh { int nx, ny; double *a; };\nvoid f(struct mesh *m) {\n#pragma scop\n"
    once = "for (int i = 0; i < m->nx * m->ny; i++) m->a[i] = 0;\n"
    rows = "for (int i = 0; i < m->nx; i++) m->a[i] += 1;\n"
    assert len(parameters(f"{head}{once}#pragma endscop\n}}\n")) == 1
    assert len(parameters(f"{head}{once}{rows}#pragma endscop\n}}\n")) == 2


def test_rows_that_may_be_too_short_are_a_condition() -> None:
    scop = parse_text(
        "void f(int n, int m, int lda, double *A) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i * lda + j] = 0;\n"
        "#pragma endscop\n}\n"
    )
    assert scop.conditions == ("lda >= m",)
    assert scop.arrays[0].c_extents == ("n", "lda")
