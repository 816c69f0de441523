"""Calls of other definitions, and sizes by dimension: the same as what stands there written out."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError, SourceError
from polygym.frontend.tc import lower_definition, parse_definitions
from polygym.tc.comprehension import define
from polygym.tc.similar_kernels import canonical_text

LAYER = """
def layer(float(B, M) I, float(N, M) W) -> (O) {
  O(b, n) +=! I(b, m) * W(n, m)
  O(b, n) = fmaxf(O(b, n), 0)
}
"""
MORE = """
def both(float(N) A) -> (B, C) { T(i) = A(i) * A(i) B(i) = T(i) + 1 C +=! T(i) }
def scale(float(N) A, float s) -> (B) { B(n) = A(n) * s / N }
def window(float(N) A, int w) -> (B) { B(i) +=! A(i + k) where k in 0:w }
def add(float(N) A, float(N) B) -> (A) { A(i) += B(i) }
def zeros(float(N) A) -> (double(N) Z) { Z(i) = 0 }
def wide(float(N) A) -> (double S) { S +=! A(i) }
"""


def last(text: str) -> str:
    """Return the canonical text of the last definition."""
    return canonical_text(parse_definitions(text)[-1])


@pytest.mark.parametrize(
    ("before", "called", "written"),
    [
        (
            LAYER,
            """def f(float(B, M) I, float(N, M) V, float(K, N) W) -> (O) {
                 T = layer(I, V)  O = layer(T, W) }""",
            """def f(float(B, M) I, float(N, M) V, float(K, N) W) -> (O) {
                 T(b, n) +=! I(b, m) * V(n, m)  T(b, n) = fmaxf(T(b, n), 0)
                 O(b, n) +=! T(b, m) * W(n, m)  O(b, n) = fmaxf(O(b, n), 0) }""",
        ),
        (
            MORE,
            "def f(float(N) X) -> (P, Q) { (P, Q) = both(X) }",
            "def f(float(N) X) -> (P, Q) { T(i) = X(i) * X(i) P(i) = T(i) + 1 Q +=! T(i) }",
        ),
        (  # what is kept inside twice has two names, indices keep out of the way of tensors
            MORE,
            "def f(float(N) i, float(N) T) -> (P) { (B, C) = both(i) (P, D) = both(T) }",
            """def f(float(N) i, float(N) T) -> (P) {
                 R(j) = i(j) * i(j) B(j) = R(j) + 1 C +=! R(j)
                 S(j) = T(j) * T(j) P(j) = S(j) + 1 D +=! S(j) }""",
        ),
        (  # a size in a statement is the argument's; a number stands where the scalar stood
            MORE,
            "def f(float(K) X, float(K) Y) -> (P) { P = scale(X, 3) }",
            "def f(float(K) X, float(K) Y) -> (P) { P(n) = X(n) * float(3) / K }",
        ),
        (
            MORE,
            "def f(float(4) X) -> (P) { P = scale(X, 0.5) }",
            "def f(float(4) X) -> (P) { P(n) = X(n) * float(0.5) / 4 }",
        ),
        (
            MORE,
            "def f(float(K) X, int s) -> (P) { P = window(X, s) }",
            "def f(float(K) X, int s) -> (P) { P(i) +=! X(i + k) where k in 0:s }",
        ),
        (
            MORE,
            "def f(float(K) X) -> (P) { Y = window(X, 3) P = window(Y, 2) }",
            """def f(float(K) X) -> (P) { Y(i) +=! X(i + k) where k in 0:3
                 P(i) +=! Y(i + k) where k in 0:2 }""",
        ),
        (  # an update in place, and one of a copy
            MORE,
            "def f(float(N) X, float(N) Y) -> (X) { X = add(X, Y) }",
            "def f(float(N) X, float(N) Y) -> (X) { X(i) += Y(i) }",
        ),
        (
            MORE,
            "def f(float(N) X, float(N) Y) -> (Z) { Z = add(X, Y) }",
            "def f(float(N) X, float(N) Y) -> (Z) { Z(i) = X(i) Z(i) += Y(i) }",
        ),
        (  # what the definition declares about its output holds here as well
            MORE,
            "def f(float(N) X) -> (Z) { Z = zeros(X) }",
            "def f(float(N) X) -> (Z) { Z(i) = double(0) where i in 0:N }",
        ),
        (
            MORE,
            "def f(float(N) X) -> (S) { S = wide(X) }",
            "def f(float(N) X) -> (S) { S +=! double(X(i)) }",
        ),
        (  # a call in what is called
            LAYER
            + "def two(float(B, M) I, float(M, M) V) -> (O) { T = layer(I, V) O = layer(T, V) }",
            "def f(float(B, M) I, float(M, M) V) -> (O) { T = layer(I, V) O = two(T, V) }",
            """def f(float(B, M) I, float(M, M) V) -> (O) {
                 T(b, n) +=! I(b, m) * V(n, m)  T(b, n) = fmaxf(T(b, n), 0)
                 U(b, n) +=! T(b, m) * V(n, m)  U(b, n) = fmaxf(U(b, n), 0)
                 O(b, n) +=! U(b, m) * V(n, m)  O(b, n) = fmaxf(O(b, n), 0) }""",
        ),
        (  # sizes by dimension
            "",
            "def f(float(N, 7) A) -> (float(N) B) { B(i) = A(i, j) / (A.0 + B.0) where j in 0:1 }",
            "def f(float(N, 7) A) -> (float(N) B) { B(i) = A(i, j) / (N + N) where j in 0:1 }",
        ),
        (
            "",
            "def f(float(N, 7) A) -> (C) { C(i) = 2 where i in 1:A.1, exists A(i, 0) }",
            "def f(float(N, 7) A) -> (C) { C(i) = 2 where i in 1:7, exists A(i, 0) }",
        ),
    ],
)
def test_it_is_the_same_as_written_out(before: str, called: str, written: str) -> None:
    assert last(before + called) == last(written)


MODEL = """
def 2LUT(float(E1, D) LUT1, int(B, L1) I1, float(E2, D) LUT2, int(B, L2) I2) -> (O1, O2) {
  O1(i, j) +=! LUT1(I1(i, k), j)
  O2(i, j) +=! LUT2(I2(i, k), j)
}
def MLP1(float(B, M) I, float(N, M) W1, float(N) B1) -> (O1) {
  O1(b, n) = B1(n)
  O1(b, n) += I(b, m) * W1(n, m)
  O1(b, n) = fmaxf(O1(b, n), 0)
}
def prodModel(float(E1, D) LUT1, int(B, L1) I1, float(E2, D) LUT2, int(B, L2) I2,
              float(N, D) W1, float(N) B1, float(K, N) W2, float(K) B2) -> (C1, C2, I, O1, O2) {
  (C1, C2) = 2LUT(LUT1, I1, LUT2, I2)
  I(b, d) = C1(b, d) + C2(b, d)
  O1 = MLP1(I, W1, B1)
  O2 = MLP1(O1, W2, B2)
}
"""


def test_a_model_of_parts(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYGYM_CACHE", "off")
    rng = np.random.default_rng(0)

    def floats(*shape: int) -> np.ndarray:
        return rng.integers(-3, 4, shape).astype(np.float32)

    def places(most: int, *shape: int) -> np.ndarray:
        return rng.integers(0, most, shape).astype(np.int32)

    lut1, i1, lut2, i2 = floats(9, 5), places(9, 4, 3), floats(8, 5), places(8, 4, 2)
    w1, b1, w2, b2 = floats(6, 5), floats(6), floats(7, 6), floats(7)
    results = define(MODEL, "prodModel")(lut1, i1, lut2, i2, w1, b1, w2, b2)
    c1, c2 = lut1[i1].sum(1), lut2[i2].sum(1)
    o1 = np.maximum((c1 + c2) @ w1.T + b1, 0)
    o2 = np.maximum(o1 @ w2.T + b2, 0)
    for result, wanted in zip(results, (c1, c2, c1 + c2, o1, o2), strict=True):
        assert (result == wanted).all()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("O = layer(I)", "layer: expected 2 argument(s), I, W, found 1"),
        ("(O, P) = layer(I, V)", "layer: expected 1 result(s), O, found 2"),
        ("(O, O) = both(x)", "O is assigned twice by one call"),
        ("O = layer(I, x)", "layer: W: expected 2 dimension(s), found x, which has 1"),
        ("O = layer(I, D)", "layer: W: expected float, found D, which is double"),
        ("O = layer(I, 3)", "layer: W: expected a tensor, found a number"),
        ("O = window(x, 1.5)", "window: w: expected int32, found 1.5"),
        ("O = window(x, 3000000000)", "window: w = 3000000000 does not fit int"),
        ("O = layer(I, Q)", "layer: W: expected a parameter or a tensor that has been assigned"),
        ("O = layer(I, O)", "layer: W: expected a parameter or a tensor that has been assigned"),
        ("O = layer(I, R)", "dimension 1 of R: expected M, as dimension 1 of I is, found N"),
        ("x = scale(x, 2)", "x has a value already; expected another name"),
        ("O = scale(x, 2) O = scale(x, 3)", "O has a value already"),
        ("x = add(x, x)", "x is updated, and is another argument as well"),
        ("T(i) +=! x(i + k) where k in 0:2 O = scale(T, 2)", "scale: its size N is not known here"),
        (
            "T(i) +=! x(i + k) where k in 0:2 O = add(T, T)",
            "add: N: the size of dimension 0 of T is not known here",
        ),
        ("O = layer(bytes, V)", "layer: I: expected 2 dimension(s), found bytes, which has 1"),
        ("O = scale(bytes, 2)", "scale: A: expected float, found bytes, which is uint8"),
        ("(O) = later(x)", "expected a definition that stands before, found 'later'"),
        ("(O) = f(x)", "f calls itself: expected a definition"),
        ("(O = scale(x, 2)", "expected ',' or ')' after a result"),
        ("O = scale(x + 1, 2)", "expected ',' or ')' after an argument"),
        ("exp(i) = x(i) O = soft(exp)", "exp is a tensor here, and a function in soft"),
        ("O(i) = x(i) * x.1", "x.1: x has 1 dimension(s), counted from 0"),
        ("O(i) = x(i) * O.0", "O.0: expected a tensor with declared sizes, found O"),
        ("O(i) = x(i) * x.0000000000", "expected"),
    ],
)
def test_what_is_refused(body: str, said: str) -> None:
    text = (
        f"{LAYER}{MORE}def soft(float(N) A) -> (B) {{ B(i) = exp(A(i)) }}\n"
        "def f(float(B, M) I, float(N, M) V, float(M, N) R, double(N, M) D, float(N) x, "
        "byte(N) bytes) -> (O) {"
        f" {body} }} def later(float(N) A) -> (B) {{ B(i) = A(i) }}"
    )
    with pytest.raises(SourceError) as caught:
        parse_definitions(text, "my.tc")
    assert said in str(caught.value)
    assert "my.tc:" in str(caught.value)
    assert "^" in str(caught.value)


def test_a_tensor_may_be_called_as_a_definition_is() -> None:
    text = "def T(float(N) A) -> (B) { B(i) = A(i) } def f(float(N) A) -> (C) { %s }"
    written = "def f(float(N) A) -> (C) { U(i) = A(i) C +=! U(i) }"
    assert last(text % "T(i) = A(i) C +=! T(i)") == last(written)


WORDS = (
    "O T U = = ( ) , layer both scale window add zeros x I V 2 i A.0 x.0 .1 += +=! (i) +".split()
)


@given(st.lists(st.sampled_from(WORDS), max_size=14))
@settings(deadline=None)
def test_garbage_is_refused_or_taken(words: list[str]) -> None:
    parameters = "float(B, M) I, float(N, M) V, float(N) x"
    text = f"{LAYER}{MORE}def f({parameters}) -> (O) {{ {' '.join(words)} }}"
    with suppress(InputError):
        lower_definition(parse_definitions(text)[-1])
