"""Memory that is only given back after the region: nobody sees what is in it."""

from __future__ import annotations

import pytest

from polygym.frontend.c import parse_text

TEXT = """
#include <stdlib.h>
struct s { double *kept; };
double f(int n, double a[n], double c[n], struct s *g) {
  double *b = malloc(n * sizeof(double));
  double s = 0.0;
  BEFORE
#pragma scop
  for (int i = 0; i < n; i++)
    b[i] = 2.0 * a[i];
  for (int i = 1; i < n; i++)
    c[i] = b[i] + b[i - 1];
#pragma endscop
  AFTER
  return s;
}
"""


@pytest.mark.parametrize(
    ("before", "after", "is_seen"),
    [
        ("", "free(b);", False),
        ("", "free((void *)b);", False),
        ("", "", False),
        ("", "s = b[3]; free(b);", True),
        ("", "g->kept = b;", True),
        ("g->kept = b;", "s = g->kept[3]; free(b);", True),
        ("double *other = b;", "s = other[3]; free(b);", True),
        ("for (int k = 0; k < 2; k++) {", "free(b); }", True),
    ],
)
def test_who_sees_memory(before: str, after: str, *, is_seen: bool) -> None:
    scop = parse_text(TEXT.replace("BEFORE", before).replace("AFTER", after))
    assert scop.array("b").is_observable == is_seen
