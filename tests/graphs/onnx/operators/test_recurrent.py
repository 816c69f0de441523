"""Layers with a state in time, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import helper

from polygym.errors import InputError
from polygym.graphs.onnx import read
from tests.graphs.onnx.sessions import assert_same, numbers, save

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, BATCH, WIDTH, HIDDEN = 4, 2, 5, 3


def layer(folder: Path, kind: str, way: str, given: int = 6, **attributes: Any) -> Path:
    """Write a layer with so many of its inputs."""
    ways, gates = 2 if way == "bidirectional" else 1, GATES[kind]
    weights = {
        "w": numbers(ways, gates * HIDDEN, WIDTH, seed=1),
        "r": numbers(ways, gates * HIDDEN, HIDDEN, seed=2),
        "b": numbers(ways, 2 * gates * HIDDEN, seed=3),
        "n": np.full(BATCH, STEPS, np.int32),
        "h": numbers(ways, BATCH, HIDDEN, seed=4),
        "c": numbers(ways, BATCH, HIDDEN, seed=5),
    }
    names = list(weights)[:given]
    if kind != "LSTM":
        names = names[:5]
    attributes = {"direction": way, "hidden_size": HIDDEN, **attributes}
    outputs = ["y", "last", "cell"][: 3 if kind == "LSTM" else 2]
    if kind == "GRU":
        attributes.setdefault("linear_before_reset", 1)
    node = helper.make_node(kind, ["x", *names], outputs, "layer", **attributes)
    kept = {name: weights[name] for name in names}
    return save(folder / "one.onnx", [node], {"x": (STEPS, BATCH, WIDTH)}, outputs, kept)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("way", ["forward", "reverse", "bidirectional"])
def test_layers(kind: str, way: str, tmp_path: Path) -> None:
    for given in (2, 3, 6):
        assert_same(layer(tmp_path, kind, way, given), [numbers(STEPS, BATCH, WIDTH)])


def test_other_functions(tmp_path: Path) -> None:
    path = layer(tmp_path, "RNN", "forward", activations=["Relu"])
    assert_same(path, [numbers(STEPS, BATCH, WIDTH)])


@pytest.mark.parametrize("kind", GATES)
def test_bounds_of_gates(kind: str, tmp_path: Path) -> None:
    """Bounds reach the activations of onnxruntime's LSTM and GRU."""
    if kind == "RNN":
        pytest.skip("onnxruntime has a bound for its state instead")
    path = layer(tmp_path, kind, "forward", clip=0.25)
    assert_same(path, [numbers(STEPS, BATCH, WIDTH)])


@pytest.mark.parametrize("way", ["forward", "bidirectional"])
def test_the_reset_before_the_product(way: str, tmp_path: Path) -> None:
    path = layer(tmp_path, "GRU", way, linear_before_reset=0)
    assert_same(path, [numbers(STEPS, BATCH, WIDTH)])


@pytest.mark.parametrize(
    ("kind", "attributes", "said"),
    [
        ("LSTM", {"input_forget": 1}, "input_forget"),
        ("RNN", {"activations": ["Softsign"]}, "functions of sigmoid, tanh, relu"),
        ("RNN", {"hidden_size": 4}, "weights of 1 directions"),
    ],
)
def test_what_is_not_there(kind: str, attributes: Any, said: str, tmp_path: Path) -> None:
    path = layer(tmp_path, kind, "forward", **attributes)
    with pytest.raises(InputError, match=rf"node 0 \({kind}, layer\).*{said}"):
        read(path)


def test_long_sequences_are_refused(tmp_path: Path) -> None:
    weights = {"w": numbers(1, 3, 5), "r": numbers(1, 3, 3)}
    node = helper.make_node("RNN", ["x", "w", "r"], ["y"], "layer", hidden_size=3)
    path = save(tmp_path / "one.onnx", [node], {"x": (5000, 1, 5)}, weights=weights)
    with pytest.raises(InputError, match="at most 4096 steps"):
        read(path)
