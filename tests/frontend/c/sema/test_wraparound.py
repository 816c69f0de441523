"""Integers without a sign: what wraps around, and which parameters a program is meant for."""

from __future__ import annotations

import operator
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import islpy as isl
import pytest

from polygym.errors import SourceError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from tests.frontend.c.against_gcc import like_gcc

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
UNSIGNED = ("size_t", "unsigned", "uint32_t", "unsigned long")


def scop_of(head: str, region: str) -> Scop:
    includes = "#include <stddef.h>\n#include <stdint.h>\n"
    return parse_text(f"{includes}void f({head}) {{\n#pragma scop\n{region}\n#pragma endscop\n}}\n")


# What is handed over, the region, the sizes of a and b, the least n.
BOUNDED = [
    ("for (T i = 0; i < n - 1; i++) a[i] = b[i];", ("n - 1", "n - 1"), 2),
    ("for (T i = 0; i < n - 1; i++) a[i] = b[i + 1];", ("n - 1", "n"), 2),
    ("for (int i = 0; i < n - 2; i++) a[i] = b[i];", ("n - 2", "n - 2"), 3),
    ("for (T i = 2; i < n - 2; i++) a[i] = b[i - 2] + b[i + 2];", ("n - 2", "n"), 3),
    ("for (T i = n - 1; i > 0; i--) a[i] = b[i];", ("n", "n"), 1),
    ("for (T i = n - 1; i < n; i--) a[i] = b[i];", ("n", "n"), 1),
    ("for (T i = 0; i + 1 < n; i++) a[i] = b[i];", ("n - 1", "n - 1"), 2),
    ("for (T i = 0; i < n + (T)-1; i++) a[i] = b[i];", ("n - 1", "n - 1"), 2),
    ("for (T i = 0; i < -1 + n; i++) a[i] = b[i];", ("n - 1", "n - 1"), 2),
    ("for (T i = 1; i < n; i++) for (int d = -1; d <= 0; d++) a[i + d] = b[i];", ("n", "n"), 1),
]


@pytest.mark.parametrize("kind", UNSIGNED)
@pytest.mark.parametrize(("region", "sizes", "least"), BOUNDED)
def test_sizes_are_those_of_parameters_that_do_not_wrap(
    kind: str, region: str, sizes: tuple[str, str], least: int
) -> None:
    """``i < n - 1`` of no n runs for ever: n is at least 1, as in ``double a[n]``."""
    scop = scop_of(f"{kind} n, double *a, double *b", region.replace("T", kind))
    assert tuple(scop.array(name).c_extents[0] for name in "ab") == sizes
    assert scop.context in (f"[n] -> {{  : n >= {least} }}", f"[n] -> {{  : n > {least - 1} }}")


def test_a_difference_of_two_parameters_is_positive() -> None:
    scop = scop_of("size_t n, size_t m, double *a", "for (size_t i = 0; i < n - m; i++) a[i] = 0;")
    assert scop.array("a").c_extents == ("n - m",)
    assert scop.context == "[n, m] -> {  : 0 <= m < n }"


def test_what_may_wrap_around_is_excluded() -> None:
    head, loops = "size_t n, size_t m, double a[n]", "for (size_t i = 0; i < n - m; i++) a[i] = 0;"
    assert scop_of(head, loops).conditions == ("n >= m",)
    assert scop_of(head, f"assert(n >= m); {loops}").conditions == ("n >= m",)


def test_a_declared_size_does_not_wrap_either() -> None:
    scop = scop_of("size_t n, double a[n - 1]", "for (size_t i = 0; i < n - 1; i++) a[i] = 0;")
    assert scop.context in ("[n] -> {  : n >= 2 }", "[n] -> {  : n > 1 }")


@pytest.mark.parametrize("kind", UNSIGNED)
def test_a_declared_array_says_what_n_must_be(kind: str) -> None:
    """Where nothing wraps around, nothing is left of the numbers that say so."""
    loops = f"for ({kind} i = 0; i < n - 2; i++) a[i] = b[m - 3];"
    scop = scop_of(f"{kind} n, {kind} m, double a[n], double b[m]", loops)
    assert set(scop.conditions) == {"n >= 2", "m >= 3"}
    (statement,) = scop.statements
    assert isl.Set(statement.domain).is_equal(isl.Set("[n, m] -> { S0[i] : 0 <= i < n - 2 }"))
    (read,) = statement.reads
    assert isl.Map(read.relation).is_equal(isl.Map("[n, m] -> { S0[i] -> b[m - 3] }"))


