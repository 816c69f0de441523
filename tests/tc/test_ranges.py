"""Ranges that users would work out by hand, and what they are told where there is none."""

import islpy as isl
import numpy as np
import pytest

from polygym.errors import InputError
from polygym.frontend.tc import lower_definition, parse_definitions
from polygym.tc.comprehension import define

RANGES = [
    # what comes before and behind, gaps, and from where on
    ("float(N) A", "A(i - 2) + A(i + 1)", "2 <= i < N - 1"),
    ("float(N) A", "A(N - 1 - i)", "0 <= i < N"),
    ("float(N) A", "A(N - i)", "1 <= i <= N"),
    ("float(N) A", "A(5 - i)", "0 <= i <= 5 and 6 - N <= i"),
    ("float(N) A", "A(2 * i + 1)", "0 <= 2i <= N - 2"),
    ("float(N, M) A", "A(i, i)", "0 <= i < N and i < M"),
    ("float(N, M) A", "A(i, M - 1) + A(i, 0)", "0 <= i < N"),
    # padding: a condition leaves a beginning, and an end where something else says it
    ("float(N) A", "i >= 2 ? A(i - 2) : 0", "0 <= i < N + 2"),
    ("float(N) A", "i < N ? A(i) : 5", "0 <= i < N"),
    ("float(N) A", "i >= 1 && i <= N ? A(i - 1) : 5", "0 <= i <= N"),
    ("float(N) A", "i < 1 || i > N ? 5 : A(i - 1)", "0 <= i <= N"),
    ("float(N) A", "(i > 0 ? A(i - 1) : 0) + A(i) + (i < N - 1 ? A(i + 1) : 0)", "0 <= i < N"),
    ("float(N) A", "0 < i && i < N - 1 ? A(i - 1) + A(i + 1) : A(i)", "0 <= i < N"),
    ("float(N) A", "i > 0 ? A(i - 1) : A(i)", "0 <= i <= N"),
    ("float(N) A", "!!!(i < 1) ? A(i - 1) : A(i)", "0 <= i <= N"),
    ("float(N) A", "!(!(i > 0) || !(i < N)) ? A(i - 1) : 0 where i in 0:N", "0 <= i < N"),
    # a gap that hides the end of the smallest size
    ("float(N) A", "i != 1 ? A(i) : 0", "0 <= i < N"),
    ("float(N) A", "i < 1 || i > 2 ? A(i) : 0", "0 <= i < N"),
    # sizes by arithmetic
    ("float(N) A", "A(i) where i in 1:N - 1", "1 <= i < N - 1"),
    ("float(N) A", "A(i) where i in 0:N / 2", "0 <= i and 2i + 2 <= N"),
    ("float(N) A", "A(2 * i + 1) where i in 0:N / 2", "0 <= i and 2i + 2 <= N"),
    ("float(N) A", "A(i) where i in 0:2 * N - (N + 1) / 2 - N / 2", "0 <= i < N"),
]


@pytest.mark.parametrize(("parameters", "value", "expected"), RANGES)
def test_one_index(parameters: str, value: str, expected: str) -> None:
    (definition,) = parse_definitions(f"def f({parameters}) -> (B) {{ B(i) = {value} }}")
    (statement,) = lower_definition(definition).statements
    domain = isl.Set(statement.domain).reset_tuple_id()
    sizes = "[N, M]" if "M" in parameters else "[N]"
    wanted = isl.Set(f"{sizes} -> {{ [i] : {expected} }}", domain.get_ctx())
    context = isl.Set(lower_definition(definition).context, domain.get_ctx())
    assert domain.intersect_params(context).is_equal(wanted.intersect_params(context))
    assert not domain.is_empty()


@pytest.mark.parametrize(("M", "N"), [("x", "y"), ("a", "x"), ("y", "a"), ("i0", "S0")])
def test_sizes_may_have_any_name(M: str, N: str) -> None:
    conv = define(f"def f(float({M}) I, float({N}) K) -> (O) {{ O(p) +=! I(p + q) * K(q) }}")
    image, kernel = np.arange(7, dtype=np.float32), np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(conv(image, kernel), np.correlate(image, kernel))


PADDED = """
def f(float(N) I, float(K) W) -> (O) {
  O(x) +=! (x + k >= 1 && x + k <= N ? I(x + k - 1) : 0) * W(k) where x in 0:N
}"""


