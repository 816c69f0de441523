"""Members of structures are arrays of their own."""

from __future__ import annotations

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
    ("int n, body b[n]", "b[i].at.x += b[i].w[i % 3];",
     "int n, double b_at_x[n], double b_w[n][3]", "b_at_x[i] += b_w[i][i % 3];"),
    ("int n, body *b", "b[i].id = b[n - 1 - i].id + 1;",
     "int n, int b_id[n]", "b_id[i] = b_id[n - 1 - i] + 1;"),
    ("int n, struct vec *p, double a[n]", "a[i] = p->x * (*p).y;",
     "int n, double *p_x, double *p_y, double a[n]", "a[i] = *p_x * *p_y;"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "statement", "plain", "same"), SAME)
def test_the_same_with_arrays(arguments: str, statement: str, plain: str, same: str) -> None:
    loop = "for (int i = 0; i < n; i++) "
    first, second = scop_of(arguments, loop + statement), scop_of(plain, loop + same)
    assert first.schedule == second.schedule
    assert set(first.signature) >= {array.name for array in first.arrays}
    for mine, other in zip(first.statements, second.statements, strict=True):
        assert (mine.domain, mine.write.relation) == (other.domain, other.write.relation)
        assert [access.relation for access in mine.reads] == [read.relation for read in other.reads]
    extents = {array.name: (array.extents, array.type) for array in second.arrays}
    scalars = {name: ((), kind) for name, (_, kind) in extents.items()}
    for array in first.arrays:
        assert (array.extents, array.type) in (extents[array.name], scalars[array.name])


def test_local_and_global_structures() -> None:
    scop = scop_of(
        "int n, double a[n]",
        "for (int i = 0; i < n; i++) { t.x = a[i]; world[i % 4].id = i; a[i] = t.x * 2; }",
        before="struct vec t;",
        outside=TYPES + "body world[4];",
    )
    assert [(a.name, a.live_out) for a in scop.arrays] == [
        ("t_x", False), ("a", True), ("world_id", True),
    ]  # fmt: skip


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
