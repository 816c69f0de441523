"""The limit in ``bench`` and ``run``, and ``polygym machine``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polygym.cli.output import limits
from polygym.errors import LimitError
from polygym.runtime.peaks import calibration
from polygym.runtime.peaks.machine_peaks import Peaks
from tests.cli.invoke import call, call_json
from tests.oracles.peaks import made_up


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POLYGYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(calibration, "measure_peaks", lambda threads: made_up(threads, 0.7))


MINI = ("-d", "mini", "--repeat", "1")


def test_bench_has_an_entry_of_the_limit_and_shares_of_it(
    capsys: pytest.CaptureFixture[str], y_ax: str
) -> None:
    code, data = call_json(capsys, "bench", y_ax, "tc:matmul", *MINI, "--against", "limit")
    assert code == 0
    entries = {(entry["program"], entry["schedule"]): entry for entry in data["entries"]}
    for program in (y_ax, "tc:matmul"):
        own, bound = entries[program, "isl"], entries[program, "limit"]
        assert own["share_of_limit"] == pytest.approx(bound["seconds"] / own["seconds"])
        assert bound["limit"]["seconds"] == bound["seconds"] > 0
        original = entries[program, "original"]["seconds"]
        assert bound["speedup"] == pytest.approx(original / bound["seconds"])
    assert set(data["share_of_limit"]) == {"original", "isl", "auto"}
    assert set(data["geometric_mean"]) == {"original", "isl", "auto"}


def test_bench_shows_it_and_draws_it(
    capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path
) -> None:
    for ending, begin in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
        figure = tmp_path / "new" / f"limits{ending}"
        options = ("--against", "limit", "--figure", str(figure))
        code, out, err = call(capsys, "bench", y_ax, *MINI, *options)
        assert code == 0
        assert figure.read_bytes().startswith(begin)
    assert out.splitlines()[0].split()[-3:] == ["LIMIT", "BOUND", "BY"]
    assert "others had 0.7 cores" in err


def test_without_being_asked_there_is_no_limit(
    capsys: pytest.CaptureFixture[str], y_ax: str
) -> None:
    code, data = call_json(capsys, "bench", y_ax, *MINI)
    assert code == 0
    assert {entry["schedule"] for entry in data["entries"]} == {"original", "isl", "auto"}
    assert "share_of_limit" not in data


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--figure", "x.png"), "it needs --against limit"),
        (("--figure", "x.pdf", "--against", "limit"), "ends in .png or .svg"),
        (("--against", "limits"), "found 'limits'"),
    ],
)
def test_what_cannot_be_drawn_is_said_before_anything_runs(
    capsys: pytest.CaptureFixture[str], y_ax: str, options: tuple[str, ...], said: str
) -> None:
    code, _, err = call(capsys, "bench", y_ax, *options)
    assert code == 2
    assert said in err


def test_a_limit_that_cannot_be_computed_is_an_entry_with_a_reason(
    capsys: pytest.CaptureFixture[str], y_ax: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_long(_: object) -> None:
        raise LimitError("it would take too long")

    monkeypatch.setattr(limits, "count_within", too_long)
    code, data = call_json(capsys, "bench", y_ax, *MINI, "--against", "limit")
    assert code == 1
    *measured, bound = data["entries"]
    assert {entry["status"] for entry in measured} == {"ok"}
    assert (bound["status"], bound["error"]) == ("error", "it would take too long")
    code, _, err = call(capsys, "bench", y_ax, *MINI, "--against", "limit")
    assert code == 1
    assert "limit: it would take too long" in err


def test_run_says_it_once_the_machine_is_known(
    capsys: pytest.CaptureFixture[str], y_ax: str
) -> None:
    code, data = call_json(capsys, "run", y_ax, "-d", "mini")
    assert (code, data["limit"]) == (0, None)
    assert "share_of_limit" not in data
    calibration.peaks_for(1)
    code, data = call_json(capsys, "run", y_ax, "-d", "mini")
    assert data["share_of_limit"] == pytest.approx(data["limit"]["seconds"] / data["seconds"])
    code, out, _ = call(capsys, "run", y_ax, "-d", "mini")
    assert "of it reached; bound by" in out


def test_sums_that_may_be_taken_apart_wait_for_nothing(
    capsys: pytest.CaptureFixture[str], y_ax: str
) -> None:
    calibration.peaks_for(1)
    _, data = call_json(capsys, "run", y_ax, "-d", "mini", "--schedule", "isl")
    assert data["limit"]["chain_seconds"] > 0
    options = ("--schedule", "isl", "--reassociate")
    _, data = call_json(capsys, "run", y_ax, "-d", "mini", *options)
    assert data["limit"]["chain_seconds"] == 0


def test_machine_shows_peaks_and_measures_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = call(capsys, "machine")
    assert code == 0
    assert "double" in out
    assert "memory" in out
    assert "polygym machine --remeasure" in err
    monkeypatch.setattr(calibration, "measure_peaks", made_up)
    assert call_json(capsys, "machine")[1]["background_load"] == 0.7
    code, data = call_json(capsys, "machine", "--remeasure")
    assert data["background_load"] == 0.0
    assert Peaks.from_json(data) == made_up()
    (peaks,) = json.loads(Path(data["file"]).read_text())["peaks"]
    assert Peaks.from_json(peaks) == made_up()
