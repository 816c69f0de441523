"""The table of passes: each leaves C that is read like the source, and that can be printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygym.frontend.c import parse_text, text_after
from polygym.frontend.c.regions.passes import PASSES

CASES = Path(__file__).parent / "cases" / "windows"
BY_NAME = {row.name: row for row in PASSES}

FLAT = """
#include <stddef.h>
struct point { double x, y; };
static int half(int v) { return v / 2; }
static double unused(double v) { return v; }
void f(int n, int m, double *a, struct point *p, double *b) {
  double *q = a;
  int k = 0;
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      *q++ = p[i].x + b[k++];
  p[0].y = sizeof(double) + half(n);
#pragma endscop
}
"""


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [
        ("parse", ["*(q++)", "p[i].x", "sizeof"], ["unused", "typedef unsigned long size_t"]),
        ("canonicalize", ["8UL + half(n)"], ["sizeof(double)"]),
        ("pointer_induction", ["a[q_at++]"], ["*(q++)"]),
        ("struct_members", ["p_x[i]", "double *p_x"], ["p[i]"]),
        ("desugar", ["q_at += 1", "k += 1"], ["q_at++", "k++"]),
        ("induction", ["(long) i) * ((long) m"], []),
        ("delinearize", ["double (*a)[m]", "a[i][j] = p_x[i] + b[i][j]"], []),
        ("infer_extents", ["double a[n][m]", "double p_x[n]", "double b[n][m]"], []),
    ],
)
def test_a_pass_leaves_c(name: str, has: list[str], lacks: list[str]) -> None:
    text = text_after(BY_NAME[name], FLAT, "f.c")
    assert text.startswith(f"/* f after {name}: {BY_NAME[name].summary} */\n")
    assert [fragment for fragment in has if fragment not in text] == []
    assert [fragment for fragment in lacks if fragment in text] == []


def test_what_the_last_pass_leaves_is_read_as_the_same_statements() -> None:
    whole = parse_text(text_after(PASSES[-1], FLAT, "f.c"))
    scop = parse_text(FLAT)
    assert [s.domain for s in whole.statements] == [s.domain for s in scop.statements]
    pairs = zip(whole.statements, scop.statements, strict=True)
    changed = [(s, own) for s, own in pairs if s.write.relation != own.write.relation]
    # Members are put into the layout of their structures behind the last pass.
    assert [(s.write.array, own.write.relation) for s, own in changed] == [
        ("p_y", "[n, m] -> { S3[] -> p[0, 1] }")
    ]


@pytest.mark.parametrize(
    ("file", "shown", "fragment"),
    [("some_rows.c", "trip_counts", "t_t"), ("constant_rows.c", "inner_subscripts", " % ")],
)
def test_the_variant_that_is_not_refused_is_shown(file: str, shown: str, fragment: str) -> None:
    text = (CASES / file).read_text()
    assert fragment not in text
    assert fragment in text_after(BY_NAME[shown], text, file)


def test_a_refused_region_shows_the_passes_before() -> None:
    refused = (
        "void f(int n, double a[n]) {\n#pragma scop\n  while (n) a[0] = 1;\n#pragma endscop\n}"
    )
    assert "while (n)" in text_after(BY_NAME["desugar"], refused, "f.c")
