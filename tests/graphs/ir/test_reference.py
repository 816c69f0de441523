"""Reference values of operators, against PyTorch and against loops."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.graphs.ir.build import graph_input, make_node, weight
from polygym.graphs.ir.reference import evaluate, evaluate_node
from polygym.graphs.operators.registry import OPERATORS, operator_named
from polygym.graphs.rules.variable_binding import LITERAL_CHOICES
from polygym.rewrite.domain import Inadmissible

torch = pytest.importorskip("torch")
functional = torch.nn.functional


def _array(shape: tuple[int, ...], seed: int = 0, least: float = -2.0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).uniform(least, 2.0, shape)


def _torch(array: np.ndarray[Any, Any]) -> Any:
    return torch.tensor(array)


_UNARY = {name for name, operator in OPERATORS.items() if operator.is_unary}
_UNARY_IN_TORCH = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "gelu": functional.gelu,
    "gelu-tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "erf": torch.erf,
    "neg": torch.neg,
    "abs": torch.abs,
    "reciprocal": torch.reciprocal,
    "sin": torch.sin,
    "cos": torch.cos,
    "asin": torch.asin,
    "acos": torch.acos,
    "atan": torch.atan,
    "asinh": torch.asinh,
    "acosh": torch.acosh,
    "atanh": torch.atanh,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
}
_RANGES = {"log": (0.1, 2.0), "sqrt": (0.1, 2.0), "acosh": (1.0, 2.0)} | {
    name: (-1.0, 1.0) for name in ("asin", "acos", "atanh")
}


def test_every_unary_operator_is_looked_at() -> None:
    """None is added without a yardstick."""
    assert set(_UNARY_IN_TORCH) == _UNARY


@pytest.mark.parametrize("name", sorted(_UNARY))
def test_unary(name: str) -> None:
    """Functions of one element are PyTorch's."""
    low, high = _RANGES.get(name, (-2.0, 2.0))
    x = low + (high - low) * (_array((3, 5)) + 2) / 4
    np.testing.assert_allclose(
        evaluate_node(name, (x,)), _UNARY_IN_TORCH[name](_torch(x)).numpy(), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("ewadd", torch.add),
        ("ewmul", torch.mul),
        ("add", torch.add),
        ("sub", torch.sub),
        ("mul", torch.mul),
        ("div", torch.div),
        ("minimum", torch.minimum),
        ("maximum", torch.maximum),
        ("pow", torch.pow),
    ],
)
def test_binary(name: str, function: Any) -> None:
    """Functions of two are PyTorch's, broadcast where the operator broadcasts."""
    shapes = [(2, 3, 4)] * 2 if name.startswith("ew") else [(2, 3, 4), (3, 1)]
    x, y = _array(shapes[0], 1, 0.1), _array(shapes[1], 2)
    np.testing.assert_allclose(
        evaluate_node(name, (x, y)), function(_torch(x), _torch(y)).numpy(), rtol=1e-12
    )


@pytest.mark.parametrize("activation", LITERAL_CHOICES["activation"])
@pytest.mark.parametrize("shapes", [((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 1))])
def test_matmul(activation: str, shapes: Any) -> None:
    """Products, in batches and with one matrix for all of a batch."""
    x, y = _array(shapes[0], 1), _array(shapes[1], 2)
    expected = _torch(x) @ _torch(y)
    if activation != "none":
        expected = _UNARY_IN_TORCH[activation](expected)
    np.testing.assert_allclose(
        evaluate_node("matmul", (activation, x, y)), expected.numpy(), rtol=1e-9, atol=1e-12
    )


def _same(size: int, kernel: int, stride: int) -> tuple[int, int]:
    whole = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return whole // 2, whole - whole // 2


