"""Sessions of onnxruntime: the results that a file read by polygym must give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from polygym.graphs.ir.graph import Model
from polygym.graphs.ir.reference import evaluate
from polygym.graphs.onnx import read, write


def run(path: Path, arrays: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Return what onnxruntime computes, without optimising anything."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [input_.name for input_ in session.get_inputs()]
    return list(session.run(None, dict(zip(names, arrays, strict=True))))


def evaluated(model: Model, arrays: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Return what the reference computes."""
    signatures = model.graph.signatures
    given = {signature.name: array for signature, array in zip(signatures, arrays, strict=True)}
    with np.errstate(all="ignore"):
        return evaluate([term for _, term in model.graph.outputs], {**model.weights, **given})


def assert_close(
    expected: Sequence[np.ndarray[Any, Any]],
    results: Sequence[np.ndarray[Any, Any]],
    tolerance: float = 1e-4,
) -> None:
    """Compare results: shapes, and elements to a part of the largest."""
    assert len(expected) == len(results)
    for array, other in zip(expected, results, strict=True):
        assert array.shape == other.shape
        scale = max(1.0, float(np.abs(array).max(initial=0)))
        np.testing.assert_allclose(other, array, rtol=tolerance, atol=tolerance * scale)


def assert_same(
    path: Path, arrays: Sequence[np.ndarray[Any, Any]], tolerance: float = 1e-4
) -> Model:
    """Read a file, and write and read it again: all of them compute what onnxruntime does."""
    expected = run(path, arrays)
    model = read(path)
    assert_close(expected, evaluated(model, arrays), tolerance)
    again = path.with_name("again.onnx")
    write(model, again)
    onnx.checker.check_model(again, full_check=True)
    assert_close(expected, run(again, arrays), tolerance)
    assert_close(expected, evaluated(read(again), arrays), tolerance)
    return model


def save(
    path: Path,
    nodes: Sequence[Any],
    inputs: dict[str, Sequence[int | str]],
    outputs: Sequence[str] = ("y",),
    weights: dict[str, np.ndarray[Any, Any]] | None = None,
    opset: int = 17,
    dtype: int = onnx.TensorProto.FLOAT,
    results: int | None = None,
    **others: Any,
) -> Path:
    """Write an ONNX file of nodes, by hand; results have the type of inputs if nothing is said."""
    initializers = [
        onnx.numpy_helper.from_array(array, name) for name, array in (weights or {}).items()
    ]
    graph = helper.make_graph(
        list(nodes),
        "by hand",
        [helper.make_tensor_value_info(name, dtype, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, results or dtype, None) for name in outputs],
        initializers,
    )
    opsets = [helper.make_opsetid("", opset), *others.pop("opsets", ())]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9, **others)
    path.write_bytes(model.SerializeToString())
    return path


QUICK = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def numbers(*shape: int, seed: int = 0, low: float = -2.0) -> np.ndarray[Any, Any]:
    """Return numbers from a seed."""
    return np.random.default_rng(seed).uniform(low, 2.0, shape).astype(np.float32)


def check(
    folder: Path,
    kind: str,
    x: np.ndarray[Any, Any],
    *constants: np.ndarray[Any, Any],
    opset: int = 17,
    outputs: int = 1,
    **attributes: Any,
) -> Any:
    """Compare a node of one input and constants."""
    weights = {f"c{place}": array for place, array in enumerate(constants)}
    names = [f"y{place}" for place in range(outputs)]
    node = helper.make_node(kind, ["x", *weights], names, **attributes)
    kinds = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}
    path = save(
        folder / "one.onnx", [node], {"x": x.shape}, names, weights, opset, kinds[x.dtype.name]
    )
    return assert_same(path, [x])
