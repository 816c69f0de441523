"""The script for machines with a GPU: its parts, and a run with stand-ins for the machine's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.gpu import __main__ as command
from benchmarks.gpu import correctness, measuring, requirements, running, tables
from benchmarks.gpu.clock import Deadline
from benchmarks.gpu.journal import Journal
from benchmarks.gpu.mappings import neighbour, random_mapping
from benchmarks.gpu.report import report
from benchmarks.gpu.rows import ROWS, row
from polygym.frontend.tc import library
from polygym.runtime.worker.worker import Worker
from tests.runtime.device.emulated_device import EmulatedDevice

ROOT = Path(__file__).parents[2]
SMALL = row("TMM", "tmm", lambda torch, a, b: a @ b.T, M=5, K=4, N=3)


def test_what_is_missing_is_said_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert requirements.missing_modules(lambda name: name not in ("torch", "islpy")) == [
        "the wheel of islpy",
        "PyTorch with CUDA, for the tables",
    ]
    assert requirements.missing_code_generation() == []
    if not requirements.missing_driver():
        pytest.skip("there is a GPU here")
    assert command.main(["--check"]) == 2
    assert "NVIDIA's driver (libcuda.so.1)" in capsys.readouterr().err
    words = [sys.executable, "-m", "benchmarks.gpu", "--out", "/nowhere"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "missing: device=cuda" in done.stderr


def test_steps_fit_the_time() -> None:
    assert sum(command._SHARES.values()) <= command.SECONDS < 480
    assert set(command._SHARES) == set(command.STEPS)
    tuned = command._SHARES["rows"] + command._SHARES["product"]
    assert tuned <= 300
    moment = [0.0]
    whole = Deadline(10.0, lambda: moment[0])
    part = whole.part(4.0)
    moment[0] = 3.0
    assert (whole.left, part.left) == (7.0, 1.0)
    moment[0] = 11.0
    assert (whole.left, part.left, whole.part(5.0).left) == (0.0, 0.0, 0.0)


def test_a_journal_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    journal = Journal(path)
    journal.add("kernel", "gemm", ok=True, text="ok")
    with path.open("a") as file:
        file.write('{"step": "kernel", "na')  # an end in the middle of a line
    again = Journal(path)
    assert ("kernel", "gemm") in again
    assert [own["name"] for own in again.of_step("kernel")] == ["gemm"]
    assert again.row("kernel", "atax") is None


def test_random_mappings() -> None:
    rng = np.random.default_rng(0)
    mappings = [random_mapping(rng) for _ in range(60)]
    assert len(set(mappings)) > 30
    for mapping in mappings[:10]:
        assert len({neighbour(mapping, rng) for _ in range(10)} | {mapping}) > 1
    first, second = (list(correctness.random_choices(7)) for _ in range(2))
    assert first == second
    assert len(first) == correctness.RANDOM_MAPPINGS


def test_every_comprehension_has_small_sizes() -> None:
    names = [name.removeprefix("tc:") for name in correctness.library_names()]
    assert set(names) == set(library.definitions())
    for name in names[::6]:
        assert correctness.library_program(name).name == f"tc:{name}"


@pytest.mark.parametrize("case", ROWS, ids=lambda own: own.name)
def test_rows_are_programs(case: object) -> None:
    from benchmarks.gpu.rows import TableRow

    assert isinstance(case, TableRow)
    program = case.loaded()
    assert program.outputs


def test_a_run_with_stand_ins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every step at small sizes: the emulator for the GPU, NumPy for PyTorch."""

    def numpy_times(measured: measuring.MeasuredRow) -> tuple[float, list[np.ndarray]]:
        a, b = (measured.arrays.arrays[name].astype(float) for name in ("A", "B"))
        return 2e-3, [a @ b.T]

    monkeypatch.setattr(running, "DeviceWorker", lambda ordinal: EmulatedDevice())
    monkeypatch.setattr(tables, "torch_times", numpy_times)
    monkeypatch.setattr(correctness, "library_names", lambda: ["tc:tmm", "tc:softmax"])
    monkeypatch.setattr(correctness, "KERNELS", ("jacobi-1d",))
    monkeypatch.setattr(correctness, "RANDOM_MAPPINGS", 2)
    monkeypatch.setattr(running, "ROWS", (SMALL,))
    monkeypatch.setattr(running, "SGEMM", row("SGEMM", "tmm", SMALL.peer, M=3, K=2, N=2))
    monkeypatch.setattr(
        tables,
        "STENCILS",
        (("jacobi-2d", {"tsteps": 1, "n": 6}, 32), ("heat-3d", {"tsteps": 1, "n": 5}, 32)),
    )
    monkeypatch.setattr(command, "missing", list)
    words = ["--out", str(tmp_path), "--seconds", "60"]
    monkeypatch.setattr(command, "_SHARES", {**command._SHARES, "rows": 1.0, "product": 0.5})
    assert command.main(words) == 0
    journal = Journal(tmp_path / "results.jsonl")
    assert [own["ok"] for own in journal.of_step("library")] == [True, True]
    assert [own["ok"] for own in journal.of_step("random mapping")] == [True, True]
    (measured,) = journal.of_step("row")
    assert (measured["wrong"], measured["default"], measured["torch"]) == ("", 1e-3, 2e-3)
    assert measured["tried"] >= 1
    page = (tmp_path / "GPU.md").read_text()
    assert "| library | 2 | 2 |" in page
    assert "| TMM M=5 K=4 N=3 | 2000.0 | 1000.0 | 2.00 |" in page
    assert "jacobi-2d n=6" in page
    lines = (tmp_path / "results.jsonl").read_text()
    assert command.main(words) == 0
    assert (tmp_path / "results.jsonl").read_text() == lines  # nothing is done again
    assert "0 programs differ" in capsys.readouterr().out


def test_what_is_wrong_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = Worker()
    found = correctness.compared(
        "tc:tmm", next(correctness.random_choices(0))[2], EmulatedDevice(spoils=True), cpu
    )
    cpu.close()
    assert not found["ok"]
    journal = Journal(tmp_path / "results.jsonl")
    journal.add("library", "tc:tmm", **found)
    assert "* library tc:tmm : wrong output" in report(journal)
    row_measured = measuring.MeasuredRow(SMALL, EmulatedDevice(spoils=True))
    a, b = (row_measured.arrays.arrays[name].astype(float) for name in ("A", "B"))
    mapping = measuring.DEFAULT_DEVICE_MAPPING
    assert "differs by" in row_measured.difference(mapping, [a @ b.T])
    right = measuring.MeasuredRow(SMALL, EmulatedDevice())
    assert right.difference(mapping, [a @ b.T]) == ""


def test_a_row_that_fails_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(measured: measuring.MeasuredRow) -> tuple[float, list[np.ndarray]]:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(tables, "torch_times", no_memory)
    journal = Journal(tmp_path / "results.jsonl")
    tables.measure_rows("row", (SMALL,), EmulatedDevice(), journal, Deadline(5.0))
    (found,) = journal.of_step("row")
    assert found["wrong"] == "RuntimeError: CUDA out of memory"
    assert "| TMM M=5 K=4 N=3 | - | - | - | - | - | 0 | wrong: RuntimeError" in report(journal)
