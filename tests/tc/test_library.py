"""Every comprehension of the library against NumPy, its gradients against differences."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from docs.site.markdown import plain
from docs.site.reference.comprehensions import comprehensions_page
from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition, library
from polygym.frontend.tc.semantics.name_resolution import size_locations
from polygym.frontend.tc.syntax.tree import ElementType
from polygym.mapping.mapping import SEQUENTIAL_MAPPING
from polygym.poly.scheduling.strategy import OriginalOrder
from polygym.tc.comprehension import Comprehension, define
from tests.tc.library_cases import NAMES as TORCH_NAMES
from tests.tc.oracle.interpreter_state import DTYPES
from tests.tc.programs import arguments

SIZES = {"H": 6, "W": 7, "KH": 3, "KW": 2, "M": 9}
CONSTANTS = {
    "conv2d_strided": {"sh": 2, "sw": 3},
    "conv2d_dilated": {"dh": 2, "dw": 3},
    "max_pool": {"kh": 3, "kw": 2, "sh": 2, "sw": 3},
    "average_pool": {"kh": 3, "kw": 2, "sh": 2, "sw": 3},
}


def windows(image: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Return the patches under a kernel, with its rows and columns as the last dimensions."""
    return np.lib.stride_tricks.sliding_window_view(image, (rows, columns), axis=(-2, -1))


def conv2d(image, kernel, stride=(1, 1)):
    patches = windows(image, *kernel.shape[-2:])[:, :, :: stride[0], :: stride[1]]
    return np.einsum("nchwxy,fcxy->nfhw", patches, kernel)


def dilated(kernel, dh, dw):
    rows, columns = kernel.shape[-2:]
    array = np.zeros((*kernel.shape[:2], dh * (rows - 1) + 1, dw * (columns - 1) + 1))
    array[:, :, ::dh, ::dw] = kernel
    return array


def moments(image):
    return image.mean(1), image.var(1)


