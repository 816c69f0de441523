"""Loops over products, against the loops of Python: whatever sign the sizes have."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.evaluation import context_holds
from tests.oracles.interpreter import interpret

VALUES = ["0", "n * m", "i * m", "(i + 1) * m", "n * m - m", "3", "n", "i * m + n", "m - 1"]
VALUES += ["n * m - 1", "n * m / 2", "n * m / 3", "1", "n * m + 1", "m + 1", "(n - 1) * m / 2"]
STEPS = ["1", "m", "2", "n", "n * m", "2 * m"]
_MOST, _TAKEN = 500, 25


def looped(n: int, m: int, first: str, end: str, step: str, operator: str) -> list[int] | None:
    """Return what C computes, None where a loop does not end or takes long."""
    y, first, end = [0, 0], in_python(first), in_python(end)
    for i in range(3):
        names = {"n": n, "m": m, "i": i}
        k, by = eval(first, names), eval(step, names)
        count = 0
        while eval(f"k {operator} ({end})", {**names, "k": k}):
            y[0] += k * 7 + 1
            y[1] = (y[1] * 3 + k) & 1023
            k += by if operator[0] == "<" else -by
            count += 1
            if count > _MOST:
                return None
    return y


def in_python(text: str) -> str:
    """Return an expression of C, whose quotients are rounded towards 0."""
    whole, slash, by = text.partition(" / ")
    return f"int(({whole}) / {by})" if slash else text


def test_loops_over_products() -> None:
    ways = list(itertools.product(VALUES, VALUES, STEPS, ["<", "<=", ">", ">="]))
    rng = random.Random(21)
    rng.shuffle(ways)
    taken = 0
    for way in (way for way in ways if "*" in "".join(way)):
        scop = read(*way)
        if scop is not None:
            compare(scop, *way)
            taken += 1
        if taken == _TAKEN:
            return
    raise AssertionError("hardly any loop is taken")


def read(first: str, end: str, step: str, operator: str) -> Scop | None:
    change = "+=" if operator[0] == "<" else "-="
    text = f"""void f(int n, int m, long y[2]) {{
#pragma scop
  for (int i = 0; i < 3; i++)
    for (int k = {first}; k {operator} {end}; k {change} {step}) {{
      y[0] += k * 7 + 1;
      y[1] = (y[1] * 3 + k) & 1023;
    }}
#pragma endscop
}}
"""
    try:
        return parse_text(text)
    except InputError:
        return None


def compare(scop: Scop, first: str, end: str, step: str, operator: str) -> None:
    known = [parameter.name for parameter in scop.parameters]
    for n, m in itertools.product((-2, 0, 1, 3), (-3, 0, 1, 4)):
        values = {"n": n, "m": m}
        if not context_holds(scop.context, {name: values[name] for name in known}):
            continue
        expected = looped(n, m, first, end, step, operator)
        if expected is None:
            continue
        arrays = {"y": np.zeros(2, np.int64)}
        for name in ("n", "m"):
            if name not in known and any(array.name == name for array in scop.arrays):
                arrays[name] = np.array(values[name], np.int32)
        interpret(scop, {name: values[name] for name in known}, arrays)
        assert list(arrays["y"]) == expected, (n, m)


@pytest.mark.parametrize(
    ("first", "end", "step", "operator"),
    [
        ("i * m", "(i + 1) * m", "1", "<"),
        ("0", "n * m", "1", "<"),
        ("0", "n * m", "m", "<"),
        ("0", "n * m - m", "m", "<="),
        ("n * m", "0", "1", ">"),
        ("n * m", "i * m", "m", ">"),
        ("0", "n * m - 1", "1", "<"),
        ("1", "n * m", "1", "<"),
        ("m", "n * m - m - 1", "1", "<="),
        ("n * m - 2", "0", "1", ">="),
        ("0", "n * m / 2", "1", "<"),
        ("n * m / 3", "n * m", "1", "<"),
        ("n * m - 1", "n * m / 2", "1", ">="),
    ],
)
def test_these_are_taken(first: str, end: str, step: str, operator: str) -> None:
    scop = read(first, end, step, operator)
    assert scop is not None
    compare(scop, first, end, step, operator)
