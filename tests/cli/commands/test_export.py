"""``polygym export`` and ``polygym apply``."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.invoke import call, call_json

_BLUR = """#include <stdio.h>
#include "sizes.h"
static double factor = 0.25;
void blur(int n, double out[n][n], double in[n][n]) {
#pragma scop
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++)
      out[i][j] = factor * (in[i - 1][j] + in[i + 1][j] + in[i][j - 1] + in[i][j + 1]);
#pragma endscop
}
"""
_WITHOUT_PRAGMAS = _BLUR.replace("#pragma scop\n", "").replace("#pragma endscop\n", "")
_MAIN = """#include <stdio.h>
void blur(int n, double out[n][n], double in[n][n]);
static double a[60][60], b[60][60];
int main(void) {
  double sum = 0;
  for (int n = 3; n <= 60; n += 19) {
    for (int k = 0; k < n * n; k++) ((double *)b)[k] = k % 7;
    blur(n, (void *)a, (void *)b);
    for (int k = 0; k < n * n; k++) sum += (k % 5) * ((double *)a)[k];
  }
  printf("%.6f\\n", sum);
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "blur.c").write_text(_BLUR)
    (tmp_path / "sizes.h").write_text("#define LEAST 1\n")
    (tmp_path / "main.c").write_text(_MAIN)
    return tmp_path


