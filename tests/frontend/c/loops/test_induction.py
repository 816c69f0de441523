"""Integers that step in nests of loops, and pointers through them, against Python's."""

from __future__ import annotations

import itertools
import random
import re
from math import prod

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.evaluation import context_holds, evaluate_extent
from tests.oracles.interpreter import interpret

AROUND = ("k += m;", "k += 2 * m;", "k -= m;", "")
WAYS = (
    ("m", "k++;", ("", "k -= m;", "k += m;", "k -= 2 * m;")),
    ("m - 1", "k++;", ("k++;", "k -= m - 1;", "k += m + 1;")),
    ("m - 2", "k++;", ("k += 2;", "k += 2 * m + 2;")),
    ("2", "k += m;", AROUND),
    ("i + 1", "k += m;", ("k -= m * (i + 1);", "")),
    ("n", "k += m;", ("k -= n * m;", "k -= (n - 1) * m;")),
)
SIZE = "(6 * n + 20) * m"
TOUCH = "A[k] = 3 * A[k] + x++;"
SIZES = list(itertools.product((1, 2, 3, 5), (1, 2, 4, 5)))


def nest(rng: random.Random) -> tuple[list[str], str]:
    """Return a nest of two loops in Python and in C."""
    first = f"(3 * n + 8) * m{rng.choice(('', ' + 1', ' + m - 1'))}"
    outer = rng.choice(("n", "n - 1", "n", "2"))
    inner, inside, ways = rng.choice(WAYS)
    behind, before, last = rng.choice(ways), rng.choice(AROUND), rng.choice(AROUND)
    python = [first, outer, inner, before, inside, behind, last]
    text = f"""void f(int n, int m, long A[{SIZE}]) {{
  int k = {first};
#pragma scop
  long x = 1;
  for (int i = 0; i < {outer}; i++) {{
    {before}
    for (int j = 0; j < {inner}; j++) {{
      {TOUCH}
      {inside}
    }}
    {behind}
  }}
  {last}
  {TOUCH if rng.random() < 0.2 else ""}
#pragma endscop
}}
"""
    return python, text


def computed(parts: list[str], text: str, n: int, m: int) -> list[int] | None:
    """Return what C leaves in A, None where it leaves A."""
    first, outer, inner, before, inside, behind, last = parts
    array, x = [7] * ((6 * n + 20) * m), 1

    def step(k: int, how: str, i: int = 0) -> int:
        how = how.replace("k++;", "k += 1;").replace("k--;", "k -= 1;").strip(";")
        if not how:
            return k
        operator, by = how.split(" ", 2)[1], how.split(" ", 2)[2]
        value = eval(by, {"n": n, "m": m, "i": i})
        return k + value if operator == "+=" else k - value

    def touch(k: int) -> bool:
        nonlocal x
        if not 0 <= k < len(array):
            return False
        array[k] = (3 * array[k] + x + 2**63) % 2**64 - 2**63
        x += 1
        return True

    k = eval(first, {"n": n, "m": m})
    for i in range(eval(outer, {"n": n, "m": m})):
        k = step(k, before)
        for _ in range(eval(inner, {"n": n, "m": m, "i": i})):
            if not touch(k):
                return None
            k = step(k, inside)
        k = step(k, behind, i)
    k = step(k, last)
    if text.count(TOUCH) == 2 and not touch(k):
        return None
    return array


def read(text: str) -> Scop | None:
    try:
        return parse_text(text)
    except InputError:
        return None


def leaves_a_row(scop: Scop, known: dict[str, int], arrays: dict[str, np.ndarray]) -> bool:
    """Interpret a region; whether a computed subscript leaves its row, where kernels stop."""
    try:
        interpret(scop, known, arrays)
    except AssertionError as error:
        if re.fullmatch(r"A\[\w+\]\[\w+\] at \[\d+, \d+\]", str(error)) is None:
            raise
        return True
    return False


def test_random_nests() -> None:
    """What is taken computes what Python computes, in rows or at computed subscripts."""
    rng = random.Random(2)
    taken = compared = stopped = 0
    for _ in range(300):
        parts, text = nest(rng)
        scop = read(text)
        if scop is None:
            continue
        taken += 1
        for n, m in SIZES:
            values = {"n": n, "m": m}
            known = {parameter.name: values[parameter.name] for parameter in scop.parameters}
            expected = computed(parts, text, n, m)
            if expected is None or not context_holds(scop.context, known):
                continue
            compared += 1
            array = scop.array("A")
            shape = tuple(evaluate_extent(extent, known) for extent in array.extents)
            assert prod(shape) == len(expected)
            arrays = {"A": np.full(shape, 7, np.int64), "x": np.array(0, np.int64)}
            start = {**values, "k": eval(parts[0], {"n": n, "m": m})}
            for name in start:
                if name not in known and any(array.name == name for array in scop.arrays):
                    arrays[name] = np.array(start[name], np.int32)
            if leaves_a_row(scop, known, arrays):
                stopped += 1
                continue
            assert arrays["A"].ravel().tolist() == expected, (text, n, m)
        if taken == 12:
            break
    assert taken == 12
    assert compared - stopped > 50


@pytest.mark.parametrize(
    "body",
    [
        "for (i = 0; i < n; i++) for (j = 0; j < m; j++) A[k++] = i;",
        "for (i = 0; i < n; i++) { for (j = 0; j < m; j++) A[k + j] = i; k += m; }",
        "for (i = n - 1; i >= 0; i--) { for (j = 0; j < m; j++) A[k + j] = i; k += m; }",
        "for (j = 0; j < m; j++) { k = j; for (i = 0; i < n; i++) { A[k] = j; k += m; } }",
        "for (i = 0; i < n; i++) { A[k] = 1; k += m; }",
        "double *p = A; for (i = 0; i < n; i++) for (j = 0; j < m; j++) *p++ = i;",
        "for (i = 0; i < n; i++) for (j = 0; j < m; j += 1) { A[k] = i; k = k + 1; }",
    ],
)
def test_these_are_rows(body: str) -> None:
    text = f"void f(int n, int m, double A[n * m]) {{ int i, j, k = 0;\n#pragma scop\n{body}\n"
    scop = parse_text(f"{text}#pragma endscop\n}}\n")
    assert [len(array.extents) for array in scop.arrays if array.name == "A"] == [2]
    assert all(statement.write.array == "A" for statement in scop.statements)  # nobody stores k


def test_what_is_no_number_of_iterations_is_a_condition() -> None:
    """With m < 2 the inner loop runs 0 times, not m - 2; then there is another k."""
    scop = parse_text(
        "void f(int n, int m, double A[n * m]) { int k = m + 1;\n#pragma scop\n"
        "for (int i = 1; i < n - 1; i++) { for (int j = 1; j < m - 1; j++) { A[k] = 0; k++; }\n"
        "k += 2; }\n#pragma endscop\n}\n"
    )
    assert not context_holds(scop.context, {"n": 3, "m": 1})
    assert context_holds(scop.context, {"n": 3, "m": 2})
