"""``--extent`` of the commands that take a C file."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygym.search.corpus.samples import case_rows, training_samples
from polygym.search.corpus.store import open_corpus
from polygym.search.sweep.reader import read_sweep
from tests.cli.invoke import call, call_json

TEXT = """void gather(int n, double *y, double *x, int *from) {
#pragma scop
  for (int i = 0; i < n; i++)
    y[i] = x[from[i]];
#pragma endscop
}
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    result = tmp_path / "gather.c"
    result.write_text(TEXT)
    return str(result)


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


def test_two_pointers_that_are_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "shift.c"
    path.write_text(
        "struct line { double *x, *y; };\nvoid shift(int n, struct line *s) {\n#pragma scop\n"
        "  for (int i = 1; i < n; i++)\n    s->x[i] = s->y[i - 1];\n#pragma endscop\n}\n"
    )
    code, out, _ = call(capsys, "show", str(path))
    assert code == 0
    assert "double s_x[n]" in out
    assert "double s_y[n - 1]" in out
    code, out, _ = call(capsys, "show", str(path), "--alias", "s->x=s->y")
    assert code == 0
    assert "double s_y[n]" in out
    assert "s_x" not in out
    code, _, error = call(capsys, "show", str(path), "--alias", "s->x=s->z")
    assert code == 2
    assert "expected pointers of the region, s->x, s->y, found s->z" in error
    code, _, error = call(capsys, "show", str(path), "--alias", "s")
    assert code == 2
    assert "such as p=q" in error


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


TWO = (
    TEXT
    + """void scale(int n, double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    y[i] = 2 * y[i];
#pragma endscop
}
"""
)


@pytest.fixture
def two(tmp_path: Path) -> str:
    result = tmp_path / "two.c"
    result.write_text(TWO)
    return str(result)


def test_a_sweep_of_a_region_with_sizes(
    two: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kernels beside it are none of the file's; it goes on with the same choice alone."""
    out = str(tmp_path / "out")
    words = ("sweep", two, "mvt", "--search-dataset", "mini", "--dataset", "mini", "--out", out)
    words = (*words, "--initial-schedules", "none", "--confirm", "1", "--function", "gather")
    for budget in ("1", "2"):
        code, data = call_json(capsys, *words, "--budget", budget, "--extent", "x=50")
        assert code == 0
        assert data["function"] == "gather x[50]"
        assert [kernel["explored"] for kernel in data["kernels"]] == [int(budget)] * 2
    assert read_sweep(Path(out)).setting.function == "gather x[50]"
    code, _, error = call(capsys, *words, "--budget", "3", "--extent", "x=60")
    assert code == 2
    assert "function: gather x[50] before, gather x[60] now" in error


def test_a_choice_of_regions_is_for_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, error = call(
        capsys, "sweep", "mvt", "--function", "scale", "--out", str(tmp_path / "out")
    )
    assert code == 2
    assert "expected a file among the programs" in error
    code, _, error = call(
        capsys, "collect", str(tmp_path / "c.sqlite"), "--function", "scale", "--rows", "1"
    )
    assert code == 2
    assert "expected a file among the programs" in error


def test_rows_of_regions_with_sizes(
    two: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each choice is a program of its own, and models read it again as it was."""
    path = tmp_path / "c.sqlite"
    words = ("collect", str(path), two, "--candidates", "2", "--operations", "1e3:1e4")
    chosen = (("gather", "x=50"), ("gather", "x=60"), ("scale", ""))
    for rows, (function, extent) in enumerate(chosen, start=1):
        more = ("--function", function, *(("--extent", extent) if extent else ()))
        for _ in range(2):  # the second time there is nothing left to do
            code, data = call_json(capsys, *words, "--rows", str(2 * rows), *more)
            assert (code, data["rows"], data["skipped"]) == (0, 2 * rows, [])
    with open_corpus(path) as corpus:
        assert corpus.check() == []
        cases = case_rows(corpus, None, 1)
        functions = [case.visit.case.function for case in cases]
        assert functions == ["gather x[50]", "gather x[60]", "scale"]
        assert len(training_samples(cases).rows) == 6
