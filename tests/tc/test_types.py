"""Elements of all types: as NumPy has them where it computes as C does, else as Python has."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from polygym.cli import dispatch
from polygym.codegen.c import print_c
from polygym.codegen.pipeline import lower as loops_of
from polygym.errors import InputError, SourceError
from polygym.frontend.tc import lower_definition, parse_definitions
from polygym.ir.types import ScalarType, common_type
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.index_ranges import valid_index_ranges
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.runtime.evaluation.c_compilers import compiler_path
from polygym.tc.comprehension import define

WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
MAPPINGS = [SEQUENTIAL_MAPPING, Mapping(vector_bits=256)]


def extreme(name: str, seed: int) -> np.ndarray:
    """Return random numbers of a type, its ends among them."""
    ends = np.iinfo(name)
    numbers = np.random.default_rng(seed).integers(
        ends.min, ends.max, (21, 19), dtype=name, endpoint=True
    )
    numbers[0, :4] = ends.min, ends.max, 0, 1
    return numbers


@pytest.mark.rotates
@pytest.mark.parametrize("mapping", MAPPINGS, ids=str)
@pytest.mark.parametrize("name", WHOLE)
def test_integers(name: str, mapping: Mapping) -> None:
    array, other = extreme(name, 1), extreme(name, 2)[::-1].copy()
    within = np.int32 if array.itemsize < 4 else array.dtype
    f = define(
        f"""def f({name}(N,M) A, {name}(N,M) B) -> (S, D, Q, R, L, T, X) {{
          S(i,j) = A(i,j) + B(i,j)
          D(i,j) = -A(i,j) * B(i,j)
          Q(i,j) = A(i,j) / (B(i,j) == 0 ? 7 : B(i,j))
          R(i,j) = A(i,j) % (B(i,j) == 0 ? 7 : B(i,j))
          L(i,j) = A(i,j) < B(i,j)
          T(i,j) = double(A(i,j))
          X(i,j) = max(A(i,j), B(i,j)) - min(A(i,j), B(i,j))
        }}""",
        mapping=mapping,
    )
    added, product, quotient, rest, less, real, apart = f(array, other)
    wide, wide_other = array.astype(within), other.astype(within)
    by = np.where(other == 0, 7, other).astype(object)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(added, wide + wide_other)
        np.testing.assert_array_equal(product, -wide * wide_other)
        np.testing.assert_array_equal(
            apart, np.maximum(wide, wide_other) - np.minimum(wide, wide_other)
        )
    divided = abs(array.astype(object)) // abs(by) * np.where((array < 0) == (by < 0), 1, -1)
    fits = divided <= np.iinfo(within).max  # the least number by -1 wraps
    assert (quotient == divided)[fits].all()
    assert (rest == array.astype(object) - divided * by).all()
    assert added.dtype == product.dtype == quotient.dtype == rest.dtype == within
    assert (less.dtype, real.dtype) == (np.int32, np.float64)
    np.testing.assert_array_equal(less, array < other)
    np.testing.assert_array_equal(real, array.astype(float))


@pytest.mark.rotates
@pytest.mark.parametrize("mapping", MAPPINGS, ids=str)
@pytest.mark.parametrize("name", WHOLE)
def test_reductions_keep_the_type(name: str, mapping: Mapping) -> None:
    numbers = extreme(name, 3)
    f = define(
        f"""def f({name}(N,M) A) -> (S, P, L, H) {{
          S(i) +=! A(i,j)  P(j) *=! A(i,j)  L(i) min=! A(i,j)  H(j) max=! A(i,j)
        }}""",
        mapping=mapping,
    )
    with np.errstate(over="ignore"):
        expected = (
            numbers.sum(1, dtype=name), numbers.prod(0, dtype=name), numbers.min(1), numbers.max(0)
        )  # fmt: skip
    for result, value in zip(f(numbers), expected, strict=True):
        assert result.dtype == name
        np.testing.assert_array_equal(result, value)


@pytest.mark.rotates
@pytest.mark.parametrize("source", WHOLE)
@pytest.mark.parametrize("target", [*WHOLE, "bool", "float", "double"])
def test_conversions_of_integers(source: str, target: str) -> None:
    numbers = extreme(source, 4)
    converted = define(f"def f({source}(N,M) A) -> (B) {{ B(i,j) = {target}(A(i,j)) }}")(numbers)
    np.testing.assert_array_equal(
        converted, numbers.astype({"float": "float32"}.get(target, target))
    )


@pytest.mark.parametrize("name", WHOLE)
def test_conversions_of_floating_numbers_saturate(name: str) -> None:
    ends = np.iinfo(name)
    numbers = np.array([-1e30, -1.5, -0.5, 0, 0.5, 100.7, 1e30, np.nan, np.inf, -np.inf])
    expected = [ends.min, max(-1, ends.min), 0, 0, 0, 100, ends.max, 0, ends.max, ends.min]
    converted = define(f"def f(double(N) A) -> (B) {{ B(i) = {name}(A(i)) }}")(numbers)
    assert converted.dtype == name
    assert converted.tolist() == expected


def test_bool() -> None:
    a, b = np.array([True, False, True, False]), np.array([True, True, False, False])
    f = define(
        """def f(bool(N) A, bool(N) B) -> (S, bool any, bool all, bool(N) both, C, count) {
          S(i) = A(i) + B(i)
          any max=! A(i)
          all min=! A(i) || B(i)
          both(i) = A(i) && B(i)
          C(i) = A(i)
          count +=! A(i) != B(i)
        }"""
    )
    added, any_, all_, both, same, count = f(a, b)
    assert (added.dtype, added.tolist()) == (np.int32, [2, 1, 1, 0])
    assert (any_.dtype, bool(any_), bool(all_)) == (np.bool_, True, False)
    assert (both.dtype, both.tolist()) == (np.bool_, (a & b).tolist())
    assert (same.dtype, same.tolist()) == (np.bool_, a.tolist())
    assert (count.dtype, int(count)) == (np.int32, 2)
    known = define("def f(bool(N) A) -> (S, P) { S +=! A(i) P *=! A(i) }")(a)
    assert [result.dtype for result in known] == [np.bool_] * 2
    assert [bool(result) for result in known] == [True, False]


def test_scalars() -> None:
    f = define("def f(uint8 s, bool b, int16(N) A) -> (B) { B(i) = b ? A(i) * s : 0 }")
    assert f(200, True, np.array([300, -300], np.int16)).tolist() == [60000, -60000]
    assert f(np.uint8(200), False, np.array([3], np.int16)).tolist() == [0]
    with pytest.raises(InputError, match="s: "):
        f(300, True, np.array([1], np.int16))
    with pytest.raises(InputError, match="A: expected elements of type int16, found int64"):
        f(3, True, np.array([1]))
    stride = define("def f(uint8 s, uint16(N) A) -> (B) { B(i) = A(s * i) }")
    with pytest.raises(SourceError, match="s = 300 does not fit uint8, which holds 0 to 255"):
        stride.scop(s=300)
    assert stride(3, np.arange(8, dtype=np.uint16)).tolist() == [0, 3, 6]


@pytest.mark.parametrize("name", WHOLE)
def test_indices_of_all_types(name: str) -> None:
    f = define(f"def f(float(M) X, {name}(N) I) -> (Z) {{ Z(i) = X(I(i)) }}")
    x = np.arange(300, dtype=np.float32)
    numbers = np.arange(100, dtype=name)
    assert (f(x, numbers) == x[numbers]).all()
    numbers[50] = np.iinfo(name).max
    if numbers[50] >= 300:
        with pytest.raises(IndexError):
            f(x, numbers)
    numbers[50] = np.iinfo(name).min
    if numbers[50] < 0:
        with pytest.raises(IndexError):
            f(x, numbers)


def test_valid_indices_fit_their_type() -> None:
    text = "def f(float(M) X, int8(N) I, uint8(N) J) -> (Z) { Z(i) = X(I(i)) + X(J(i) + 2) }"
    ranges = valid_index_ranges(lower_definition(parse_definitions(text)[0]))
    ends = {
        name: [
            evaluate_extent(end.to_str(), {"M": 1000, "N": 3})
            for end in (index_range.lowest, index_range.highest)
        ]
        for name, index_range in ranges.items()
    }
    assert ends == {"I": [0, 127], "J": [0, 255]}


ALL = """
def t(uint8(N) A, int16(N) B, bool(N) C, uint64(N) D, uint8(K) I, int8(K) J, float(M) X,
      uint32(N) S, bool b) -> (P, Q, R, Z, V, W) {
  P(i) = C(i) ? A(i) : uint8(B(i) + S(i))
  Q(i) = D(i) * A(i) - S(i)
  R max=! B(i)
  Z(k) = X(I(k)) + X(J(k) + 3) + b
  V(i) = S(i) / 3 > 4000000000 ? uint16(S(i) - 1) : 65535
  W +=! A(i)
}
"""


@pytest.mark.skipif(compiler_path("gcc") is None, reason="no gcc")
def test_measured_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By rule, in isl's order, and by another compiler: the same bits."""
    path = tmp_path / "all.tc"
    path.write_text(ALL)
    given = ["-p", "N=100", "-p", "K=70", "-p", "M=400"]
    code = dispatch.run(["run", str(path), *given, "--schedule", "isl", "--json"])
    data = json.loads(capsys.readouterr().out)
    assert (code, data["status"]) == (0, "ok")
    by_name = {array["array"]: array for array in data["arrays"]}
    assert by_name["P"]["sum"] > 0
    code = dispatch.run(["bench", str(path), "-d", "mini", "--against", "gcc", "--json"])
    data = json.loads(capsys.readouterr().out)
    assert code == 0
    assert [entry["status"] for entry in data["entries"]] == ["ok"] * 4


