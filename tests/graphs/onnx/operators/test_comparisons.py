"""Comparisons and choices of what is computed, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper

from polygym.graphs.execution import compile_model
from polygym.graphs.onnx import read
from tests.graphs.onnx.sessions import assert_same, check, run, save

ODD = np.array([[-1.0, 0.0, 2.0, np.inf], [-np.inf, 0.5, -0.0, 1.0]], np.float32)
OTHER = np.array([[-1.0, 1.0, 1.0, np.inf], [np.inf, 0.5, 0.0, -1.0]], np.float32)


@pytest.mark.parametrize("kind", ["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"])
@pytest.mark.parametrize("follow", ["Cast", "Not", "And", "Xor", "Where"])
def test_comparisons(kind: str, follow: str, tmp_path: Path) -> None:
    nodes = [helper.make_node(kind, ["x", "z"], ["t"])]
    match follow:
        case "Cast":
            nodes.append(helper.make_node("Identity", ["t"], ["u"]))
        case "Not":
            nodes.append(helper.make_node("Not", ["t"], ["u"]))
        case "And":
            nodes.append(helper.make_node("And", ["t", "known"], ["u"]))
        case "Xor":
            nodes.append(helper.make_node("Cast", ["x"], ["b"], to=TensorProto.BOOL))
            nodes.append(helper.make_node("Xor", ["b", "t"], ["u"]))
        case _:
            nodes.append(helper.make_node("Or", ["t", "known"], ["u"]))
    nodes.append(helper.make_node("Where", ["u", "x", "far"], ["w"]))
    nodes.append(helper.make_node("Cast", ["u"], ["y"], to=TensorProto.FLOAT))
    weights = {"z": OTHER, "known": np.array([[True], [False]])}
    weights["far"] = np.array(-np.inf, np.float32)
    path = save(tmp_path / "one.onnx", nodes, {"x": ODD.shape}, ("y", "w"), weights)
    expected = run(path, [ODD])
    model = read(path)
    results = compile_model(model)(ODD)
    for array, other in zip(expected, results, strict=True):
        np.testing.assert_array_equal(other, array)


def test_masks_of_integers(tmp_path: Path) -> None:
    """A mask as language models take it: 1 for words, 0 for what is padded."""
    nodes = [
        helper.make_node("Equal", ["x", "zero"], ["t"]),
        helper.make_node("Where", ["t", "low", "scores"], ["y"]),
    ]
    weights = {
        "zero": np.array(0, np.int64),
        "low": np.array(-1e9, np.float32),
        "scores": np.arange(6, dtype=np.float32).reshape(2, 3),
    }
    path = save(
        tmp_path / "one.onnx", nodes, {"x": (2, 3)}, weights=weights, dtype=TensorProto.INT64
    )
    path.write_bytes(_with_type(path))
    assert_same(path, [np.array([[1, 0, 1], [0, 0, 1]])])


def _with_type(path: Path) -> bytes:
    import onnx

    model = onnx.load(path)
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    return bytes(model.SerializeToString())


def test_triangles_and_thresholds(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 5
    for upper in (0, 1):
        check(tmp_path, "Trilu", x, upper=upper)
        check(tmp_path, "Trilu", x, np.array(-1, np.int64), upper=upper)
    check(tmp_path, "ThresholdedRelu", x, alpha=2.0)


def test_truth_is_a_result(tmp_path: Path) -> None:
    node = helper.make_node("Less", ["x", "half"], ["y"])
    path = save(
        tmp_path / "one.onnx",
        [node],
        {"x": (2, 4)},
        weights={"half": np.float32(0.5)},
        results=TensorProto.BOOL,
    )
    (expected,) = run(path, [ODD])
    result = compile_model(read(path))(ODD)
    assert result.dtype == np.bool_
    np.testing.assert_array_equal(result, expected)
