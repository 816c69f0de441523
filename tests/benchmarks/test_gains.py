"""What a search gains: a table by hand, and a small run that is not run twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from search_study import gains
from search_study.version import code_version

from polygym.mapping.mapping import Mapping
from polygym.poly.schedule import Schedule
from polygym.programs import Program
from polygym.runtime.evaluation.evaluation_results import Defects
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.runtime.worker.problem import CompiledProgram
from polygym.search import SearchResult, loop
from tests.benchmarks.run_study import run

ROW = gains.Gain(
    "gemm", "mini", 1, 4, "random", 0, original=8e-3, isl=2e-3, start=4e-3, best=1e-3, limit=0.5e-3,
    gain=4.0, tried=9, seconds=1.4, strategy="isl", splitting="whole", storage="keep", schedule="",
    mapping="",
)  # fmt: skip
WORDS = ("gains", "mvt", "--trials", "4", "--search", "random", "--threads", "1")


def test_a_table_by_hand() -> None:
    kept = replace(ROW, seed=1, gain=1.0, start=1.1e-3)  # the start, which ran twice
    text = gains.gains_table([ROW, kept, replace(ROW, program="lu", start=8e-3)])
    assert "| gemm | 8 | 2 | 4 | 1 | 4 | 2 | 8 | 0.5 | 9 | 1 |" in text
    assert "| gemm, seed 1 | 8 | 2 | 1.1 | 1 | 1 | 2 |" in text
    # A program counts once: the root of 4 * 1, and 8.
    assert "| geometric mean | | | | | 4.00 (2.00 to 8.00) | 2.00 (2.00 to 2.00) |" in text
    assert gains.gains_table([]).count("\n") == 1
    assert "versions" not in gains.gains_table([ROW, kept])
    several = gains.gains_table([ROW, replace(ROW, program="lu", version="0a")])
    assert several.endswith("Rows of 2 versions of polygym, one of them not known.")


def test_a_search_is_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (*WORDS, "--dataset", "mini", "--out", str(tmp_path))
    assert run(monkeypatch, *words) == 0
    assert "| geometric mean |" in capsys.readouterr().out
    (path,) = tmp_path.glob("gains-*.jsonl")
    (gain,) = gains.read_gains(path).values()
    assert gain.tried >= 4
    assert gain.gain >= 1
    assert 0 < gain.limit < min(gain.original, gain.isl, gain.start, gain.best)
    assert "->" in gain.schedule
    assert gain.version == code_version()
    kept = path.read_text()
    monkeypatch.setattr(gains, "tune", None)
    assert run(monkeypatch, *words) == 0
    assert path.read_text() == kept
    assert run(monkeypatch, "gains", "nothing", *words[1:]) == 1
    assert "nothing seed 0: " in capsys.readouterr().err


def test_what_is_found_runs_beside_what_is_written_where_values_are_kept_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("gains", "symm", "--trials", "1", "--search", "random", "--threads", "2")
    assert run(monkeypatch, *words, "--dataset", "medium", "--out", str(tmp_path)) == 0
    capsys.readouterr()
    (path,) = tmp_path.glob("gains-*.jsonl")
    (gain,) = gains.read_gains(path).values()
    assert "expand" in gain.storage
    assert gain.isl > gain.best, "the source's own order cannot be parallel"


def test_code_that_does_something_else_in_the_race_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled = gains.compile_schedule

    def mistaken(program: Program, schedule: Schedule, mapping: Mapping) -> CompiledProgram:
        result = compiled(program, schedule, mapping)
        return replace(result, buffers=result.buffers[::-1])

    monkeypatch.setattr(gains, "compile_schedule", mistaken)
    assert run(monkeypatch, *WORDS, "--dataset", "mini", "--out", str(tmp_path)) == 1
    assert "mvt, isl: expected it to run, found: " in capsys.readouterr().err
    assert not list(tmp_path.glob("gains-*.jsonl"))


def test_a_start_that_does_not_run_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failed(*given: Any, **named: Any) -> SearchResult:
        result = loop.tune(*given, **named)
        first = result.initial_finding
        evaluation = replace(first.evaluation, status=OutcomeStatus.TIMEOUT)
        return replace(result, initial_finding=replace(first, evaluation=evaluation))

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
        lambda *given, **named: replace(loop.tune(*given, **named), defects=Defects(wrong=1)),
    )
    assert run(monkeypatch, *WORDS, "--dataset", "mini", "--out", str(tmp_path)) == 1
    assert "mvt: 1 outputs were wrong and 0 candidates crashed" in capsys.readouterr().err
    assert not list(tmp_path.glob("gains-*.jsonl"))
