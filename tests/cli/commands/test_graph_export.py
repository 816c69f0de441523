"""``polygym graph export``, and ``show --against``: files, answers, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx as onnx_package
import pytest

from polygym.graphs import library, onnx
from polygym.graphs.export.measuring import ExportCheck
from polygym.graphs.ir.graph import Model, random_weights
from polygym.graphs.ir.text import parse_graph
from polygym.graphs.saved_model import save
from tests.cli.invoke import call, call_json

TEXT = """graph tiny
%0 = input x@8-16
%1 = weight w@16-16
%2 = matmul relu %0 %1
output y %2
"""
AFTER = TEXT.replace("matmul relu %0 %1", "matmul tanh %0 %1").replace(" y ", " z ")

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.txt"
    path.write_text(TEXT)
    return path


@needs_compiler
def test_a_library_is_written_compared_and_timed(
    capsys: pytest.CaptureFixture[str], tiny: Path
) -> None:
    out = tiny.parent / "lib"
    code, data = call_json(capsys, "graph", "export", str(tiny), "--out", str(out))
    assert code == 0
    assert data["files"] == [str(out / f"tiny.{end}") for end in ("so", "h", "safetensors")]
    assert data["problem"] == ""
    assert data["error"] == 0.0
    assert data["ratio"] > 0
    code, text, _ = call(
        capsys, "graph", "export", str(tiny), "--kind", "object", "--name", "own", "--out", str(out)
    )
    assert code == 0
    assert "own.safetensors" in text
    assert "results differ by 0 of the largest" in text
    assert sorted(path.suffix for path in out.glob("own.*")) == [".h", ".o", ".safetensors"]


def test_an_onnx_file_is_written_and_compared(
    capsys: pytest.CaptureFixture[str], tiny: Path
) -> None:
    """The file has the names, shapes and types of the model, and gives what it gives."""
    model = Model(parse_graph(TEXT), random_weights(parse_graph(TEXT)))
    save(tiny.parent / "fast", model, {"threads": 1})
    out = tiny.parent / "new" / "tiny.onnx"
    arguments = ["graph", "export", str(tiny.parent / "fast"), "--kind", "onnx", "--out", str(out)]
    code, data = call_json(capsys, *arguments)
    assert code == 0
    assert data["files"] == [str(out)]
    assert data["error"] < 1e-5
    again = onnx.read(out)
    np.testing.assert_array_equal(again.weights["w"], model.weights["w"])
    proto = onnx_package.load(out)
    assert [value.name for value in proto.graph.input] == ["x"]
    assert [value.name for value in proto.graph.output] == ["y"]
    assert [path.name for path in out.parent.iterdir()] == ["tiny.onnx"]


@needs_compiler
def test_nothing_is_run_with_no_measure(
    capsys: pytest.CaptureFixture[str], tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polygym.graphs.export.measuring.run_benchmark", lambda _: 1 / 0)
    for kind, name in (("onnx", "a.onnx"), ("static", "lib")):
        arguments = ["--kind", kind, "--out", str(tiny.parent / name), "--no-measure"]
        code, data = call_json(capsys, "graph", "export", str(tiny), *arguments)
        assert (code, data["ratio"], data["problem"]) == (0, None, "")


@needs_compiler
def test_other_results_end_with_1(
    capsys: pytest.CaptureFixture[str], tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(*arguments: object) -> ExportCheck:
        from polygym.graphs.benchmark import BenchmarkResult

        return ExportCheck(BenchmarkResult((1.0,)), BenchmarkResult((2.0,), 0.5))

    monkeypatch.setattr("polygym.graphs.export.measuring.check_library", other)
    code, text, _ = call(capsys, "graph", "export", str(tiny), "--out", str(tiny.parent / "lib"))
    assert code == 1
    assert "results differ by 0.5, more than 0.0001" in text


@needs_compiler
def test_a_slow_export_is_worth_a_warning(
    capsys: pytest.CaptureFixture[str], tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*arguments: object) -> ExportCheck:
        from polygym.graphs.benchmark import BenchmarkResult

        return ExportCheck(BenchmarkResult((1.0, 1.0)), BenchmarkResult((1.2, 1.3)))

    monkeypatch.setattr("polygym.graphs.export.measuring.check_library", slow)
    code, text, _ = call(capsys, "graph", "export", str(tiny), "--out", str(tiny.parent / "lib"))
    assert code == 0
    assert "warning: the export takes 1.25 times as long as in polygym" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kind", "c"], "'c' is not one of"),
        (["--name", "int"], "--name: expected letters"),
        (["--cpu", "x86-64-v9"], "--cpu: expected native"),
        (["--kind", "onnx", "--name", "a"], "--name and --cpu are for libraries"),
        (["--kind", "onnx", "--out", "{folder}"], "expected a file to be written, found a folder"),
        (["--out", "{file}"], "expected a folder, found a file"),
        (["--kind", "onnx", "--out", "{file}/a.onnx"], "cannot be written to"),
        (["--out", "/proc/none"], "cannot create a folder in /proc"),
        (["--kind", "onnx", "--out", "/proc/a.onnx"], "cannot be written to"),
    ],
)
@needs_compiler
def test_what_is_refused(
    capsys: pytest.CaptureFixture[str], tiny: Path, arguments: list[str], message: str
) -> None:
    folder = tiny.parent
    words = [word.format(folder=folder, file=tiny) for word in arguments]
    given = [*(() if "--out" in words else ("--out", str(folder / "new"))), *words]
    code, out, err = call(capsys, "graph", "export", str(tiny), *given)
    assert code == 2
    assert message in err
    assert out == ""
    assert [path.name for path in folder.iterdir()] == ["tiny.txt"]
    assert tiny.read_text() == TEXT


def test_no_compiler_is_a_sentence(
    capsys: pytest.CaptureFixture[str], tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    code, _, err = call(capsys, "graph", "export", str(tiny), "--out", str(tiny.parent / "lib"))
    assert code == 2
    assert "--kind shared: expected a C compiler (CC, cc, gcc, clang), found none" in err
    assert not (tiny.parent / "lib").exists()
    monkeypatch.setenv("CC", "/nowhere/cc")
    code, _, err = call(capsys, "graph", "export", str(tiny), "--out", str(tiny.parent / "lib"))
    assert (code, "CC: expected the name of a C compiler" in err) == (2, True)


def test_show_against(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    other, figure = tiny.with_name("other.txt"), tiny.with_name("difference.svg")
    other.write_text(AFTER)
    arguments = ["graph", "show", str(tiny), "--against", str(other), "--figure", str(figure)]
    code, text, _ = call(capsys, *arguments)
    assert code == 0
    assert "nodes: 1 altered" in text
    assert "≠ matmul tanh" in figure.read_text()
    _, data = call_json(capsys, *arguments)
    assert data["against"]["changes"] == {"altered": 1}
    code, _, err = call(capsys, *arguments, "--text")
    assert (code, "leave out --text" in err) == (2, True)


def test_show_against_itself(capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = call(capsys, "graph", "show", "vgg19:small", "--against", "vgg19:small")
    assert code == 0
    assert "nodes: all equal" in text
    assert library.graph("vgg19", "small").name in text