@pytest.mark.parametrize(("size", "width"), [(7, 3), (3, 3), (1, 3), (2, 9), (9, 1)])
def test_a_padded_convolution(size: int, width: int) -> None:
    """All of the kernel counts, even where it is larger than the image."""
    image, kernel = np.arange(size, dtype=np.float32) + 1, np.arange(width, dtype=np.float32) + 2
    padded = np.concatenate([np.zeros(1), image, np.zeros(size + width)])
    expected = [sum(padded[x + k] * kernel[k] for k in range(width)) for x in range(size)]
    declared = PADDED.replace("(O) {", "(float(N) O) {").replace(" where x in 0:N", "")
    for text in (PADDED, declared):
        np.testing.assert_array_equal(define(text)(image, kernel), np.float32(expected))


def test_sizes_without_a_range_name_the_index_and_the_accesses() -> None:
    conv = define("def conv(float(M) I, float(N) K) -> (O) { O(i) +=! K(x) * I(i + x) }")
    with pytest.raises(InputError) as refusal:
        conv(np.ones(3, np.float32), np.ones(5, np.float32))
    said = str(refusal.value)
    assert "conv is not defined for M = 3, N = 5: it needs N <= M" in said
    assert "the range of i is empty: no value keeps i + x of I(i + x) in 0:3, with x in 0:5" in said
    assert said.count("^") == 1
    with pytest.raises(InputError, match=r"A\(3\) leaves its tensor"):
        define("def f(float(N) A) -> (B) { B(i) = A(i) + A(3) }")(np.ones(3, np.float32))


def test_numbers_as_arguments_have_the_type_of_the_parameter() -> None:
    text = """
        def g(float(N) A, float s) -> (B) { B(i) = A(i) + s / 2 }
        def h(int(N) A, int s) -> (B) { B(i) = A(i) - s }
        def k(float(N) A, int s) -> (B) { B(i) = A(i + s + 1) }
        def f(float(N) A, int(N) I) -> (B, C, D, E) {
          B = g(A, 3) C = g(A, -1.5) D = h(I, -2) E = k(A, -1)
        }"""
    A, whole = np.arange(3, dtype=np.float32), np.arange(3, dtype=np.int32)
    B, C, D, E = define(text, "f")(A, whole)
    np.testing.assert_array_equal(B, A + np.float32(1.5))
    np.testing.assert_array_equal(C, A - np.float32(0.75))
    np.testing.assert_array_equal(D, whole + 2)
    np.testing.assert_array_equal(E, A)


def test_a_byte_order_mark_is_nothing() -> None:
    (definition,) = parse_definitions("\ufeffdef f(float(N) A) -> (B) { B(i) = A(i) }")
    assert definition.location.column == 5


TRIANGULAR = """
def f(float(N, K) A, float(M) x) -> (C) {
  C(i) +=! (j < i ? A(i, j) * x(j) : 0.0f) where i in 0:N, j in 0:K
}"""


@pytest.mark.parametrize(
    ("rows", "columns", "length"), [(4, 4, 4), (4, 6, 3), (3, 9, 2), (9, 3, 3), (5, 2, 7)]
)
def test_a_triangular_guard_leaves_sizes_in_several_cases(
    rows: int, columns: int, length: int
) -> None:
    """Good is M >= K, and M >= N - 1 too: the triangle ends before x does."""
    values = np.random.default_rng(0)
    matrix = values.integers(0, 9, (rows, columns)).astype(np.float32)
    vector = values.integers(0, 9, length).astype(np.float32)
    lower_part = np.tril(matrix, -1)[:, :length]
    expected = lower_part @ vector[: lower_part.shape[1]]
    np.testing.assert_array_equal(define(TRIANGULAR)(matrix, vector), expected)


@pytest.mark.parametrize(("rows", "columns", "length"), [(5, 5, 3), (4, 3, 2)])
def test_sizes_beyond_all_cases_are_refused_at_the_call(
    rows: int, columns: int, length: int
) -> None:
    matrix, vector = np.ones((rows, columns), np.float32), np.ones(length, np.float32)
    with pytest.raises(InputError, match="it needs M >= K or"):
        define(TRIANGULAR)(matrix, vector)


@pytest.mark.parametrize("assign", ["+=", "max="])
@pytest.mark.parametrize("ranges", ["i in 0:k", "i in 0:N / k", "j in k:N, i in 0:2"])
def test_an_update_of_nothing_is_refused_before_scalars_are_known(assign: str, ranges: str) -> None:
    with pytest.raises(InputError, match="C has no values yet"):
        define(f"def f(float(N) A, int k) -> (C) {{ C(i) {assign} A(i) where {ranges} }}")
