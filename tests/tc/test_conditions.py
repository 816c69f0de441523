"""Conditions of a ``where`` and computed subscripts on the left, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polygym.errors import InputError, OutOfRangeError, SourceError
from polygym.frontend.tc import lower_definition, parse_definitions
from polygym.tc.comprehension import define

RNG = np.random.default_rng(5)
MAPPINGS = ("default", "sequential", "threads=2")


def lowered(text: str, **constants: int) -> tuple[str, ...]:
    return lower_definition(parse_definitions(text)[0], constants).conditions


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("assign", ["+=!", "max=!", "min=!", "*=!"])
def test_scatter(assign: str, mapping: str) -> None:
    text = (
        "def f(double(V, D) T, int(N) I, double(N, D) X) -> (double(V, D) G) "
        f"{{ G(I(n), d) {assign} X(n, d) }}"
    )
    function = {"+=!": np.add, "max=!": np.maximum, "min=!": np.minimum, "*=!": np.multiply}[assign]
    start = {"+=!": 0, "max=!": -np.inf, "min=!": np.inf, "*=!": 1}[assign]
    rows = RNG.integers(0, 9, 40).astype(np.int32)
    x = RNG.normal(size=(40, 5))
    expected = np.full((9, 5), float(start))
    function.at(expected, rows, x)
    np.testing.assert_array_equal(
        define(text, mapping=mapping)(np.zeros((9, 5)), rows, x), expected
    )


def test_scatter_refuses_other_elements() -> None:
    scatter = define(
        "def f(float(V) T, int(N) I) -> (float(V) G) { G(I(n)) +=! 1.0f }", mapping="sequential"
    )
    with pytest.raises(OutOfRangeError, match="expected a subscript from 0 to 3"):
        scatter(np.zeros(4, np.float32), np.array([1, 4], np.int32))


def test_scatter_under_a_condition() -> None:
    count = define(
        "def f(float(V) T, int(N) I) -> (float(V) G) { G(I(n)) +=! 1.0f where I(n) >= 0 }"
    )
    rows = np.array([2, -1, 0, 2, -7], np.int32)
    np.testing.assert_array_equal(count(np.zeros(3, np.float32), rows), [1, 0, 2])


CONDITIONS = {
    "i >= j": lambda i, j, c: i >= j,
    "i + j < 4, i != 1": lambda i, j, c: (i + j < 4) & (i != 1),
    "i % 2 == 0 || j / 2 == 1": lambda i, j, c: (i % 2 == 0) | (j // 2 == 1),
    "c(j) > 0": lambda i, j, c: c[j] > 0,
    "c(j) > 0, !(i < j)": lambda i, j, c: (c[j] > 0) & (i >= j),
    "i > 2 && c(i) > 0 || i == 0": lambda i, j, c: (i > 2) & (c[i] > 0) | (i == 0),
}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(CONDITIONS)), st.integers(1, 6), st.sampled_from(MAPPINGS))
def test_conditions(condition: str, size: int, mapping: str) -> None:
    text = (
        "def f(double(N, N) A, double(N) c) -> (sums, double(N, N) chosen) "
        f"{{ sums(i) +=! A(i, j) where {condition} chosen(i, j) = A(i, j) where {condition} }}"
    )
    rng = np.random.default_rng(size)
    a, c = rng.integers(-5, 5, (size, size)).astype(float), rng.normal(size=size)
    i, j = np.indices(a.shape)
    chosen = np.where(CONDITIONS[condition](i, j, c), a, 0)
    sums, elements = define(text, mapping=mapping)(a, c)
    np.testing.assert_array_equal(elements, chosen)
    np.testing.assert_array_equal(sums, chosen.sum(1))


def test_fixed_elements_and_diagonals() -> None:
    operator = define(
        "def f(double(N, N) A) -> (double(N, N) B, double(4) C) "
        "{ B(i, i) = A(i, i) B(0, N - 1) += 5 C(3) +=! A(i, j) }"
    )
    a = RNG.integers(0, 9, (3, 3)).astype(float)
    b, c = operator(a)
    np.testing.assert_array_equal(b, np.diag(np.diag(a)) + 5 * np.eye(3, k=2))
    np.testing.assert_array_equal(c, [0, 0, 0, a.sum()])


def test_sizes_decide_at_the_call() -> None:
    text = "def f(int s, float(H) I, float(K) W) -> (O) { O(h) +=! I(s * h + k) * W(k) where h in "
    assert lowered(text + "0:(H - K) / s + 1 }", s=2) == ("K <= H",)
    grouped = "def f(int r, float(C) I) -> (O) { O(c) +=! I(c * r * r + k) where k in 0:r * r, "
    assert lowered(grouped + "c in 0:C / (r * r) }", r=2) == ("C >= 4",)
    padded = (
        "def f(int s, int p, int d, float(H) I, float(K) W) -> (O) { O(h) +=! (s * h + d * k >= p "
        "&& s * h + d * k - p < H ? I(s * h + d * k - p) : 0) * W(k) "
        "where h in 0:(H + 2 * p - d * (K - 1) - 1) / s + 1 }"
    )
    conv = define(padded)
    i, w = RNG.normal(size=9).astype(np.float32), RNG.normal(size=3).astype(np.float32)
    spread = np.zeros(5, np.float32)
    spread[::2] = w
    expected = np.correlate(np.pad(i, 1), spread)[::2]
    np.testing.assert_allclose(conv(2, 1, 2, i, w), expected, rtol=1e-5)
    with pytest.raises(InputError, match="it needs 2K <= 3 \\+ H"):
        conv(2, 1, 2, i[:2], w)


@pytest.mark.parametrize(
    ("end", "length"),
    [("min(M, N)", 3), ("max(M, N) - 2", 3), ("M % 2 + 1", 2), ("M < N ? 1 : 2", 1)],
)
def test_ends_of_ranges(end: str, length: int) -> None:
    f = define(f"def f(float(M) A, float(N) B) -> (C) {{ C(i) = A(0) * B(0) where i in 0:{end} }}")
    assert f(np.ones(3, np.float32), np.ones(5, np.float32)).shape == (length,)


def test_accesses_relate_sizes() -> None:
    text = "def f(float(N) S, float(K) T, float(Z) U) -> (O) { O(i, j) = S(i) * T(j) * U(i + j) }"
    assert lowered(text) == ("Z >= -1 + N + K",)
    grouped = (
        "def f(float(N, C, H) I, float(F, G, K) W) -> (O) "
        "{ O(n, f, h) +=! I(n, 3 * (f / 5) + c, h + k) * W(f, c, k) }"
    )
    i, w = RNG.normal(size=(2, 6, 5)), RNG.normal(size=(10, 3, 2))
    torch = pytest.importorskip("torch")
    expected = torch.conv1d(torch.tensor(i), torch.tensor(w), groups=2).numpy()
    f = define(grouped.replace("float", "double"))
    np.testing.assert_allclose(f(i, w), expected, rtol=1e-12)


def test_quotients_in_conditions_narrow() -> None:
    rotated = define(
        "def f(double(N, D) X, double(D) s) -> (Y) "
        "{ Y(n, d) = s(d) * (d < D / 2 ? X(n, d + D / 2) : X(n, d - D / 2)) }"
    )
    x, s = RNG.normal(size=(2, 6)), RNG.normal(size=6)
    expected = s * np.concatenate([x[:, 3:], x[:, :3]], 1)
    np.testing.assert_allclose(rotated(x, s), expected)


def test_figures_of_the_paper() -> None:
    gemm = define(
        """def sgemm(float a, float b, float(N,M) A, float(M,K) B) -> (C) {
          C(i,j) = b * C(i,j)            # initialization
          C(i,j) += a * A(i,k) * B(k,j)  # accumulation
        }"""
    )
    a, b = RNG.normal(size=(3, 4)).astype(np.float32), RNG.normal(size=(4, 5)).astype(np.float32)
    c = RNG.normal(size=(3, 5)).astype(np.float32)
    expected = 3 * c + 2 * a @ b
    np.testing.assert_allclose(gemm(2, 3, a, b, c), expected, rtol=1e-5)
    np.testing.assert_allclose(gemm(2, 3, a, b, out=c), expected, rtol=1e-5)
    np.testing.assert_allclose(c, expected, rtol=1e-5)
    conv = define(
        """def sconv2d(int sh, int sw, float(N,C,H,W) I, float(F,C,KH,KW) W, float(F) B) -> (O) {
          O(n,f,h,w) = B(f)
          O(n,f,h,w) += I(n,c, sh * h + kh, sw * w + kw) * W(f,c,kh,kw)
        }"""
    )
    torch = pytest.importorskip("torch")
    i, w, bias = (torch.randn(*shape) for shape in ((2, 3, 7, 9), (4, 3, 3, 2), (4,)))
    expected = torch.conv2d(i, w, bias, stride=(2, 3)).numpy()
    result = conv(2, 3, i.numpy(), w.numpy(), bias.numpy())
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_named_arguments() -> None:
    product = define("tc:matvec")
    a, x = np.ones((2, 3), np.float32), np.ones(3, np.float32)
    np.testing.assert_array_equal(product(x=x, A=a), [3, 3])
    np.testing.assert_array_equal(product(a, x=x), [3, 3])
    for named, fragment in (
        ({"A": a, "z": x}, "argument z: there is no such one; the parameters are A, x"),
        ({"A": a}, "argument x is missing"),
    ):
        with pytest.raises(InputError, match=fragment):
            product(**named)
    with pytest.raises(InputError, match="argument A: it is given by its place already"):
        product(a, A=a)


def test_infinity() -> None:
    masked = define("def f(float(N) X, int(N) m) -> (Y) { Y(i) = m(i) > 0 ? X(i) : -INFINITY }")
    result = masked(np.ones(2, np.float32), np.array([1, 0], np.int32))
    np.testing.assert_array_equal(result, [1, -np.inf])


@pytest.mark.parametrize(
    ("statement", "fragment"),
    [
        ("y(i) = x(i) where x(i)", "'=' or in after a name of a where, or a condition"),
        ("y(i) = x(i) where i >= q(i)", "q is neither a tensor nor a function"),
    ],
)
def test_no_conditions(statement: str, fragment: str) -> None:
    with pytest.raises(SourceError) as caught:
        lowered(f"def f(double(N) x) -> (y) {{ {statement} }}")
    assert fragment in str(caught.value)


def test_arrays_without_elements() -> None:
    torch = pytest.importorskip("torch")
    product = define("tc:matmul")
    for m, k, n in ((0, 3, 4), (2, 0, 4), (2, 3, 0), (0, 0, 0)):
        a, b = torch.ones(m, k, requires_grad=True), torch.ones(k, n, requires_grad=True)
        result = product(a, b)
        assert torch.equal(result, a @ b)
        for ours, theirs in zip(
            torch.autograd.grad(result.sum(), (a, b)),
            torch.autograd.grad((a @ b).sum(), (a, b)),
            strict=True,
        ):
            assert torch.equal(ours, theirs)
    assert define("tc:softmax")(np.ones((0, 4), np.float32)).shape == (0, 4)
    update = define("def f(float(N) A, float(N, K) B) -> (A, s) { A(i) += B(i, k) s *=! B(i, k) }")
    updated, one = update(np.ones(3, np.float32), np.ones((3, 0), np.float32))
    assert updated.tolist() == [1, 1, 1]
    assert one == 1
    out = np.full((2, 4), 7, np.float32)
    product(np.ones((2, 0), np.float32), np.ones((0, 4), np.float32), out=out)
    assert not out.any()
    for text in ("O(n) max=! A(n, d)", "O(n) = A(n, 0) * 0 + 3 where n in 0:N"):
        with pytest.raises(InputError, match="expected arrays with elements"):
            define(f"def f(float(N, D) A) -> (O) {{ {text} }}")(np.ones((3, 0), np.float32))


def test_indices_of_either_type() -> None:
    rows = define("tc:1LUT")
    table = np.arange(10, dtype=np.float32).reshape(5, 2)
    assert rows(table, np.array([[1, 4]])).tolist() == [[10, 12]]
    with pytest.raises(InputError, match="I: expected numbers that int32 holds, found 4294967296"):
        rows(table, np.array([[1 << 32]]))
    scaled = define("def f(float s, int64(N) I) -> (O) { O(i) = s * float(I(i)) }")
    assert scaled(np.array(2.0), np.array([3], np.int32)).tolist() == [6]


def test_results_that_are_computed_from_nothing() -> None:
    """What a statement over nothing begins with is read by others."""
    torch = pytest.importorskip("torch")
    rows = torch.randn(3, 4)
    functional = torch.nn.functional
    attended = define("tc:attention")(rows[None], torch.ones(1, 0, 4), torch.ones(1, 0, 2))
    assert torch.equal(attended, torch.zeros(1, 3, 2))
    weights, bias = torch.ones(2, 0), torch.randn(2)
    expected = functional.linear(torch.ones(3, 0), weights, bias)
    assert torch.equal(define("tc:linear")(torch.ones(3, 0), weights, bias), expected)
    targets = torch.zeros(0, dtype=torch.int64)
    assert define("tc:cross_entropy")(-100, torch.ones(0, 4), targets).isnan()
    text = (
        "def f(float(M, N) A, float(M) b) -> (O, s, P) { T(m) +=! A(m, n) O(m) = T(m) + b(m) "
        "s *=! A(m, n) P(m, n) = A(m, n) * T(m) }"
    )
    out, product, empty = define(text)(np.ones((3, 0), np.float32), np.arange(3, dtype=np.float32))
    assert (out.tolist(), product, empty.shape) == ([0, 1, 2], 1, (3, 0))
    update = define("def f(float(N, K) B, float(N) A) -> (A) { A(i) += B(i, k) A(i) = A(i) * 2 }")
    given = np.ones(3, np.float32)
    assert update(np.ones((3, 0), np.float32), given).tolist() == [2, 2, 2]
    assert given.tolist() == [1, 1, 1]
