"""Comprehensions under ``torch.func``, ``torch.compile`` and ``torch.export``."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.tc.comprehension import define

torch = pytest.importorskip("torch")

SMALL = {"mapping": "sequential", "schedule": "original"}
MM = "def mm(double(M, K) A, double(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }"
CONVOLUTION = """
def conv(int s, float(N, C, H) I, float(F, C, K) W, float b) -> (O, M) {
  O(n, f, h) = b where n in 0:N, f in 0:F, h in 0:(H - K) / s + 1
  O(n, f, h) += I(n, c, s * h + k) * W(f, c, k)
  M(n) max=! O(n, f, h)
}
"""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """PyTorch warns of its own old parts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def mm() -> Any:
    return define(MM, **SMALL)


def doubles(*shape: int) -> Any:
    return torch.rand(*shape, dtype=torch.float64)


def test_func(mm: Any) -> None:
    a, b, batch = doubles(3, 4), doubles(4, 2), doubles(5, 3, 4)

    def ours(a: Any, b: Any) -> Any:
        return mm(a, b).sin().sum()

    def theirs(a: Any, b: Any) -> Any:
        return (a @ b).sin().sum()

    func = torch.func
    for transform in (
        lambda f: func.grad(f, (0, 1))(a, b),
        lambda f: func.vmap(f, (0, None))(batch, b),
        lambda f: func.vmap(func.grad(f), (0, None))(batch, b),
        lambda f: func.vmap(func.grad(f, 1), (0, None))(batch, b),
        lambda f: func.jvp(f, (a, b), (a + 1, b - 1)),
        lambda f: func.hessian(f)(a, b),
        lambda f: func.jacrev(func.jacfwd(f, 1), 0)(a, b),
        lambda f: func.vmap(func.vmap(f, (None, 0)), (0, None))(batch, b.T.reshape(2, 4, 1)),
    ):
        mine, other = transform(ours), transform(theirs)
        mine, other = ((one,) if isinstance(one, torch.Tensor) else one for one in (mine, other))
        for one, two in zip(mine, other, strict=True):
            torch.testing.assert_close(one, two)


def test_batches_of_everything() -> None:
    operator = define(
        "def f(double s, double(N) A, int(N) I) -> (A, double(2) c) "
        "{ A(i) = s * A(i) where i in 0:N c(0) +=! A(I(i)) c(1) +=! 2.0 }",
        **SMALL,
    )
    s, a = doubles(3), doubles(3, 5)
    rows = torch.tensor(np.random.default_rng(1).integers(0, 5, (3, 5)), dtype=torch.int32)
    for dims in ((0, None, None), (None, 0, None), (0, 0, 0), (None, None, 0)):
        given = [one if dim == 0 else one[1] for one, dim in zip((s, a, rows), dims, strict=True)]
        updated, sums = torch.vmap(operator, dims)(*given)
        for n in range(3):
            one = [part[n] if dim == 0 else part for part, dim in zip(given, dims, strict=True)]
            expected, sum_of_one = operator(*one)
            torch.testing.assert_close(updated[n], expected)
            torch.testing.assert_close(sums[n], sum_of_one)
    strided = define("def f(int s, double(N) A) -> (B) { B(i) = A(s * i) }", **SMALL)
    with pytest.raises(InputError, match="s: expected one value, found a batch"):
        torch.vmap(strided)(torch.tensor([1, 2], dtype=torch.int32), doubles(2, 5))


def test_arguments_are_counted_under_transformations() -> None:
    scale = define("def f(double s, double(N) A) -> (B) { B(i) = s * A(i) }", **SMALL)
    with pytest.raises(InputError, match=r"f: expected 2 arguments \(s, A\), found 1"):
        torch.vmap(scale)(doubles(3))


class Layer(torch.nn.Module):
    """A convolution with what comes before and behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.operator = define(CONVOLUTION, **SMALL)
        self.weights = torch.nn.Parameter(torch.rand(3, 2, 3) - 0.5)
        self.bias = torch.nn.Parameter(torch.tensor(0.3))

    def forward(self, image: Any) -> Any:
        result, greatest = self.operator(2, image * 2, self.weights, self.bias)
        return result.relu().sum((1, 2)) + greatest

    def expected(self, image: Any) -> Any:
        result = torch.conv1d(image * 2, self.weights, stride=2) + self.bias
        return result.relu().sum((1, 2)) + result.amax((1, 2))


def test_compile() -> None:
    layer, image = Layer(), torch.rand(4, 2, 9, requires_grad=True)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    tensors = (image, *layer.parameters())
    result, expected = compiled(image), layer.expected(image)
    torch.testing.assert_close(result, expected)
    for one, two in zip(
        torch.autograd.grad(result.sum(), tensors),
        torch.autograd.grad(expected.sum(), tensors),
        strict=True,
    ):
        torch.testing.assert_close(one, two)
    other = torch.rand(5, 2, 7)  # sizes become symbols
    torch.testing.assert_close(compiled(other), layer.expected(other))


def test_export(tmp_path: Path) -> None:
    layer = Layer()
    shapes = ({0: torch.export.Dim("batch", min=2)},)
    program = torch.export.export(layer, (torch.rand(4, 2, 9),), dynamic_shapes=shapes)
    image = torch.rand(6, 2, 9)
    torch.testing.assert_close(program.module()(image), layer.expected(image))
    torch.export.save(program, tmp_path / "layer.pt2")
    torch.save((image, layer.expected(image).detach()), tmp_path / "data.pt")
    script = f"""
import torch, polygym.tc
operator = polygym.tc.define({CONVOLUTION!r}, mapping="sequential", schedule="original")
print(operator.torch_operator)
layer = torch.export.load({str(tmp_path / "layer.pt2")!r}).module()
image, expected = torch.load({str(tmp_path / "data.pt")!r})
torch.testing.assert_close(layer(image), expected)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("polygym.conv_")


def test_shapes_without_data(mm: Any) -> None:
    with torch._subclasses.FakeTensorMode():
        result = mm(torch.empty(3, 4, dtype=torch.float64), torch.empty(4, 2, dtype=torch.float64))
        assert (result.shape, result.dtype) == (torch.Size([3, 2]), torch.float64)
    with pytest.raises(InputError, match=r"expected 2 arguments \(A, B\), found 1"):
        torch.compile(lambda a: mm(a), backend="eager")(doubles(3, 4))