@pytest.mark.skipif(compiler_path("gcc") is None, reason="no gcc")
def test_printed_c_compiles_without_a_warning(tmp_path: Path) -> None:
    scop = lower_definition(parse_definitions(ALL)[0])
    path = tmp_path / "all.c"
    path.write_text(print_c(loops_of(LegalSchedule(scop, original_schedule(scop)))))
    assert "#include <stdint.h>" in path.read_text()
    gcc = compiler_path("gcc")
    assert gcc is not None
    subprocess.run(
        [gcc, "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-c", path, "-o", tmp_path / "all.o"],
        check=True,
    )


def test_c_combines_so() -> None:
    """The usual arithmetic conversions, as NumPy's promotion has them where it is C's."""
    small = [kind for kind in ScalarType if kind.is_integer and kind.size < 4]
    for scalar_type in small:
        for other in small:
            assert common_type(scalar_type, other) is ScalarType.INT
    assert common_type(ScalarType.INT, ScalarType.UNSIGNED) is ScalarType.UNSIGNED
    assert common_type(ScalarType.UNSIGNED, ScalarType.LONG) is ScalarType.LONG
    assert common_type(ScalarType.LONG, ScalarType.UNSIGNED_LONG) is ScalarType.UNSIGNED_LONG
    for scalar_type in ScalarType:
        assert common_type(scalar_type, ScalarType.DOUBLE) is ScalarType.DOUBLE


def test_what_holds_what() -> None:
    """By the numbers themselves."""
    whole = [kind for kind in ScalarType if kind.is_integer]
    for scalar_type in whole:
        for other in whole:
            fits = scalar_type.lowest <= other.lowest and other.highest <= scalar_type.highest
            assert scalar_type.can_represent(other) is fits
        assert not scalar_type.can_represent(ScalarType.FLOAT)
        assert ScalarType.FLOAT.can_represent(scalar_type)
    assert not ScalarType.FLOAT.can_represent(ScalarType.DOUBLE)
    assert [ScalarType.BOOL.lowest, ScalarType.BOOL.highest] == [0, 1]
    assert [ScalarType.SHORT.lowest, ScalarType.UNSIGNED.highest] == [-(2**15), 2**32 - 1]
