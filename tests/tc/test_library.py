"""Every comprehension of the library against NumPy."""

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.tc.comprehension import Comprehension
from polygym.tc.language import library
from polygym.tc.language.resolve import sizes_of
from tests.tc.programs import arguments

SIZES = {"H": 7, "W": 8, "KH": 3, "KW": 2, "M": 9, "OH": 5, "OW": 7}


def windows(image: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Return the patches under a kernel, with its rows and columns as the last dimensions."""
    return np.lib.stride_tricks.sliding_window_view(image, (rows, columns), axis=(-2, -1))


def conv2d(image, kernel, stride=(1, 1)):
    patches = windows(image, *kernel.shape[-2:])[:, :, :: stride[0], :: stride[1]]
    return np.einsum("nchwxy,fcxy->nfhw", patches, kernel)


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


def gradient_of_image(gradient, kernel):
    rows, columns = kernel.shape[-2:]
    padded = np.pad(gradient, ((0, 0), (0, 0), (rows - 1,) * 2, (columns - 1,) * 2))
    return np.einsum("nfhwxy,fcxy->nchw", windows(padded, rows, columns), kernel[..., ::-1, ::-1])


def pooled(image):
    return image[..., : image.shape[-2] // 2 * 2, : image.shape[-1] // 2 * 2].reshape(
        *image.shape[:2], image.shape[-2] // 2, 2, image.shape[-1] // 2, 2
    )


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
    "conv2d_strided": lambda sh, sw, image, K: conv2d(image, K, (int(sh), int(sw))),
    "conv2d_grouped": lambda image, K: np.einsum(
        "ngchwxy,gfcxy->ngfhw", windows(image, *K.shape[-2:]), K
    ),
    "conv2d_depthwise": lambda image, K: np.einsum(
        "nchwxy,cxy->nchw", windows(image, *K.shape[-2:]), K
    ),
    "conv2d_separable": lambda image, D, P: np.einsum(
        "nchwxy,cxy,fc->nfhw", windows(image, *D.shape[-2:]), D, P
    ),
    "conv2d_gradient_of_kernel": lambda image, dO: np.einsum(
        "ncxyhw,nfhw->fcxy", windows(image, *dO.shape[-2:]), dO
    ),
    "conv2d_gradient_of_image": gradient_of_image,
    "max_pool": lambda image: pooled(image).max((3, 5)),
    "average_pool": lambda image: pooled(image).mean((3, 5)),
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
CONSTANTS = {"conv2d_strided": {"sh": 2, "sw": 3}}


def test_all_are_compared() -> None:
    assert set(library.definitions()) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_against_numpy(name: str) -> None:
    definition = library.definition(name)
    sizes = {size: SIZES.get(size, 3 + k) for k, size in enumerate(sizes_of(definition))}
    given = arguments(definition, sizes, CONSTANTS.get(name, {}))
    found = Comprehension(definition)(*given.values())
    expected = EXPECTED[name](*given.values())
    results = found if isinstance(found, tuple) else (found,)
    wanted = expected if isinstance(expected, tuple) else (expected,)
    assert len(results) == len(wanted)
    for result, value in zip(results, wanted, strict=True):
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-4)


def test_a_name_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(InputError, match=r"tc:matmull: expected one of .*did you mean matmul\?"):
        library.definition("matmull")
