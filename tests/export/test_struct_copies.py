"""Programs that copy whole structures are exported: their structures keep the caller's layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygym.errors import SourceError
from polygym.frontend.c import parse_text
from tests.export.against_source import check_like_source

TYPES = """
typedef struct { int x, y, z; } vec;
typedef struct { short tag; vec at; int w[2]; double mass; } body;
"""

PROGRAMS = {
    "local copies": """
void f(int n, const vec *p, int *e) {
  for (int i = 0; i < n; i++) { vec q = p[i]; e[i] = q.x * 3 + q.y - 2 * q.x; }
}""",
    "accumulated and stored": """
void f(int n, const vec *p, vec *r) {
  for (int i = 0; i < n; i++) {
    vec a = {0, .z = 7};
    for (int j = 0; j < n; j++) { const vec q = p[j]; a.x += q.x - p[i].y; a.y += q.z; }
    r[i] = a;
  }
}""",
    "whole elements": """
void f(int n, vec *a, vec *b) {
  for (int i = 0; i < n; i++) a[i] = b[n - 1 - i];
}""",
    "swapped": """
void f(int n, vec *a) {
  for (int i = 0; i < n / 2; i++) { vec t = a[i]; a[i] = a[n - 1 - i]; a[n - 1 - i] = t; }
}""",
    "nested, with arrays": """
void f(int n, body *b, const vec *p) {
  for (int i = 1; i < n; i++) {
    b[i].at = p[i];
    if (i % 3) b[i - 1] = b[i];
    b[i].w[1] += b[i].at.z;
  }
}""",
    "passed on elsewhere": """
static int calls;
static void look(const body *b, int n) { for (int i = 0; i < n; i++) calls += b[i].tag; }
int f(int n, body *b) {
  look(b, n);
  for (int i = 1; i < n; i++) b[i].w[0] += b[i - 1].w[1];
  look(b, n);
  return calls;
}""",
    "local array, filled and read by calls": """
static void fill(vec *p) { for (int i = 0; i < 20; i++) p[i].x = i, p[i].y = 2 * i, p[i].z = 1; }
static int sum(const vec *p) { int s = 0; for (int i = 0; i < 20; i++) s += p[i].y; return s; }
int f(int n, int *a) {
  vec p[20];
  fill(p);
  for (int i = 0; i < 20; i++) { p[i].y += p[i].x; a[i] += p[i].z; }
  return sum(p);
}""",
}


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
def test_whole_structures(name: str, tmp_path: Path) -> None:
    sizes = [{}] if "local array" in name else [{"n": 24}, {"n": 7}]
    check_like_source(tmp_path, TYPES + PROGRAMS[name], *sizes)


@pytest.mark.parametrize(
    ("before", "region"),
    [
        # The subscript of the second member is another one after the first copy.
        ("vec p;", "p = a[0]; for (int i = 0; i < n; i++) p = a[p.x];"),
        ("", "for (int i = 0; i < n; i++) a[i] = look(a, i);"),
        ("struct { int k : 3; } s, t;", "t = s; for (int i = 0; i < n; i++) a[i].x = t.k;"),
    ],
)
def test_refused_as_a_whole(before: str, region: str) -> None:
    with pytest.raises(SourceError):
        parse_text(
            f"{TYPES}vec look(vec *, int);\nvoid f(int n, vec *a) {{ {before}\n#pragma scop\n"
            f"{region}\n#pragma endscop\n}}"
        )


def test_members_that_nothing_reads_are_not_copied() -> None:
    head = "void f(int n, const vec *p, int *e) {\n#pragma scop\n"
    region = "for (int i = 0; i < n; i++) { vec q = p[i]; e[i] = q.x; }"
    scop = parse_text(f"{TYPES}{head}{region}\n#pragma endscop\n}}")
    assert {array.name for array in scop.arrays} == {"q_x", "p", "e"}
