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
