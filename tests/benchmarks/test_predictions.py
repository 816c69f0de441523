"""What a look costs: both tables have a line for every program, and numbers that can be times."""

from __future__ import annotations

import os
import re
import sys

import numpy as np
import predictions
import pytest

from polygym.errors import PolygymError
from polygym.poly.legality import is_legal
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program


@pytest.fixture(autouse=True)
def stay_on_all_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["predictions.py", *words])
    return predictions.main()


def test_new_schedules(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "mvt", "--schedules", "4") == 0
    own, every, medians = capsys.readouterr().out.splitlines()
    assert own.startswith("mvt ")
    assert every.startswith("all 4 ")
    middle, most = (float(number) for number in re.findall(r"([0-9.]+) ms", own))
    assert 0 < middle <= most
    assert f"{middle:.1f} ms in the median, {middle:.1f} at most" in medians


def test_schedules_are_new_and_legal() -> None:
    scop = load_program("mvt").scop
    usual = isl_schedule(scop)
    schedules = predictions.new_schedules(scop, usual, 7, np.random.default_rng(1))
    assert len({usual, *schedules}) == 8
    assert all(is_legal(scop, schedule) for schedule in schedules)


def test_new_mappings(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("lightgbm")
    assert run(monkeypatch, "mvt", "--steps", "1") == 0
    own, *_ = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"mvt +[1-9][0-9]* a second", own)


def test_nothing_to_look_at(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> list[float]:
        raise PolygymError("none")

    monkeypatch.setattr(predictions, "schedule_milliseconds", fail)
    assert run(monkeypatch, "mvt", "--schedules", "2") == 1
    assert "mvt" in capsys.readouterr().err
