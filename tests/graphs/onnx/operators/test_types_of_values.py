"""Models of half precision, truth and narrow integers, beside onnxruntime and PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper

from polygym.graphs.execution import compile_model
from polygym.graphs.onnx import read, write
from tests.graphs.onnx.sessions import numbers, run

TYPES = {
    "bool": TensorProto.BOOL, "int8": TensorProto.INT8, "uint8": TensorProto.UINT8,
    "int16": TensorProto.INT16, "uint16": TensorProto.UINT16, "int32": TensorProto.INT32,
    "uint32": TensorProto.UINT32, "int64": TensorProto.INT64, "float16": TensorProto.FLOAT16,
    "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE,
}  # fmt: skip


def saved(
    path: Path, nodes: list[Any], inputs: dict[str, np.ndarray[Any, Any]], results: list[str],
    weights: dict[str, Any] | None = None, opset: int = 18,
) -> Path:  # fmt: skip
    """Write nodes between inputs of types of their own and results."""
    graph = helper.make_graph(
        nodes,
        "typed",
        [
            helper.make_tensor_value_info(name, TYPES[array.dtype.name], array.shape)
            for name, array in inputs.items()
        ],
        [
            helper.make_tensor_value_info(f"y{k}", TYPES[name], None)
            for k, name in enumerate(results)
        ],
        [onnx.numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    path.write_bytes(
        helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    )
    return path


def assert_as_onnxruntime(path: Path, arrays: list[Any], tolerance: float = 0.0) -> None:
    """Compare results of a file, and of the file written again."""
    expected = run(path, arrays)
    model = read(path)
    again = path.with_name("again.onnx")
    write(model, again)
    for results in (compile_model(model)(*arrays), compile_model(read(again))(*arrays)):
        found = results if isinstance(results, list) else [results]
        for array, other in zip(found, expected, strict=True):
            assert array.dtype == other.dtype
            np.testing.assert_allclose(
                array.astype(np.float64), other.astype(np.float64), tolerance, tolerance
            )


@pytest.mark.parametrize("dtype", TYPES)
def test_conversions_between_all_types(dtype: str, tmp_path: Path) -> None:
    """From a type to all others; values that every one of them has."""
    nodes = [
        helper.make_node("Cast", ["x"], [f"y{k}"], to=number)
        for k, number in enumerate(TYPES.values())
    ]
    x = np.array([[0, 1, 2, 100], [5, 0, 7, 1]]).astype(dtype)
    path = saved(tmp_path / "m.onnx", nodes, {"x": x}, list(TYPES))
    assert_as_onnxruntime(path, [x])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("kind", ["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min"])
def test_integers_wrap_and_truncate(kind: str, dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    limits = np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, (4, 50), dtype)
    z = rng.integers(-9, 10, (4, 50), dtype)
    z = np.where(z == 0, np.array(3, dtype), z)
    path = saved(
        tmp_path / "m.onnx", [helper.make_node(kind, ["x", "z"], ["y0"])], {"x": x, "z": z}, [dtype]
    )
    assert_as_onnxruntime(path, [x, z])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32"])
@pytest.mark.parametrize("kind", ["Add", "Sub", "Mul"])
def test_narrow_integers_wrap(kind: str, dtype: str, tmp_path: Path) -> None:
    """As NumPy's do; onnxruntime has no arithmetic for most of them."""
    rng, limits = np.random.default_rng(0), np.iinfo(dtype)
    x, z = (rng.integers(limits.min, limits.max, (4, 50), dtype, endpoint=True) for _ in range(2))
    nodes = [
        helper.make_node(kind, ["x", "z"], ["s"]),
        helper.make_node("Less", ["s", "z"], ["y0"]),
        helper.make_node("Identity", ["s"], ["y1"]),
    ]
    path = saved(tmp_path / "m.onnx", nodes, {"x": x, "z": z}, ["bool", dtype])
    function = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}[kind]
    with np.errstate(over="ignore"):
        expected = function(x, z)
    truth, result = compile_model(read(path))(x, z)
    assert (truth.dtype, result.dtype) == (np.bool_, x.dtype)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(truth, expected < z)


