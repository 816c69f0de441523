"""Comprehensions for the tests, each with sizes; and arrays to run them on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polygym.frontend.tc import TcDefinition, parse_definitions
from polygym.frontend.tc.semantics.name_resolution import size_locations
from polygym.frontend.tc.syntax.tree import ElementType, NameUse
from tests.tc.oracle.interpreter_state import DTYPES

TEXTS: dict[str, str] = {
    "mv": "def mv(float(M,K) A, float(K) x) -> (C) { C(i) +=! A(i,k) * x(k) }",
    "mv_of_the_paper": "def mv(float(M,K) A, float(K) x) -> (C) { C(i) = 0 C(i) += A(i,k) * x(k) }",
    "mm": "def mm(double(M,K) A, double(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
    "equivalent": """
        def f(float(M,K) A, float(K,N) B) -> (C) {
          C(i,j) +=! A(i,k) * B(k,j) <=> matmul(A(i,k), B(k,j)) where k in 1:3
          C(i,j) = C(i,j) / 2 <=> half()
        }""",
    "sgemm": """
        def sgemm(float a, float b, float(N,M) A, float(M,K) B, float(N,K) C) -> (C) {
          C(i,j) = b * C(i,j)          # initialization
          C(i,j) += a * A(i,k) * B(k,j)  # accumulation
        }""",
    "conv1d": "def conv1d(float(M) I, float(N) K) -> (O) { O(i) +=! K(x) * I(i + x) }",
    "conv2d": """
        def conv2d(float(B,IP,H,W) in, float(OP,IP,KH,KW) weight) -> (out) {
          out(b,op,h,w) +=! in(b,ip, h + kh, w + kw) * weight(op,ip,kh,kw)
        }""",
    "strided": """
        def sconv2d(int sh, int sw, float(N,C,H,W) I, float(F,C,KH,KW) W1, float(F) B) -> (O) {
          O(n,f,h,w) = B(f)
          O(n,f,h,w) += I(n,c, sh * h + kh, sw * w + kw) * W1(f,c,kh,kw)
        }""",
    "dilated": "def d(float(M) I, float(N) K) -> (O) { O(i) +=! K(x) * I(i + 2 * x) }",
    "maxpool": """
        def maxpool2x2(float(B,C,H,W) in) -> (out) {
          out(b,c,i,j) max=! in(b,c, 2 * i + kw, 2 * j + kh) where kw in 0:2, kh in 0:2
        }""",
    "minpool": "def f(int(M) A) -> (O) { O(i) min=! A(i + k) where k in 0:3 }",
    "mlp1": """
        def MLP1(float(B,M) I, float(N,M) W1, float(N) B1) -> (O1) {
          O1(b,n) = B1(n)
          O1(b,n) += I(b,m) * W1(n,m)
          O1(b,n) = fmaxf(O1(b,n), 0)
        }""",
    "transposed": "def t(float(M,N) A) -> (B) { B(i,j) = A(j,i) }",
    "shifted": "def s(float(M) A) -> (B) { B(i) = A(i + 2) - A(i) }",
    "from_one": "def s(float(M) A) -> (B) { B(i) = A(i - 1) }",
    "padded": """
        def p(float(M) A) -> (B) { B(i) = i >= 1 && i <= M ? A(i - 1) : 0 where i in 0:M+2 }""",
    "two_sizes": "def f(float(M) A, float(N) B) -> (C) { C(i) = A(i) * B(i) }",
    "either": "def f(float(N) A, float(M) B) -> (C) { C(i) = i < N ? A(i) : B(i) }",
    "scalar": "def f(float(N) A) -> (s) { s +=! A(i) }",
    "softmax": """
        def softmax(double(N,D) I) -> (O) {
          m(n) max=! I(n,d)
          e(n,d) = exp(I(n,d) - m(n))
          s(n) +=! e(n,d)
          O(n,d) = e(n,d) / s(n)
        }""",
    "moments": """
        def moments(double(N,K) I) -> (mean, var) {
          mean(n) +=! I(n,k)
          mean(n) = mean(n) / K
          var(n) +=! (I(n,k) - mean(n)) * (I(n,k) - mean(n))
          var(n) = var(n) / K
        }""",
    "let": "def f(float(N) A) -> (B) { B(i) = x * x + 1 where x = A(i) }",
    "exists": "def f(float(N) A) -> (B) { B(i) = 2.5 where exists A(i) }",
    "exists_helper": "def f(float(N,M) A) -> (B) { B(i) = 1.5 where exists A(i, k) }",
    "product": "def f(double(N) A) -> (p) { p *=! A(i) }",
    "indices": "def f(float(N) A) -> (B) { B(i,j) = A(i) * j + i where j in 1:4 }",
    "negative": "def f(float(M) A) -> (B) { B(i) = A(M - 1 - i) }",
    "logic": """
        def f(int(N) A, int(N) B) -> (C) {
          C(i) = !(A(i) < B(i)) || A(i) % 3 == 1 ? A(i) / 2 : -B(i)
        }""",
    "declared": "def f(float(N) A) -> (float(N,3) B) { B(i,j) = A(i) }",
    "kronecker": """
        def k(float(D0,N0) W0, float(D1,N1) W1, float(M,N0,N1) X) -> (Y, X1) {
          X1(m,n0,d1) +=! X(m,n0,n1) * W1(d1,n1)
          Y(m,d0,d1) +=! X1(m,n0,d1) * W0(d0,n0)
        }""",
    "inplace_apart": "def f(float(N) A, float(M) a) -> (a) { a(i) = a(i + 4) where i in 0:3 }",
    "gather": "def g(float(N) X, int(A,B) I) -> (Z) { Z(i,j) = X(I(i,j)) }",
    "tables": """
        def 2LUT(float(E1,D) LUT1, int(B,L1) I1, float(E2,D) LUT2, int64(B,L2) I2) -> (O1, O2) {
          O1(i,j) +=! LUT1(I1(i,k),j)
          O2(i,j) +=! LUT2(I2(i,k),j)
        }""",
    "gather_twice": "def f(double(P) X, int(N) I, int64(M) J) -> (Z) { Z(i) = X(I(J(i))) }",
    "gather_shifted": """
        def f(float(M,N) X, int(K) I) -> (Z) { Z(i,j) = X(I(i) + 1, j + 1) * I(i) }""",
    "gather_both": """
        def f(double(M,N) X, int(K,L) I, int(N) J) -> (s) {
          s(i) max=! X(3 - I(i,k), J(j) + k - k) * k
        }""",
    "gather_choice": """
        def f(float(M) X, int(M) I) -> (Z) { Z(i) = i > 0 ? X(I(i - 1)) : 2 * X(0) }""",
    "gather_checked": """
        def f(float(M) X, int(N) V) -> (Z) {
          Z(i) = V(i) >= 0 && V(i) < M ? X(V(i) >= 0 ? V(i) : 0) : -1
        }""",
    "gather_temporary": """
        def f(float(M) X, int(M) I) -> (Z) {
          Y(i) = 2 * X(i) + i
          Z(i) = Y(I(i)) - Y(I(M - 1 - i))
        }""",
    "gather_columns": """
        def f(float(M,N) X, int(L,K) I) -> (O) { O(i,j) +=! X(I(j,k), i) }""",
    "gather_scalar": """
        def f(double(M) X, int(K) I) -> (Z) { n max=! I(k) Z(i) = X(i) * X(n) }""",
    "gather_update": "def f(int(N) I, double(M) X) -> (I) { I(i) = int(X(I(i))) }",
    "words": """
        def 2MM(float(N) for, float(N) mod) -> (int1) {
          int1(floor) = for(floor) + mod(floor)
        }""",
}

SIZES: dict[str, dict[str, int]] = {
    "conv1d": {"M": 9, "N": 3},
    "conv2d": {"B": 2, "IP": 3, "H": 6, "W": 7, "OP": 2, "KH": 3, "KW": 2},
    "strided": {"N": 2, "C": 2, "H": 8, "W": 9, "F": 3, "KH": 3, "KW": 2},
    "dilated": {"M": 12, "N": 3},
    "maxpool": {"B": 2, "C": 2, "H": 7, "W": 6},
    "minpool": {"M": 8},
    "shifted": {"M": 7},
    "two_sizes": {"M": 7, "N": 5},
    "either": {"M": 7, "N": 5},
    "inplace_apart": {"N": 3, "M": 9},
    "gather": {"N": 7, "A": 5, "B": 21},
    "tables": {"E1": 6, "D": 19, "B": 5, "L1": 7, "E2": 9, "L2": 4},
    "gather_columns": {"M": 5, "N": 20, "L": 37, "K": 5},
    "gather_both": {"M": 5, "N": 7, "K": 9, "L": 5},
}
CONSTANTS: dict[str, dict[str, int]] = {"strided": {"sh": 2, "sw": 3}}


def definition_of(name: str) -> TcDefinition:
    return parse_definitions(TEXTS[name])[0]


def sizes_for(name: str, definition: TcDefinition) -> dict[str, int]:
    """Return the sizes of a program of the tests; those not said differ from each other."""
    return SIZES.get(name) or {size: 3 + k for k, size in enumerate(size_locations(definition))}


def arguments(
    definition: TcDefinition, sizes: Mapping[str, int], constants: Mapping[str, int], seed: int = 0
) -> dict[str, np.ndarray]:
    """Return random arguments; small whole numbers, so that sums are exact in any order.

    Integers that are called I or J are indices: two below every size at most.
    """
    rng = np.random.default_rng(seed)
    result = {}
    for parameter in definition.parameters:
        if parameter.name in constants:
            result[parameter.name] = np.asarray(constants[parameter.name], DTYPES[parameter.type])
            continue
        shape = [sizes[s.name] if isinstance(s, NameUse) else int(s.value) for s in parameter.sizes]
        is_index = parameter.name[0] in "IJ" and parameter.type in (
            ElementType.INT32,
            ElementType.INT64,
        )
        low, high = (0, min(sizes.values()) - 1) if is_index else (-4, 5)
        result[parameter.name] = np.asarray(rng.integers(low, high, shape), DTYPES[parameter.type])
    return result
