"""``polygym graph``: answers for people and programs, files, and what is refused."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest

import polygym
from polygym.graphs import library, onnx, saturation_stages
from polygym.graphs.benchmark import BenchmarkResult
from tests.cli.invoke import call, call_json


def test_optimize_with_static_costs(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "graph", "optimize", "nasrnn:small", "--costs", "static")
    assert code == 0
    for name in ("initial_cost", "cost", "seconds", "status", "bound", "greedy_cost"):
        assert name in data
    assert data["cost"] <= data["greedy_cost"] <= data["initial_cost"]
    assert data["egraph"]["nodes"] > data["egraph"]["classes"] > 0
    assert data["changed"] is True
    assert data["k_multi"] == 2
    arguments = ["graph", "optimize", "nasrnn:small", "--costs", "static", "--k-multi", "1"]
    assert call_json(capsys, *arguments, "--no-compare")[1]["k_multi"] == 1


def test_results_are_compared(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default, also without a clock; what differs is not kept."""
    arguments = ["graph", "optimize", "nasrnn:small", "--costs", "static"]
    code, data = call_json(capsys, *arguments)
    assert code == 0
    assert data["end_to_end"]["error"] < 1e-4
    assert "speedup" not in data["end_to_end"]
    assert "end_to_end" not in call_json(capsys, *arguments, "--no-compare")[1]
    monkeypatch.setattr(
        "polygym.graphs.benchmark.run_benchmark",
        lambda request: {
            entry.name: BenchmarkResult(error=float(entry.name == "after"))
            for entry in request.entries
        },
    )
    code, data = call_json(capsys, *arguments)
    assert code == 1
    assert data["changed"] is False
    assert "defect of polygym" in data["end_to_end"]["problem"]


def test_optimized_from_a_file_to_a_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model = library.model("vgg19")
    onnx.write(model, tmp_path / "model.onnx")
    out = tmp_path / "fast"
    arguments = [
        "graph",
        "optimize",
        str(tmp_path / "model.onnx"),
        "--costs",
        "static",
        "--measure",
    ]
    code, data = call_json(capsys, *arguments, "--out", str(out))
    assert code == 0
    assert data["end_to_end"]["problem"] == ""
    assert (out / "graphs.svg").read_text().startswith("<")
    assert json.loads((out / "report.json").read_text()) == data
    x = np.ones(model.graph.signatures[0].tensor.shape, np.float32)
    wanted = polygym.graphs.compile_model(model)(x)
    np.testing.assert_allclose(polygym.graphs.load(out)(x), wanted, rtol=1e-4, atol=1e-5)


