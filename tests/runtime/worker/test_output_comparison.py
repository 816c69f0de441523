"""The comparison of outputs, against a plain loop over the elements."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.ir.types import ScalarType
from polygym.programs.dtypes import dtype_of
from polygym.runtime.worker.output_comparison import Difference, first_difference, prepare_tolerance
from polygym.runtime.worker.problem import Buffer

# A bool is compared as the byte that it is.
NUMPY = {scalar_type: dtype_of(scalar_type) for scalar_type in ScalarType} | {
    ScalarType.BOOL: np.dtype(np.uint8)
}


def compare(scalar, expected, computed, tolerance=None):
    e, f = np.array(expected, NUMPY[scalar]), np.array(computed, NUMPY[scalar])
    buffer = Buffer("A", scalar, len(e))
    return first_difference(buffer, e.ctypes.data, f.ctypes.data, tolerance)


@pytest.mark.parametrize("scalar", ScalarType)
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_first_different_element_is_found(scalar, data):
    expected = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=40))
    changed = data.draw(st.sets(st.integers(0, len(expected) - 1)))
    computed = [value + 4 * (index in changed) for index, value in enumerate(expected)]
    difference = compare(scalar, expected, computed)
    if not changed:
        assert difference is None
    else:
        assert difference is not None
        assert difference.index == min(changed)
        assert float(difference.found) - float(difference.expected) == 4


def test_bits_are_compared():
    nan = math.nan
    assert compare(ScalarType.DOUBLE, [nan, 1.0], [nan, 1.0]) is None
    assert compare(ScalarType.DOUBLE, [0.0], [-0.0]) == Difference(0, "0.0", "-0.0")
    difference = compare(ScalarType.FLOAT, [nan], [-nan])
    assert difference == Difference(0, "nan (0x7fc00000)", "nan (0xffc00000)")


values = st.floats(-100, 100, allow_subnormal=False) | st.sampled_from(
    [0.0, math.inf, -math.inf, math.nan]
)


@given(
    st.lists(st.tuples(values, st.sampled_from([0.0, 1e-7, 1e-5, 1e-3, math.inf])), min_size=1),
)
@settings(max_examples=200, deadline=None)
def test_tolerance_agrees_with_a_plain_loop(pairs):
    expected = [value for value, _ in pairs]
    computed = [value + error for value, error in pairs]
    finite = [abs(value) for value in expected if math.isfinite(value)]
    mean = math.fsum(finite) / len(finite) if finite else 0.0
    wrong = []
    for index, (e, f) in enumerate(zip(expected, computed, strict=True)):
        same = f == e or (math.isnan(e) and math.isnan(f))
        near = math.isfinite(e) and abs(f - e) <= 1e-6 * max(abs(e), mean)
        if not (same or near):
            wrong.append(index)
    difference = compare(ScalarType.DOUBLE, expected, computed, 1e-6)
    assert (difference.index if difference else None) == (wrong[0] if wrong else None)


@pytest.mark.parametrize(
    ("computed", "index"),
    [([1e8, 1e8, 0.0], None), ([1e8, 1e8 + 2e4, 1.0], 1), ([1e8, math.nan, 1.0], 1)],
)
def test_example_of_the_docstring(computed, index):
    difference = compare(ScalarType.FLOAT, [1e8, 1e8, 1.0], computed, 1e-6)
    assert (difference.index if difference else None) == index


def test_huge_values_do_not_make_everything_equal():
    assert compare(ScalarType.DOUBLE, [1e308] * 4 + [1.0], [1e308] * 3 + [9e307, 1.0], 1e-3)


def test_integers_have_no_tolerance():
    assert compare(ScalarType.LONG, [10**15], [10**15 + 1], 0.5) is not None


def test_numpy_can_be_imported_ahead():
    prepare_tolerance()
    assert compare(ScalarType.DOUBLE, [1.0], [1.0 + 1e-9], 1e-6) is None


@pytest.mark.parametrize("scalar", [ScalarType.HALF, ScalarType.BFLOAT])
def test_no_tolerance_makes_zeros_of_sixteen_bits_right(scalar: ScalarType) -> None:
    """Of however many terms a sum is, what is left out altogether is wrong."""
    ones = {ScalarType.HALF: 0x3C00, ScalarType.BFLOAT: 0x3F80}[scalar]
    buffer = Buffer("A", scalar, 4)
    expected = np.full(4, ones, np.uint16)
    array1_d = np.zeros(4, np.uint16)
    said = first_difference(buffer, expected.ctypes.data, array1_d.ctypes.data, 1e3)
    assert said is not None
    near = expected + np.uint16(2)
    assert first_difference(buffer, expected.ctypes.data, near.ctypes.data, 1e-6) is None
    far = expected + np.uint16(64)
    assert first_difference(buffer, expected.ctypes.data, far.ctypes.data, 1e-6) is not None
