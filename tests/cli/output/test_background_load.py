"""Commands that measure say that somebody else was on the machine."""

import json
from pathlib import Path

import pytest

from polygym.cli import dispatch
from polygym.runtime.worker import background_load
from polygym.runtime.worker.background_load import BackgroundLoad, LoadMonitor
from polygym.search.sweep.rows import BackgroundLoadRow
from polygym.search.sweep.store import STORE_FILE, open_store
from tests.cli.invoke import call


def test_others_on_the_machine_are_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Whether there are any is written down here: the machine may be busy or not."""
    out = tmp_path / "out"
    usual = (
        "sweep", "mvt", "--out", str(out), "--initial-schedules", "none", "--strategy", "earliest",
        "--search-dataset", "mini", "--dataset", "mini", "--budget", "1", "--confirm", "0",
    )  # fmt: skip
    assert call(capsys, *usual)[0] == 0
    with open_store(out / STORE_FILE) as store:
        store.connection.execute("DELETE FROM disturbances")
    code, _, err = call(capsys, *usual)
    assert (code, "not the sweep's alone" in err) == (0, False)
    with open_store(out / STORE_FILE) as store:
        store.add_background_load(BackgroundLoadRow("mvt", "mini", 1.0, 60.0, 0.8, 0.0))
    code, _, err = call(capsys, *usual)
    assert code == 0
    assert "machine busy, times unreliable" in err
    assert "mvt 0.8. Times" in err


@pytest.mark.parametrize(
    "command",
    [
        ("bench", "mvt", "--schedules", "original", "--repeat", "1"),
        ("optimize", "mvt", "--budget", "1"),
        ("tune", "mvt", "--strategy", "genetic", "--budget", "1", "--population", "1"),
    ],
)
def test_so_do_the_other_commands_that_measure(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    monkeypatch.setattr(LoadMonitor, "load", lambda _: BackgroundLoad(9.0, 0.8, 0.0, 2))
    monkeypatch.setattr(background_load, "_MIN_INTERVAL", 0.0)
    monkeypatch.chdir(tmp_path)
    assert dispatch.run([*command, "-d", "mini"]) == 0
    said = "machine busy, times unreliable: other processes kept 0.8 of the 2 cores busy"
    assert said in capsys.readouterr().err
    monkeypatch.setattr(LoadMonitor, "load", lambda _: None)
    out = ["--out", str(tmp_path / "other")] if command[0] != "bench" else []
    assert dispatch.run([*command, "-d", "mini", *out, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["background_load"] is None
    assert "machine busy" not in captured.err
