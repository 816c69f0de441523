"""PyTorch's tensors: in and out without a copy, gradients by comprehensions, errors that help."""

import copy
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.tc.comprehension import Comprehension, define
from polygym.tc.torch_tensors import as_arrays

torch = pytest.importorskip("torch")

MM = """
def mm(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }
def mm_gradient(float(M, K) A, float(K, N) B, float(M, N) d_C) -> (d_A, d_B) {
  d_A(m, k) +=! d_C(m, n) * B(k, n)
  d_B(k, n) +=! A(m, k) * d_C(m, n)
}
"""
SOFTMAX = """
def softmax(float(N, D) I) -> (O) {
  Max(n) max=! I(n, d)
  E(n, d) = exp(I(n, d) - Max(n))
  Sum(n) +=! E(n, d)
  O(n, d) = E(n, d) / Sum(n)
}
def gradient(float(N, D) O, float(N, D) d_O) -> (d_I) {
  Sum(n) +=! O(n, d) * d_O(n, d)
  d_I(n, d) = O(n, d) * (d_O(n, d) - Sum(n))
}
"""


@pytest.fixture(scope="module", autouse=True)
def cached(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLYGYM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def mm() -> Comprehension:
    return define(MM, gradient="mm_gradient")


@pytest.fixture(scope="module")
def exact() -> Comprehension:
    """In double, for numerical derivatives."""
    return define(MM.replace("float", "double"), gradient="mm_gradient")


A = torch.arange(12, dtype=torch.float32).reshape(3, 4)
B = torch.arange(8, dtype=torch.float32).reshape(4, 2)


def test_tensors_in_tensors_out(mm: Comprehension) -> None:
    product = mm(A, B)
    assert isinstance(product, torch.Tensor)
    assert product.dtype is torch.float32
    assert not product.requires_grad
    assert torch.equal(product, A @ B)
    assert isinstance(mm(A, B.numpy()), torch.Tensor)
    assert isinstance(mm(A.numpy(), B.numpy()), np.ndarray)


def test_parts_of_tensors(mm: Comprehension) -> None:
    wide = torch.arange(48, dtype=torch.float32).reshape(6, 8)
    assert torch.equal(mm(wide[::2, ::2], B), wide[::2, ::2] @ B)
    assert torch.equal(mm(B.T, A.T), B.T @ A.T)
    assert torch.equal(mm(A, torch.ones(1, 1).expand(4, 2)), A @ torch.ones(4, 2))


def test_a_tensor_that_is_negated_when_it_is_read(mm: Comprehension) -> None:
    A, B = torch.arange(12.0).reshape(3, 4), torch.ones(4, 2)
    assert torch.equal(mm(torch._neg_view(A), B), -(A @ B))


def test_an_operator_in_a_network_that_is_copied(exact: Comprehension) -> None:
    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.operator = exact
            self.weights = torch.nn.Parameter(torch.ones(4, 2, dtype=torch.float64))

        def forward(self, data: Any) -> Any:
            return self.operator(data, self.weights)

    layer, data = Layer(), torch.ones(3, 4, dtype=torch.float64)
    layer(data).sum().backward()
    other = copy.deepcopy(layer)
    other.weights.grad = None
    other(data).sum().backward()
    assert torch.equal(other.weights.grad, layer.weights.grad)


def test_nothing_is_copied(mm: Comprehension) -> None:
    (array, _) = as_arrays(torch, mm.definition, [A, B])
    assert array.ctypes.data == A.data_ptr()
    out = torch.empty(3, 2)
    assert mm(A, B, out=out) is out
    assert torch.equal(out, A @ B)
    mixed = np.empty((3, 2), np.float32)
    assert mm(A, B, out=mixed) is mixed
    assert mm(A.numpy(), B.numpy(), out=out) is out
    result = mm(A, B)
    assert result.numpy().ctypes.data == result.data_ptr()


def test_several_outputs_and_scalars() -> None:
    both = define("def f(float(N) A, float s) -> (B, C) { B(i) = s * A(i) C +=! A(i) }")
    first, second = both(A[0], torch.tensor(2.0))
    assert torch.equal(first, 2 * A[0])
    assert second.shape == ()
    assert float(second) == 6.0


@pytest.mark.parametrize(
    "types",
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint64", "float32", "float64"],
)
def test_types(types: str) -> None:
    copy = define(f"def f({types}(N) A) -> (B) {{ B(i) = A(i) }}")
    tensor = torch.tensor([0, 1, 1], dtype=getattr(torch, types))
    assert torch.equal(copy(tensor), tensor)
    assert copy(tensor).dtype is tensor.dtype


def test_compiling_and_tuning(mm: Comprehension) -> None:
    assert mm.compile(A, B) is mm.compile(A.numpy(), B.numpy())
    watched = A.clone().requires_grad_()
    assert mm.compile(watched, B) is mm.compile(A, B)
    result = mm.tune(watched, B, generations=1, population=1)
    assert result.best.is_ok
    assert torch.equal(mm(A, B), A @ B)


def test_a_gradient(exact: Comprehension) -> None:
    generator = torch.Generator().manual_seed(1)
    a = torch.rand(3, 4, dtype=torch.float64, generator=generator, requires_grad=True)
    b = torch.rand(4, 2, dtype=torch.float64, generator=generator, requires_grad=True)
    assert torch.autograd.gradcheck(exact, (a, b))
    assert torch.autograd.gradcheck(lambda tensor: exact(tensor, b.detach()), (a,))
    loss = (exact(a, b) ** 2).sum()
    loss.backward()
    expected = torch.autograd.grad(((a @ b) ** 2).sum(), (a, b))
    assert torch.allclose(a.grad, expected[0])
    assert torch.allclose(b.grad, expected[1])
    assert exact(a, b).requires_grad


def test_a_gradient_that_reads_outputs() -> None:
    softmax = define(SOFTMAX.replace("float", "double"), "softmax", gradient="gradient")
    tensor = torch.rand(4, 5, dtype=torch.float64, requires_grad=True)
    assert torch.allclose(softmax(tensor), torch.softmax(tensor, 1))
    assert torch.autograd.gradcheck(softmax, (tensor,))


def test_the_library_in_autograd() -> None:
    """Beside PyTorch's own: strides with rows behind the last window, groups, normalisations."""
    generator = torch.Generator().manual_seed(3)

    def tensor(*sizes: int) -> Any:
        return torch.randn(*sizes, dtype=torch.float64, generator=generator, requires_grad=True)

    image, kernel = tensor(2, 2, 6, 5), tensor(3, 2, 3, 2)
    depths, points = tensor(2, 3, 2), tensor(3, 2)
    functions = torch.nn.functional

    def depthwise(image: Any, kernel: Any) -> Any:
        return functions.conv2d(image, kernel[:, None], groups=len(kernel))

    cases: list[tuple[str, tuple[int, ...], tuple[Any, ...], Any]] = [
        (
            "conv2d_strided",
            (2, 3),
            (image, kernel),
            lambda i, k: functions.conv2d(i, k, stride=(2, 3)),
        ),
        (
            "conv2d_separable",
            (),
            (image, depths, points),
            lambda i, d, p: functions.conv2d(depthwise(i, d), p[:, :, None, None]),
        ),
        (
            "conv2d_grouped",
            (),
            (tensor(2, 2, 1, 4, 3), tensor(2, 2, 1, 2, 2)),
            lambda i, k: functions.conv2d(i.flatten(1, 2), k.flatten(0, 1), groups=2).unflatten(
                1, (2, 2)
            ),
        ),
        (
            "max_pool",
            (3, 2, 2, 2),
            (image,),
            lambda i: functions.max_pool2d(i, (3, 2), (2, 2)),
        ),
        (
            "layer_norm",
            (),
            (tensor(3, 5), tensor(5), tensor(5)),
            lambda i, g, b: functions.layer_norm(i, (5,), g, b),
        ),
        ("softmax", (), (tensor(3, 5),), lambda i: torch.softmax(i, 1)),
    ]
    for name, constants, tensors, expected in cases:
        operator = define(f"tc:{name}:double", mapping="sequential", schedule="original")
        result, wanted = operator(*constants, *tensors), expected(*tensors)
        assert torch.allclose(result, wanted), name
        weights = torch.randn(result.shape, dtype=torch.float64, generator=generator)
        pairs = zip(
            torch.autograd.grad((result * weights).sum(), tensors),
            torch.autograd.grad((wanted * weights).sum(), tensors),
            strict=True,
        )
        assert all(torch.allclose(one, other) for one, other in pairs), name


def test_parts_of_a_gradient() -> None:
    """Each is called if what it returns is asked for."""
    text = """
    def mm(double(M, K) A, double(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }
    def of_A(double(K, N) B, double(M, N) d_C) -> (d_A) { d_A(m, k) +=! d_C(m, n) * B(k, n) }
    def of_B(double(M, K) A, double(M, N) d_C) -> (d_B) { d_B(k, n) +=! A(m, k) * d_C(m, n) }
    """
    both = define(text, gradient=("of_A", "of_B"))
    a = torch.rand(3, 4, dtype=torch.float64, requires_grad=True)
    b = torch.rand(4, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(both, (a, b))
    half = define(text, "mm").with_gradient(define(text, "of_B"))
    assert torch.autograd.gradcheck(lambda tensor: half(a.detach(), tensor), (b,))
    assert torch.autograd.gradcheck(half, (a, b))  # what is not written is derived
    with pytest.raises(InputError, match="of_A, the gradient of mm: d_A is computed by of_A alrea"):
        define(text, gradient=("of_A", "of_B", "of_A"))
    with pytest.raises(InputError, match="expected one of mm, of_A, of_B, found 5"):
        define(text, "mm", gradient=5)  # type: ignore[arg-type]
    wrong = "def wrong(double(M, K) A) -> (d_B) { d_B(k, m) = A(m, k) }"
    partly = define(text, "mm").with_gradient(define(text, "of_A"), wrong)
    assert torch.autograd.gradcheck(lambda tensor: partly(tensor, b.detach()), (a,))
    with pytest.raises(InputError, match=r"wrong: d_B: expected float64 of shape \(4, 2\)"):
        partly(a, b).sum().backward()


def test_several_outputs_of_which_one_has_a_derivative() -> None:
    text = "def f(double(N) A, double s) -> (B, C) { B(i) = s * A(i) * A(i) C(i) = A(i) }"
    gradient = (
        "def g(double(N) A, double s, double(N) d_B) -> (d_A) { d_A(i) = 2 * s * A(i) * d_B(i) }"
    )
    operator = define(text).with_gradient(gradient)
    a = torch.rand(5, dtype=torch.float64, requires_grad=True)
    first, second = operator(a, 3.0)
    assert (first.requires_grad, second.requires_grad) == (True, False)
    assert torch.autograd.gradcheck(lambda tensor: operator(tensor, 3.0)[0], (a,))
    watched = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: operator(a.detach(), s)[0], (watched,))


def test_in_a_network(exact: Comprehension) -> None:
    """What comes before and behind has gradients of its own; a second step finds new ones."""
    a = torch.ones(3, 4, dtype=torch.float64, requires_grad=True)
    b = torch.full((4, 2), 0.5, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([a, b], lr=0.01)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (torch.tanh(exact(2 * a, b)) - 1).pow(2).sum()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > losses[-1]


def test_what_was_saved_and_then_changed_is_noticed(exact: Comprehension) -> None:
    a = torch.ones(3, 4, dtype=torch.float64, requires_grad=True)
    b = torch.ones(4, 2, dtype=torch.float64)
    product = exact(a, b)
    exact(torch.ones(4, 1, dtype=torch.float64), torch.ones(1, 2, dtype=torch.float64), out=b)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_a_gradient_of_a_written_gradient(exact: Comprehension) -> None:
    a = torch.ones(3, 4, dtype=torch.float64, requires_grad=True)
    b = torch.ones(4, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(exact, (a, b))


@pytest.mark.parametrize("by", ["A", "B"])
def test_no_gradient_counts_as_a_constant(by: str) -> None:
    """Linear in A, whose gradient depends on B alone: B's second derivative was taken for 0."""
    product = define("tc:matmul")
    a = torch.rand(3, 4, requires_grad=True)
    b = torch.rand(4, 5, requires_grad=True)
    other, own = {"A": (a, b), "B": (b, a)}[by]
    found = []
    for multiply in (product, torch.matmul):
        (gradient,) = torch.autograd.grad(multiply(a, b).sum(), other, create_graph=True)
        found.append(torch.autograd.grad(gradient.pow(2).sum() + own.sum(), own)[0])
    assert torch.allclose(*found)
    (again,) = torch.autograd.grad(product(a, b).sum(), other)
    assert not again.requires_grad


def test_without_a_gradient() -> None:
    plain = define(MM, "mm", gradient=None)
    watched = A.clone().requires_grad_()
    with pytest.raises(InputError, match=r"mm: A asks for a gradient .* with_gradient.*no_grad"):
        plain(watched, B)
    with torch.no_grad():
        assert torch.equal(plain(watched, B), A @ B)
    assert torch.equal(plain(watched.detach(), B), A @ B)


def test_tensors_that_do_not_fit(mm: Comprehension) -> None:
    watched = A.clone().requires_grad_()
    for arguments, out, said in (
        ((A.double(), B), None, "A: expected elements of type float32, found float64"),
        ((A.bfloat16(), B), None, "mm: A: expected elements of type float32, found bfloat16"),
        ((A[0], B), None, r"A: expected 2 dimension\(s\), found 1"),
        ((A,), None, "expected 2 arguments"),
        ((A, B, B), None, "expected 2 arguments"),
        ((A.to("meta"), B), None, "mm: A: expected a tensor in main memory, found one on meta"),
        ((A, B.to_sparse()), None, "mm: B: expected a dense tensor, found torch.sparse_coo"),
        ((A, B), torch.empty(2, 2), r"out: C: expected float32 of shape \(3, 2\)"),
        ((A, B), torch.empty(1, 2).expand(3, 2), "out: C: expected memory to write to, of its own"),
        ((A, B), torch.empty(3, 2, requires_grad=True), "out: expected a tensor that asks for no"),
        ((watched, B), torch.empty(3, 2), "out: expected none where a gradient is asked for"),
        ((A, B), [torch.empty(3, 2), torch.empty(3, 2)], r"out: expected 1 array\(s\), found 2"),
        ((A, B), 3, "out: expected an array for each output"),
    ):
        with pytest.raises(InputError, match=said):
            mm(*arguments, out=out)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def g(float(M,K) X) -> (d_A) { d_A(i,j) = X(i,j) }", "parameter X: expected one of A, B"),
        ("def g(float(M,K) A) -> (A1) { A1(i,j) = A(i,j) }", "output A1: expected one of d_A, d_B"),
        ("def g(double(M,K) A) -> (d_A) { d_A(i,j) = A(i,j) }", "A: expected float, as A is"),
        ("def g(float(M) A) -> (d_A) { d_A(i) = A(i) }", r"A: expected 2 dimension\(s\)"),
        (
            "def g(float(M,K) A) -> (float(M) d_A) { d_A(i) +=! A(i,j) }",
            "d_A: expected 2 dimension",
        ),
    ],
)
def test_gradients_that_are_none(text: str, said: str) -> None:
    with pytest.raises(InputError, match=f"g, the gradient of mm: {said}"):
        define(MM, "mm").with_gradient(text)


def test_more_gradients_that_are_none() -> None:
    update = define("def f(float(N) A, float(N) B) -> (A) { A(i) += B(i) }")
    with pytest.raises(InputError, match="f updates A, whose name would stand for two"):
        update.with_gradient("def g(float(N) d_A) -> (d_B) { d_B(i) = d_A(i) }")
    clash = define("def f(float(N) d_C) -> (C) { C(i) = d_C(i) }")
    with pytest.raises(InputError, match="a tensor of its own that is called d_C"):
        clash.with_gradient("def g(float(N) d_C) -> (d_A) { d_A(i) = d_C(i) }")
    with pytest.raises(InputError, match="expected one of mm, mm_gradient, found 'nothing'"):
        define(MM, "mm", gradient="nothing")
    wrong = define(MM, "mm").with_gradient(
        "def g(float(M,K) A, float(M,N) d_C) -> (d_A) { d_A(k,m) = A(m,k) }"
    )
    with pytest.raises(InputError, match=r"g: d_A: expected float32 of shape \(3, 4\), as A is"):
        wrong(A.clone().requires_grad_(), B).sum().backward()


def test_threads_share_an_operator(exact: Comprehension) -> None:
    b = torch.rand(40, 20, dtype=torch.float64)
    wrong: list[object] = []

    def work(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for _ in range(20):
            a = torch.rand(30, 40, dtype=torch.float64, generator=generator, requires_grad=True)
            product = exact(a, b)
            (gradient,) = torch.autograd.grad(product.sum(), a)
            if not (torch.allclose(product, a @ b) and torch.allclose(gradient[0], b.sum(1))):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_pytorch_is_not_imported(tmp_path: Path) -> None:
    text = (
        "import sys, numpy as np, polygym.tc\n"
        "f = polygym.tc.define('def f(float(N) A) -> (B) { B(i) = A(i) }', gradient=None)\n"
        "f = f.with_gradient('def g(float(N) d_B) -> (d_A) { d_A(i) = d_B(i) }')\n"
        "assert (f(np.ones(3, np.float32)) == 1).all()\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
