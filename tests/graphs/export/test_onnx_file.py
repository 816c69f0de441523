"""ONNX files: seen by the checker, whole or not there, and equal when they are read again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
import onnx

from polygym.errors import InputError, InternalError
from polygym.graphs import library
from polygym.graphs.export import onnx_file
from polygym.graphs.export.onnx_file import write_checked
from polygym.graphs.ir.graph import Model, random_weights
from polygym.graphs.ir.text import graph_text
from polygym.graphs.onnx import exporter, read
from polygym.graphs.optimization import typed_nodes
from tests.graphs.export.drivers import small_model
from tests.graphs.random_graphs import random_graph


def expect_equal_when_read_again(model: Model, folder: Path) -> None:
    """Write, read, write and read: the second graph is the first one, weights included.

    Of graphs with results that are known ahead what is computed at each call is compared: such
    results get other names, and more of them is known the second time.
    """
    first = folder / "first.onnx"
    write_checked(model, first)
    once = read(first)
    write_checked(once, folder / "second.onnx")
    twice = read(folder / "second.onnx")
    if any(once.graph.tensor(node).constant for _, node in once.graph.outputs):
        assert computed_nodes(once) == computed_nodes(twice)
        return
    assert graph_text(once.graph) == graph_text(twice.graph)
    assert [*once.weights] == [*twice.weights]
    for name, array in once.weights.items():
        np.testing.assert_array_equal(array, twice.weights[name])


def computed_nodes(model: Model) -> Counter[Any]:
    nodes = typed_nodes(model.graph)
    return Counter(node for node in nodes if not getattr(node[2], "constant", True))


@pytest.mark.parametrize("name", library.NAMES)
def test_networks_are_equal_when_read_again(name: str, tmp_path: Path) -> None:
    expect_equal_when_read_again(library.model(name), tmp_path)


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(20))
def test_graphs_by_chance_are_equal_when_read_again(seed: int, tmp_path: Path) -> None:
    graph = random_graph(seed, 8)
    try:
        expect_equal_when_read_again(Model(graph, random_weights(graph, seed)), tmp_path)
    except InputError as error:
        assert "expected floating-point numbers" in str(error)  # noqa: PT017


def test_names_types_and_shapes_of_the_model(tmp_path: Path) -> None:
    (path,) = write_checked(small_model(), tmp_path / "m.onnx")
    graph = onnx.load(path).graph
    found = [
        (value.name, value.type.tensor_type.elem_type, [dim.dim_value for dim in shape.dim])
        for value in (*graph.input, *graph.output)
        for shape in (value.type.tensor_type.shape,)
    ]
    kinds = onnx.TensorProto
    assert found == [
        ("x", kinds.FLOAT, [3, 8]),
        ("row/ids", kinds.INT64, [3]),
        ("y", kinds.FLOAT, [3, 16]),
        ("mean", kinds.FLOAT, [8]),
    ]


def test_large_weights_go_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the model before go when the new ones are there."""
    write = exporter.write
    monkeypatch.setattr(onnx_file, "write", lambda *given: write(*given, inline_bytes=64))
    path = tmp_path / "m.onnx"
    first = write_checked(small_model(), path)
    second = write_checked(small_model(seed=1), path)
    assert first[0] != second[0]
    assert sorted(tmp_path.iterdir()) == sorted(second)
    np.testing.assert_array_equal(read(path).weights["w"], small_model(seed=1).weights["w"])


def test_what_the_checker_refuses_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Model, path: Path) -> None:
        model = onnx.helper.make_model(onnx.helper.make_graph([], "g", [], []))
        model.graph.node.add(op_type="NoSuchOperator", output=["y"])
        path.write_bytes(model.SerializeToString())

    path = tmp_path / "m.onnx"
    write_checked(small_model(), path)
    before = path.read_bytes()
    monkeypatch.setattr(onnx_file, "write", broken)
    with pytest.raises(InternalError, match="onnx's checker refuses the file"):
        write_checked(small_model(), path)
    assert [made.name for made in tmp_path.iterdir()] == ["m.onnx"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_end_on_the_way_leaves_what_was_there(
    error: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(_: Path) -> None:
        raise error

    path = tmp_path / "m.onnx"
    write_checked(small_model(), path)
    before = path.read_bytes()
    monkeypatch.setattr(onnx_file, "_check", ends)
    with pytest.raises((KeyboardInterrupt, InputError)):
        write_checked(small_model(seed=1), path)
    assert [made.name for made in tmp_path.iterdir()] == ["m.onnx"]
    assert path.read_bytes() == before
