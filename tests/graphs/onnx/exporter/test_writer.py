"""Graphs of all operators leave as ONNX: checked by onnx, computed by onnxruntime, read again."""

from __future__ import annotations

import errno
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented

from polygym.errors import InputError
from polygym.graphs.ir.build import (
    concat,
    conv,
    graph_input,
    make_node,
    matmul,
    relu,
    split,
    weight,
)
from polygym.graphs.ir.graph import Graph, Model, random_inputs, random_weights
from polygym.graphs.onnx import read, write
from polygym.rewrite.term import Term
from tests.graphs.onnx.sessions import assert_close, evaluated, run
from tests.graphs.random_graphs import random_graph


def modelled(*outputs: Term, **named: Term) -> Model:
    graph = Graph.of("by hand", *outputs, **named)
    return Model(graph, random_weights(graph))


def assert_written(model: Model, path: Path, **options: Any) -> Model:
    """Write a model; the checker, onnxruntime and reading agree with the reference."""
    write(model, path, **options)
    onnx.checker.check_model(path, full_check=True)
    arrays = random_inputs(model.graph, 1)
    expected = evaluated(model, arrays)
    if all(np.isfinite(array).all() for array in expected):
        with suppress(NotImplemented):  # onnxruntime has not every operator for float64
            assert_close(expected, run(path, arrays), 1e-3)
        assert_close(expected, evaluated(read(path), arrays), 1e-3)
    return read(path)


X = graph_input("x", 1, 4, 6, 6)
M = graph_input("m", 2, 4, 4)
V = weight("v", 4)
POSITIVE = make_node("exp", make_node("abs", make_node("slice", 0, 0, 1, 1, V)))
OPERATORS: dict[str, Term] = {
    "conv": conv(X, weight("w", 4, 2, 3, 3), (2, 1), "same", "relu"),
    "conv-pads": conv(X, weight("w", 4, 2, 3, 3), (1, 2), "1-0-2-1", "gelu"),
    "conv-tanh": conv(X, weight("w", 4, 2, 1, 1), (1, 1), "valid", "tanh"),
    "matmul": matmul(M, weight("w", 4, 3), "sigmoid"),
    "matmul-batch": matmul(M, M),
    "poolmax": make_node("poolmax", X, 3, 3, 2, 2, "same", "relu"),
    "poolavg": make_node("poolavg", X, 3, 3, 2, 2, "same", "none"),
    "poolavg-pads": make_node("poolavg", X, 2, 3, 1, 1, "1-1-0-2", "none"),
    "enlarge": conv(X, make_node("enlarge", weight("w", 4, 4, 1, 1), weight("l", 4, 4, 3, 3))),
    "merge": conv(X, make_node("merge", weight("w", 8, 1, 3, 3), 2, 4)),
    "merge-all": conv(X, make_node("merge", weight("w", 8, 2, 1, 1), 2, 2)),
    "merge-input": make_node("merge", graph_input("k", 6, 2, 3, 3), 3, 3),
    "split": concat(1, tuple(reversed(split(1, 1, X)))),
    "transpose": make_node("transpose", X, "0-2-3-1"),
    "transpose-one": make_node("transpose", V, 0),
    "reshape": make_node("reshape", M, "8-4"),
    "reshape-scalar": make_node("reshape", make_node("reduce-sum", "0-1-2", 1, M), "scalar"),
    "sum-all": make_node("reduce-sum", "0-1-2", 0, M),
    "reduce-mean": make_node("reduce-mean", "1-2", 0, M),
    "reduce-max": make_node("reduce-max", 1, 1, M),
    "softmax": make_node("softmax", 1, M),
    "layer-norm": make_node("layer-norm", 1e-3, M, V, weight("b", 4)),
    "gelu": make_node("gelu", M),
    "gelu-tanh": make_node("gelu-tanh", M),
    "clip": make_node("clip", -0.5, 0.25, M),
    "leaky-relu": make_node("leaky-relu", 0.125, M),
    "elu": make_node("elu", 0.5, M),
    "gather": make_node("gather", 1, weight("t", 3, 5, 2), graph_input("i", 2, 2, dtype="int64")),
    "slice": make_node("slice", 2, 1, 4, 2, M),
    "pad": make_node("pad", 0.5, "0-1-0-2-0-1", M),
    "pad-int": make_node("pad", 0, "0-1-0-2-0-1", M),
    "expand": make_node("expand", make_node("slice", 1, 0, 1, 1, M), "3-2-4-4"),
    "cast": make_node("cast", "int32", make_node("mul", M, M)),
    "round-to": make_node("round-to", "float16", make_node("mul", M, M)),
    "less": make_node("less", M, make_node("neg", M)),
    "equal": make_node("equal", M, make_node("relu", M)),
    "where": make_node("where", make_node("relu", M), M, make_node("neg", M)),
    "add": make_node("add", M, V),
    "pow": make_node("pow", make_node("abs", M), V),
    "reduce-prod": make_node("reduce-prod", "1-2", 0, M),
    "remainder": make_node("remainder", M, make_node("exp", M)),
    "quotient": make_node(
        "quotient",
        graph_input("i", 3, dtype="int64"),
        make_node("add", graph_input("j", 3, dtype="int64"), make_node("cast", "int64", POSITIVE)),
    ),
    "cast-bool": make_node("cast", "bool", M),
    "cast-half": make_node("cast", "float32", graph_input("h", 3, dtype="float16")),
    "concat": concat(2, [M, M, make_node("neg", M)]),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str, tmp_path: Path) -> None:
    term = OPERATORS[name]
    if name == "expand":
        term = make_node(
            "expand", make_node("slice", 1, 0, 1, 1, make_node("slice", 0, 0, 1, 1, M)), "3-4-4"
        )
    assert_written(modelled(term), tmp_path / "m.onnx")


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(30))
def test_graphs_by_chance(seed: int, tmp_path: Path) -> None:
    graph = random_graph(seed, 8)
    model = Model(graph, random_weights(graph, seed))
    try:
        assert_written(model, tmp_path / "m.onnx")
    except InputError as error:
        assert "expected floating-point numbers" in str(error)  # noqa: PT017
        assert any(signature.tensor.dtype == "int64" for signature in graph.signatures)


