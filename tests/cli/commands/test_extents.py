"""``--extent`` of the commands that take a C file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import call, call_json

TEXT = """void gather(int n, double *y, double *x, int *from) {
#pragma scop
  for (int i = 0; i < n; i++)
    y[i] = x[from[i]];
#pragma endscop
}
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    found = tmp_path / "gather.c"
    found.write_text(TEXT)
    return str(found)


def test_sizes_beside_a_file(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "show", path, "--extent", "x=70", "--function", "gather")
    assert code == 0
    assert "double x[70]" in out
    code, data = call_json(capsys, "show", path, "--function", "gather x[70]")
    assert code == 0
    assert "x[70]" in str(data)


def test_sizes_that_are_none(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = call(capsys, "show", path, "--extent", "x=")
    assert code == 2
    assert "--extent" in error
    assert "such as A=100x200" in error


def test_a_library_beside_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, library = tmp_path / "calls.c", tmp_path / "libmine.so"
    path.write_text(
        "double gain(double, int) __attribute__((const));\n"
        "void calls(int n, double x[n]) {\n#pragma scop\n"
        "  for (int i = 0; i < n; i++)\n    x[i] = gain(x[i], i);\n#pragma endscop\n}\n"
    )
    code, _, error = call(capsys, "show", str(path))
    assert code != 0
    assert "--link libgain.so" in error
    library.write_bytes(b"not looked into before it is called")
    code, out, _ = call(capsys, "show", str(path), "--link", str(library))
    assert code == 0
    assert "double gain(double, int) __attribute__((const));" in out
    code, _, error = call(capsys, "show", str(path), "--link", str(tmp_path / "none.so"))
    assert code == 2
    assert "expected a library" in error


def test_a_step_with_its_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "steps.c"
    path.write_text(
        "void steps(int n, int s, double x[n]) {\n#pragma scop\n"
        "  for (int i = 0; i < n; i += s)\n    x[i] = 0;\n#pragma endscop\n}\n"
    )
    code, _, error = call(capsys, "run", str(path), "-d", "mini")
    assert code != 0
    assert "-p s=4" in error
    code, data = call_json(capsys, "run", str(path), "-d", "mini", "-p", "s=3")
    assert code == 0
    assert data["parameters"]["s"] == 3
