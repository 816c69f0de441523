"""Derived gradients: beside finite differences, PyTorch's at kinks, and the written ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError, SourceError
from polygym.frontend.tc import TcDefinition, library, parse_definitions
from polygym.frontend.tc.derivatives.forward import forward_derivative
from polygym.frontend.tc.derivatives.functions import PARTIAL_DERIVATIVES
from polygym.frontend.tc.derivatives.reverse import reverse_derivative
from polygym.frontend.tc.semantics.functions import function_named
from polygym.frontend.tc.syntax.printer import definition_text
from polygym.frontend.tc.syntax.tree import ElementType, NameUse
from polygym.tc.comprehension import Comprehension, define
from tests.tc.finite_differences import assert_gradients
from tests.tc.random_definitions import SHAPES, RandomDefinition

torch = pytest.importorskip("torch")

SMALL = {"mapping": "sequential", "schedule": "original"}
SIZES = dict.fromkeys("ABCDEFGIJKLMOPQ", 2) | {
    "N": 3,
    "H": 5, "W": 4, "KH": 2, "KW": 3, "E": 4, "V": 4, "E1": 4, "E2": 3,
    "L1": 2, "L2": 3, "M": 4, "D": 3,
    **{f"{letter}{n}": 2 + n % 2 for letter in "DN" for n in range(3)},
}  # fmt: skip
OPERATORS = [name for name in library.definitions() if "gradient" not in name]


def text_of(derivative: Any) -> str:
    return definition_text(derivative.definition)


def arguments(definition: TcDefinition, rng: np.random.Generator) -> list[Any]:
    """Return tensors of real numbers, and whole numbers from 0 to 2."""
    result: list[Any] = []
    for parameter in definition.parameters:
        shape = [SIZES[s.name] if isinstance(s, NameUse) else s.value for s in parameter.sizes]
        if parameter.type is ElementType.INT32:
            numbers = rng.integers(0, 3, shape).astype(np.int32)
            result.append(torch.tensor(numbers) if shape else 2)
        else:
            numbers = rng.normal(size=shape)
            is_positive = parameter.name in ("eps", "var")
            result.append(torch.tensor(np.abs(numbers) if is_positive else numbers))
    return result


def check(operator: Comprehension, given: list[Any], rng: np.random.Generator) -> None:
    """Compare derivatives by all arguments that are real numbers."""
    places = [n for n, one in enumerate(given) if getattr(one, "is_floating_point", bool)()]

    def function(*tensors: Any) -> Any:
        whole = list(given)
        for place, tensor in zip(places, tensors, strict=True):
            whole[place] = tensor
        return operator(*whole)

    assert assert_gradients(function, [given[place] for place in places], rng)


@pytest.mark.rotates
@pytest.mark.parametrize("name", OPERATORS)
def test_library(name: str) -> None:
    rng = np.random.default_rng(len(name))
    definition = library.definition(f"{name}:double")
    check(define(f"tc:{name}:double", **SMALL), arguments(definition, rng), rng)
    derived = Comprehension(definition, define("tc:matmul", **SMALL).mapping)
    check(derived, arguments(definition, rng), rng)


@pytest.mark.rotates
@pytest.mark.parametrize("name", [name for name in OPERATORS if library.gradients(name)])
def test_written_gradients_are_the_derived_ones(name: str) -> None:
    rng = np.random.default_rng(1)
    written = define(f"tc:{name}:double", **SMALL)
    given = arguments(written.definition, rng)
    written.check_gradient(*given)


def test_a_written_gradient_that_is_wrong_is_noticed() -> None:
    operator = define(
        "def f(double(N) A) -> (B) { B(i) = A(i) * A(i) } "
        "def g(double(N) A, double(N) d_B) -> (d_A) { d_A(i) = 3 * A(i) * d_B(i) }",
        gradient="g",
    )
    with pytest.raises(InputError, match="g: d_A is not the derivative of f"):
        operator.check_gradient(np.ones(3))


TEXTS = {
    "concatenation": "def f(double(N) A, double(M) B) -> (double(7) C) "
    "{ C(i) = A(i) C(i + N) = B(i) * B(i) }",
    "diagonal": "def f(double(N, N) A) -> (B) { B(i) = A(i, i) * A(0, N - 1) * A(i, 2) }",
    "rows of a table": "def f(double(E, D) T, int(B, L) I) -> (O) "
    "{ O(b, d) +=! T(I(b, l), d) * T(I(b, l), d) }",
    "scatter": "def f(double(E, D) T, int(B, L) I, double(B, L, D) X) -> (double(E, D) G) "
    "{ G(I(b, l), d) +=! X(b, l, d) * T(I(b, l), d) }",
    "greatest of a group": "def f(double(E) T, int(B, L) I, double(B, L) X) -> (double(E) G) "
    "{ G(I(b, l)) max=! sin(X(b, l)) G(e) = G(e) > -2.0 ? G(e) * T(e) : 0 }",
    "masked": "def f(double(B, L) X, int(B, L) I, double(E) T) -> (O) "
    "{ O(b) +=! X(b, l) * X(b, l) where I(b, l) > 0, l >= b }",
    "guarded table": "def f(double(E) T, int(B, L) I) -> (O) "
    "{ O(b) +=! I(b, l) > 0 ? T(I(b, l) - 1) * T(0) : 1 }",
    "padded": "def f(double(N) A, double(K) W) -> (O) { O(x) +=! (x + k >= 1 && x + k <= N "
    "? A(x + k - 1) : 0) * W(k) where x in 0:N }",
    "strided": "def f(int s, double(H) A, double(K) W, double(C) c) -> (O) "
    "{ O(c1, h) +=! A(s * h + 1 - k + K - 1) * W(k) * c(c1) where h in 0:(H - K) / s, k in 0:K }",
    "rotary": "def f(double(N, D) X, double(D) s) -> (Y) { Y(n, d) = X(n, d) + s(d) * "
    "(d < D / 2 ? -X(n, d + D / 2) : d >= (D + 1) / 2 ? X(n, d - (D + 1) / 2) : X(n, d)) }",
    "products": "def f(double(N, D) X, double(N) s) -> (Y, Z) "
    "{ Y(n) = s(n) Y(n) *= X(n, d) Z *=! Y(n) Y(n) min= X(n, d) * s(n) }",
    "updated": "def f(double alpha, double(N) A, double(N, N) B) -> (A, c) "
    "{ A(i) = alpha * A(i) A(i) += B(i, j) * alpha c +=! A(i) * A(i) A(i) max= B(i, 1) }",
    "partly updated": "def f(double(N) A, double(N) B) -> (A) "
    "{ A(i) = B(i) * B(i + 1) where i in 0:2 A(i + 1) += A(i + 2) * 0 + B(i) where i in 0:1 }",
    "attention": "def f(double(M, D) Q, double(N, D) K, double(N, D) V) -> (O) {"
    " S(m, n) +=! Q(m, d) * K(n, d) P(m) max=! S(m, n) E(m, n) = exp(S(m, n) - P(m))"
    " T(m) +=! E(m, n) O(m, d) +=! E(m, n) * V(n, d) O(m, d) = O(m, d) / T(m) }",
    "cell": "def f(double(B, N) X, double(B, D) H, double(D, N) W, double(D, D) U) -> (G) {"
    " Z(b, d) +=! X(b, n) * W(d, n) Z(b, d) += H(b, e) * U(d, e)"
    " S(b, d) = 1 / (1 + exp(-Z(b, d)))"
    " G(b, d) = S(b, d) * H(b, d) + (1 - S(b, d)) * tanh(Z(b, d)) }",
    "sizes differ": "def f(double(M) A, double(N) B) -> (C) { C(i) = A(i) * B(i) * i }",
    "a sum too often": "def f(double(N) A, double(N, D) B) -> (C) "
    "{ C(i) +=! A(i) * A(i) + B(i, k) }",
    "halves": "def f(double(N) A) -> (B) { B(i / 2) +=! A(i) * A(i / 2) * A((i + 3) % N) }"
    .replace("% N", "% 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    rng = np.random.default_rng(len(name))
    operator = define(TEXTS[name], **SMALL)
    check(operator, arguments(operator.definition, rng), rng)


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(350))
def test_random_definitions(seed: int) -> None:
    """About 200 of the 350 have ranges."""
    rng = np.random.default_rng(seed)
    tensors = [torch.tensor(rng.normal(size=shape)) for shape in SHAPES.values()]
    rows = torch.tensor(rng.integers(0, 3, 4), dtype=torch.int32)
    try:
        operator = define(RandomDefinition(seed).text(), **SMALL)
        operator(*tensors, rows)
    except InputError:
        return
    assert_gradients(lambda *given: operator(*given, rows), tensors, rng)


def domain(name: str) -> tuple[float, float]:
    if name in ("asin", "acos", "atanh", "erfinv"):
        return -0.9, 0.9
    if name in ("erfcinv", "normcdfinv"):
        return 0.1, 0.9
    return 1.1, 1.9  # where all others are smooth


@pytest.mark.parametrize("name", sorted(PARTIAL_DERIVATIVES))
def test_functions(name: str) -> None:
    function = function_named(name)
    assert function is not None
    names = "ABCD"[: function.arity]
    text = f"def f({', '.join(f'double(N) {n}' for n in names)}) -> (O) "
    text += f"{{ O(i) = {name}({', '.join(f'{n}(i)' for n in names)}) }}"
    rng = np.random.default_rng(3)
    low, high = domain(name)
    given = [torch.tensor(rng.uniform(low, high, 2)) for _ in names]
    found = assert_gradients(define(text, **SMALL), given, rng)
    assert found or name in ("floor", "ceil", "trunc", "round", "rint", "logb")


def test_a_function_without_derivative() -> None:
    operator = define("def f(float(N) A) -> (O) { O(i) = lgamma(A(i)) }")
    with pytest.raises(SourceError, match="lgamma has no derivative"):
        operator(torch.ones(2, requires_grad=True))


def gradient_of(text: str, *given: Any) -> list[Any]:
    operator = define(text, **SMALL)
    watched = [tensor.clone().requires_grad_() for tensor in given]
    results = operator(*watched)
    return list(torch.autograd.grad(results.sum(), watched))


def test_kinks_are_as_pytorch_has_them() -> None:
    nan = float("nan")
    rows = torch.tensor([[1.0, 2, 2, 0], [3, 3, 3, 3]])
    watched = rows.clone().requires_grad_()
    for assign, function in (("max=!", torch.amax), ("min=!", torch.amin)):
        (ours,) = gradient_of(f"def f(float(N, D) A) -> (O) {{ O(n) {assign} A(n, d) }}", rows)
        (theirs,) = torch.autograd.grad(function(watched, 1).sum(), watched)
        assert torch.equal(ours, theirs)
    special = torch.tensor([1.0, nan, 0, nan])
    (ours,) = gradient_of("def f(float(N) A) -> (O) { O max=! A(i) }", special)
    assert torch.equal(ours, torch.tensor([0, 0.5, 0, 0.5]))
    a, b = torch.tensor([1.0, 2, nan, 1, 0]), torch.tensor([1.0, 1, 1, nan, 3])
    first, second = a.clone().requires_grad_(), b.clone().requires_grad_()
    for name in ("max", "min", "fmax", "fmin"):
        text = f"def f(float(N) A, float(N) B) -> (O) {{ O(i) = {name}(A(i), B(i)) }}"
        function = getattr(torch, {"max": "maximum", "min": "minimum"}.get(name, name))
        theirs = torch.autograd.grad(function(first, second).sum(), (first, second))
        for mine, other in zip(gradient_of(text, a, b), theirs, strict=True):
            assert torch.equal(mine, other), name
    x = torch.tensor([0.0, 1, -1, nan])
    watched = x.clone().requires_grad_()
    for text, function in (("max(A(i), 0)", torch.relu), ("fabs(A(i))", torch.abs)):
        (ours,) = gradient_of(f"def f(float(N) A) -> (O) {{ O(i) = {text} }}", x)
        assert torch.equal(ours, torch.autograd.grad(function(watched).sum(), watched)[0])


def test_products_with_zeros() -> None:
    for values in ([2.0, 0, 3], [0.0, 0, 3], [2.0, 4, 3]):
        x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        product = define("def f(double(N) A) -> (O) { O *=! A(i) }", **SMALL)
        for ours, theirs in zip(
            (torch.autograd.functional.jacobian(product, x),
             torch.autograd.functional.hessian(product, x)),
            (torch.autograd.functional.jacobian(torch.prod, x),
             torch.autograd.functional.hessian(torch.prod, x)),
            strict=True,
        ):  # fmt: skip
            assert torch.allclose(ours, theirs)


def test_values_that_are_rounded_otherwise_still_tie() -> None:
    """The greatest of what a multiplication and an addition give is found again."""
    text = "def f(float(N, D) A, float(D) b) -> (O) { O(n) max=! A(n, d) * b(d) + A(n, 0) }"
    a, b = torch.rand(50, 33), torch.rand(33)
    operator = define(text)
    watched = a.clone().requires_grad_()
    operator(watched, b).sum().backward()
    other = a.clone().requires_grad_()
    (other * b + other[:, :1]).amax(1).sum().backward()
    assert torch.allclose(watched.grad, other.grad)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float"])
def test_narrow_types(kind: str) -> None:
    """They are added up in single precision."""
    dtype = getattr(torch, {"float": "float32"}.get(kind, kind))
    text = f"def f({kind}(N, D) A, {kind}(D) b) -> (O) {{ O(n) +=! A(n, d) * b(d) }}"
    a, b = torch.rand(4, 60).to(dtype), torch.rand(60).to(dtype)
    ours = gradient_of(text, a, b)
    assert [tensor.dtype for tensor in ours] == [dtype, dtype]
    assert torch.equal(ours[1], a.float().sum(0).to(dtype))


def test_types_that_differ() -> None:
    text = "def f(float(N) A, double(N) B) -> (O) { O(n) = double(A(n)) * B(n) * 0.5 }"
    a, b = torch.rand(4), torch.rand(4, dtype=torch.float64)
    ours = gradient_of(text, a, b)
    assert [tensor.dtype for tensor in ours] == [torch.float32, torch.float64]
    assert torch.allclose(ours[0], 0.5 * b.float())


def test_the_text_of_a_gradient() -> None:
    (definition,) = parse_definitions(
        "def mm(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }"
    )
    derived = reverse_derivative(definition, {}, ["A"], ["C"])
    assert text_of(derived) == (
        "def mm_gradient(float(M, K) A, float(K, N) B, float(M, N) d_C) -> (float(M, K) d_A) {\n"
        "  d_A(m, k) +=! d_C(m, n) * B(k, n) where m in 0:M, n in 0:N, k in 0:K\n}\n"
    )
    along = forward_derivative(definition, {}, ["B"])
    (again,) = parse_definitions(text_of(along))
    assert definition_text(again) == text_of(along)
    assert "t_C(m, n) +=! float(1) * A(m, k) * t_B(k, n)" in text_of(along)


def test_an_image_gradient_reads_a_padded_copy() -> None:
    derived = reverse_derivative(library.definition("conv2d"), {}, ["I"], ["O"])
    assert "d_I(n, c, e2, e3) +=! padded_d_O(" in text_of(derived)
    pooled = library.definition("average_pool")
    constants = dict.fromkeys(("kh", "kw", "sh", "sw"), 2)
    assert "d_I(n, c, 2 * h + y, 2 * w + x) +=!" in text_of(
        reverse_derivative(pooled, constants, ["I"], ["O"])
    )
