"""Modules that PyTorch exports are accepted and right; rows of the benchmark are kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")
torch = pytest.importorskip("torch")

from benchmarks.exported_models.acceptance import check_file, largest_error  # noqa: E402
from benchmarks.exported_models.block_modules import MODULE_NAMES, check_module  # noqa: E402
from benchmarks.exported_models.exporting import call_module, export_file  # noqa: E402
from benchmarks.exported_models.rows import Journal  # noqa: E402
from benchmarks.exported_models.tables import acceptance_table, module_table  # noqa: E402

REFUSED: dict[str, str] = {}
"""Modules that are refused, and the operator that the message names."""


def test_there_are_sixty_modules() -> None:
    assert len(MODULE_NAMES) == 60
    assert len(REFUSED) <= 6


@pytest.mark.rotates
@pytest.mark.parametrize("name", MODULE_NAMES)
def test_modules_compute_what_pytorch_does(name: str) -> None:
    row = check_module(name, "old", threads=1)
    if name in REFUSED:
        assert row["status"] == "refused"
        assert REFUSED[name] in row["message"]
    else:
        assert row["status"] == "ok", row


class _Places(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(x > 0)


def test_a_refusal_names_operator_and_node(tmp_path: Path) -> None:
    module, inputs = _Places(), (torch.randn(3, 4),)
    path = tmp_path / "places.onnx"
    assert export_file(module, inputs, path, "old") == ""
    expected = [tensor.numpy() for tensor in call_module(module, inputs)]
    row = check_file(path, [inputs[0].numpy()], expected, threads=1)
    assert row["status"] == "refused"
    assert "NonZero" in row["message"]
    assert "node" in row["message"]


@pytest.mark.parametrize(
    ("expected", "found", "error"),
    [
        ([1.0, 4.0], [1.0, 3.0], 0.25),
        ([np.nan, 4.0], [np.nan, 4.0], 0.0),
        ([np.nan, 4.0], [1.0, 4.0], np.inf),
        ([1.0, 4.0], [1.0, np.nan], np.inf),
        ([np.inf, 4.0], [-np.inf, 4.0], np.inf),
        ([0.0, 0.0], [0.0, 0.5], 0.5),
    ],
)
def test_errors(expected: list[float], found: list[float], error: float) -> None:
    assert largest_error([np.array(expected)], [np.array(found)]) == error


def test_results_of_other_types_are_wrong() -> None:
    whole = [np.array([1, 2])]
    assert largest_error(whole, [np.array([1, 2])]) == 0
    assert largest_error(whole, [np.array([1, 3])]) == np.inf
    assert largest_error(whole, [np.array([1.0, 2.0])]) == np.inf
    assert largest_error(whole, []) == np.inf


def test_rows_are_kept_and_replaced(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "check.csv")
    keys = {"model": "a", "exporter": "old", "threads": 2}
    journal.append({**keys, "status": "wrong", "error": 0.5})
    journal.append({**keys, "model": "b", "status": "refused", "message": "no, such\noperator"})
    journal.append({**keys, "status": "ok", "error": 1e-7, "nodes": 3})
    again = Journal(tmp_path / "check.csv")
    assert len(again.rows) == 2
    row = again.find(keys)
    assert row is not None
    assert row["status"] == "ok"
    assert again.find({**keys, "model": "c"}) is None
    assert "| a | old | ok | 3 |" in acceptance_table(tmp_path)
    (tmp_path / "modules.csv").write_text((tmp_path / "check.csv").read_text())
    assert "| old | 2 | 1 | 0 | 1 | 0 |" in module_table(tmp_path)
