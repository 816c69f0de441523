"""The script for machines with a GPU: its parts, and a run with stand-ins for the machine's."""

from __future__ import annotations

import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace

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
from polygym.gpu.ptx import math_library
from polygym.runtime.worker.worker import Worker
from tests.runtime.device.emulated_device import EmulatedDevice

ROOT = Path(__file__).parents[2]
SMALL = row("TMM", "tmm", lambda torch, a, b: a @ b.T, M=5, K=4, N=3)
OTHER = row("TMM", "tmm", SMALL.peer, M=3, K=4, N=3)


def test_what_is_missing_is_said_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert requirements.missing_modules(lambda name: name not in ("torch", "islpy")) == [
        "the wheel of islpy",
        "PyTorch with CUDA, for the tables",
    ]
    assert requirements.missing_code_generation() == []
    (old,) = requirements.missing_code_generation("0.45.1")
    assert old.startswith("llvmlite 0.4")
    assert old.endswith(" or later, found 0.45.1")
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


def test_what_libdevice_and_pytorch_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(math_library, "libdevice_path", lambda: None)
    assert "libdevice" in requirements.missing_libdevice()[0]
    for is_there in (True, False):
        cuda = SimpleNamespace(is_available=lambda is_there=is_there: is_there)
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
        assert bool(requirements.missing_torch_device()) is not is_there


def test_a_journal_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    journal = Journal(path)
    journal.add("kernel", "gemm", ok=True, text="ok")
    with path.open("a") as file:
        file.write('{"step": "kernel", "na')  # an end in the middle of a line
    again = Journal(path)
    assert again.is_done("kernel", "gemm")
    assert [own["name"] for own in again.of_step("kernel")] == ["gemm"]
    assert again.row("kernel", "atax") is None
    again.add("kernel", "atax", ok=True)
    again.add("kernel", "bicg", ok=False)
    last = Journal(path)
    assert [own["name"] for own in last.of_step("kernel")] == ["gemm", "atax", "bicg"]


def test_what_is_done_again(tmp_path: Path) -> None:
    """Failures, and what another commit or GPU has done; what was never tried comes first."""
    path, names = tmp_path / "results.jsonl", ["gemm", "atax", "bicg"]
    journal = Journal(path, {"GPU": "H100", "commit": "a"})
    journal.add("kernel", "gemm", ok=False)
    journal.add("kernel", "atax", ok=True)
    again = Journal(path, {"GPU": "H100", "commit": "a"})
    assert again.open_names("kernel", names) == ["bicg", "gemm"]
    for other in ({"GPU": "H200", "commit": "a"}, {"GPU": "H100", "commit": "b"}):
        assert Journal(path, other).open_names("kernel", names) == names
        assert list(Journal(path, other).of_step("kernel")) == []


def test_the_time_goes_where_rows_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "DeviceWorker", lambda ordinal: EmulatedDevice())
    given: dict[str, float] = {}

    def steps(device: object, cpu: object, journal: Journal, seed: int) -> dict[str, object]:
        def step(name: str) -> object:
            def run(deadline: Deadline) -> None:
                given[name] = round(deadline.left)
                if name != "second":
                    journal.add(name, "x", ok=True)

            return running._Step(name, ["x"], run)

        return {name: step(name) for name in ("first", "second", "third")}

    monkeypatch.setattr(running, "_steps", steps)
    shares = {"first": 60.0, "second": 200.0, "third": 60.0}
    running.run_steps(shares, tmp_path, Deadline(470.0), 0, 0, "today")
    assert given == {"first": 210, "second": 410, "third": 470}
    given.clear()
    running.run_steps(shares, tmp_path, Deadline(470.0), 0, 0, "today")
    assert given == {"second": 470}


