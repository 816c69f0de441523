"""Convolutions of a network beside another library, and beside another tuner."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from search_study import layers, programs, tvm_tuner

from polygym.errors import PolygymError
from tests.benchmarks.run_study import run

pytest.importorskip("lightgbm")


def test_layers_are_those_of_the_network() -> None:
    work = {
        name: np.prod(
            [layer.filters, layer.channels, layer.kernel**2, (layer.side // layer.stride) ** 2],
            dtype=np.int64,
        )
        for name, layer in programs.LAYERS.items()
    }
    assert len(work) == 12
    # Multiplications and additions of a layer, in millions, by hand.
    assert round(2 * work["C1"] / 1e6) == 236
    assert {round(2 * work[name] / 1e6) for name in ("C2", "C6", "C9", "C12")} == {231}
    for name in ("C4", "C12"):
        program = programs.load_study_program(name, "mini")
        shape = program.shape(program.scop.array("O"))
        side = programs.LAYERS[name].side // programs.LAYERS[name].stride
        assert shape == (1, programs.LAYERS[name].filters, side, side)


def test_layers_are_put_beside_another_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    small = {
        "C1": programs.ConvolutionLayer(8, 4, 8, 3, 1),
        "C2": programs.ConvolutionLayer(8, 4, 8, 1, 2),
    }
    monkeypatch.setattr(programs, "LAYERS", small)
    monkeypatch.setattr(layers, "LAYERS", small)
    words = ("layers", "C1", "C2", "--out", str(tmp_path), "--threads", "1", "--rounds", "1")
    assert run(monkeypatch, *words) == 0
    assert "| geometric mean |" in capsys.readouterr().out
    (path,) = tmp_path.glob("layers-*.jsonl")
    kept = path.read_text()
    assert run(monkeypatch, *words) == 0
    assert path.read_text() == kept
    assert run(monkeypatch, *words[:1], "C99", *words[3:]) == 2
    assert "C1 to C12" in capsys.readouterr().err
    assert run(monkeypatch, *words, "--tvm") == 2
    assert "--tvm needs --trials" in capsys.readouterr().err


def test_the_default_is_not_what_a_search_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the search of the row nor an earlier one is what is had without one."""
    pytest.importorskip("torch")
    monkeypatch.setattr(layers, "LAYERS", {"C1": programs.ConvolutionLayer(8, 4, 8, 3, 1)})
    monkeypatch.setattr(programs, "LAYERS", layers.LAYERS)
    monkeypatch.setenv("POLYGYM_CACHE", str(tmp_path / "cache"))
    words = ("layers", "C1", "--out", str(tmp_path / "study"), "--threads", "1", "--rounds", "1")
    assert run(monkeypatch, *words, "--trials", "2", "--search", "random") == 0
    assert not (tmp_path / "cache").exists()
    (times,) = layers.read_times(next((tmp_path / "study").glob("layers-*"))).values()
    assert times.tried >= times.trials == 2
    assert times.tuned is not None


def test_another_output_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(layers, "LAYERS", {"C1": programs.ConvolutionLayer(8, 4, 8, 3, 1)})
    monkeypatch.setattr(programs, "LAYERS", layers.LAYERS)
    real = torch.nn.functional.conv2d
    monkeypatch.setattr(
        torch.nn.functional, "conv2d", lambda *given, **named: 1.5 * real(*given, **named)
    )
    words = ("layers", "C1", "--out", str(tmp_path), "--threads", "1", "--rounds", "1")
    assert run(monkeypatch, *words) == 2
    assert "C1, default: expected PyTorch's output, found another" in capsys.readouterr().err


def test_another_tuner_stands_beside_ours() -> None:
    times = layers.LayerTimes("C1", 4e-3, 2e-3, 1e-3, 64, "model", 15, tvm=3e-3)
    assert "| C1 | 4.000 | 2.000 | 1.000 | 2.00 | 4.00 | 3.000 | 3.00 |" in layers.layers_table(
        [times]
    )
    other = replace(times, layer="C2", tvm=None)
    assert "| C2 | 4.000 | 2.000 | 1.000 | 2.00 | 4.00 | - | - |" in layers.layers_table(
        [times, other]
    )
    means = "| geometric mean |  |  |  | 2.00 | 4.00 |  | 3.00 |"
    assert layers.layers_table([times, other]).endswith(means)
    assert "tvm" not in layers.layers_table([other])


def test_a_tuner_that_is_not_installed_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tvm", None)
    image = np.zeros((1, 1, 3, 3), np.float32)
    with pytest.raises(PolygymError, match=r"TVM: expected `pip install apache-tvm.* found: "):
        tvm_tuner.tune_convolution(
            programs.ConvolutionLayer(3, 1, 1, 1, 1), image, image, 1, 1, tmp_path
        )
