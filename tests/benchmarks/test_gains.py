"""What a search gains: a table by hand, and a small run that is not run twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from study import gains

from polygym.measure.evaluation.defects import Defects
from polygym.measure.worker.outcome import Status
from polygym.search.tune import Tuned, tuner
from tests.benchmarks.calling import run

ROW = gains.Gain(
    "gemm", "mini", 1, 4, "random", 0, start=2.0, best=8.0, gain=4.0, tried=9, seconds=1.4,
    strategy="isl", schedule="", mapping="",
)  # fmt: skip
WORDS = ("gains", "mvt", "--trials", "4", "--search", "random", "--threads", "1")


def test_a_table_by_hand() -> None:
    text = gains.table([ROW, replace(ROW, seed=1, gain=1.0), replace(ROW, program="lu", gain=8.0)])
    assert "| gemm | 2.00x | 8.00x | 4.00 | 9 | 1 |" in text
    assert "| gemm, seed 1 | 2.00x | 8.00x | 1.00 |" in text
    # A program counts once: the root of 4 * 1, and 8.
    assert "| geometric mean | | | 4.00 (2.00 to 8.00) | | |" in text
    assert gains.table([]).count("\n") == 1


def test_a_search_is_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (*WORDS, "--dataset", "mini", "--out", str(tmp_path))
    assert run(monkeypatch, *words) == 0
    assert "| geometric mean |" in capsys.readouterr().out
    (path,) = tmp_path.glob("gains-*.jsonl")
    (one,) = gains.remembered(path).values()
    assert one.tried >= 4
    assert one.gain >= 1
    assert one.best >= one.start > 0
    assert one.gain == pytest.approx(one.best / one.start, rel=1e-2)
    assert "->" in one.schedule
    kept = path.read_text()
    monkeypatch.setattr(gains, "tune", None)
    assert run(monkeypatch, *words) == 0
    assert path.read_text() == kept
    assert run(monkeypatch, "gains", "nothing", *words[1:]) == 1
    assert "nothing seed 0: " in capsys.readouterr().err


def test_a_start_that_does_not_run_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failed(*given: Any, **named: Any) -> Tuned:
        found = tuner.tune(*given, **named)
        return replace(found, start=replace(found.start, status=Status.TIMEOUT))

    monkeypatch.setattr(gains, "tune", failed)
    assert run(monkeypatch, *WORDS, "--dataset", "mini", "--out", str(tmp_path)) == 1
    assert "mvt: expected the start to run, found: timeout" in capsys.readouterr().err
    assert not list(tmp_path.glob("gains-*.jsonl"))


def test_a_defect_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        gains,
        "tune",
        lambda *given, **named: replace(tuner.tune(*given, **named), defects=Defects(wrong=1)),
    )
    assert run(monkeypatch, *WORDS, "--dataset", "mini", "--out", str(tmp_path)) == 1
    assert "mvt: 1 outputs were wrong and 0 candidates crashed" in capsys.readouterr().err
    assert not list(tmp_path.glob("gains-*.jsonl"))
