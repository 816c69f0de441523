"""exp: how exact it is, and that lanes, single numbers and printed C have the same bits."""

import ctypes
import subprocess
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

from polygym.codegen.common.exponential import EXPONENTIALS, exponential_c_code
from polygym.ir.types import ScalarType
from polygym.tc import define
from tests.codegen.c.test_function import needs_compiler
from tests.oracles.interpreter import exponential

DTYPES = {ScalarType.FLOAT: np.float32, ScalarType.DOUBLE: np.float64}
TYPES = pytest.mark.parametrize("scalar", DTYPES, ids=["float", "double"])


def arguments(scalar: ScalarType) -> np.ndarray:
    """Return numbers of all sizes, the ends of the range, and what is no number."""
    numbers, rng = EXPONENTIALS[scalar], np.random.default_rng(0)
    largest = np.log(np.finfo(DTYPES[scalar]).max)
    parts = (
        np.linspace(numbers.lower_limit - 2, numbers.upper_limit + 2, 60_001),
        rng.normal(0, 1, 40_000),
        np.linspace(-1e-3, 1e-3, 2001),
        largest + np.arange(-40, 40) * np.spacing(largest),
        [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-30, -1e-30, 1e30, -1e30],
    )
    with np.errstate(over="ignore"):
        return np.concatenate(parts).astype(DTYPES[scalar])


def computed(scalar: ScalarType, values: np.ndarray, mapping: str) -> np.ndarray:
    text = f"def f({scalar.value}(N) a) -> (b) {{ b(i) = exp(a(i)) }}"
    array: np.ndarray = define(text, mapping=mapping)(values)
    return array


@TYPES
def test_it_is_within_a_unit_and_a_quarter_in_the_last_place(scalar: ScalarType) -> None:
    values = arguments(scalar)
    with np.errstate(over="ignore", under="ignore"):
        exact = np.exp(values.astype(np.longdouble))
        rounded = exact.astype(values.dtype)
    array = computed(scalar, values, "sequential")
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(array[~finite], rounded[~finite])
    unit = np.spacing(rounded[finite]).astype(np.longdouble)
    assert np.max(np.abs(array[finite] - exact[finite]) / unit) < 1.25


@TYPES
def test_lanes_have_the_bits_of_single_numbers(scalar: ScalarType) -> None:
    values = arguments(scalar)
    alone = computed(scalar, values, "sequential")
    for mapping in (
        "default",
        "vector_bits=128",
        "vector_bits=256 vector_copies=2",
        "vector_bits=512",
    ):
        assert computed(scalar, values, mapping).tobytes() == alone.tobytes(), mapping


@TYPES
def test_another_way_to_compute_it_has_the_same_bits(scalar: ScalarType) -> None:
    values = arguments(scalar)[::37]
    expected = [exponential(DTYPES[scalar], float(value)) for value in values]
    np.testing.assert_array_equal(computed(scalar, values, "default"), expected)


@needs_compiler
@TYPES
def test_printed_c_has_the_same_bits(scalar: ScalarType, tmp_path: Path) -> None:
    values, real = arguments(scalar), scalar.value
    text = f"{exponential_c_code(scalar, 'own')}\nvoid f(long n, {real} *a) "
    (tmp_path / "f.c").write_text(f"{text}{{ for (long i = 0; i < n; i++) a[i] = own(a[i]); }}\n")
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", "f.so", "f.c"], cwd=tmp_path, check=True)
    array = values.copy()
    pointer = ctypes.c_void_p(array.ctypes.data)
    ctypes.CDLL(str(tmp_path / "f.so")).f(ctypes.c_long(len(array)), pointer)
    np.testing.assert_array_equal(array, computed(scalar, values, "default"))


@TYPES
def test_the_constants(scalar: ScalarType) -> None:
    numbers, kind = EXPONENTIALS[scalar], DTYPES[scalar]
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(2).ln()
        assert kind(float(1 / exact)) == kind(numbers.inverse)
        assert kind(float(exact - Decimal(numbers.high))) == kind(numbers.low)
    largest = int(-numbers.lower_limit / np.log(2)) + 1
    assert float(kind(largest * numbers.high)) == largest * numbers.high, "exact"
    shift = np.array([numbers.shift], kind)
    assert shift.view(np.int32 if scalar is ScalarType.FLOAT else np.int64)[0] == numbers.shift_bits
    assert np.spacing(shift[0]) == 1


def test_a_tensor_may_still_be_called_exp() -> None:
    operator = define("def f(float(N) exp) -> (b) { b(i) = exp(i) + exp(0) }")
    np.testing.assert_array_equal(operator(np.float32([1, 2])), [2, 3])