def test_what_is_read_again_is_the_same(tmp_path: Path) -> None:
    """Names of inputs, results and weights stay, and so does every node."""
    x = graph_input("a/b:0", 2, 4)
    first, second = split(1, 1, matmul(x, weight("w/0", 4, 4), "none"))
    model = modelled(relu(first), named=second, same=x)
    again = assert_written(model, tmp_path / "m.onnx")
    assert again.graph.outputs == model.graph.outputs
    assert again.graph.inputs == model.graph.inputs
    assert all(np.array_equal(again.weights[name], model.weights[name]) for name in again.weights)


def test_names_that_meet(tmp_path: Path) -> None:
    """A weight has the name of a result, and of what the writer would take; none is lost."""
    x = graph_input("relu", 2, 4)
    graph = Graph(
        "names",
        (x,),
        (
            ("w", relu(make_node("add", x, weight("w", 4)))),
            ("matmul", make_node("neg", x)),
            ("relu", x),
        ),
    )
    again = assert_written(Model(graph, random_weights(graph)), tmp_path / "m.onnx")
    assert [name for name, _ in again.graph.outputs] == ["w", "matmul", "relu"]
    graph = Graph("names", (x,), (("relu", make_node("neg", x)),))
    with pytest.raises(InputError, match="another name for the result relu"):
        write(Model(graph, {}), tmp_path / "m.onnx")


def test_results_that_are_one(tmp_path: Path) -> None:
    term = relu(M)
    assert_written(modelled(term, two=term, three=V), tmp_path / "m.onnx")


def test_weights_beside_the_model(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    model = modelled(make_node("add", matmul(M, weight("w", 4, 3)), weight("b", 3)))
    assert_written(model, path, inline_bytes=16)
    assert_same_weights(read(path), model)
    (first,) = tmp_path.glob("*.data")
    assert first.stat().st_mode == path.stat().st_mode
    other = Model(model.graph, random_weights(model.graph, 1))
    write(other, path, inline_bytes=16)
    (second,) = tmp_path.glob("*.data")
    assert first != second, "the old pair is whole until the new one is, and goes then"
    assert_same_weights(read(path), other)
    write(model, path)
    assert [file.name for file in tmp_path.iterdir()] == ["m.onnx"]


def assert_same_weights(one: Model, other: Model) -> None:
    assert sorted(one.weights) == sorted(other.weights)
    assert all(np.array_equal(one.weights[name], other.weights[name]) for name in one.weights)


def test_other_files_stay(tmp_path: Path) -> None:
    for name in ("n.onnx.0123456789abcdef.data", "m.onnx.data", "m.onnx.weights.data"):
        (tmp_path / name).touch()
    write(modelled(relu(M)), tmp_path / "m.onnx")
    assert len(list(tmp_path.iterdir())) == 4


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.onnx"
    write(modelled(relu(M)), path)
    before = path.read_bytes()

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(InputError, match=r"can be written.*No space"):
            write(modelled(make_node("neg", M)), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["m.onnx"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can be written"):
        write(modelled(relu(M)), tmp_path / "none" / "m.onnx")
    with pytest.raises(InputError, match="can be written"):
        write(modelled(relu(M)), tmp_path)


def test_integers_of_functions_that_onnx_has_not(tmp_path: Path) -> None:
    term = make_node("tanh", graph_input("i", 2, 2, dtype="int64"))
    with pytest.raises(InputError, match=r"tanh: expected a tensor of real numbers"):
        write(modelled(term), tmp_path / "m.onnx")
