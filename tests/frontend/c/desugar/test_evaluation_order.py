"""Rewritten statements evaluate their operands as often, and as early, as C does."""

import pytest

from polygym.errors import SourceError
from polygym.frontend.c import parse_text

_HEAD = """#include <string.h>
struct v { double x, y; };
struct g { int n; double x[100]; };
void f(int n, int k, char a[n + 3], char c[n][n], struct v *p, double *q, struct g *g) {
#pragma scop
"""


def arrays_of(statement: str) -> list[str]:
    """Return the arrays of a region of one statement."""
    scop = parse_text(f"{_HEAD}{statement}\n#pragma endscop\n}}\n")
    return sorted(array.name for array in scop.arrays)


@pytest.mark.parametrize(
    "statement",
    [
        "memset(a, a[2] + 1, n);",
        "memset(a, *a, n);",
        "memset(a, k++, n);",
        "memset(a, 0, a[1]);",
        "memcpy(c[0], c[c[0][0]], n);",
        "for (int i = 0; i < n; i++) p[i] = (struct v){p[i].y, p[i].x};",
        "for (int i = 0; i < n; i++) p[i] = (struct v){k++, 0};",
    ],
)
def test_operands_that_the_statement_changes_are_refused(statement: str) -> None:
    with pytest.raises(SourceError):
        arrays_of(statement)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("memset(a, k, n);", ["a", "k"]),
        ("memcpy(c[0], c[1], n);", ["c"]),
        ("for (int i = 0; i < n; i++) p[i] = (struct v){q[i], 2};", ["p", "q"]),
        ("for (; n > 0; n--) g->x[n] = g->n;", ["g_n", "g_x"]),
    ],
)
def test_others_are_accepted(statement: str, expected: list[str]) -> None:
    assert arrays_of(statement) == expected
