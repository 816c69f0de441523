"""A wrong output or a crash of a legal schedule is not overlooked: in red, and by exit code 1."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from polygym.cli.output import limits as module
from polygym.cli.output.limits import report_defects
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping, parse_mapping
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation import Evaluation, Evaluator
from polygym.runtime.evaluation.evaluation_results import Defects
from polygym.runtime.worker.outcome import Crash, OutcomeStatus, WrongOutput
from polygym.search.sweep.rows import ISL
from polygym.search.sweep.store import STORE_FILE
from tests.cli.invoke import call, call_json

CRASHES, WRONG = (OutcomeStatus.CRASH, Crash), (OutcomeStatus.WRONG_OUTPUT, WrongOutput)
IS_BAD = Callable[[Schedule, Mapping], bool]


def spoil(
    monkeypatch: pytest.MonkeyPatch,
    kind: tuple[OutcomeStatus, type],
    is_bad: IS_BAD,
    at: str = "evaluate",
) -> None:
    """Have some schedules seem to crash, or to compute something else."""

    def bad(trial: Evaluation) -> Evaluation:
        status, error = kind
        if not is_bad(trial.schedule, trial.mapping):
            return trial
        return replace(trial, status=status, error_type=error.__name__, speedup=0.0, samples=())

    measured = getattr(Evaluator, at)

    def spoiled(self: Evaluator, *given: Any, **named: Any) -> Any:
        result = measured(self, *given, **named)
        return bad(result) if isinstance(result, Evaluation) else tuple(bad(run) for run in result)

    monkeypatch.setattr(Evaluator, at, spoiled)


def is_isl(schedule: Schedule, _: Mapping) -> bool:
    return schedule == isl_schedule(load_program("mvt").scop)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYGYM_CACHE", str(tmp_path / "cache"))


def test_it_is_said_in_red(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, object]] = []
    monkeypatch.setattr(module, "write_text", lambda text, **how: said.append((text, how)))
    report_defects(Defects(), DEFAULT_MAPPING)
    assert said == []
    report_defects(Defects(2, 3), DEFAULT_MAPPING, "lu")
    red = {"err": True, "fg": "red", "bold": True}
    assert said == [
        ("lu: 2 wrong outputs: a defect of polygym", red),
        ("lu: 3 crashes: a defect of polygym", red),
    ]
    said.clear()
    report_defects(Defects(1), parse_mapping("default reassociate=on"))
    assert said == [("1 wrong outputs: beyond the tolerance, or a defect of polygym", red)]


@pytest.mark.parametrize(("kind", "wrong", "crashed"), [(CRASHES, 0, 1), (WRONG, 1, 0)])
@pytest.mark.parametrize("moment", ["evaluate", "evaluate_interleaved"])
def test_optimize_where_isl_has_a_defect(
    kind: tuple[OutcomeStatus, type],
    wrong: int,
    crashed: int,
    moment: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whenever it shows: when isl's schedule runs first, or beside the best in the end."""
    spoil(monkeypatch, kind, is_isl, moment)
    words = (
        "optimize",
        "mvt",
        "-d",
        "mini",
        "--strategy",
        "uniform",
        "--budget",
        "2",
        "--out",
        "found",
    )
    code, _, err = call(capsys, *words)
    assert code == 1
    assert f"1 {'crashes' if crashed else 'wrong outputs'}: a defect of polygym" in err
    code, data = call_json(capsys, *words, "--resume")
    assert (code, data["wrong"], data["crashed"]) == (1, wrong, crashed)


def test_optimize_where_a_mapping_has_a_defect(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(monkeypatch, CRASHES, lambda _, mapping: mapping.tile == ())
    words = ("optimize", "mvt", "-d", "mini", "--budget", "1", "--mapping-budget", "4")
    code, data = call_json(capsys, *words)
    assert code == 1
    assert data["crashed"] >= 1
    assert data["counts"].get("crash", 0) == 0


def test_tune(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, CRASHES, lambda _, mapping: mapping.pack is False)
    words = ("tune", "mvt", "-d", "mini", "--strategy", "random", "--budget", "24")
    code, out, err = call(capsys, *words, "--out", "found")
    assert code == 1
    assert "24 of 24 explored" in out
    assert "crashes: a defect of polygym" in err


def test_collect(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, WRONG, lambda _, mapping: mapping != DEFAULT_MAPPING)
    words = ("collect", "c.sqlite", "mvt", "--rows", "8", "--candidates", "8")
    code, _, err = call(capsys, *words)
    assert code == 1
    assert "wrong outputs: a defect of polygym" in err


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the first test leaves its sweep, from which all of them go on."""
    return tmp_path_factory.mktemp("swept") / "s"


@pytest.mark.parametrize(("status", "what"), [("crash", "crashes"), ("wrong output", "wrong")])
@pytest.mark.parametrize("dataset", ["mini", "small"])
def test_a_sweep_whose_isl_has_a_defect(
    status: str, what: str, dataset: str, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the size of the search, where nothing else says it, as at that of the best."""
    words = (
        "sweep", "mvt", "--budget", "1", "--strategy", "earliest", "--initial-schedules", "none",
        "--confirm", "1", "--search-dataset", "mini", "--dataset", "small", "--out", "s",
    )  # fmt: skip
    if not kept.exists():
        code, _, err = call(capsys, *words)
        assert code == 0
        assert "a defect" not in err
        copytree("s", kept)
    else:
        copytree(kept, "s")
    with closing(sqlite3.connect(Path("s") / STORE_FILE)) as store, store:
        changed = store.execute(
            "UPDATE reference_times SET status = ? WHERE name = ? AND dataset = ?",
            (status, ISL, dataset),
        )
        assert changed.rowcount == 1
    code, _, err = call(capsys, *words)
    assert code == 1
    assert f"mvt: 1 {what}" in err
    assert "1 " + what in call(capsys, "report", "s")[2]
    assert f"{what.capitalize()}" in (Path("s") / "report.html").read_text()
