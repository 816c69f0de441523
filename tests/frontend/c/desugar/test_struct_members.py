"""Members of structures are arrays of their own."""

from __future__ import annotations

import islpy as isl
import pytest

from polygym.errors import SourceError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop

TYPES = """
struct vec { double x, y; };
typedef struct { int id; struct vec at; double w[3]; } body;
"""


def scop_of(arguments: str, region: str, before: str = "", outside: str = TYPES) -> Scop:
    return parse_text(
        f"{outside}\nvoid f({arguments}) {{\n{before}\n#pragma scop\n{region}\n#pragma endscop\n}}"
    )


SAME = [
    # body has 48 bytes: id at 0, at.x at 8, at.y at 16, w at 24.
    ("int n, body b[n]", "b[i].at.x += b[i].w[i % 3];",
     "int n, double b[n][6]", "b[i][1] += b[i][3 + i % 3];"),
    ("int n, body *b", "b[i].id = b[n - 1 - i].id + 1;",
     "int n, int b[n][12]", "b[i][0] = b[n - 1 - i][0] + 1;"),
    ("int n, body *b, int m", "b[i + m].at.y = b[i].id;",
     "int n, double b_double[n + m][6], int b_int[n][12], int m",
     "b_double[i + m][2] = b_int[i][0];"),
    ("int n, int m, struct vec *p", "for (int j = 0; j < m; j++) p[i * m + j].x = p->y;",
     "int n, int m, double p[n][m][2]", "for (int j = 0; j < m; j++) p[i][j][0] = p[0][0][1];"),
    ("int n, struct vec p[n][n]", "p[i][0] = p[0][i];",
     "int n, double p[n][n][2]", "{ p[i][0][0] = p[0][i][0]; p[i][0][1] = p[0][i][1]; }"),
    ("int n, struct vec *p, double a[n]", "a[i] = p->x * (*p).y;",
     "int n, double *p_x, double *p_y, double a[n]", "a[i] = *p_x * *p_y;"),
    ("int n, struct { int m; body b[9]; } *g", "g->b[i].w[1] = g->b[n].w[0];",
     "int n, double g_b[1][9][6]", "g_b[0][i][4] = g_b[0][n][3];"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "statement", "plain", "same"), SAME)
def test_the_same_with_arrays(arguments: str, statement: str, plain: str, same: str) -> None:
    loop = "for (int i = 0; i < n; i++) "
    first, second = scop_of(arguments, loop + statement), scop_of(plain, loop + same)
    assert first.schedule == second.schedule
    assert set(first.signature) >= {array.name for array in first.arrays}
    for mine, other in zip(first.statements, second.statements, strict=True):
        assert mine.domain == other.domain
        accesses, others = ((s.write, *s.reads) for s in (mine, other))
        for own, access in zip(accesses, others, strict=True):
            assert isl.Map(own.relation).is_equal(isl.Map(access.relation))
    extents = {array.name: (array.rank, array.type) for array in second.arrays}
    for array in first.arrays:
        assert extents[array.name] == (array.rank, array.type)
        for mine, other in zip(array.extents, second.array(array.name).extents, strict=True):
            assert isl.PwAff(mine).is_equal(isl.PwAff(other))


def test_local_and_global_structures() -> None:
    scop = scop_of(
        "int n, double a[n]",
        "for (int i = 0; i < n; i++) { t.x = a[i]; world[i % 4].id = i; a[i] = t.x * 2; }",
        before="struct vec t;",
        outside=TYPES + "body world[4];",
    )
    assert [(a.name, a.live_out) for a in scop.arrays] == [
        ("t_x", False), ("a", True), ("world", True),
    ]  # fmt: skip


def test_a_type_is_declared_twice() -> None:
    outside = TYPES + "typedef body item; typedef item item;"
    scop = scop_of("int n, item b[n]", "b[n - 1].id = 0;", outside=outside)
    assert [(a.name, a.rank) for a in scop.arrays] == [("b", 2)]


@pytest.mark.parametrize(
    "region",
    ["a[0] = p[0].z;", "g(p); a[0] = p[0].x;"],
)
def test_structures_as_a_whole_are_refused(region: str) -> None:
    with pytest.raises(SourceError):
        scop_of("int n, double a[n], struct vec p[n]", region)


def test_names_of_members_are_none_of_the_block() -> None:
    scop = parse_text(
        "void f(int n, double a[n], int x[n]) {\n"
        "  struct pair { int x; double a; } p, q;\n"
        "#pragma scop\n"
        "  for (int i = 0; i < n; i++) {\n"
        "    p.x = 3; q.a = x[i];\n"
        "    a[i] += p.x - q.a;\n"
        "  }\n"
        "#pragma endscop\n"
        "}\n"
    )
    assert {array.name for array in scop.arrays if array.rank} == {"a", "x"}
    assert {array.name for array in scop.arrays if not array.rank} == {"q_a"}
