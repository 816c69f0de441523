"""Functions that are given structures are inlined, and do what they did."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.export.against_source import check_like_source

TYPES = """
struct g { double a[64]; int n; double h; };
typedef struct { double pos[3], m; } body;
int a = 1;
"""

PROGRAMS = {
    "a member beside a global of its name": """
static void step(struct g *w, int i) { w->a[i] = 2 * w->a[i] + a; }
void f(int n, struct g *u) {
  assert(n <= 64);
  for (int i = 0; i < n; i++) step(u, i);
}""",
    "the same name in both functions": """
static double next(const struct g *u, int i) { return u->a[i] * u->h; }
static void step(struct g *u, int i, double f) { u->a[i] = next(u, i) + f; }
void f(int n, struct g *u) {
  assert(n <= 64);
  for (int i = 1; i < n; i++) step(u, i, u->a[i - 1]);
}""",
    "addresses of elements": """
static void move(body *p, double d) { for (int k = 0; k < 3; k++) p->pos[k] += d * p->m; }
void f(int n, body *q, double d) {
  for (int i = 0; i < n; i++) move(&q[i], d);
}""",
    "two structures": """
static void copy(body *to, const body *from) { to->m = 2 * from->m; to->pos[1] = from->pos[0]; }
static void mix(body *to, const body *from) { to->pos[2] = to->pos[1] + from->m; }
void f(int n, body *p, body *q) {
  for (int i = 0; i < n; i++) mix(&p[i], &q[n - 1 - i]);
}""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_do_what_the_source_does(name: str, tmp_path: Path) -> None:
    check_like_source(tmp_path, TYPES + PROGRAMS[name], {"n": 24}, {"n": 7}, function="f")