def _printed(folder: Path, *inputs: str) -> str:
    """Return what the program of some inputs prints."""
    command = ["gcc", "-O1", "-fopenmp", *inputs, "-lm", "-o", "program"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return subprocess.run(
        ["./program"], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    ).stdout


@pytest.mark.parametrize(
    ("kind", "file"),
    [("object", "blur.o"), ("static", "blur.a"), ("shared", "blur.so"), ("c", "blur.c")],
)
def test_an_export_replaces_the_source(
    kind: str, file: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = _printed(project, "main.c", "blur.c")
    out = project / "lib"
    arguments = ["export", str(project / "blur.c"), "-p", "n=60", "--schedule", "isl"]
    code, document = call_json(capsys, *arguments, "--kind", kind, "--out", str(out))
    assert code == 0
    assert [Path(path).name for path in document["files"]] == sorted([file, "blur.h"])
    assert set(document["measured"]) == {"source", "polygym", "exported"}
    assert document["measured"]["exported"]["status"] == "ok"
    assert "measured as exported: " in (out / "blur.h").read_text()
    assert _printed(project, "main.c", f"./lib/{file}") == expected


def test_a_result_of_optimize_is_exported(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = project / "found"
    search = ["optimize", str(project / "blur.c"), "-p", "n=60", "--budget", "1"]
    assert call(capsys, *search, "--out", str(found))[0] == 0
    record = json.loads((found / "best.json").read_text())
    code, document = call_json(
        capsys, "export", str(found / "best.json"), "--out", str(project / "lib"), "--no-measure"
    )
    assert code == 0
    assert document["schedule"] == record["schedule"]
    assert document["measured"] is None
    assert _printed(project, "main.c", "lib/blur.o") == _printed(project, "main.c", "blur.c")


def test_a_python_module_needs_numpy_alone(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = project / "lib"
    arguments = ["export", str(project / "blur.c"), "-p", "n=20", "--schedule", "isl"]
    assert call(capsys, *arguments, "--kind", "python", "--out", str(out))[0] == 0
    code = """
import sys
import numpy as np
from blur import blur
assert "polygym" not in sys.modules
a, b = np.zeros((20, 20)), np.arange(400.0).reshape(20, 20)
blur(20, a, b, factor=0.5)
np.save("out.npy", a)
for bad in (lambda: blur(20, a, a, factor=1), lambda: blur(20, a, b[:10], factor=1),
            lambda: blur(20.0, a, b, factor=1), lambda: blur(20, a, b.astype("f"), factor=1)):
    try:
        bad()
    except (TypeError, ValueError) as error:
        print(error)
    else:
        raise SystemExit("expected an error")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=out, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4
    b = np.arange(400.0).reshape(20, 20)
    expected = 0.5 * (b[:-2, 1:-1] + b[2:, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:])
    np.testing.assert_allclose(np.load(out / "out.npy")[1:-1, 1:-1], expected)


def test_llvm_ir_has_the_kernel(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = project / "lib"
    arguments = ["export", str(project / "blur.c"), "-p", "n=60", "--schedule", "isl"]
    assert call(capsys, *arguments, "--kind", "llvm", "--out", str(out), "--no-measure")[0] == 0
    assert "define i32 @blur_kernel(ptr" in (out / "blur_kernel.ll").read_text()


def test_without_a_compiler_the_parts_are_written(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _printed(project, "main.c", "blur.c")
    monkeypatch.setattr("polygym.export.c_compiler.shutil.which", lambda name: None)
    out = project / "lib"
    arguments = ["export", str(project / "blur.c"), "-p", "n=60", "--schedule", "isl"]
    code, text, _ = call(capsys, *arguments, "--out", str(out))
    assert code == 0
    assert "no C compiler was found" in text
    monkeypatch.undo()
    inputs = ["main.c", "lib/blur.c", "lib/blur_kernel.o"]
    assert sorted(path.name for path in out.iterdir()) == [
        "blur.c",
        "blur_kernel.h",
        "blur_kernel.o",
    ]
    assert _printed(project, *inputs) == expected


def test_bad_requests(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, out = str(project / "blur.c"), str(project / "lib")
    for arguments, message in (
        (["--cpu", "z80", "--out", out], "--cpu: expected native"),
        (["--out", "/proc/x"], "/proc"),
        (["--sizes", "m=4", "--out", out], "--sizes m: expected one of the parameters n"),
        (["--sizes", "n=0", "--out", out], "not defined"),
        (["--kind", "exe", "--out", out], "object"),
        (["--name", "in", "--out", out], "--name: expected a name that the file does not use"),
    ):
        code, _, error = call(capsys, "export", program, "-p", "n=60", *arguments)
        assert code == 2
        assert message in error
        assert "Traceback" not in error
    monkeypatch.setenv("CC", "no-such-compiler")
    code, _, error = call(capsys, "export", program, "-p", "n=60", "--out", out)
    assert (code, "CC: expected the name of a C compiler" in error) == (2, True)


@pytest.mark.parametrize("kind", ["c", "object"])
def test_apply_writes_a_copy_that_builds(
    kind: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = _printed(project, "main.c", "blur.c")
    out = project / "fast"
    arguments = ["apply", str(project / "blur.c"), "-p", "n=60", "--schedule", "isl"]
    code, document = call_json(capsys, *arguments, "--kind", kind, "--out", str(out))
    assert code == 0
    assert sorted(Path(path).name for path in document["files"]) == sorted(
        ["blur.c", f"blur_kernel.{'c' if kind == 'c' else 'o'}", "blur_kernel.h"]
    )
    kernel = "fast/blur_kernel.c" if kind == "c" else "fast/blur_kernel.o"
    assert _printed(project, "main.c", "fast/blur.c", kernel) == expected
    assert (project / "blur.c").read_text() == _BLUR


@pytest.mark.parametrize("text", [_BLUR, _WITHOUT_PRAGMAS], ids=["pragmas", "no pragmas"])
def test_apply_in_place_is_undone_by_the_reverse_diff(
    text: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "blur.c").write_text(text)
    expected = _printed(project, "main.c", "blur.c")
    arguments = ["apply", str(project / "blur.c"), "-p", "n=60", "--schedule", "isl"]
    code, difference, _ = call(capsys, *arguments, "--diff")
    assert code == 0
    assert (project / "blur.c").read_text() == text
    code, _, _ = call(capsys, *arguments, "--write", "--no-measure")
    assert code == 0
    assert _printed(project, "main.c", "blur.c", "blur_kernel.c") == expected
    (project / "change.diff").write_text(difference)
    assert {line for line in difference.splitlines() if line.startswith("-")} <= {
        "--- a/blur.c",
        *(f"-{line}" for line in text.splitlines()),
    }
    subprocess.run(["patch", "-R", "-p1", "-i", "change.diff"], cwd=project, check=True)
    assert (project / "blur.c").read_text() == text


def test_apply_needs_one_place(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = str(project / "blur.c")
    for arguments in ([], ["--diff", "--write"]):
        code, _, error = call(capsys, "apply", program, "-p", "n=60", *arguments)
        assert (code, "expected one of --out DIR, --write and --diff" in error) == (2, True)
    code, _, error = call(capsys, "apply", "gemm", "-d", "mini", "--diff", "--schedule", "isl")
    assert code == 0, error


def test_make_builds_with_the_printed_lines(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = _printed(project, "main.c", "blur.c")
    arguments = ["apply", str(project / "blur.c"), "-p", "n=60", "--schedule", "isl"]
    code, document = call_json(capsys, *arguments, "--threads", "2", "--write")
    assert code == 0
    link = "app: main.o\n\t$(CC) $^ $(LDLIBS) -o $@\n"
    (project / "Makefile").write_text(f"{link}{document['build']['Make']}\n")
    subprocess.run(["make", "-s"], cwd=project, check=True, timeout=120)
    done = subprocess.run(["./app"], cwd=project, capture_output=True, text=True, check=True)
    assert done.stdout == expected


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
@pytest.mark.parametrize("kind", ["c", "object"])
def test_cmake_builds_with_the_printed_lines(
    kind: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = _printed(project, "main.c", "blur.c")
    arguments = ["apply", str(project / "blur.c"), "-p", "n=60", "--schedule", "isl"]
    code, document = call_json(capsys, *arguments, "--threads", "2", "--write", "--kind", kind)
    assert code == 0
    text = f"""cmake_minimum_required(VERSION 3.13)
project(app C)
add_executable(app main.c)
{document["build"]["CMake"]}
"""
    (project / "CMakeLists.txt").write_text(text)
    subprocess.run(["cmake", "-S", ".", "-B", "build"], cwd=project, check=True, timeout=120)
    subprocess.run(["cmake", "--build", "build"], cwd=project, check=True, timeout=120)
    done = subprocess.run(["build/app"], cwd=project, capture_output=True, text=True, check=True)
    assert done.stdout == expected


@pytest.mark.parametrize("text", [_BLUR, _WITHOUT_PRAGMAS], ids=["pragmas", "no pragmas"])
def test_the_source_itself_is_exported_unchanged(
    text: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "blur.c").write_text(text)
    out = project / "same"
    arguments = ["apply", str(project / "blur.c"), "-p", "n=60", "--schedule", "original"]
    code, document = call_json(capsys, *arguments, "--out", str(out), "--no-measure")
    assert code == 0
    assert [Path(path).name for path in document["files"]] == ["blur.c"]
    assert document["diff"] == ""
    copy = (out / "blur.c").read_text()
    assert copy.replace("../sizes.h", "sizes.h") == text
