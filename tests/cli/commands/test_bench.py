"""``polygym bench``: what it compares, in which order, and what stays when something fails."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from polygym.cli import dispatch
from polygym.cli.commands import bench
from polygym.cli.execution import benching
from polygym.codegen import pipeline
from polygym.runtime.worker.outcome import WorkerError
from tests.oracles.tuning import tune

DOUBLE = """
void f(int n, double A[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
S:  A[i] = A[i] * 2.0;
#pragma endscop
}
"""


@pytest.fixture
def two_files(tmp_path: Path) -> list[str]:
    paths = []
    for directory in ("first", "second"):
        path = tmp_path / directory / "x.c"
        path.parent.mkdir()
        path.write_text(DOUBLE)
        paths.append(str(path))
    return paths


def test_rows_are_told_apart_by_path(
    capsys: pytest.CaptureFixture[str], two_files: list[str]
) -> None:
    options = ["--schedules", "isl,isl", "--schedules", "isl, { S[i] -> [-i] }", "--repeat", "1"]
    code = dispatch.run(["bench", *two_files, "-d", "mini", *options, "--json"])
    data = json.loads(capsys.readouterr().out)
    assert code == 0
    names = ["original", "isl", "{ S[i] -> [-i] }"]
    assert [(e["program"], e["schedule"]) for e in data["entries"]] == [
        (path, name) for path in two_files for name in names
    ]
    assert list(data["geometric_mean"]) == names
    code = dispatch.run(["bench", *two_files, "-d", "mini", *options])
    out = capsys.readouterr().out
    assert code == 0
    assert all(path in out for path in two_files)


def test_a_line_names_one_of_several_regions(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "two.c"
    path.write_text(
        """void f(int n, double a[n]) {
  for (int i = 0; i < n; i++)
    a[i] *= 2;
}
void g(int n, double b[n]) {
  for (int i = 0; i < n; i++)
    b[i] += 1;
}
"""
    )
    lines = [f"{path}:2", f"{path}:6"]
    options = ["-d", "mini", "--schedules", "original", "--repeat", "1", "--json"]
    assert dispatch.run(["bench", *lines, *options]) == 0
    out, err = capsys.readouterr()
    assert [entry["program"] for entry in json.loads(out)["entries"]] == lines
    assert "f, lines 2 to 3" in err
    assert "g, lines 6 to 7" in err


def test_what_fails_is_an_entry_and_the_rest_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, two_files: list[str]
) -> None:
    compile_problem = benching.compile_problem

    def compile_or_fail(program):  # type: ignore[no-untyped-def]
        if program.scop.file == two_files[0]:
            raise WorkerError("gone")
        return compile_problem(program)

    monkeypatch.setattr(benching, "compile_problem", compile_or_fail)
    options = ["--schedules", "{ S[i,j] -> [i] }", "-d", "mini", "--repeat", "1", "--json"]
    code = dispatch.run(["bench", *two_files, *options])
    entries = json.loads(capsys.readouterr().out)["entries"]
    assert code == 1
    assert [entry["status"] for entry in entries] == ["error", "error", "ok", "error"]
    assert entries[0]["error"] == "gone"
    assert "1 iterators" in entries[3]["error"]


def test_a_mapping_that_is_out_of_reach_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With so little effort isl comes to loops of gemm only without tiles.

    Where the process has made such loops before, that takes a tenth less: between 61,000 and 64,000
    operations it comes to the same in both.
    """
    tune(monkeypatch, pipeline, mapping_operations=62_500, operations_per_dependence=0)
    said = "isl's budget exceeded, compiled with mapping: tile=off sink=off"
    command = ["bench", "gemm", "-d", "small", "--schedules", "isl", "--repeat", "1"]
    assert dispatch.run(command) == 0
    assert f"gemm, isl: {said}" in capsys.readouterr().out
    command = ["run", "gemm", "-d", "small", "--schedule", "isl", "--repeat", "1"]
    assert dispatch.run(command) == 0
    assert said in capsys.readouterr().out
    assert dispatch.run([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["mapping"], report["done"]) == ("default", "tile=off sink=off")
    assert report["simplified"] == said


def test_a_source_that_is_kept_has_no_simpler_mapping_than_asked_for(
    two_files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bench", two_files[0], "-d", "mini", "--schedules", "auto", "--threads", "2"]
    assert dispatch.run([*command, "--repeat", "1", "--json"]) == 0
    *_, entry = json.loads(capsys.readouterr().out)["entries"]
    assert entry["choice"]["code"]["mapping"] == "sequential"
    assert entry["simplified"] is None


def test_nothing_is_measured_before_everything_is_loaded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "Worker", lambda: pytest.fail("measured"))
    assert dispatch.run(["bench", "mvt", "gemm", "nowhere.c"]) == 2
    assert "nowhere.c" in capsys.readouterr().err


@pytest.mark.parametrize("delay", [0.03, 0.08, 0.2, 1.0])
@pytest.mark.parametrize("command", ["run", "bench"])
def test_interrupted_at_any_time_there_is_one_document(command: str, delay: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "polygym", command, "seidel-2d", "-d", "large", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    # Before polygym's own first line runs, the interrupt is Python's to handle.
    deadline = time.monotonic() + 10
    maps = Path(f"/proc/{process.pid}/maps")
    while "_ctypes" not in maps.read_text() and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    document = json.loads(out)
    assert document.get("error") == "interrupted" or document["interrupted"] is True
    assert "Traceback" not in err


def test_results_that_are_not_finite_are_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    names = ("fine", "endless")
    for name, divisor in zip(names, ("2.0", "(A[1] - A[1])"), strict=True):
        (tmp_path / f"{name}.c").write_text(
            "void f(int n, double A[n], double B[n]) {\n#pragma scop\n"
            f"A[0] = A[0] / {divisor};\nB[0] = 1.0;\n#pragma endscop\n}}\n"
        )
    files = [str(tmp_path / f"{name}.c") for name in names]
    command = ["bench", *files, "--schedules", "original", "-p", "n=8", "--repeat", "1"]
    assert dispatch.run(command) == 0
    said = capsys.readouterr().out
    assert f"{files[1]}: A: not all values are finite (NaN or infinity); " in said
    assert said.count("not all values") == 1
    assert dispatch.run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["not_finite"] == {files[1]: ["A"]}
    assert dispatch.run(["run", files[1], "-p", "n=8", "--repeat", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["not_finite"] == ["A"]
    assert dispatch.run(["run", files[0], "-p", "n=8", "--repeat", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["not_finite"] == []
