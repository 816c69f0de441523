"""Quotients and remainders in subscripts, against NumPy, and refused where rounding matters."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.codegen.c import print_c
from polygym.codegen.pipeline import lower as loops_of
from polygym.errors import SourceError
from polygym.frontend.tc import lower_definition, parse_definitions
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.runtime.evaluation.c_compilers import compiler_path
from polygym.tc.comprehension import define

MAPPINGS = [str(DEFAULT_MAPPING), str(SEQUENTIAL_MAPPING), "tile=4 unroll_jam=2", "tile=3x5"]


def shuffled(image: np.ndarray) -> np.ndarray:
    depth, height, width = image.shape
    parts = image.reshape(depth // 4, 2, 2, height, width)
    return parts.transpose(0, 3, 1, 4, 2).reshape(depth // 4, 2 * height, 2 * width)


def gathered(image: np.ndarray) -> np.ndarray:
    depth, height, width = image.shape
    parts = image.reshape(depth, height // 2, 2, width // 2, 2)
    return parts.transpose(0, 2, 4, 1, 3).reshape(4 * depth, height // 2, width // 2)


OPERATORS: dict[str, tuple[str, tuple[int, ...], Callable[[np.ndarray], np.ndarray]]] = {
    "upsampling": (
        "B(i,j) = A(i / 2, j / 3)", (5, 7), lambda a: a.repeat(2, 0).repeat(3, 1),
    ),
    "cyclic": (
        "B(i) = A((i + 5) % 7) where i in 0:24", (7,), lambda a: a[(np.arange(24) + 5) % 7],
    ),
    "pixel shuffle": (
        "B(c,h,w) = A(4 * c + 2 * (h % 2) + w % 2, h / 2, w / 2)", (8, 3, 5), shuffled,
    ),
    "space to depth": (
        "B(c,h,w) = A(c / 4, 2 * h + c % 4 / 2, 2 * w + c % 2)", (2, 6, 10), gathered,
    ),
    "flattened": (
        "B(i) = A(i / 6 % 5, i % 6) where i in 0:30", (5, 6), lambda a: a.reshape(30),
    ),
    "grouped": (
        "B(g) +=! A(3 * g + k % 3) where k in 0:6", (12,), lambda a: 2 * a.reshape(4, 3).sum(1),
    ),
    "under a condition": (
        "B(i) = i >= 3 ? A((i - 3) / 2) : 0 where i in 0:9",
        (3,),
        lambda a: np.r_[0, 0, 0, a.repeat(2)],
    ),
    "transposed convolution": (
        "B(x) +=! x >= k && x < 8 + k && (x - k) % 2 == 0 ? A((x - k) / 2) : 0"
        " where x in 0:9, k in 0:2",
        (4,),
        lambda a: np.r_[a.repeat(2), 0],
    ),
}  # fmt: skip


def text_of(statement: str, rank: int) -> str:
    return f"def f(double({', '.join('NMK'[:rank])}) A) -> (B) {{ {statement} }}"


@pytest.mark.rotates
@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str, mapping: str) -> None:
    statement, shape, expected = OPERATORS[name]
    a = np.random.default_rng(1).integers(-9, 9, shape).astype(float)
    for schedule in ("original", "isl"):
        f = define(text_of(statement, a.ndim), mapping=mapping, schedule=schedule)
        np.testing.assert_array_equal(f(a), expected(a), err_msg=schedule)


@pytest.mark.skipif(compiler_path("gcc") is None, reason="no gcc")
@pytest.mark.parametrize("name", ["pixel shuffle", "space to depth"])
def test_printed_c(name: str, tmp_path: Path) -> None:
    statement, shape, expected = OPERATORS[name]
    a = np.random.default_rng(1).normal(size=shape)
    scop = lower_definition(parse_definitions(text_of(statement, 3))[0])
    path, gcc = tmp_path / "f.c", compiler_path("gcc")
    path.write_text(print_c(loops_of(LegalSchedule(scop, original_schedule(scop)))))
    assert gcc is not None
    flags = ["-O1", "-fsanitize=undefined", "-fno-sanitize-recover", "-static-libubsan"]
    subprocess.run([gcc, *flags, "-shared", "-fPIC", path, "-o", tmp_path / "f.so"], check=True)
    wanted = expected(a)
    array = np.empty_like(wanted)
    sizes = [ctypes.c_int(size) for size in shape]
    pointers = [buffer.ctypes.data_as(ctypes.c_void_p) for buffer in (a, array)]
    ctypes.CDLL(str(tmp_path / "f.so")).f(*sizes, *pointers)
    np.testing.assert_array_equal(array, wanted)


small = st.integers(0, 6)
divisor = st.integers(1, 5)


@st.composite
def subscript(draw: st.DrawFn) -> str:
    """Return a text whose value is not negative."""
    result = f"({draw(small)} * i + {draw(small)} * j + {draw(small)})"
    for _ in range(draw(st.integers(0, 2))):
        result = f"({result} {draw(st.sampled_from('/%'))} {draw(divisor)} + {draw(small)} * i)"
    return result


@settings(max_examples=25, deadline=None)
@given(subscript(), subscript(), st.integers(1, 9), st.integers(1, 9), st.sampled_from(MAPPINGS))
def test_given_ranges(one: str, other: str, n: int, m: int, mapping: str) -> None:
    i, j = np.arange(n)[:, None], np.arange(m)[None, :]
    places = [
        eval(text.replace("/", "//"), {"i": i, "j": j}) + 0 * (i + j) for text in (one, other)
    ]
    a = np.random.default_rng(0).normal(size=[place.max() + 1 for place in places])
    statement = f"B(i,j) = A({one}, {other}) where i in 0:{n}, j in 0:{m}"
    f = define(text_of(statement, 2), mapping=mapping)
    np.testing.assert_array_equal(f(a), a[tuple(places)])


def first_interval(value: Callable[[int], int], size: int) -> range:
    """Return the values from the lowest one on that lie inside."""
    start = next((i for i in range(200) if 0 <= value(i) < size), None)
    if start is None:
        return range(0)
    return range(start, next(i for i in count(start) if not 0 <= value(i) < size))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(-6, 9), divisor, st.integers(1, 12))
def test_inferred_ranges(factor: int, plus: int, by: int, size: int) -> None:
    """The largest range, if it is the same by either rounding, and nothing negative is divided."""
    a = np.arange(1.0, size + 1)
    text = text_of(f"B(i) = A(({factor} * i + {plus}) / {by})", 1)
    down = first_interval(lambda i: (factor * i + plus) // by, size)
    towards_zero = first_interval(lambda i: int((factor * i + plus) / by), size)
    if down != towards_zero:
        with pytest.raises(SourceError, match="may be negative"):
            define(text)
        return
    places, result = down, define(text)(a) if down else a[:0]
    assert len(result) == places.stop
    np.testing.assert_array_equal(result[: places.start], 0)
    np.testing.assert_array_equal(
        result[places.start :], [a[(factor * i + plus) // by] for i in places]
    )


REFUSED = [
    ("B(i) = A((i - 1) / 2)", "divides what may be negative"),
    ("B(i) = A((N - 1 - i) / 2)", "divides what may be negative"),
    ("B(i) = A((i - 1) % 4) where i in 0:9", "divides what may be negative"),
    ("B(i) = i >= 2 ? A((i - 3) / 2) : 0 where i in 0:9", "leaves its tensor"),
    ("B(i) = A((i + N - 5) % 2) where i in 0:9", "divides what may be negative"),
    ("B(i) = A(i / 0)", "by positive numbers"),
    ("B(i) = A(i / -2) where i in 0:9", "by positive numbers"),
    ("B(i) = A(i % 4)", "has no end"),
    ("B(i) = A(i/2 + i/3 + i/4 + i/5 + i/6)", "at most 4 quotients"),
]


@pytest.mark.parametrize(("statement", "expected"), REFUSED)
def test_refusals(statement: str, expected: str) -> None:
    with pytest.raises(SourceError) as caught:
        define(text_of(statement, 1))
    assert expected in str(caught.value)


def test_an_index_that_is_bounded_elsewhere_may_be_divided() -> None:
    a = np.arange(8.0)
    result = define(text_of("B(i) = A(i) + A((N - 1 - i) / 2)", 1))(a)
    np.testing.assert_array_equal(result, a + a[(7 - np.arange(8)) // 2])


def test_divisors_may_be_parameters() -> None:
    f = define("def f(int s, double(N) A) -> (B) { B(i,r) = A(i / s) where r in 0:2, i in 0:6 }")
    a = np.arange(6.0)
    for s in (1, 2, 3):
        np.testing.assert_array_equal(f(s, a)[:, 0], a[np.arange(6) // s])
    with pytest.raises(SourceError, match="by positive numbers"):
        f(-1, a)


def test_what_is_updated_in_place() -> None:
    """Exactly: what is read may be what is written by the same instance alone."""
    a = np.arange(6.0)
    f = define("def f(double(N) A) -> (A) { A(i) = A(2 * (i / 2) + i % 2) + 1 }")
    np.testing.assert_array_equal(f(a), a + 1)
    with pytest.raises(SourceError, match="is read where"):
        define("def f(double(N) A) -> (A) { A(i) = A(i / 2) }")


def test_one_statement_after_the_other() -> None:
    """A schedule may fuse them only as far as the quotient allows it."""
    text = (
        "def f(double(N) A) -> (B, C) { B(i) = 2 * A(i) C(i) = B(i / 2) + B(i % 3) where i in 0:6 }"
    )
    a = np.random.default_rng(2).normal(size=6)
    i = np.arange(6)
    for schedule in ("original", "isl", "isl fusion=maximum"):
        for mapping in MAPPINGS:
            _, result = define(text, schedule=schedule, mapping=mapping)(a)
            np.testing.assert_array_equal(result, 2 * a[i // 2] + 2 * a[i % 3])