def test_a_failure_at_the_end_of_the_time_is_tried_again(tmp_path: Path) -> None:
    journal, over = Journal(tmp_path / "results.jsonl"), Deadline(0.0)
    correctness.note(journal, "kernel", "gemm", {"ok": False, "text": "timeout"}, over)
    assert list(journal.of_step("kernel")) == []
    correctness.note(journal, "kernel", "gemm", {"ok": False, "text": "crash"}, Deadline(60.0))
    correctness.note(journal, "kernel", "atax", {"ok": True, "text": "ok"}, over)
    assert [own["name"] for own in journal.of_step("kernel")] == ["gemm", "atax"]


def test_programs_that_fail_leave_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(name: str) -> object:
        raise OSError(f"no {name}")

    def no_program(name: str, parameters: object) -> object:
        raise OSError(f"no {name}")

    monkeypatch.setattr(correctness, "named_program", broken)
    monkeypatch.setattr(correctness, "RANDOM_MAPPINGS", 3)
    monkeypatch.setattr(tables, "load_program", no_program)
    journal, cpu = Journal(tmp_path / "results.jsonl"), Worker()
    correctness.check_programs("library", ["a", "b"], EmulatedDevice(), cpu, journal, Deadline(60))
    correctness.check_random_mappings(EmulatedDevice(), cpu, journal, Deadline(60), 0)
    tables.measure_stencils(EmulatedDevice(), journal, Deadline(60))
    cpu.close()
    texts = {own["text"] for step in ("library", "random mapping") for own in journal.of_step(step)}
    assert {"OSError: no a", "OSError: no b"} < texts
    assert len(list(journal.of_step("random mapping"))) == 3
    assert len(list(journal.of_step("stencil"))) == len(tables.STENCILS)
    assert "OSError: no jacobi-2d" in report(journal)


class FakeCuda:
    """PyTorch's part for GPUs: graphs that count how often they are replayed, or none at all."""

    def __init__(self, can_capture: bool) -> None:
        self.can_capture, self.replays = can_capture, 0
        self.Stream = lambda: SimpleNamespace(wait_stream=lambda other: None)
        self.current_stream = self.Stream
        self.stream = lambda own: nullcontext()
        self.synchronize = lambda: None
        self.CUDAGraph = lambda: SimpleNamespace(replay=self.replay)

    def replay(self) -> None:
        self.replays += 1

    def graph(self, own: object) -> AbstractContextManager[None]:
        if not self.can_capture:
            raise RuntimeError("operation not permitted when stream is capturing")
        return nullcontext()


@pytest.mark.parametrize("can_capture", [True, False])
def test_pytorch_is_captured_where_it_can_be(can_capture: bool) -> None:
    calls: list[int] = []

    def call() -> int:
        calls.append(0)
        return 7

    cuda = FakeCuda(can_capture)
    repeat, in_graph = measuring.captured(SimpleNamespace(cuda=cuda), call)
    before = len(calls)
    assert (in_graph, repeat(), repeat()) == (can_capture, 7, 7)
    assert (cuda.replays, len(calls) - before) == ((3, 0) if can_capture else (0, 2))


