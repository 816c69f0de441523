"""Operators among other libraries: autocast, traces, DLPack, scalars, processes, JAX."""

from __future__ import annotations

import io
import multiprocessing
import sys
from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.tc import define, einsum, jax_function

torch = pytest.importorskip("torch")

SMALL = {"mapping": "sequential", "schedule": "original"}
A, B = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((4, 5), np.float32)


def matmul() -> Any:
    return define("tc:matmul", **SMALL)


class Exchanged:
    """An array that only DLPack gives away."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Described:
    """An array that only NumPy's protocol gives away."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.__array_interface__ = array, array.__array_interface__


def test_arrays_of_others() -> None:
    operator = matmul()
    for wrapped in (Exchanged(A), Exchanged(torch.tensor(A)), Described(A)):
        result = operator(wrapped, B)
        assert isinstance(result, np.ndarray)
        np.testing.assert_array_equal(result, A @ B)
    assert torch.from_dlpack(operator(A, B)).tolist() == (A @ B).tolist()
    with pytest.raises(InputError, match="matmul: A: expected an array in main memory"):
        operator(Exchanged(torch.tensor(A).to_sparse()), B)


def test_scalars() -> None:
    scaled = define("def f(float s, float(N) X) -> (Y) { Y(n) = s * X(n) }", **SMALL)
    for scalar in (2, 2.0, np.float64(2), np.int64(2), np.array(2.0), torch.tensor(2)):
        assert scaled(scalar, [1, 2]).tolist() == [2, 4]
    factor = torch.tensor(2.0, dtype=torch.double, requires_grad=True)
    (found,) = torch.autograd.grad(scaled(factor, torch.ones(3)).sum(), factor)
    assert (found.item(), found.dtype) == (3, torch.double)


def test_autocast() -> None:
    """Tensors come in the declared type, as in PyTorch's operators of full precision."""
    operator = matmul()
    a, b = torch.tensor(A, requires_grad=True), torch.tensor(B)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        lower = a @ b
        assert lower.dtype is torch.bfloat16
        result = operator(lower, torch.ones(5, 2))
        assert result.dtype is torch.float32
        result.sum().backward()
        with pytest.raises(InputError, match="expected elements of type float32, found float64"):
            operator(a.double(), b)
    torch.testing.assert_close(a.grad, 2 * torch.ones(3, 5) @ b.T)
    with pytest.raises(InputError, match="expected elements of type float32, found bfloat16"):
        operator(lower.detach(), torch.ones(5, 2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_traces_of_jit() -> None:
    operator, weights = matmul(), torch.nn.Parameter(torch.ones(4, 5))
    rows = torch.tensor(A)
    operator(rows, weights)  # what was computed before is no constant of the trace
    traced = torch.jit.trace(lambda x, w: operator(x, w) + 1, (rows, weights))
    others = torch.flip(rows, (0,))
    result = traced(others, weights)
    torch.testing.assert_close(result, others @ weights + 1)
    result.sum().backward()
    torch.testing.assert_close(weights.grad, others.T @ torch.ones(3, 5))
    memory = io.BytesIO()
    torch.jit.save(traced, memory)
    memory.seek(0)
    torch.testing.assert_close(torch.jit.load(memory)(others, weights), result)
    memory = torch.empty(3, 5)
    with torch.no_grad(), pytest.raises(InputError, match="expected none under a tracer"):
        torch.jit.trace(lambda x, w: operator(x, w, out=memory), (rows, weights.detach()))


def test_compiled_sums() -> None:
    product = einsum("...ij,jk->...ik", **SMALL)
    given = torch.ones(2, 3, 4), torch.ones(4, 5)
    product(*given)
    compiled = torch.compile(lambda *tensors: product(*tensors) + 1, backend="eager")
    torch.testing.assert_close(compiled(*given), torch.full((2, 3, 5), 5.0))


def compute_in_a_child(queue: Any, operator: Any) -> None:
    other = define("tc:tmm", threads=2)
    results = operator(A, B), other(np.ones((64, 64), np.float32), np.ones((64, 64), np.float32))
    queue.put([result.sum().item() for result in results])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forks of processes with threads
def test_forked_processes() -> None:
    operator = define("tc:matmul", threads=2)
    large = np.ones((64, 64), np.float32)
    operator(A, B), operator(large, large)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=compute_in_a_child, args=(queue, operator)) for _ in "ab"]
    for child in children:
        child.start()
    results = [queue.get(timeout=60) for _ in children]
    for child in children:
        child.join()
    assert results == [[(A @ B).sum().item(), 64.0**3]] * 2
    assert operator(large, large).sum() == 64.0**3


class Products(torch.utils.data.Dataset):  # type: ignore[misc]
    """Products of matrices, computed by the loading process."""

    def __init__(self) -> None:
        self.operator = define("tc:matmul", threads=2)
        self.operator(torch.ones(64, 64), torch.ones(64, 64))

    def __len__(self) -> int:
        return 4

    def __getitem__(self, place: int) -> Any:
        return self.operator(torch.full((64, 64), float(place)), torch.ones(64, 64))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_data_loaders() -> None:
    loader = torch.utils.data.DataLoader(
        Products(), batch_size=2, num_workers=2, multiprocessing_context="fork"
    )
    assert [batch.mean().item() for batch in loader] == [32.0, 160.0]


def test_functions_for_jax() -> None:
    jax = pytest.importorskip("jax")
    product, cell = jax_function(matmul()), jax_function(define("tc:lstm_cell", **SMALL))
    assert isinstance(product(A, B), jax.Array)
    np.testing.assert_allclose(jax.jit(product)(A, B), A @ B)

    def loss(function: Any) -> Any:
        return lambda a, b: (function(a, b) ** 3).sum()

    for wrap in (lambda f: f, jax.jit):
        found = wrap(jax.grad(loss(product), (0, 1)))(A, B)
        expected = jax.grad(loss(jax.numpy.matmul), (0, 1))(A, B)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)
    curved = [
        jax.grad(lambda a, f=f: (jax.grad(loss(f))(a, B) ** 2).sum())(A / 10)
        for f in (product, jax.numpy.matmul)
    ]
    np.testing.assert_allclose(*curved, rtol=1e-4)
    batches = np.stack([A, A + 1])
    np.testing.assert_allclose(jax.vmap(product, (0, None))(batches, B), batches @ B)
    rng = np.random.default_rng(1)
    shapes = ((4, 2), (4, 3), (4, 3), (4, 3, 2), (4, 3, 3), (4, 3), (4, 3))
    hidden, _ = jax.jit(cell)(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))
    assert hidden.shape == (4, 3)
    strided = jax_function(define("tc:conv2d_strided", **SMALL))
    image, kernel = np.ones((1, 1, 6, 6), np.float32), np.ones((1, 1, 2, 2), np.float32)
    slope = jax.grad(lambda k: strided(2, 2, image, k).sum())(kernel)
    np.testing.assert_allclose(slope, np.full((1, 1, 2, 2), 9.0))
    table = jax_function(define("tc:embedding", **SMALL))
    slope = jax.grad(lambda w: table(w, np.array([1, 1], np.int32)).sum())(A)
    np.testing.assert_allclose(slope, [[0] * 4, [2] * 4, [0] * 4])
    with pytest.raises(InputError, match=r"one that JAX traces; polygym\.tc\.jax_function"):
        jax.jit(matmul())(A, B)
    with pytest.raises(InputError, match="expected elements of type float32, found int32"):
        product(A.astype(np.int32), B)


def test_jax_has_to_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    with pytest.raises(InputError, match="expected JAX to be imported"):
        jax_function(matmul())
