"""Subscripts that are computed from indices: clipped, mirrored and cyclic ones, and windows."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.errors import InputError, OutOfRangeError
from polygym.tc.comprehension import define

SMALL = {"mapping": "sequential", "schedule": "original"}
# How a row of N goes on beyond its ends, by the subscript of element x of the longer row, and the
# name that torch and NumPy have for it.
BOUNDARIES = {
    "clipped": ("min(max(x - 2, 0), N - 1)", "replicate", "edge"),
    "mirrored": ("N - 1 - abs(N - 1 - abs(x - 2))", "reflect", "reflect"),
    "cyclic": ("(x - 2 + N) % N", "circular", "wrap"),
    "chosen": ("x < 2 ? 2 - x : x < N + 2 ? x - 2 : 2 * N - x", "reflect", "reflect"),
}


def padded(subscript: str) -> str:
    return f"def f(double(M, N) A) -> (B) {{ B(m, x) = A(m, {subscript}) where x in 0:N + 4 }}"


@pytest.mark.parametrize("name", BOUNDARIES)
def test_boundaries(name: str) -> None:
    subscript, _, mode = BOUNDARIES[name]
    row = np.random.default_rng(1).normal(size=(2, 5))
    expected = np.pad(row, ((0, 0), (2, 2)), mode)
    for options in (SMALL, {}):
        np.testing.assert_array_equal(define(padded(subscript), **options)(row), expected)


@pytest.mark.parametrize("name", BOUNDARIES)
def test_derivatives_of_boundaries(name: str) -> None:
    torch = pytest.importorskip("torch")
    subscript, mode, _ = BOUNDARIES[name]
    operator = define(padded(subscript), **SMALL)
    row = torch.randn(2, 5, dtype=torch.double, generator=torch.Generator().manual_seed(1))
    weights = torch.arange(18, dtype=torch.double).reshape(2, 9)
    results = []
    for function in (operator, lambda x: torch.nn.functional.pad(x, (2, 2), mode)):
        x = row.clone().requires_grad_()
        (first,) = torch.autograd.grad((function(x) ** 3 * weights).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((first**2).sum(), x)
        results.append((first.detach(), second))
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)


def test_a_convolution_whose_image_is_clipped() -> None:
    text = (
        "def f(float(H, W) I, float(KH, KW) K) -> (O) { O(h, w) +=! "
        "I(min(max(h + kh - 1, 0), H - 1), min(max(w + kw - 1, 0), W - 1)) * K(kh, kw) "
        "where h in 0:H, w in 0:W }"
    )
    rng = np.random.default_rng(2)
    image, kernel = rng.normal(size=(6, 7)), rng.normal(size=(3, 3))
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(image, 1, "edge"), (3, 3))
    result = define(text)(image.astype(np.float32), kernel.astype(np.float32))
    np.testing.assert_allclose(result, np.einsum("hwxy,xy->hw", windows, kernel), rtol=1e-4)


def test_cyclic_sums() -> None:
    text = "def f(double(N) A) -> (double(N) B) { B((i + 2) % N) +=! A(i) }"
    assert define(text, **SMALL)(np.arange(5.0)).tolist() == [3, 4, 0, 1, 2]


def test_refusals() -> None:
    row = np.arange(5.0)
    with pytest.raises(OutOfRangeError, match="leaves A"):
        define("def f(double(N) A) -> (B) { B(i) = A(i + min(i, 3)) where i in 0:N }")(row)
    for subscript, expected in (
        ("i < 1 ? 0.5 : 1", "is double: expected an integer"),
        ("i * i", "is not affine"),
        ("min(i, N - 1)", "range of i"),
    ):
        with pytest.raises(InputError, match=expected):
            define(f"def f(double(N) A) -> (B) {{ B(i) = A({subscript}) }}")
