"""``polygym apply`` on a C++ file: the printed lines build it, each with its own tool."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.invoke import call_json

_TWO = """#include <cstdio>
#include <vector>
namespace work {
void twice(int n, std::vector<double> &a) {
  for (int i = 0; i < n; i++)
    a[i] *= 2;
}
void more(int n, const std::vector<double> &a, double *b) {
  for (int i = 0; i < n; i++)
    b[i] += a[i];
}
}
int main() {
  std::vector<double> a{1, 2, 3};
  double b[] = {10, 20, 30};
  work::twice(3, a);
  work::more(3, a, b);
  std::printf("%g %g %g\\n", b[0], b[1], b[2]);
}
"""
_PRINTED = "12 24 36\n"


def _build_lines(folder: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Change both functions of a file, the second one with threads; return the lines for both."""
    (folder / "two.cpp").write_text(_TWO)
    options = ["-p", "n=60", "--schedule", "isl", "--no-measure", "--kind", kind]
    out = ["--out", str(folder / "fast")]
    first = ["apply", str(folder / "two.cpp"), "--function", "twice"]
    assert call_json(capsys, *first, *options, *out)[0] == 0
    second = ["apply", str(folder / "fast" / "two.cpp"), "--function", "more", "--threads", "2"]
    code, document = call_json(capsys, *second, *options, *out)
    assert code == 0
    build: dict[str, str] = document["build"]
    return build


def _run(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["c", "object"])
def test_shell_and_make_build_with_the_printed_lines(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build = _build_lines(tmp_path, kind, capsys)
    folder = tmp_path / "fast"
    _run(["sh", "-e", "-c", build["Shell"]], tmp_path)
    assert _run(["./a.out"], tmp_path) == _PRINTED
    (folder / "Makefile").write_text(f"app:\n\t$(CXX) $^ $(LDLIBS) -o $@\n{build['Make']}\n")
    _run(["make", "-s"], folder)
    assert _run(["./app"], folder) == _PRINTED


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
@pytest.mark.parametrize(("kind", "languages"), [("c", "C CXX"), ("object", "CXX")])
def test_cmake_builds_with_the_printed_lines(
    kind: str, languages: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build = _build_lines(tmp_path, kind, capsys)
    folder = tmp_path / "fast"
    (folder / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.13)\nproject(app {languages})\n"
        f"add_executable(app)\n{build['CMake']}\n"
    )
    _run(["cmake", "-S", ".", "-B", "build"], folder)
    _run(["cmake", "--build", "build"], folder)
    assert _run(["build/app"], folder) == _PRINTED


@pytest.mark.skipif(not (shutil.which("meson") and shutil.which("ninja")), reason="needs meson")
@pytest.mark.parametrize(("kind", "languages"), [("c", "'c', 'cpp'"), ("object", "'cpp'")])
def test_meson_builds_with_the_printed_lines(
    kind: str, languages: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build = _build_lines(tmp_path, kind, capsys)
    folder = tmp_path / "fast"
    (folder / "meson.build").write_text(f"project('app', {languages})\n{build['Meson']}\n")
    _run(["meson", "setup", "build"], folder)
    assert "WARNING" not in _run(["ninja", "-C", "build"], folder)
    assert _run(["build/app"], folder) == _PRINTED