@settings(max_examples=60, deadline=None)
@given(
    size=st.tuples(st.integers(3, 7), st.integers(3, 7)),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.sampled_from(["same", "valid", "0-1-2-1"]),
    groups=st.sampled_from([1, 2, 3]),
    kind=st.sampled_from(["conv", "poolmax", "poolavg"]),
    seed=st.integers(0, 9),
)
def test_windows(
    size: Any, kernel: Any, stride: Any, padding: str, groups: int, kind: str, seed: int
) -> None:
    """Convolutions in groups and pools, for every stride and padding."""
    x = _array((2, 2 * groups, *size), seed)
    if padding == "same":
        top, bottom = _same(size[0], kernel[0], stride[0])
        left, right = _same(size[1], kernel[1], stride[1])
    else:
        top, left, bottom, right = (0, 0, 0, 0) if padding == "valid" else (0, 1, 2, 1)
    pads = (left, right, top, bottom)
    if kind == "conv":
        w = _array((3 * groups, 2, *kernel), seed + 10)
        expected = functional.conv2d(
            functional.pad(_torch(x), pads), _torch(w), stride=stride, groups=groups
        )
        result = evaluate_node("conv", (*stride, padding, "none", x, w))
    else:
        if max(top, bottom) >= kernel[0] or max(left, right) >= kernel[1]:
            return
        around = -np.inf if kind == "poolmax" else 0.0
        padded = functional.pad(_torch(x), pads, value=around)
        if kind == "poolmax":
            expected = functional.max_pool2d(padded, kernel, stride)
        else:
            ones = functional.pad(torch.ones_like(_torch(x)), pads)
            expected = functional.avg_pool2d(padded, kernel, stride) / functional.avg_pool2d(
                ones, kernel, stride
            )
        result = evaluate_node(kind, (x, *kernel, *stride, padding, "none"))
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-9, atol=1e-12)


def test_moving_elements() -> None:
    """What moves elements about."""
    x, y = _array((2, 3, 4), 1), _array((2, 5, 4), 2)
    assert (evaluate_node("transpose", (x, "2-0-1")) == x.transpose(2, 0, 1)).all()
    assert (
        evaluate_node("concat2", (1, x, y)) == torch.cat([_torch(x), _torch(y)], 1).numpy()
    ).all()
    first, second = evaluate_node("split", (1, 2, y))  # type: ignore[misc]
    assert (first == y[:, :2]).all()
    assert (second == y[:, 2:]).all()
    assert (evaluate_node("split1", ((first, second),)) == second).all()
    assert (evaluate_node("reshape", (x, "6-4")) == x.reshape(6, 4)).all()
    assert (evaluate_node("reshape", (x, 24)) == x.reshape(24)).all()
    assert (evaluate_node("slice", (1, 1, 5, 2, y)) == y[:, 1:5:2]).all()
    assert (evaluate_node("expand", (x[:, :1], "2-3-4")) == np.repeat(x[:, :1], 3, 1)).all()
    padded = functional.pad(_torch(x), (3, 0, 0, 2, 1, 0), value=7.0)
    assert (evaluate_node("pad", (7.0, "1-0-3-0-2-0", x)) == padded.numpy()).all()
    indices = np.array([[2, 0], [1, 1]])
    expected = _torch(x)[:, _torch(indices)]
    assert (evaluate_node("gather", (1, x, indices)) == expected.numpy()).all()
    assert evaluate_node("cast", ("int32", x)).dtype == np.int32  # type: ignore[union-attr]


def test_clip_and_slopes() -> None:
    """Functions of one element with a number."""
    x = _array((4, 4))
    t = _torch(x)
    for name, arguments, expected in (
        ("clip", (-1.0, 0.5, x), t.clamp(-1.0, 0.5)),
        ("leaky-relu", (0.1, x), functional.leaky_relu(t, 0.1)),
        ("elu", (0.7, x), functional.elu(t, 0.7)),
    ):
        np.testing.assert_allclose(evaluate_node(name, arguments), expected.numpy(), rtol=1e-12)


