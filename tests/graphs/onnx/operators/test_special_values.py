"""NaN, infinities and zeros of both signs: as onnxruntime has them, and reductions as NumPy has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from polygym.graphs.execution.runtime.compiled_model import compile_model
from polygym.graphs.onnx import read
from tests.graphs.onnx import sessions

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5, 1e38, -1e-40], np.float32)
UNARY = """
    Relu Tanh Sigmoid Exp Log Sqrt Erf Neg Abs Reciprocal Sin Cos Identity HardSwish Softplus
    Softsign LeakyRelu Elu Selu Celu HardSigmoid Gelu Sign Floor Ceil Round ThresholdedRelu Softmax
    LogSoftmax
""".split()
PAIRS = "Add Sub Mul Div Pow Min Max Sum Mean PRelu".split()


def special(*shape: int, seed: int, share: float = 0.2) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    some = np.where(rng.random(shape) < share, rng.choice(SPECIAL, shape), rng.normal(size=shape))
    return some.astype(np.float32)


def results_of(path: Path, *arrays: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Return what the reference and what the compiled model computes."""
    model = read(path)
    (by_reference,) = sessions.evaluated(model, arrays)
    compiled = compile_model(model)(*arrays)
    return [by_reference, compiled[0] if isinstance(compiled, tuple | list) else compiled]


def assert_like_onnxruntime(path: Path, *arrays: np.ndarray[Any, Any]) -> None:
    (expected,) = sessions.run(path, arrays)
    for result in results_of(path, *arrays):
        np.testing.assert_allclose(result, expected, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("kind", UNARY)
def test_functions_of_one_element(kind: str, tmp_path: Path) -> None:
    nodes = [helper.make_node(kind, ["x"], ["y"])]
    path = sessions.save(tmp_path / "m.onnx", nodes, {"x": [6, 33]}, opset=20)
    assert_like_onnxruntime(path, special(6, 33, seed=1))


@pytest.mark.parametrize("kind", PAIRS)
def test_functions_of_pairs(kind: str, tmp_path: Path) -> None:
    nodes = [helper.make_node(kind, ["x", "z"], ["y"])]
    path = sessions.save(tmp_path / "m.onnx", nodes, {"x": [6, 33], "z": [6, 33]})
    assert_like_onnxruntime(path, special(6, 33, seed=1), special(6, 33, seed=2))


def test_a_chain_passes_nan_on(tmp_path: Path) -> None:
    """Max, Relu and Clip, in one kernel."""
    nodes = [
        helper.make_node("Max", ["x", "z"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Clip", ["b", "low", "high"], ["y"]),
    ]
    bounds = {"low": np.float32(0.25), "high": np.float32(6)}
    inputs: dict[str, Any] = {"x": [6, 33], "z": [6, 33]}
    path = sessions.save(tmp_path / "m.onnx", nodes, inputs, weights=bounds)
    x, z = special(6, 33, seed=3), special(6, 33, seed=4)
    assert np.isnan(x).any()
    assert_like_onnxruntime(path, x, z)


@pytest.mark.parametrize("share", [0.02, 0.3])
@pytest.mark.parametrize("kind", ["Max", "Min", "Mean", "L1", "SumSquare", "LogSumExp"])
def test_reductions(kind: str, share: float, tmp_path: Path) -> None:
    """Maxima drop NaN in onnxruntime, not in ONNX's own reference, PyTorch and NumPy."""
    nodes = [helper.make_node(f"Reduce{kind}", ["x"], ["y"], axes=[1], keepdims=0)]
    path = sessions.save(tmp_path / "m.onnx", nodes, {"x": [16, 33]})
    x = special(16, 33, seed=5, share=share)
    if kind in ("Max", "Min"):
        expected = x.max(axis=1) if kind == "Max" else x.min(axis=1)
    else:
        (expected,) = sessions.run(path, (x,))
    for result in results_of(path, x):
        np.testing.assert_allclose(result, expected, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["ArgMax", "ArgMin"])
def test_places_of_nan(kind: str, tmp_path: Path) -> None:
    nodes = [helper.make_node(kind, ["x"], ["y"], axis=1, keepdims=0)]
    path = sessions.save(tmp_path / "m.onnx", nodes, {"x": [16, 33]}, results=TensorProto.INT64)
    x = special(16, 33, seed=6, share=0.05)
    assert 0 < np.isnan(x).any(axis=1).sum() < 16
    expected = x.argmax(axis=1) if kind == "ArgMax" else x.argmin(axis=1)
    for result in results_of(path, x):
        np.testing.assert_array_equal(result, expected)


def test_pools_pass_nan_on(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    windows = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    nodes = [helper.make_node("MaxPool", ["x"], ["y"], **windows)]
    path = sessions.save(tmp_path / "m.onnx", nodes, {"x": [1, 2, 9, 9]})
    x = special(1, 2, 9, 9, seed=8, share=0.15)
    expected = torch.max_pool2d(torch.tensor(x), 3, 2, padding=1).numpy()
    assert 0 < np.isnan(expected).sum() < expected.size
    for result in results_of(path, x):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("half", ["FLOAT16", "BFLOAT16"])
@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE", "INT32"])
def test_conversions_to_half_precision_round(kind: str, half: str, tmp_path: Path) -> None:
    """There and back again: the numbers that are left, also between two halves and beyond all."""
    own = getattr(TensorProto, kind)
    nodes = [
        helper.make_node("Cast", ["x"], ["h"], to=getattr(TensorProto, half)),
        helper.make_node("Cast", ["h"], ["y"], to=TensorProto.FLOAT),
    ]
    path = sessions.save(
        tmp_path / "m.onnx", nodes, {"x": [6, 40]}, dtype=own, results=TensorProto.FLOAT
    )
    rng = np.random.default_rng(0)
    if kind == "INT32":
        x = rng.integers(-70_000, 70_000, (6, 40)).astype(np.int32)
    else:
        dtype = np.float32 if kind == "FLOAT" else np.float64
        places = 2 * rng.integers(0, 100, (6, 20)) + 1
        middle = 1 + places * 2.0 ** (-11 if half == "FLOAT16" else -8)
        x = np.hstack([special(6, 20, seed=9), middle]).astype(dtype)
    (expected,) = sessions.run(path, (x,))
    assert kind == "INT32" or (expected != x).any()
    for result in results_of(path, x):
        np.testing.assert_array_equal(result, expected)
