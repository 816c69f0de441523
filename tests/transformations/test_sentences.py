"""Sentences about steps."""

from __future__ import annotations

import pytest

from polygym.transformations.parsing import parse_step
from polygym.transformations.sentences import sentence_of, summary_of
from polygym.transformations.steps import Reorder, Reverse, TreeStep
from tests.transformations.by_force import c_function, start_of

START = c_function(
    """for (int i = 0; i < n; i++) {
  S: x[i] = 0;
  for (int j = 0; j < n; j++) T: A[i][j] = i;
  U: y[i] = 0;
}
for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) V: B[i][j] = i;""",
    "int n, double x[n], double y[n], double A[n][n], double B[n][n]",
)


def tree_step(text: str) -> TreeStep:
    step = parse_step(text)
    assert isinstance(step, TreeStep)
    return step


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("interchange L3 L4", "L3 and L4 change places: L4 is the outer loop now"),
        ("fuse L1 L3", "L1 and L3 become one loop, L1"),
        ("fuse L1 L3 shift 2", "L1 and L3 become one loop, L1; L3 runs 2 iterations later"),
        ("fuse L1 L3 shift n-1", "L1 and L3 become one loop, L1; L3 starts n-1 iterations later"),
        ("fuse S L2", "S moves into the first iteration of L2"),
        ("fuse L2 U", "U moves into the last iteration of L2"),
        ("fuse L2 U shift 1", "U moves into L2, 1 iteration behind its last"),
        ("fuse S L2 shift 2", "S moves into L2, 2 iterations before its first"),
        ("fuse L2 U shift -1", "U moves into L2, 1 iteration before its last"),
        ("fuse L2 U shift L1+1", "U moves into L2, L1+1 iterations behind its last"),
        ("fuse L1 L3 sink L3", "L3 moves into the last iteration of L1"),
        ("distribute L1 before U", "L1 is divided before U: L1 keeps S and T, L5 has the rest"),
        ("reorder S L2", "S and L2 change places: L2 runs first now"),
        ("reorder S U", "U moves before S"),
        ("skew L4 L3 2", "the counter of L4 grows by 2 times that of L3"),
        ("reverse L2", "L2 runs from its last iteration to its first"),
        ("shift U L1 -1", "U runs 1 iteration of L1 earlier"),
    ],
)
def test_each_kind_of_step(text: str, expected: str) -> None:
    start = start_of(START)
    step = tree_step(text)
    start.after(step)
    assert sentence_of(start, step) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], "isl left the order as it is."),
        (["reverse L1", "reverse L2"], "isl reversed L1 and L2."),
        (
            ["fuse L2 L4", "fuse L2 L6", "skew L2 L1 1"],
            "isl fused L2 with L4 and L6, then skewed L2 by L1.",
        ),
        (
            ["reorder S0 S3", "reorder S0 S4", "shift S0 L1 -1"],
            "isl moved S3 and S4 before S0, then shifted S0 by -1 in L1.",
        ),
        (
            ["distribute L1 before S1", "skew L2 L1 -2"],
            "isl distributed L1 before S1, then skewed L2 by -2 times L1.",
        ),
    ],
)
def test_summaries(texts: list[str], expected: str) -> None:
    assert summary_of("isl", [tree_step(text) for text in texts]) == expected


def test_a_long_sequence_is_counted() -> None:
    steps = [Reorder("S0", "S1"), Reverse("L1")] * 10
    assert summary_of("isl", steps) == "isl took 20 steps: 10 moves and 10 reversals."
