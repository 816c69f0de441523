"""The report on learned value functions prints the tables of the tests."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import knossos
import pytest


def test_the_report_prints_the_rows_of_the_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {
        "programs": "test", "search": "greedy", "kind": "nothing", "seed": 0,
        "costs": [100.0, 48.1], "seconds": 1.0,
    }  # fmt: skip
    (tmp_path / "tests.jsonl").write_text(json.dumps(row) + "\n")
    monkeypatch.setattr(sys, "argv", ["knossos.py", "report", "--out", str(tmp_path)])
    assert knossos.main() == 0
    printed = capsys.readouterr().out
    assert "| test, greedy | 148.1, 1 | 1 | 132.1 |" in printed
    assert "| Figure 9, MCTS, MCTS | - | | 148 |" in printed
    assert [path.name for path in tmp_path.iterdir()] == ["tests.jsonl"]