def test_along_axes() -> None:
    """Sums, means, the largest, shares and normalisation along axes."""
    x = _array((2, 3, 4))
    t = _torch(x)
    scale, bias = _array((4,), 1), _array((4,), 2)
    for name, arguments, expected in (
        ("reduce-sum", ("0-2", 1, x), t.sum((0, 2), keepdim=True)),
        ("reduce-mean", ("0-2", 0, x), t.mean((0, 2))),
        ("reduce-max", (1, 0, x), t.amax(1)),
        ("softmax", (1, x), torch.softmax(t, 1)),
        (
            "layer-norm",
            (1e-5, x, scale, bias),
            functional.layer_norm(t, (4,), _torch(scale), _torch(bias), 1e-5),
        ),
    ):
        np.testing.assert_allclose(evaluate_node(name, arguments), expected.numpy(), rtol=1e-9)


def test_enlarge() -> None:
    """A kernel with zeros around it, as large as another."""
    w, large = _array((2, 3, 1, 3)), _array((1, 1, 5, 3))
    expected = functional.pad(_torch(w), (0, 0, 2, 2))
    assert (evaluate_node("enlarge", (w, large)) == expected.numpy()).all()


@pytest.mark.parametrize(("groups", "count"), [(2, 2), (4, 2), (6, 3), (6, 2)])
def test_merged_groups_are_the_same_convolution(groups: int, count: int) -> None:
    """``merge`` changes the kernel and nothing else."""
    x, w = _array((1, 2 * groups, 4, 4), 1), _array((2 * groups, 2, 3, 3), 2)
    merged = evaluate_node("merge", (w, count, groups))
    before = evaluate_node("conv", (1, 1, "same", "none", x, w))
    after = evaluate_node("conv", (1, 1, "same", "none", x, merged))
    assert merged.shape == (2 * groups, 2 * count, 3, 3)  # type: ignore[union-attr]
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-12)


def test_integers_and_fractions_stay_exact() -> None:
    """Nothing is rounded on the way: 2^60 + 1 is no float64."""
    large = 2**60 + 1
    x = np.array([[large, -1]])
    assert evaluate_node("relu", (x,)).tolist() == [[large, 0]]  # type: ignore[union-attr]
    product = evaluate_node("matmul", ("relu", x, np.array([[1], [2]])))
    assert product.tolist() == [[large - 2]]  # type: ignore[union-attr]
    image = np.array([[[[Fraction(1, 3), Fraction(1, 6)]]]], dtype=object)
    mean = evaluate_node("poolavg", (image, 1, 2, 1, 1, "valid", "none"))
    assert mean.ravel().tolist() == [Fraction(1, 4)]  # type: ignore[union-attr]


def test_a_term_is_evaluated_once_and_several_results_come_in_order() -> None:
    """A deep chain of shared sums would take for ever otherwise."""
    term = graph_input("x", 1)
    for _ in range(200):
        term = make_node("ewadd", term, term)
    other = weight("w", 1)
    arrays = evaluate(
        [
            make_node("noop", term, other),
            make_node("split", 0, 1, make_node("concat2", 0, term, other)),
        ],
        {"x": np.array([1.0]), "w": np.array([3.0])},
    )
    assert [array.tolist() for array in arrays] == [[2.0**200], [3.0], [2.0**200], [3.0]]


def test_what_is_missing_is_said() -> None:
    """Arrays that are missing or have another shape."""
    x = graph_input("x", 2, 3)
    with pytest.raises(InputError, match="expected an array for x, found none"):
        evaluate([x], {})
    with pytest.raises(InputError, match=r"expected shape \(2, 3\) for x, found \(3,\)"):
        evaluate([x], {"x": np.zeros(3)})
    with pytest.raises(Inadmissible, match="expected an operator"):
        evaluate_node("nothing", ())


def test_every_operator_is_there() -> None:
    """Whatever the table has, but for what a graph is given."""
    assert all(callable(operator.reference) for operator in OPERATORS.values())
    assert operator_named("concat7").name == "concat7"
