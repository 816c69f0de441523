"""float16 and bfloat16: read exactly, and rounded once, whether the processor can or not."""

import sys

import ml_dtypes
import numpy as np
import pytest

from polygym.codegen.llvm.expressions import emit_half
from polygym.errors import InputError, SourceError
from polygym.ir.rounding import bit_pattern, round_to_type
from polygym.ir.types import ScalarType
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.tc.comprehension import define

DTYPES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
TYPES = {"float16": ScalarType.HALF, "bfloat16": ScalarType.BFLOAT}
ALL = np.arange(1 << 16, dtype=np.uint16)
CONVERSIONS = """
def f({name}(N) A, float(M) x, double(M) y) -> (B, C, D, E) {{
  B(i) = float(A(i))
  C(i) = double(A(i))
  D(i) = {name}(x(i))
  E(i) = {name}(y(i))
}}"""


def numbers(name: str) -> np.ndarray:
    """Return all finite numbers of a type, as double."""
    with np.errstate(all="ignore"):
        array = ALL.view(DTYPES[name]).astype(np.float32).astype(np.float64)
    return array[np.isfinite(array)]


def hard(name: str) -> np.ndarray:
    """Return doubles that are hard to round: between two neighbours, or nearly."""
    known = np.sort(numbers(name))
    ties = (known[1:] + known[:-1]) / 2
    return np.concatenate([known, ties, ties * (1 + 2.0**-50), ties * (1 - 2.0**-50), known * 1e40])


@pytest.mark.parametrize("mapping", [SEQUENTIAL_MAPPING, Mapping(vector_bits=256)], ids=str)
@pytest.mark.parametrize("has_hardware", [True, False])
@pytest.mark.parametrize("name", DTYPES)
def test_all_of_them_are_read_exactly_and_rounded_once(
    name: str, has_hardware: bool, mapping: Mapping, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_hardware and not emit_half.has_half_conversion():
        pytest.skip("this processor cannot")
    asked: list[bool] = []
    monkeypatch.setenv("POLYGYM_CACHE", "off")
    monkeypatch.setattr(
        emit_half, "has_half_conversion", lambda: asked.append(True) or has_hardware
    )
    given = ALL.view(DTYPES[name])
    y = hard(name)
    with np.errstate(all="ignore"):
        x = y.astype(np.float32)
        single, double, stored, narrow = define(CONVERSIONS.format(name=name), mapping=mapping)(
            given, x, y
        )
        np.testing.assert_array_equal(single, given.astype(np.float32))
        np.testing.assert_array_equal(double, given.astype(np.float32).astype(np.float64))
        np.testing.assert_array_equal(
            stored.view(np.uint16), x.astype(DTYPES[name]).view(np.uint16)
        )
    assert bool(asked) is (name == "float16")
    some = slice(None, None, 61)
    expected = [
        bit_pattern(round_to_type(float(number), TYPES[name]), TYPES[name]) for number in y[some]
    ]
    np.testing.assert_array_equal(narrow.view(np.uint16)[some], expected)


def test_rounding_is_that_of_numpy() -> None:
    values = hard("float16")[::17]
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    assert [round_to_type(float(value), ScalarType.HALF) for value in values] == expected.tolist()


@pytest.mark.parametrize("name", DTYPES)
def test_sums_are_float_and_choices_keep_the_type(name: str) -> None:
    f = define(
        f"""def f({name}(M,K) A, {name}(K,N) B, {name} a) -> (C, D, m, S, T) {{
          C(i,j) +=! A(i,k) * B(k,j)
          D(i,j) = {name}(sqrt(fabs(C(i,j))) / a)
          m max=! A(i,k)
          S(i) +=! A(i,k)
          T(i,k) = A(i,k) ? max(A(i,k), a) : 0.1
        }}"""
    )
    rng = np.random.default_rng(5)
    A = rng.standard_normal((9, 20)).astype(DTYPES[name])
    B = rng.standard_normal((20, 17)).astype(DTYPES[name])
    A[0, 0] = -0.0
    C, D, m, S, T = f(A, B, 1.5)
    assert (C.dtype, D.dtype, m.dtype) == (np.dtype(np.float32), DTYPES[name], DTYPES[name])
    wide = A.astype(np.float32)
    np.testing.assert_allclose(C, wide @ B.astype(np.float32), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(D, (np.sqrt(np.abs(C)) / np.float32(1.5)).astype(DTYPES[name]))
    assert m == A.max()
    total = np.zeros(9, DTYPES[name])
    for column in range(20):
        total = (total.astype(np.float32) + wide[:, column]).astype(DTYPES[name])
    np.testing.assert_array_equal(S, total)
    tenth = np.float32(0.1).astype(DTYPES[name])
    np.testing.assert_array_equal(T, np.where(A == 0, tenth, np.maximum(A, DTYPES[name].type(1.5))))


def test_nothing_is_narrowed_unless_a_conversion_says_so() -> None:
    text = "def f(float(N) A, bfloat16(N) B) -> (float16(N) C) {{ C(i) = {value} }}"
    for value in ("A(i)", "B(i)", "B(i) * 2", "sqrt(B(i))"):
        with pytest.raises(SourceError, match="float16"):
            define(text.format(value=value))
    define(text.format(value="float16(B(i)) "))


def test_tensors_of_pytorch_share_their_memory() -> None:
    torch = pytest.importorskip("torch")
    f = define("def f(bfloat16(N) A) -> (bfloat16(N) B) { B(i) = bfloat16(A(i) * 3) }")
    given = torch.arange(5, dtype=torch.float32).to(torch.bfloat16)
    out = torch.zeros(5, dtype=torch.bfloat16)
    assert f(given).dtype is torch.bfloat16
    f(given, out=out)
    assert torch.equal(out, given * 3)


def test_the_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(InputError, match=r"polygym\[half\]"):
        define("def f(bfloat16(N) A) -> (B) { B(i) = float(A(i)) }")(np.zeros(3))
