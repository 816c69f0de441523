"""Inputs: shapes that a file leaves open, types, names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from onnx import TensorProto, helper

from polygym.errors import InputError
from polygym.graphs.onnx import read
from tests.graphs.onnx.sessions import evaluated, numbers, save

ADD = helper.make_node("Add", ["x", "z"], ["y"])


def test_open_extents_must_be_said(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [ADD], {"x": ("batch", 3), "z": ("batch", 3)})
    with pytest.raises(InputError, match=r"input x: .* dimension 0 \(batch\).*{'x': \(1, 3\)}"):
        read(path)
    for shapes in ({"x": (5, 3)}, {"z": [5, 3]}, {"x": (np.int64(5), 3), "z": (5, 3)}):
        extents = [signature.tensor.shape for signature in read(path, shapes).graph.signatures]
        assert extents == [(5, 3), (5, 3)], "a name is one extent, wherever it stands"


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ({"q": (5, 3)}, "of which there are x, z, found 'q'"),
        ({"x": (5, 4)}, "expected 3 for dimension 1, found 4"),
        ({"x": (5, 3, 1)}, "expected 2 extents as in the file, found 3"),
        ({"x": (0, 3)}, "from 1 on"),
        ({"x": (2.5, 3)}, "from 1 on"),
        ({"x": (5, 3), "z": (6, 3)}, "expected 5 for dimension 0, found 6"),
    ],
)
def test_shapes_that_do_not_fit(shapes: Any, said: str, tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [ADD], {"x": ("batch", 3), "z": ("batch", 3)})
    with pytest.raises(InputError) as caught:
        read(path, shapes)
    assert said in str(caught.value)


def test_extents_without_names(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [ADD], {"x": (None, None), "z": (2, 3)})
    with pytest.raises(InputError, match=r"input x: .* dimension 0, found none.*{'x': \(1, 1\)}"):
        read(path)
    assert read(path, {"x": (2, 3)}).graph.signatures[0].tensor.shape == (2, 3)
    path = save(tmp_path / "m.onnx", [ADD], {"x": None, "z": (2, 3)})
    with pytest.raises(InputError, match="expected a shape, found none"):
        read(path)
    assert read(path, {"x": (2, 3)}).graph.signatures[0].tensor.shape == (2, 3)


def test_inputs_that_are_weights_are_none(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [ADD], {"x": (2, 3), "z": (3,)}, weights={"z": numbers(3)})
    model = read(path)
    assert [signature.name for signature in model.graph.signatures] == ["x"]
    assert [weight.name for weight in model.graph.weights] == ["z"]


def test_inputs_that_nothing_needs_stay(tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["z"], ["y"])
    path = save(tmp_path / "m.onnx", [node], {"x": (2, 3), "z": (3,)})
    model = read(path)
    assert [signature.name for signature in model.graph.signatures] == ["x", "z"]
    assert evaluated(model, [numbers(2, 3), numbers(3)])[0].shape == (3,)


def test_types_that_are_not_there(tmp_path: Path) -> None:
    node = helper.make_node("Identity", ["x"], ["y"])
    path = save(tmp_path / "m.onnx", [node], {"x": (2, 3)}, dtype=TensorProto.STRING)
    with pytest.raises(InputError, match=r"input x: expected elements of float32.*found STRING"):
        read(path)
    model = onnx.load(path)
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, (2,)))
    model.graph.input[0].type.CopyFrom(kind)
    path.write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match="input x: expected a tensor, found the type sequence"):
        read(path)


def test_results_that_are_inputs_and_weights(tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    weights = {"w": numbers(3)}
    path = save(tmp_path / "m.onnx", [node], {"x": (2, 3)}, ["x", "w", "y"], weights)
    heads = [(name, term.head) for name, term in read(path).graph.outputs]
    assert heads == [("x", "input"), ("w", "weight"), ("y", "relu")]


def test_names_are_made_safe(tmp_path: Path) -> None:
    strange = ["/a/b:0", "/a/b@0", "a b(c)", "?x", "名", 'q"', "5", "x@2-3"]
    nodes = [
        helper.make_node("Sum", strange, ["y;1"]),
        helper.make_node("Add", ["y;1", "w@9"], ["y 2"]),
    ]
    weights = {"w@9": numbers(2, 3)}
    path = save(tmp_path / "m.onnx", nodes, dict.fromkeys(strange, (2, 3)), ["y 2"], weights)
    graph = read(path).graph
    names = [signature.name for signature in (*graph.signatures, *graph.weights)]
    assert names[:2] == ["/a/b:0", "/a/b_0"]
    assert len(set(names)) == len(strange) + 1
    assert all(set('@ ()?;"') & set(name) == set() for name in names)
    assert graph.outputs[0][0] == "y_2"