IMAGE = """
#include <stdint.h>
#include <stddef.h>
void blur(const float *in, const float *weight, float *out, size_t h, size_t w) {
#pragma scop
  for (size_t y = 1; y < h - 1; y++)
    for (size_t x = 1; x < w - 1; x++) {
      float sum = 0;
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
          sum += in[(y + dy) * w + (x + dx)] * weight[(dy + 1) * 3 + dx + 1];
      out[y * w + x] = sum;
    }
#pragma endscop
}
"""


@needs_gcc
def test_a_window_with_signed_offsets(tmp_path: Path) -> None:
    """``y + dy`` wraps around on its way to y - 1, and is not off by 2^64 for that."""
    scop = like_gcc(tmp_path, IMAGE, h=7, w=9)
    assert scop.array("in").c_extents == ("h", "w")


@dataclass(frozen=True)
class Number:
    """An integer of C's, int or unsigned, with C's conversions: the oracle for conditions."""

    value: int
    signed: bool = True

    def _with(self, other: Number | int, operate: Callable[[int, int], int]) -> Number:
        right = other if isinstance(other, Number) else Number(other)
        signed = self.signed and right.signed
        both = [number.value if signed else number.value % 2**32 for number in (self, right)]
        result = int(operate(*both))
        return Number(result if signed else result % 2**32, signed)

    def __add__(self, other: Number | int) -> Number:
        return self._with(other, operator.add)

    def __sub__(self, other: Number | int) -> Number:
        return self._with(other, operator.sub)

    def __mul__(self, other: Number | int) -> Number:
        return self._with(other, operator.mul)

    def __neg__(self) -> Number:
        return Number(0, self.signed) - self

    def __lt__(self, other: Number | int) -> bool:
        return self._with(other, operator.lt).value == 1

    def __gt__(self, other: Number | int) -> bool:
        return self._with(other, operator.gt).value == 1


TERMS = ("i", "u", "s", "n", "(u - 3)", "(i - 2)", "(s + i - 4)", "(s * 3)", "-u", "one")


@pytest.mark.parametrize("form", ["{} < {}", "{} + {} < 9", "{} - {} > 2"])
def test_conditions_are_those_of_c(form: str) -> None:
    """Terms of int, unsigned and unsigned char, two in a condition, at every point."""
    loops = """
  for (int i = -1; i < 3; i++)
    for (unsigned u = 1; u < n; u++)
      for (unsigned char s = 100; s < 102; s++)
        if ({}) y[0] += 1;"""
    size = 5
    points = list(product(range(-1, 3), range(1, size), range(100, 102)))
    for left, right in product(TERMS, TERMS):
        condition = form.format(left, right)
        expected = {
            (i, u, s)
            for i, u, s in points
            if eval(
                condition,
                {
                    "i": Number(i),
                    "u": Number(u, signed=False),
                    "s": Number(s),
                    "n": Number(size, signed=False),
                    "one": Number(1),
                },
            )
        }
        text = loops.format(condition.replace("one", "1"))
        try:
            domain = isl.Set(scop_of("unsigned n, int y[1]", text).statements[0].domain)
        except SourceError:
            domain = isl.Set("{ S0[i, u, s] : false }")  # the region does nothing
        kept = {
            point
            for point in points
            if not domain.intersect(
                isl.Set(f"[n] -> {{ {domain.get_tuple_name()}{list(point)} : n = {size} }}")
            ).is_empty()
        }
        assert kept == expected, condition


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("stddef.h", "size_t"),
        ("stdint.h", "uint_least32_t"),
        ("stdint.h", "uintmax_t"),
        ("sys/types.h", "uint"),
        ("sys/types.h", "mode_t"),
    ],
)
def test_unsigned_types_of_headers_wrap_around(header: str, name: str) -> None:
    text = f"#include <{header}>\nvoid f(int n, double a[n], double b[n]) {{\n#pragma scop\n"
    text += f"for (int i = 0; i < n; i++) {{ {name} m = i % 2; b[i] = 1;"
    text += "if (m - 1 < 0) a[i] = 1; }\n#pragma endscop\n}"
    assert len(parse_text(text).statements) == 1