def test_random_mappings() -> None:
    rng = np.random.default_rng(0)
    mappings = [random_mapping(rng) for _ in range(60)]
    assert len(set(mappings)) > 30
    assert {mapping.reassociate for mapping in mappings} == {False, True}
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

    def numpy_times(measured: measuring.MeasuredRow) -> measuring.TorchTimes:
        a, b = (measured.arrays.arrays[name].astype(float) for name in ("A", "B"))
        return measuring.TorchTimes((2e-3, 1e-3, 3e-3), [a @ b.T], False)

    monkeypatch.setattr(running, "DeviceWorker", lambda ordinal: EmulatedDevice())
    monkeypatch.setattr(tables, "torch_times", numpy_times)
    monkeypatch.setattr(correctness, "library_names", lambda: ["tc:tmm", "tc:softmax"])
    monkeypatch.setattr(correctness, "kernel_names", lambda: ["jacobi-1d"])
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
    seconds = {"library": 20.0, "kernel": 10.0, "mappings": 15.0, "stencils": 10.0}
    monkeypatch.setattr(command, "_SHARES", {**seconds, "rows": 1.0, "product": 0.5})
    tune = measuring.MeasuredRow.tune
    monkeypatch.setattr(
        measuring.MeasuredRow,
        "tune",
        lambda own, tuning, deadline, seed: tune(own, tuning.part(1.0), deadline, seed),
    )
    assert command.main(words) == 0
    journal = Journal(tmp_path / "results.jsonl")
    assert [own["ok"] for own in journal.of_step("library")] == [True, True]
    assert [own["ok"] for own in journal.of_step("random mapping")] == [True, True]
    (measured,) = journal.of_step("row")
    assert (measured["wrong"], measured["default"], measured["torch"]) == ("", 1e-3, 2e-3)
    assert measured["tried"] >= 1
    assert measured["torch_samples"] == [2e-3, 1e-3, 3e-3]
    assert len(measured["tuned_samples"]) == measuring.RUNS
    page = (tmp_path / "GPU.md").read_text()
    assert "| library | 2 | 2 |" in page
    assert "| TMM M=5 K=4 N=3 | 2000.0* | 1000.0 | 2.00 |" in page
    assert "jacobi-2d n=6" in page
    lines = (tmp_path / "results.jsonl").read_text()
    assert command.main(words) == 0
    assert (tmp_path / "results.jsonl").read_text() == lines  # nothing is done again
    assert "7 of 7 agree, of 7 to be compared" in capsys.readouterr().out


def test_nothing_compared_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(running, "DeviceWorker", lambda ordinal: EmulatedDevice())
    monkeypatch.setattr(command, "missing", list)
    assert command.main(["--out", str(tmp_path), "--seconds", "0", "--only", "kernel"]) == 1
    assert "0 of 0 agree, of 30 to be compared" in capsys.readouterr().out


def test_what_is_wrong_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = Worker()
    with correctness.closing_evaluators(EmulatedDevice(spoils=True), cpu) as evaluators:
        found = correctness.compared(
            "tc:tmm", next(correctness.random_choices(0))[2], evaluators, Deadline(60.0)
        )
    cpu.close()
    assert not found["ok"]
    journal = Journal(tmp_path / "results.jsonl")
    journal.add("library", "tc:tmm", **found)
    assert "* library tc:tmm : wrong output" in report(journal)
    row_measured = measuring.MeasuredRow(SMALL, EmulatedDevice(spoils=True))
    a, b = (row_measured.arrays.arrays[name].astype(float) for name in ("A", "B"))
    mapping = measuring.DEFAULT_DEVICE_MAPPING
    assert "differs by" in row_measured.difference(mapping, [a @ b.T], 60.0)
    right = measuring.MeasuredRow(SMALL, EmulatedDevice())
    assert right.difference(mapping, [a @ b.T], 60.0) == ""


def test_a_row_that_fails_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_memory(measured: measuring.MeasuredRow) -> measuring.TorchTimes:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(tables, "torch_times", no_memory)
    monkeypatch.setattr(running, "DeviceWorker", lambda ordinal: EmulatedDevice())
    monkeypatch.setattr(running, "ROWS", (SMALL, OTHER))
    monkeypatch.setattr(command, "missing", list)
    assert command.main(["--out", str(tmp_path), "--seconds", "60", "--only", "rows"]) == 1
    assert "0 of 2 agree, of 2 to be compared" in capsys.readouterr().out
    journal = Journal(tmp_path / "results.jsonl")
    first, second = journal.of_step("row")
    assert first["wrong"] == second["wrong"] == "RuntimeError: CUDA out of memory"
    assert "| TMM M=5 K=4 N=3 | - | - | - | - | - | 0 | wrong: RuntimeError" in report(journal)
