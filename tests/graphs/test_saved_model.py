"""Folders of models: what is written is read, and what is damaged is refused by name."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch

import polygym
from polygym.errors import InputError
from polygym.graphs.ir import build
from polygym.graphs.ir.graph import Graph, Model, random_weights
from polygym.graphs.saved_model import load, save


@pytest.fixture
def model() -> Model:
    x = build.graph_input("x", 3, 8)
    odd = build.weight("a/b c@d", 8, 4)
    graph = Graph.of("tiny", build.relu(build.matmul(x, odd)))
    return Model(graph, random_weights(graph, 5))


def test_what_is_saved_computes_the_same(tmp_path: Path, model: Model) -> None:
    save(tmp_path / "fast", model, {"threads": 1, "note": "x"})
    fast = polygym.graphs.load(tmp_path / "fast")
    x = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    wanted = np.maximum(x @ model.weights["a/b c@d"], 0)
    np.testing.assert_allclose(fast(x), wanted, rtol=1e-5, atol=1e-6)
    given = fast(torch.from_numpy(x))
    assert isinstance(given, torch.Tensor)
    np.testing.assert_allclose(given.numpy(), wanted, rtol=1e-5, atol=1e-6)
    assert (fast.report["note"], fast.graph) == ("x", model.graph)


def test_threads_may_be_said_anew(tmp_path: Path, model: Model) -> None:
    save(tmp_path, model, {"threads": 2})
    assert (load(tmp_path).threads, load(tmp_path, threads=1).threads) == (2, 1)
    assert "x: 3-8" in repr(load(tmp_path))


@pytest.mark.parametrize("name", ["graph.txt", "weights.npz", "report.json", "sums.json"])
@pytest.mark.parametrize("damage", ["missing", "garbage", "half"])
def test_damage_is_refused_by_the_name_of_the_file(
    tmp_path: Path, model: Model, name: str, damage: str
) -> None:
    save(tmp_path, model, {"threads": 1})
    path = tmp_path / name
    whole = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(b"\xff\x00garbage" if damage == "garbage" else whole[: len(whole) // 2])
    with pytest.raises(InputError, match=name.replace(".", r"\.")):
        load(tmp_path)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a folder"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["graph.txt", "weights.npz", "report.json"])
def test_a_single_bit_is_seen(tmp_path: Path, model: Model, name: str) -> None:
    save(tmp_path, model, {"threads": 1})
    path = tmp_path / name
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 1
    path.write_bytes(contents)
    with pytest.raises(InputError, match=rf"{name}: expected the file as it was written"):
        load(tmp_path)


def test_what_was_ended_half_way_is_refused(
    tmp_path: Path, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, model, {"threads": 1})
    monkeypatch.setattr("polygym.graphs.saved_model.np.savez", _fail)
    with pytest.raises(OSError, match="no space"):
        save(tmp_path, model, {"threads": 1})
    with pytest.raises(InputError, match=r"sums\.json: expected a file"):
        load(tmp_path)


def _fail(*_: object, **__: object) -> None:
    raise OSError("no space")


def _sums_again(folder: Path) -> None:
    """Make the sums those of the files that are there."""
    names = ("graph.txt", "weights.npz", "report.json")
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / "sums.json").write_text(json.dumps(sums))


def test_pickles_among_the_weights_are_not_opened(tmp_path: Path, model: Model) -> None:
    save(tmp_path, model, {})
    names = np.array(json.dumps(["a/b c@d"]))
    np.savez(tmp_path / "weights.npz", names=names, **{"0": np.array([object()], object)})
    _sums_again(tmp_path)
    with pytest.raises(InputError, match=r"weights\.npz"):
        load(tmp_path)


def test_weights_of_another_shape(tmp_path: Path, model: Model) -> None:
    save(tmp_path, model, {})
    np.savez(
        tmp_path / "weights.npz", names=np.array(json.dumps(["a/b c@d"])), **{"0": np.zeros(3)}
    )
    _sums_again(tmp_path)
    with pytest.raises(InputError, match="expected 8-4"):
        load(tmp_path)