def test_logic_of_truth(tmp_path: Path) -> None:
    a, b = (np.random.default_rng(seed).random((3, 7)) < 0.5 for seed in (1, 2))
    nodes = [
        helper.make_node("And", ["a", "b"], ["y0"]),
        helper.make_node("Or", ["a", "b"], ["y1"]),
        helper.make_node("Xor", ["a", "b"], ["y2"]),
        helper.make_node("Not", ["a"], ["y3"]),
        helper.make_node("Equal", ["a", "b"], ["y4"]),
        helper.make_node("Concat", ["a", "c"], ["y5"], axis=0),
    ]
    weights = {"c": np.array([[True] * 3 + [False] * 4])}
    path = saved(tmp_path / "m.onnx", nodes, {"a": a, "b": b}, ["bool"] * 6, weights)
    assert_as_onnxruntime(path, [a, b])


def test_an_image_of_bytes(tmp_path: Path) -> None:
    """Normalised, pooled, and bytes again."""
    x = np.random.default_rng(0).integers(0, 256, (1, 3, 8, 8), np.uint8)
    nodes = [
        helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["f", "scale"], ["g"]),
        helper.make_node("AveragePool", ["g"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("QuantizeLinear", ["p", "scale", "zero"], ["y0"]),
        helper.make_node("DequantizeLinear", ["y0", "scale", "zero"], ["y1"]),
    ]
    weights = {"scale": np.float32(1 / 255), "zero": np.array(3, np.uint8)}
    path = saved(tmp_path / "m.onnx", nodes, {"x": x}, ["uint8", "float32"], weights)
    assert_as_onnxruntime(path, [x])


HALF_OPERATORS: dict[str, tuple[str, dict[str, Any], list[Any]]] = {
    "sum": ("Add", {}, [numbers(4, 6, seed=1)]),
    "quotient": ("Div", {}, [np.abs(numbers(4, 6, seed=1)) + 0.5]),
    "product": ("MatMul", {}, [numbers(6, 5, seed=1)]),
    "sigmoid": ("Sigmoid", {}, []),
    "softmax": ("Softmax", {"axis": -1}, []),
    "norm": ("LayerNormalization", {}, [numbers(6, seed=1), numbers(6, seed=2)]),
    "mean": ("ReduceMean", {}, []),
}


@pytest.mark.parametrize("name", HALF_OPERATORS)
def test_half_precision_rounds_after_every_operator(name: str, tmp_path: Path) -> None:
    """A result of onnxruntime is at most one unit in the last place away."""
    kind, attributes, operands = HALF_OPERATORS[name]
    weights = {f"w{k}": array.astype(np.float16) for k, array in enumerate(operands)}
    nodes = [
        helper.make_node(kind, ["x", *weights], ["t"], **attributes),
        helper.make_node("Mul", ["t", "t"], ["y0"]),
    ]
    x = numbers(4, 6).astype(np.float16)
    path = saved(tmp_path / "m.onnx", nodes, {"x": x}, ["float16"], weights)
    (expected,) = run(path, [x])
    result = compile_model(read(path))(x)
    assert result.dtype == np.float16
    np.testing.assert_allclose(
        result.astype(np.float32), expected.astype(np.float32), rtol=3e-3, atol=1e-4
    )
    bits = result.view(np.uint16).astype(int) - expected.view(np.uint16).astype(int)
    assert np.mean(np.abs(bits) <= 1) > 0.9


def test_large_numbers_of_half_precision_become_infinite(tmp_path: Path) -> None:
    """As in NumPy; onnxruntime takes both operators in single precision together."""
    x = np.array([200.0, 300.0, -300.0, np.nan], np.float16)
    nodes = [helper.make_node("Mul", ["x", "x"], ["s"]), helper.make_node("Sqrt", ["s"], ["y0"])]
    path = saved(tmp_path / "m.onnx", nodes, {"x": x}, ["float16"])
    with np.errstate(over="ignore"):
        expected = np.sqrt(x * x)
    assert np.isinf(expected[1])
    np.testing.assert_allclose(compile_model(read(path))(x), expected, rtol=1e-3)
