"""Places of the largest, running sums, whole numbers and one among many, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper

from polygym.errors import InputError
from polygym.graphs.execution import compile_model
from polygym.graphs.onnx import read
from tests.graphs.onnx.sessions import evaluated, run, save

RNG = np.random.default_rng(3)
TIES = RNG.integers(-3, 4, (3, 5, 4)).astype(np.float32)
ODD = np.array(
    [-2.5, -1.5, -1.0, -0.5, -0.49999997, 0.0, 0.49999997, 0.5, 1.5, 2.5, 8388607.5, 1e30, np.inf],
    np.float32,
)


def same(
    path: Path,
    kind: str,
    array: np.ndarray[Any, Any],
    weights: dict[str, np.ndarray[Any, Any]] | None = None,
    tolerance: float = 0.0,
    **attributes: Any,
) -> None:
    """Compare one operator: onnxruntime, the reference, and what is compiled."""
    types = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}
    node = helper.make_node(kind, ["x", *(weights or {})], ["y"], **attributes)
    dtype = types[array.dtype.name]
    results = dtype
    if kind.startswith("Arg"):
        results = TensorProto.INT64
    elif kind == "OneHot":
        results = types[(weights or {})["values"].dtype.name]
    save(path, [node], {"x": array.shape}, weights=weights, dtype=dtype, results=results)
    [expected] = run(path, [array])
    model = read(path)
    for result in (evaluated(model, [array])[0], compile_model(model)(array)):
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize(
    "attributes",
    [{}, {"axis": -1, "keepdims": 0}, {"axis": 1, "select_last_index": 1}, {"axis": 2}],
)
def test_places(kind: str, attributes: dict[str, int], tmp_path: Path) -> None:
    same(tmp_path / "one.onnx", kind, TIES, **attributes)
    same(tmp_path / "one.onnx", kind, TIES.astype(np.int64), **attributes)
    edges = np.array([[-np.inf, -np.inf], [np.inf, 1.0], [np.inf, np.inf]], np.float32)
    if attributes.get("axis") != 2:
        same(tmp_path / "one.onnx", kind, edges, **attributes)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("attributes", [{}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}])
def test_running_sums(axis: int, attributes: dict[str, int], tmp_path: Path) -> None:
    weights = {"axis": np.array(axis)}
    same(tmp_path / "one.onnx", "CumSum", TIES, weights, 1e-6, **attributes)
    same(tmp_path / "one.onnx", "CumSum", TIES.astype(np.int64), weights, **attributes)
    same(tmp_path / "one.onnx", "CumSum", TIES[:, :1, :1], weights, **attributes)


def test_running_sums_of_what_is_infinite(tmp_path: Path) -> None:
    array = np.array([1.0, 2.0, np.inf, 3.0, 4.0], np.float32)
    same(tmp_path / "one.onnx", "CumSum", array, {"axis": np.array(0)})


@pytest.mark.parametrize("kind", ["Floor", "Ceil", "Round", "Sign"])
def test_whole_numbers(kind: str, tmp_path: Path) -> None:
    same(tmp_path / "one.onnx", kind, np.concatenate([ODD, -ODD]))
    same(tmp_path / "one.onnx", kind, (9 * RNG.standard_normal((4, 50))).astype(np.float32))


@pytest.mark.parametrize("attributes", [{}, {"detect_negative": 0}, {"detect_positive": 0}])
def test_infinite(attributes: dict[str, int], tmp_path: Path) -> None:
    array = np.array([1.0, np.inf, -np.inf, np.nan, 3e38, 0.0], np.float32)
    nodes = [
        helper.make_node("IsInf", ["x"], ["t"], **attributes),
        helper.make_node("Cast", ["t"], ["y"], to=TensorProto.FLOAT),
    ]
    path = save(tmp_path / "one.onnx", nodes, {"x": (6,)}, opset=20)
    model = read(path)
    for result in (evaluated(model, [array])[0], compile_model(model)(array)):
        np.testing.assert_array_equal(result, run(path, [array])[0])


def test_no_number(tmp_path: Path) -> None:
    """What attention to nothing at all gives, and how PyTorch's export makes it 0."""
    array = np.array([1.0, np.nan, -np.inf, np.nan, 0.0], np.float32)
    nodes = [
        helper.make_node("IsNaN", ["x"], ["t"]),
        helper.make_node("Where", ["t", "zero", "x"], ["y"]),
    ]
    path = save(
        tmp_path / "one.onnx", nodes, {"x": (5,)}, weights={"zero": np.array(0, np.float32)}
    )
    model = read(path)
    for result in (evaluated(model, [array])[0], compile_model(model)(array)):
        np.testing.assert_array_equal(result, run(path, [array])[0])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_of_many(axis: int, tmp_path: Path) -> None:
    indices = np.array([[0, 3, -1], [-4, 4, -5]])
    for values in (np.array([0, 1], np.float32), np.array([2, -7])):
        weights = {"depth": np.array(4), "values": values}
        same(tmp_path / "one.onnx", "OneHot", indices, weights, axis=axis)


def test_a_depth_that_is_none_is_refused(tmp_path: Path) -> None:
    weights = {"depth": np.array(0), "values": np.array([0, 1], np.float32)}
    node = helper.make_node("OneHot", ["x", *weights], ["y"])
    path = save(
        tmp_path / "one.onnx", [node], {"x": (2,)}, weights=weights, dtype=TensorProto.INT64
    )
    with pytest.raises(InputError, match=r"node 0 \(OneHot.*a depth of 1 or more, found 0"):
        read(path)


def test_more_places_than_fit_are_refused(tmp_path: Path) -> None:
    for dtype, why in (
        (TensorProto.FLOAT, "places than float32 counts"),
        (TensorProto.INT64, "at most"),
    ):
        node = helper.make_node("ArgMax", ["x"], ["y"], axis=0)
        path = save(
            tmp_path / "one.onnx", [node], {"x": (1 << 30,)}, dtype=dtype, results=TensorProto.INT64
        )
        with pytest.raises(InputError, match=rf"node 0 \(ArgMax.*{why}"):
            read(path)
