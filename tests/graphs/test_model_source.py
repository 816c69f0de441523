"""Names of models: a network, a file, a folder; other names are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.graphs import library, onnx
from polygym.graphs.ir.text import graph_text
from polygym.graphs.saved_model import open_source, save


def test_networks_by_name_and_size() -> None:
    assert open_source("bert:small").graph == library.graph("bert", "small")
    assert open_source("bert").graph == library.graph("bert", "paper")


def test_weights_come_from_the_seed() -> None:
    model, same, other = (open_source("vgg19:small", seed=seed).model for seed in (1, 1, 2))
    name = next(iter(model.weights))
    assert np.array_equal(model.weights[name], same.weights[name])
    assert not np.array_equal(model.weights[name], other.weights[name])


def test_files_and_folders(tmp_path: Path) -> None:
    model = library.model("vgg19")
    (tmp_path / "graph.txt").write_text(graph_text(model.graph))
    assert open_source(str(tmp_path / "graph.txt")).graph == model.graph
    save(tmp_path / "folder", model, {})
    saved = open_source(str(tmp_path / "folder")).model
    assert all(np.array_equal(saved.weights[name], array) for name, array in model.weights.items())
    onnx.write(model, tmp_path / "model.onnx")
    assert open_source(str(tmp_path / "model.onnx")).graph.signatures == model.graph.signatures


@pytest.mark.parametrize("target", ["bertt", "nowhere/at-all", "bert:huge", ""])
def test_what_is_none_is_refused(target: str) -> None:
    with pytest.raises(InputError, match="expected"):
        open_source(target)


def test_a_binary_file_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="graph as text"):
        open_source(str(path))