def test_backtracking(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["graph", "optimize", "nasrnn:small", "--costs", "static"]
    code, data = call_json(capsys, *arguments, "--strategy", "backtracking", "--iterations", "5")
    assert code == 0
    assert data["strategy"] == "backtracking"
    assert data["seconds_to_best"] <= data["seconds"]


def test_show(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    svg = tmp_path / "bert.svg"
    code, data = call_json(capsys, "graph", "show", "bert:small", "--figure", str(svg))
    assert code == 0
    assert data["operators"]["matmul"] > 1
    assert svg.read_text().startswith("<")
    code, text, _ = call(capsys, "graph", "show", "bert:small", "--text")
    path = tmp_path / "bert.txt"
    path.write_text(text)
    assert call_json(capsys, "graph", "show", str(path))[1]["operators"] == data["operators"]


def test_run_says_where_time_goes(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "graph", "run", "vgg19:small")
    assert code == 0
    assert data["steps"]
    assert data["seconds"] == pytest.approx(sum(step["seconds"] for step in data["steps"]))
    code, out, _ = call(capsys, "graph", "run", "vgg19:small", "--top", "2")
    assert code == 0
    assert "SHARE" in out


def test_where_time_goes_by_operator(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "graph", "run", "vgg19:small", "--by", "operator")
    assert code == 0
    assert len(data["operators"]) < len(data["steps"])
    for name in ("seconds", "share", "operations", "bytes"):
        total = sum(operator[name] for operator in data["operators"])
        assert total == pytest.approx(sum(step[name] for step in data["steps"]))
    code, out, _ = call(capsys, "graph", "run", "vgg19:small", "--by", "operator")
    assert code == 0
    assert "TIMES" in out
    assert "SHARE OF LIMIT" in out


def test_tune(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "polygym.graphs.execution.timing.kernel_tuning.kernel_seconds", lambda *_: 1e-6
    )
    code, [data] = call_json(capsys, "graph", "tune", "vgg19:small")
    assert code == 0
    assert {kernel["form"] for kernel in data["kernels"]} == {"usual"}
    assert data["seconds"] <= data["usual_seconds"]
    assert {pair["fused"] for pair in data["choices"]} == {True}, "one kernel for two is the faster"
    assert all(pair["seconds_fused"] == 1e-6 for pair in data["choices"])
    code, out, _ = call(capsys, "graph", "tune", "vgg19:small")
    assert code == 0
    assert "products and convolutions" in out
    assert "times in the kernel before them" in out


def test_bench_beside_pytorch(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["graph", "bench", "vgg19:small", "--against", "torch", "--time-limit", "0.2s"]
    code, [data] = call_json(capsys, *arguments)
    assert code == 0
    assert data["entries"]["polygym"]["ratio"] == 1.0
    assert data["entries"]["torch"]["seconds"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["optimize", "nothing"], "model of the library"),
        (["show", "missing.onnx"], "missing.onnx"),
        (["bench", "vgg19:small", "--against", "tvm"], "torch.compile"),
        (["bench", "vgg19:small", "--against", "library"], "found 'library'"),
        (["optimize", "bert:small", "--shape", "x"], "NAME=EXTENT"),
        (["rules", "--check", "a", "--generate", "b"], "--check, --generate and --derivable"),
    ],
)
def test_what_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    code, _, error = call(capsys, "graph", *arguments)
    assert code == 2
    assert words in error


def test_rules_are_listed_and_checked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, data = call_json(capsys, "graph", "rules")
    assert code == 0
    assert len(data) > 50
    sound = tmp_path / "sound.rules"
    sound.write_text("swap: (ewmul ?x ?y) => (ewmul ?y ?x)\n")
    assert call(capsys, "graph", "rules", "--check", str(sound))[0] == 0
    wrong = tmp_path / "wrong.rules"
    wrong.write_text("wrong: (relu (ewadd ?x ?y)) => (ewadd (relu ?x) (relu ?y))\n")
    code, _, error = call(capsys, "graph", "rules", "--check", str(wrong))
    assert code == 2
    assert "wrong" in error
    code, _, error = call(
        capsys, "graph", "optimize", "bert:small", "--costs", "static", "--rules", str(wrong)
    )
    assert code == 2
    assert "wrong" in error


def test_published_rules_are_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = tmp_path / "taso.txt"
    table.write_text("(relu (relu ?x))=>(relu ?x)\n(conv2d 1 1 0 0 ?x (Iconv 3 3))=>?x\n")
    code, out, _ = call(capsys, "graph", "rules", "--derivable", str(table))
    assert code == 0
    assert "derivable within 1" in out
    assert "not expressible: operator Iconv" in out
    code, out, _ = call(capsys, "graph", "rules", "--derivable", str(table), "--json")
    document = json.loads(out)
    assert (document["total"], document["translated"]) == (2, 1)
    assert document["rules"][0]["iterations"] == 1
    code, _, error = call(capsys, "graph", "rules", "--derivable", str(tmp_path / "none.txt"))
    assert code == 2
    assert "none.txt" in error


@pytest.mark.parametrize("asked", [30, 300])
def test_an_interrupt_keeps_the_best_graph(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    asked: int,
) -> None:
    """A signal in the middle of saturation: the answer is written, and the exit code says so."""
    saturate = saturation_stages.saturate

    def interrupted(*arguments, **options):
        *others, is_stopped = arguments
        left = [asked]

        def ask() -> bool:
            left[0] -= 1
            if not left[0]:
                signal.raise_signal(signal.SIGINT)
            return is_stopped()

        return saturate(*others, ask, **options)

    monkeypatch.setattr(saturation_stages, "saturate", interrupted)
    out = tmp_path / "out"
    code, _, error = call(
        capsys, "graph", "optimize", "nasrnn:small", "--costs", "static", "--out", str(out)
    )
    assert code == 130
    assert "best graph so far" in error
    report = json.loads((out / "report.json").read_text())
    assert report["cost"] <= report["initial_cost"]
    assert report["status"] == "interrupted"
