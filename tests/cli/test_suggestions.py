"""Messages for mistakes at the command line: what was expected, and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygym.cli import dispatch


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["optimise", "mvt"], "Did you mean optimize?"),
        (["graph", "optimise"], "Did you mean optimize?"),
        (["sho"], "Did you mean show?"),
        (["show", "gemmm"], "did you mean gemm"),
    ],
)
def test_a_close_name_is_suggested(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch.run(arguments) == 2
    assert expected in capsys.readouterr().err


def test_nothing_is_suggested_for_a_distant_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.run(["zzzz"]) == 2
    assert "Did you mean" not in capsys.readouterr().err


def test_a_cpp_file_is_read_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.cpp"
    file.write_text("#include <vector>\nint main() { std::vector<int> v; }\n")
    assert dispatch.run(["show", str(file)]) == 2
    error = capsys.readouterr().err
    assert "expected loops, found none" in error


CPP_TEXTS = (
    "std::vector<double> v;\n",
    "void f() { for (int i = 0; i < 3; i++) std::swap(a[i], b[i]); }\n",
    "int a;\ntemplate <class T> T f(T x) { return x; }\n",
    "class Image { int width; };\n",
    "namespace images { void f(); }\n",
    "using namespace std;\nvoid f(void);\n",
    'void g(void) {}\nextern "C" { void f(void); }\n',
)
C_TEXTS = (
    "int class; void f(void) { class = 1 +; }\n",
    "void f(int template) { int namespace; template = ; }\n",
    "int a = 1 ? 2 : : 3;\n",
    "[[gnu::packed]] int a;\nint b = 1 ? 2 : : 3;\n",
)


@pytest.mark.parametrize("text", CPP_TEXTS)
def test_cpp_in_a_c_file_is_said_to_be_it(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.c"
    file.write_text(text)
    assert dispatch.run(["show", str(file)]) == 2
    error = capsys.readouterr().err
    assert "error: expected C, found C++" in error
    assert "rename the file" in error


@pytest.mark.parametrize("text", C_TEXTS)
def test_c_with_names_of_cpp_is_no_cpp(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.c"
    file.write_text(text)
    assert dispatch.run(["show", str(file)]) == 2
    error = capsys.readouterr().err
    assert "syntax error" in error
    assert "C++" not in error


def test_a_file_without_pragmas_and_loops_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.c"
    file.write_text("void f(int n, double a[n]) { a[0] = n; }\n")
    assert dispatch.run(["show", str(file)]) == 2
    assert "expected loops, found none" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["optimize", "mvt"], ["sweep", "mvt"]])
def test_a_folder_that_cannot_be_created_is_named(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", "/proc/nothing", "--budget", "1"]
    size = ["-d", "mini"] if command[0] == "optimize" else []
    assert dispatch.run([*command, *out, *size]) == 2
    error = capsys.readouterr().err
    assert "error: cannot create a folder in /proc (" in error
    assert error.rstrip().endswith("; choose another --out")


def test_a_file_in_the_place_of_a_folder_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "taken"
    file.write_text("")
    command = ["optimize", "mvt", "-d", "mini", "--budget", "1", "--out"]
    assert dispatch.run([*command, str(file)]) == 2
    assert f"'{file}' is a file" in capsys.readouterr().err
    assert dispatch.run([*command, str(file / "inside")]) == 2
    assert f"cannot create a folder in {file} (Not a directory)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "expected"),
    [("0", "from 1 on"), ("-3", "from 1 on"), ("many", "a whole number"), ("1.5", "whole number")],
)
def test_a_number_out_of_bounds_is_told_the_bounds(
    given: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch.run(["optimize", "mvt", "--budget", given]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert "4611686018427387904" not in error
