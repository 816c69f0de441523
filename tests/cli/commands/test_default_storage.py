"""What begins with the automatic schedule begins with its storage and cuts, if nothing is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polygym.autoschedule import storage_choice
from tests.cli.invoke import call, call_json

MINI = ("symm", "-d", "mini", "--threads", "2")
ONCE = ("--repeat", "1")
EXPANDED = "S0:temp2=expand:i,j contract"
PRIVATE = "S0:temp2=private:i,j contract"
CUT = "S0: i = k, j = k"


def test_run_decides_and_its_file_runs_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, data = call_json(capsys, "run", *MINI, *ONCE, "--schedule", "auto")
    assert (code, data["status"], data["storage"]) == (0, "ok", EXPANDED)
    variant = data["choice"]["variant"]
    assert (variant["splitting"], variant["storage"]) == ("", EXPANDED)
    assert [ranked["storage"] for ranked in variant["ranking"]] == ["keep", EXPANDED, PRIVATE]
    path = tmp_path / "found.json"
    path.write_text(json.dumps(data))
    code, again = call_json(capsys, "run", *MINI, *ONCE, "--schedule", str(path))
    assert (code, again["storage"], again["schedule"]) == (0, EXPANDED, data["schedule"])


@pytest.mark.parametrize(
    ("words", "storage"),
    [
        (("--schedule", "auto", "--storage", "keep"), "keep"),
        (("--schedule", "auto", "--split", "none"), "keep"),
        (("--schedule", "auto", "--storage-limit", "100"), "keep"),
        (("--schedule", "auto", "--storage", "temp2=expand"), "temp2=expand"),
        (("--schedule", "isl"), "keep"),
        ((), "keep"),
    ],
    ids=" ".join,
)
def test_what_is_said_is_kept(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], storage: str
) -> None:
    code, data = call_json(capsys, "run", *MINI, *ONCE, *words)
    assert (code, data["status"], data["storage"]) == (0, "ok", storage)


def test_bench_decides_for_its_automatic_schedule_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, data = call_json(capsys, "bench", "syrk", *MINI, *ONCE)
    assert code == 0
    variants_of = {
        (entry["program"], entry["schedule"]): (entry["splitting"], entry["storage"])
        for entry in data["entries"]
    }
    assert variants_of == {
        **{(name, kind): ("", "keep") for name in ("syrk", "symm") for kind in ("original", "isl")},
        ("syrk", "auto"): ("", "keep"),
        ("symm", "auto"): ("", EXPANDED),
    }
    assert {entry["status"] for entry in data["entries"]} == {"ok"}
    _, out, _ = call(capsys, "bench", *MINI, *ONCE)
    assert f"symm, auto: {EXPANDED}" in out
    monkeypatch.setattr(storage_choice, "is_better_variant", lambda *_: True)
    _, out, _ = call(capsys, "bench", "floyd-warshall", *MINI[1:], *ONCE)
    assert f"floyd-warshall, auto: split {CUT}" in out


def test_bench_keeps_what_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for words, storage in ((("--storage", "keep"), "keep"), (("--storage", "auto"), EXPANDED)):
        code, data = call_json(capsys, "bench", *MINI, *ONCE, *words)
        assert code == 0
        of_schedules = {entry["schedule"]: entry["storage"] for entry in data["entries"]}
        assert of_schedules == {"original": "keep", "isl": storage, "auto": storage}
        assert all("variant" not in (entry["choice"] or {}) for entry in data["entries"])


def test_optimize_begins_with_it_and_goes_on_with_what_it_began_with(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    search = ("optimize", *MINI, "--out", str(out))
    assert call(capsys, *search, "--budget", "1")[0] == 0
    best = json.loads((out / "best.json").read_text())
    assert best["program"]["storage"] == EXPANDED
    code, data = call_json(capsys, "replay", str(out / "best.json"), "--no-run")
    assert (code, data["storage"], data["legal"]) == (0, EXPANDED, True)
    with monkeypatch.context() as patch:
        patch.setattr(storage_choice, "is_better_variant", lambda *_: False)  # another model
        assert call(capsys, *search, "--budget", "2", "--resume")[0] == 0
    assert len((out / "journal.jsonl").read_text().splitlines()) >= 3
    code, _, error = call(capsys, *search, "--budget", "2", "--resume", "--storage-limit", "100")
    assert code == 2
    assert "allow more with --storage-limit" in error
    kept = tmp_path / "kept"
    search = ("optimize", *MINI, "--out", str(kept))
    assert call(capsys, *search, "--budget", "1", "--storage", "keep")[0] == 0
    assert "storage" not in json.loads((kept / "best.json").read_text())["program"]
    # A search that keeps, as all did that were begun before, goes on so.
    assert call(capsys, *search, "--budget", "2", "--resume")[0] == 0
    assert "storage" not in json.loads((kept / "best.json").read_text())["program"]


def test_tune_begins_with_it_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    tune = ("tune", *MINI, "--out", str(out), "--strategy", "random", "--budget", "1")
    assert call(capsys, *tune)[0] == 0
    assert json.loads((out / "best.json").read_text())["program"]["storage"] == EXPANDED
    assert call(capsys, *tune, "--resume")[0] == 0
    code, _, error = call(capsys, *tune, "--resume", "--storage", "keep")
    assert code == 2
    assert "program.storage" in error


def test_a_comprehension_that_is_tuned_keeps_its_arrays(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(storage_choice, "storage_variants_within", never)
    out = tmp_path / "out"
    sizes = ("-p", "M=8,N=8,K=8")
    words = ("--strategy", "random", "--budget", "1", "--out", str(out))
    assert call(capsys, "tune", "tc:matmul", *sizes, *words)[0] == 0
    assert "storage" not in json.loads((out / "best.json").read_text())["program"]