def softmax(image):
    e = np.exp(image - image.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def layer_norm(image, gamma, beta):
    mean, var = image.mean(1, keepdims=True), image.var(1, keepdims=True)
    return gamma * (image - mean) / np.sqrt(var + 1e-5) + beta


def group_norm(image, gamma, beta):
    mean = image.mean((2, 3, 4), keepdims=True)
    var = image.var((2, 3, 4), keepdims=True)
    scaled = (image - mean) / np.sqrt(var + 1e-5)
    return gamma[:, :, None, None] * scaled + beta[:, :, None, None]


def mlp3(image, w2, b2, w3, b3, w4, b4):
    o2 = np.maximum(image @ w2.T + b2, 0)
    o3 = np.maximum(o2 @ w3.T + b3, 0)
    return o2, o3, np.maximum(o3 @ w4.T + b4, 0)


def pooled(image, kh, kw, sh, sw):
    return windows(image, kh, kw)[:, :, ::sh, ::sw]


EXPECTED = {
    "matvec": lambda A, x: A @ x,
    "matmul": lambda A, B: A @ B,
    "tmm": lambda A, B: A @ B.T,
    "bmm": lambda X, Y: X @ Y,
    "tbmm": lambda X, Y: X @ Y.transpose(0, 2, 1),
    "gemm": lambda alpha, beta, A, B, C: alpha * (A @ B) + beta * C,
    "contraction": lambda X, Y: np.einsum("ijab,bka->ijk", X, Y),
    "kronecker3": lambda W0, W1, W2, X: np.einsum("mabc,xa,yb,zc->mxyz", X, W0, W1, W2),
    "conv1d": lambda image, K: np.convolve(image, K[::-1], "valid"),
    "conv2d": conv2d,
    "conv2d_bias": lambda image, K, B: conv2d(image, K) + B[:, None, None],
    "conv2d_strided": lambda sh, sw, image, K: conv2d(image, K, (sh, sw)),
    "conv2d_dilated": lambda dh, dw, image, K: conv2d(image, dilated(K, dh, dw)),
    "conv2d_grouped": lambda image, K: np.einsum(
        "ngchwxy,gfcxy->ngfhw", windows(image, *K.shape[-2:]), K
    ),
    "conv2d_depthwise": lambda image, K: np.einsum(
        "nchwxy,cxy->nchw", windows(image, *K.shape[-2:]), K
    ),
    "conv2d_separable": lambda image, D, P: np.einsum(
        "nchwxy,cxy,fc->nfhw", windows(image, *D.shape[-2:]), D, P
    ),
    "max_pool": lambda kh, kw, sh, sw, image: pooled(image, kh, kw, sh, sw).max((4, 5)),
    "average_pool": lambda kh, kw, sh, sw, image: pooled(image, kh, kw, sh, sw).mean((4, 5)),
    "moments": moments,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "group_norm": group_norm,
    "1LUT": lambda table, rows: table[rows].sum(1),
    "2LUT": lambda LUT1, I1, LUT2, I2: (LUT1[I1].sum(1), LUT2[I2].sum(1)),
    "gather": lambda X, rows: X[rows],
    "mlp1": lambda image, W1, B1: np.maximum(image @ W1.T + B1, 0),
    "mlp3": mlp3,
}


def random_arguments(definition: TcDefinition, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return arguments of which no float is a whole number, and known scalars as Python's."""
    constants = CONSTANTS.get(definition.name, {})
    rng = np.random.default_rng(1)
    given: dict[str, Any] = arguments(definition, sizes, constants)
    for parameter in definition.parameters:
        if parameter.type in (ElementType.FLOAT, ElementType.DOUBLE):
            shape = given[parameter.name].shape
            given[parameter.name] = np.asarray(rng.standard_normal(shape), DTYPES[parameter.type])
    return given | constants


def usual_sizes(definition: TcDefinition) -> dict[str, int]:
    return {size: SIZES.get(size, 2 + k % 3) for k, size in enumerate(size_locations(definition))}


def as_tuple(result: Any) -> tuple[np.ndarray, ...]:
    return result if isinstance(result, tuple) else (result,)


OPERATORS = list(EXPECTED)  # others are compared with PyTorch
GRADIENTS = [name for name in library.definitions() if "_gradient" in name]


def test_all_are_compared() -> None:
    compared = {*EXPECTED, *TORCH_NAMES}
    assert {*library.definitions()} - {*GRADIENTS} == compared
    assert {*GRADIENTS} == {part.name for name in compared for part in library.gradients(name)}


def test_all_are_in_the_table() -> None:
    text = comprehensions_page()
    for name, definition in library.definitions().items():
        takes = ", ".join(parameter.name for parameter in definition.parameters)
        returns = ", ".join(output.name for output in definition.outputs)
        meaning = plain(library.description(name))
        assert f"| `{name}({takes})` | `{returns}` | {meaning} |" in text
        assert "_gradient" in name or len(meaning) > 20


@pytest.mark.parametrize("name", OPERATORS)
def test_against_numpy(name: str) -> None:
    compare(Comprehension(library.definition(name)), np.dtype(np.float32), 1e-4)
    compare(as_written(library.definition(f"{name}:double")), np.dtype(np.float64), 1e-13)


def compare(operator: Comprehension, dtype: np.dtype, tolerance: float) -> None:
    given = random_arguments(operator.definition, usual_sizes(operator.definition))
    results = as_tuple(operator(*given.values()))
    wanted = as_tuple(EXPECTED[operator.name](*given.values()))
    assert len(results) == len(wanted)
    for result, value in zip(results, wanted, strict=True):
        assert result.dtype == dtype
        np.testing.assert_allclose(result, value, rtol=tolerance, atol=tolerance)


def as_written(definition: TcDefinition) -> Comprehension:
    """Return an operator that runs in the order of its text: that is compiled soonest."""
    return Comprehension(definition, SEQUENTIAL_MAPPING, OriginalOrder())


def by_differences(function: Callable[[np.ndarray], float], at: np.ndarray) -> np.ndarray:
    """Return the gradient of a function of an array, element by element."""
    array = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[place] = 1e-6
        array[place] = (function(at + step) - function(at - step)) / 2e-6
    return array


def check_gradient(name: str, sizes: Mapping[str, int]) -> None:
    """Compare all that computes derivatives of an operator with differences of NumPy's results."""
    definition = library.definition(f"{name}:double")
    given = random_arguments(definition, sizes)
    results = as_tuple(EXPECTED[name](*given.values()))
    rng = np.random.default_rng(2)
    outputs = [tc_output.name for tc_output in definition.outputs]
    known = given | dict(zip(outputs, results, strict=True))
    for output, result in zip(outputs, results, strict=True):
        known[f"d_{output}"] = rng.standard_normal(result.shape)
    parts = library.gradients(f"{name}:double")
    for part in parts:
        computed = as_written(part)(*(known[tc_parameter.name] for tc_parameter in part.parameters))
        for derivative, value in zip(part.outputs, as_tuple(computed), strict=True):
            of = derivative.name.removeprefix("d_")

            def weighed(array: np.ndarray, of: str = of) -> float:
                shifted = as_tuple(EXPECTED[name](*(given | {of: array}).values()))
                pairs = zip(outputs, shifted, strict=True)
                return sum(float((known[f"d_{output}"] * moved).sum()) for output, moved in pairs)

            expected = by_differences(weighed, given[of])
            np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-6, err_msg=part.name)
    floats = [
        parameter.name
        for parameter in definition.parameters
        if parameter.type is ElementType.DOUBLE
    ]
    derived = [output.name for part in parts for output in part.outputs]
    assert sorted(derived) == sorted(f"d_{name}" for name in floats)


@pytest.mark.parametrize("name", [name for name in OPERATORS if library.gradients(name)])
def test_gradients_against_differences(name: str) -> None:
    check_gradient(name, usual_sizes(library.definition(name)))


@pytest.mark.parametrize("name", ["conv2d_strided", "max_pool", "average_pool"])
def test_windows_with_gaps_between(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual ones overlap down the image, with a row behind the last one."""
    window = {} if name == "conv2d_strided" else {"kh": 2, "kw": 1}
    monkeypatch.setitem(CONSTANTS, name, window | {"sh": 3, "sw": 4})
    sizes = {"N": 1, "C": 1, "F": 2, "H": 7, "W": 5, "KH": 2, "KW": 1}
    definition = library.definition(f"{name}:double")
    given = random_arguments(definition, sizes)
    result = as_written(definition)(*given.values())
    np.testing.assert_allclose(result, EXPECTED[name](*given.values()), rtol=1e-12)
    check_gradient(name, sizes)


def test_rows_that_no_window_reads_have_no_gradient() -> None:
    gradient = define("tc:conv2d_strided_gradient_of_image")
    image, kernel = np.ones((1, 1, 8, 6), np.float32), np.ones((1, 1, 3, 3), np.float32)
    result = gradient(3, 2, image, kernel, np.ones((1, 1, 2, 2), np.float32))
    assert result.shape == image.shape
    assert result[0, 0].tolist() == [[1, 1, 2, 1, 1, 0]] * 6 + [[0] * 6] * 2
    for shape in ((1, 1, 3, 2), (1, 1, 2, 3)):
        with pytest.raises(InputError, match="is not defined for"):
            gradient(3, 2, image, kernel, np.ones(shape, np.float32))


def test_the_first_of_the_largest_gets_the_derivative() -> None:
    gradient = define("tc:max_pool_gradient")
    image = np.array([[[[1, 2, 2], [2, 2, 0]]]], np.float32)
    derivatives = np.array([[[[5, 7]]]], np.float32)
    result = gradient(2, 2, 1, 1, image, np.full_like(derivatives, 2), derivatives)
    assert result.tolist() == [[[[0, 12, 0], [0, 0, 0]]]]


@pytest.mark.parametrize("name", ["softmax", "layer_norm"])
def test_large_numbers_stay_finite(name: str) -> None:
    definition = library.definition(name)
    given = random_arguments(definition, usual_sizes(definition))
    given["I"] = 1000 * given["I"] + 10000
    result = Comprehension(definition)(*given.values())
    expected = EXPECTED[name](*(np.float64(array) for array in given.values()))
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-3)


def test_a_name_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(InputError, match=r"tc:matmull: expected one of .*did you mean matmul\?"):
        library.definition("matmull")


def test_types_of_floating_numbers() -> None:
    assert library.definition("matmul:float") == library.definition("matmul")
    assert library.definition("matmul:float64") == library.definition("matmul:double")
    for wrong in ("matmul:int", "matmul:", "matmul:double:double"):
        with pytest.raises(
            InputError, match=rf"tc:{wrong}: expected tc:matmul, tc:matmul:float or"
        ):
            library.definition(wrong)
    rows = define("tc:gather:double")(np.arange(3.0), np.array([[2, 0]], np.int32))
    assert rows.tolist() == [[2.0, 0.0]]


def test_an_operator_of_the_library_is_one_definition() -> None:
    with pytest.raises(InputError, match="tc:matmul is one definition already"):
        define("tc:matmul", "matmul")
    with pytest.raises(InputError, match="tc:matmul has the library's gradient"):
        define("tc:matmul", gradient="matmul_gradient")
    with pytest.raises(InputError, match="tc:: expected one of"):
        define("tc:")
