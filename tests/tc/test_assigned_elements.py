"""Computed subscripts on the left, against NumPy; refused where an element is assigned twice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from polygym.errors import SourceError
from polygym.frontend.tc import lower_definition, parse_definitions
from polygym.tc.comprehension import define

MAPPINGS = ["", "tile=4 unroll_jam=2", "reassociate=on"]

COMBINED: dict[str, tuple[Callable[[float, float], float], float]] = {
    "+=!": (lambda a, b: a + b, 0.0),
    "*=!": (lambda a, b: a * b, 1.0),
    "max=!": (max, -np.inf),
    "min=!": (min, np.inf),
}


def expected(assign: str, at: np.ndarray, x: np.ndarray, size: int) -> np.ndarray:
    """Return what is left where each element of x goes to some element of a result."""
    combine, neutral = COMBINED[assign]
    array, reached = np.full(size, neutral), np.zeros(size, bool)
    for place, value in zip(at, x, strict=True):
        array[place] = combine(array[place], value)
        reached[place] = True
    return np.where(reached, array, 0.0)


@pytest.mark.rotates
@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("assign", COMBINED)
@pytest.mark.parametrize("left", ["i / 2", "i % 3", "2 * i + 1", "(3 * i + 1) % 7", "4 * (i / 3)"])
def test_reductions(left: str, assign: str, mapping: str) -> None:
    text = f"def f(double(N) x) -> (y) {{ y({left}) {assign} x(i) }}"
    x = np.random.default_rng(1).integers(1, 4, 11).astype(float)
    at = eval(left.replace("/", "//"), {"i": np.arange(11)})
    for schedule in ("original", "isl"):
        f = define(text, mapping=mapping, schedule=schedule)
        np.testing.assert_array_equal(f(x), expected(assign, at, x, int(at.max()) + 1))


def test_several_indices() -> None:
    x, w = np.arange(1.0, 8), np.array([2.0, 3, -1])
    transposed = define("def f(double(N) x, double(K) w) -> (y) { y(i + k) +=! x(i) * w(k) }")
    np.testing.assert_array_equal(transposed(x, w), np.convolve(x, w))
    pooled = define("def f(double(H, W) x) -> (y) { y(h / 2, w / 3) max=! x(h, w) }")
    image = np.random.default_rng(2).normal(size=(6, 9))
    np.testing.assert_array_equal(pooled(image), image.reshape(3, 2, 3, 3).max((1, 3)))
    strided = define("def f(float(N) x, int s) -> (y) { y(s * i + s - 1) = x(i) }")
    np.testing.assert_array_equal(strided(np.ones(3, np.float32), 2), [0, 1, 0, 1, 0, 1])


def test_each_element_once() -> None:
    x = np.arange(1.0, 13)
    reverse = define("def f(double(N) x) -> (y) { y(N - 1 - i) = x(i) }")
    np.testing.assert_array_equal(reverse(x), x[::-1])
    blocks = define("def f(double(N) x) -> (y) { y(i / 4, i % 4) = x(i) }")
    np.testing.assert_array_equal(blocks(x), x.reshape(3, 4))
    between = define(
        "def f(double(N) x, double(N) z) -> (double(24) y) { y(2 * i) = x(i) y(2 * i + 1) = z(i) }"
    )
    np.testing.assert_array_equal(between(x, -x), np.stack([x, -x], 1).ravel())


def test_updates_go_on_with_what_is_there() -> None:
    add = define("def f(double(N) x, double(M) y) -> (y) { y(i / 2) += x(i) }")
    x = np.arange(1.0, 12)
    np.testing.assert_array_equal(add(x, np.full(3, 10.0)), [13, 17, 21])  # as far as y goes
    np.testing.assert_array_equal(add(x[:3], np.full(3, 10.0)), [13, 13, 10])  # as far as x goes


def test_elements_that_nothing_leads_to_are_zero_in_memory_that_is_given() -> None:
    f = define("def f(double(N) x) -> (y) { y(2 * i + 1) max=! -x(i) }")
    out = np.full(6, 7.0)
    f(np.array([1.0, 2, 3]), out=(out,))
    np.testing.assert_array_equal(out, [0, -1, 0, -2, 0, -3])


def test_calls_of_what_assigns_so() -> None:
    pool = "def pool(double(N) x) -> (y) { y(i / 2) +=! x(i) }\n"
    text = pool + "def f(double(N) x) -> (z) { y = pool(x) z(i) = -y(i) }"
    f = define(text, "f")
    np.testing.assert_array_equal(f(np.arange(5.0)), [-1, -5, -4])


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=3, max_size=3),
    st.integers(1, 5),
    st.sampled_from("/%"),
    st.integers(2, 6),
)
def test_sums_at_computed_elements(
    factors: list[int], divisor: int, operator: str, length: int
) -> None:
    a, b, c = factors
    assume(a or b)
    left = f"({a} * i + {b} * j + {c}) {operator} {divisor} + i"
    f = define(f"def f(double(N, M) x) -> (y) {{ y({left}) +=! x(i, j) }}")
    x = np.random.default_rng(3).integers(-5, 6, (length, 3)).astype(float)
    i, j = np.indices(x.shape)
    at = eval(left.replace("/", "//"), {"i": i, "j": j}).ravel()
    np.testing.assert_array_equal(f(x), expected("+=!", at, x.ravel(), int(at.max()) + 1))


@pytest.mark.parametrize(
    ("statement", "fragment"),
    [
        ("y(i / 2) = x(i)", "y(i / 2) is the same element where i = 0 and where i = 1"),
        ("y(i % 3) = x(i)", "is the same element where i = 0 and where i = 3"),
        ("y(i) = x(k)", "a reduction such as"),
        ("y(i - 1) +=! x(i)", "y(i - 1) may be assigned below 0"),
        ("y((i - 1) / 2) +=! x(i)", "divides what may be negative"),
        ("y(i * i) +=! x(i)", "the subscript i * i of y is not affine"),
        ("y(x + i) +=! x(i)", "x is a tensor, no index"),
        ("y(N) +=! x(i)", "N is a size, no index"),
        ("y(2) = x(i)", "expected a reduction such as"),
        ("y(x(i)) +=! x(i)", "the subscript x(i) of y is double: expected an integer"),
        ("y(int(x(i))) +=! x(i)", "the size of y is not known"),
        ("z(int(x(i))) = x(i)", "an element of z may be assigned twice"),
        ("z(int(z(i))) += x(i)", "z(i) is read where i = 0 and written where i = 1"),
        ("y(max(i, 0)) +=! x(i)", "found the subscript max(...)"),
        ("y(i) = x(i) where x > 0", "x has 1 dimension(s)"),
        ("y(i) = x(i) where i + 1", "a condition is x < y"),
        ("y(i) = x(i) where j > 0", "j is neither an index on the left"),
        ("y(i/2+i/3+i/4+i/5+i/6) +=! x(i)", "at most 4 quotients"),
        ("z(i / 2) += z(i / 2) * x(i)", "is read where i = 0 and written where i = 1"),
    ],
)
def test_refused(statement: str, fragment: str) -> None:
    text = f"def f(double(N) x, double(N) z) -> (y, z) {{ {statement} }}"
    with pytest.raises(SourceError) as caught:
        lower_definition(parse_definitions(text)[0])
    assert fragment in str(caught.value)


def test_a_size_that_a_call_cannot_keep_is_refused() -> None:
    text = (
        "def pool(double(N) x) -> (double(N) y) { y(i / 2) +=! x(i) }\n"
        "def f(double(N) x) -> (z) { y = pool(x) z(i) = -y(i) }"
    )
    with pytest.raises(SourceError, match="y is declared with its sizes and assigned at i / 2"):
        parse_definitions(text)
