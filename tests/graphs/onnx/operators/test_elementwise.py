"""Functions of elements, softmax, reductions, normalisations, by chance, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import helper

from polygym.graphs.onnx import read
from tests.graphs.onnx.sessions import (
    QUICK,
    assert_close,
    assert_same,
    check,
    evaluated,
    numbers,
    save,
    shapes,
)

UNARY = """
    Relu Tanh Sigmoid Exp Log Sqrt Erf Neg Abs Reciprocal Sin Cos Tan Identity HardSwish Softplus
    Softsign Mish LeakyRelu Elu Selu Celu HardSigmoid Gelu Dropout
""".split()
PAIRS = "Add Sub Mul Div Pow Min Max Sum Mean PRelu".split()
REDUCTIONS = "Mean Sum Max Min L1 L2 SumSquare LogSum LogSumExp".split()


@pytest.mark.parametrize("kind", UNARY)
def test_functions_of_one_element(kind: str, tmp_path: Path) -> None:
    low = 0.1 if kind in ("Log", "Sqrt") else -2.0
    check(tmp_path, kind, numbers(3, 5, low=low), opset=20)


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("LeakyRelu", {"alpha": 0.3}),
        ("Elu", {"alpha": 0.3}),
        ("Selu", {"alpha": 1.5, "gamma": 0.5}),
        ("Celu", {"alpha": 0.3}),
        ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
        ("Gelu", {"approximate": "tanh"}),
    ],
)
def test_functions_with_numbers(kind: str, attributes: Any, tmp_path: Path) -> None:
    check(tmp_path, kind, numbers(3, 5), opset=20, **attributes)


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("shape", [(3, 5), (5,), (1, 1), (), (2, 1, 5)])
def test_functions_of_pairs(kind: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    if kind == "PRelu" and len(shape) > 2:
        return  # the slope broadcasts to x, not the other way
    x, y = numbers(3, 5, low=0.5), numbers(*shape, seed=1, low=0.5)
    check(tmp_path, kind, x if kind == "Pow" else x - 1, y)


@pytest.mark.parametrize("by", [1, 2, 3, 0.5, -1, 2.5])
def test_powers(by: float, tmp_path: Path) -> None:
    model = check(tmp_path, "Pow", numbers(3, 5, low=0.1), np.array(by, np.float32))
    assert any(node.head == "pow" for node in model.graph.nodes()) == (by == 2.5)
    check(tmp_path, "Pow", numbers(3, 5, low=0.1), np.full((1, 1, 1), by, np.float32))


@QUICK
@given(low=st.none() | st.floats(-1, 1, width=32), high=st.none() | st.floats(0, 2, width=32))
def test_clip(low: float | None, high: float | None, tmp_path: Path) -> None:
    bounds = {"c0": low, "c1": high}
    weights = {
        name: np.array(bound, np.float32) for name, bound in bounds.items() if bound is not None
    }
    names = [name if name in weights else "" for name in bounds]
    for opset in (11, 13):
        node = helper.make_node("Clip", ["x", *names], ["y"])
        path = save(tmp_path / "clip.onnx", [node], {"x": (3, 5)}, weights=weights, opset=opset)
        assert_same(path, [numbers(3, 5)])
    assume(low is not None and high is not None)
    assume(low <= high)  # which onnxruntime asks for in this version
    check(tmp_path, "Clip", numbers(3, 5), opset=10, min=low, max=high)


@QUICK
@given(
    opset=st.sampled_from([11, 13]),
    kind=st.sampled_from(["Softmax", "LogSoftmax"]),
    x=shapes,
    data=st.data(),
)
def test_softmax(opset: int, kind: str, x: tuple[int, ...], data: Any, tmp_path: Path) -> None:
    axis = data.draw(st.none() | st.integers(-len(x), len(x) - 1))
    assume(axis is not None or opset == 13 or len(x) > 1)
    check(tmp_path, kind, numbers(*x), opset=opset, **({} if axis is None else {"axis": axis}))


@QUICK
@given(data=st.data(), x=shapes, keep=st.integers(0, 1), kind=st.sampled_from(REDUCTIONS))
def test_reductions(data: Any, x: tuple[int, ...], keep: int, kind: str, tmp_path: Path) -> None:
    axes = data.draw(st.lists(st.integers(0, len(x) - 1), unique=True, max_size=len(x)))
    signed = [axis - len(x) * data.draw(st.integers(0, 1)) for axis in axes]
    image, name = numbers(*x, low=0.1), f"Reduce{kind}"
    attributes: dict[str, Any] = {"axes": signed} if signed else {}
    check(tmp_path, name, image, opset=11, keepdims=keep, **attributes)
    constants = [np.array(signed, np.int64)] if signed else []
    check(tmp_path, name, image, *constants, opset=18, keepdims=keep)


def test_where_of_known_conditions(tmp_path: Path) -> None:
    mask = np.array([[True, False, True], [False, True, True]])
    for chosen in (mask, np.ones_like(mask), np.zeros_like(mask), mask[:, :1]):
        for others in (["x", "far"], ["far", "x"], ["x", "x"]):
            node = helper.make_node("Where", ["mask", *others], ["y"])
            weights = {"mask": chosen, "far": np.array(-np.inf, np.float32)}
            path = save(tmp_path / "one.onnx", [node], {"x": (2, 3)}, weights=weights)
            image = numbers(2, 3)
            with np.errstate(all="ignore"):
                left, right = (image if name == "x" else weights["far"] for name in others)
                expected = np.where(chosen, left, right)
            np.testing.assert_allclose(evaluated(read(path), [image])[0], expected, rtol=1e-6)


def test_normalisations(tmp_path: Path) -> None:
    image = numbers(2, 6, 3, 4)
    four = [numbers(6, seed=seed, low=0.5) for seed in range(4)]
    check(tmp_path, "BatchNormalization", image, *four, epsilon=1e-3)
    check(tmp_path, "BatchNormalization", numbers(2, 6), *four)
    check(tmp_path, "InstanceNormalization", image, *four[:2])
    check(tmp_path, "GroupNormalization", image, *four[:2], num_groups=3, opset=21)
    for axis in (-1, 1, 2, 3):
        shape = image.shape[axis:]
        scale, bias = numbers(*shape), numbers(*shape, seed=1)
        check(tmp_path, "LayerNormalization", image, scale, bias, axis=axis, epsilon=1e-3)
        check(tmp_path, "LayerNormalization", image, scale, axis=axis)
    check(tmp_path, "RMSNormalization", image, numbers(4), opset=23)
    for size in (1, 3, 5):
        check(tmp_path, "LRN", image, size=size, alpha=0.5, beta=0.6, bias=1.5)


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_swish(alpha: float, tmp_path: Path) -> None:
    """Newer than what onnxruntime has: x times the sigmoid of alpha x."""
    node = helper.make_node("Swish", ["x"], ["y"], alpha=alpha)
    path = save(tmp_path / "one.onnx", [node], {"x": (3, 5)}, opset=24)
    x = numbers(3, 5)
    assert_close([x / (1 + np.exp(-alpha * x))], evaluated(read(path), [x]))
