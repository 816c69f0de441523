"""``polygym scan``, ``polygym profile``, and regions without pragmas in all commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from polygym.errors import InputError
from polygym.programs import load_program
from tests.cli.invoke import call, call_json

TEXT = """#include <size.h>
#include "scale.h"
void fill(double x[N]) {
  for (int i = 0; i < N; i++) x[i] = i;
}
void product(double A[N][N], double B[N][N], double C[N][N]) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < N; k++)
        C[i][j] += SCALE * A[i][k] * B[k][j];
  puts("done");
}
"""
LINE = 8


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "size.h").write_text("#ifndef N\n#define N 12\n#endif\n")
    (tmp_path / "inc" / "scale.h").write_text("#define SCALE FACTOR\n")
    (tmp_path / "a.c").write_text(TEXT)
    entry = {"directory": str(tmp_path), "file": "a.c", "command": "cc -Iinc -DFACTOR=2 -c a.c"}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    return tmp_path


def flags(project: Path) -> tuple[str, ...]:
    return "-I", str(project / "inc"), "-D", "FACTOR=2", "-DN=10"


def test_regions_of_a_project(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for target in (project, project / "compile_commands.json"):
        code, data = call_json(capsys, "scan", str(target))
        assert code == 0
        assert [row["function"] for row in data["regions"]] == ["product", "fill"]
        first = data["regions"][0]
        assert (first["line"], first["depth"], first["computes"]) == (7, 3, "matrix product")
        assert first["flags"] == [f"-I{project}/inc", "-DFACTOR=2"]
        assert data["files"][0]["status"] == "read"
    code, out, _ = call(capsys, "scan", str(project))
    assert code == 0
    assert "go on with: polygym optimize" in out


def test_refusals_have_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.c").write_text("void f(int n) {\n  while (n > 0) n = g(n);\n}\n")
    (tmp_path / "b.c").write_text("void f(int n) { for (;;\n")
    (tmp_path / "c.cpp").write_text("void f() { for (;;) ; }\n")
    code, data = call_json(capsys, "scan", str(tmp_path))
    assert code == 0
    loop, cpp_loop = data["refused_loops"]
    assert (loop["line"], loop["column"]) == (2, 3)
    assert cpp_loop["reason"].startswith("a loop must start with")
    reasons = {Path(file["file"]).name: file.get("reason", "") for file in data["files"]}
    assert "syntax error" in reasons["b.c"]
    code, out, _ = call(capsys, "scan", str(tmp_path / "b.c"))
    assert code == 2
    assert "b.c:1:" in out


def test_what_cannot_be_scanned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "scan", str(tmp_path / "gone"))[0] == 2
    assert call(capsys, "scan", str(tmp_path))[0] == 2
    (tmp_path / "a.c").write_text(TEXT)
    arguments = ("--compile-commands", str(tmp_path / "none.json"))
    code, _, error = call(capsys, "scan", str(tmp_path / "a.c"), *arguments)
    assert code == 2
    assert "compilation database" in error


def test_ctrl_c_keeps_what_was_found(tmp_path: Path) -> None:
    body = " ".join(f"for (int i = 0; i < n; i++) x[i] += {k};" for k in range(40))
    for number in range(400):
        name = f"f{number}"
        (tmp_path / f"{name}.c").write_text(f"void {name}(int n, double x[n]) {{ {body} }}\n")
    command = [sys.executable, "-m", "polygym", "scan", str(tmp_path), "--json", "--jobs", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(12)
    os.kill(process.pid, signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    data = json.loads(out)
    assert data["interrupted"]
    assert b"Traceback" not in error


@pytest.mark.parametrize(
    "command",
    [
        ("show",),
        ("run",),
        ("check", "--schedule", "original"),
        ("storage",),
        ("space",),
        ("optimize", "--budget", "1"),
        ("apply", "--diff"),
    ],
    ids=lambda command: command[0],
)
def test_all_commands_take_flags_and_find_the_region(
    project: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    name, *more = command
    code, _, error = call(capsys, name, f"{project}/a.c:{LINE}", *flags(project), *more)
    assert code == 0, error
    assert "no pragmas; takes product, lines 7 to 10 (the only one)" in error
    database = ("--compile-commands", str(project / "compile_commands.json"))
    code, _, error = call(capsys, name, f"{project}/a.c", *database, *more)
    assert code == 0, error
    assert "takes product, lines 7 to 10 (of 2 regions)" in error


@pytest.mark.parametrize("name", ["sweep", "collect"])
def test_commands_of_many_programs_refuse_a_database(
    name: str, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = ("--compile-commands", str(project / "compile_commands.json"))
    out = str(tmp_path / "result")
    program = f"{project}/a.c"
    words = ("sweep", program, "--out", out) if name == "sweep" else ("collect", out, program)
    code, _, error = call(capsys, *words, *database)
    assert (code, "--compile-commands: expected with one program" in error) == (2, True), error
    assert not Path(out).exists()


def test_bench_takes_them_too(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = (f"{project}/a.c", "--function", "fill")
    database = ("--compile-commands", str(project / "compile_commands.json"))
    code, data = call_json(capsys, "bench", *target, *flags(project), "--against", "gcc")
    assert code == 0, data
    code, data = call_json(capsys, "bench", *target, *database)
    assert code == 0, data
    code, _, error = call(capsys, "bench", f"{project}/a.c", *database)
    assert code == 0, error
    assert "takes product, lines 7 to 10 (of 2 regions)" in error


def test_records_keep_flags_and_places(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = project / "out"
    arguments = (f"{project}/a.c", *flags(project), "--budget", "1", "--out", str(out))
    assert call(capsys, "optimize", *arguments)[0] == 0
    record = json.loads((out / "best.json").read_text())
    expected = f"product -I{project}/inc -DFACTOR=2 -DN=10 @7:3-10:45"
    assert record["program"]["function"] == expected
    assert call(capsys, "replay", str(out / "best.json"))[0] == 0
    (project / "moved").mkdir()
    for name in ("size.h", "scale.h"):
        (project / "inc" / name).rename(project / "moved" / name)
    (project / "inc").rmdir()
    with pytest.raises(InputError, match="expected the folder of headers"):
        load_program(str(project / "a.c"), function=expected)


def test_python_takes_them(project: Path) -> None:
    given = load_program(
        str(project / "a.c"), include_directories=[project / "inc"], macros=["FACTOR=2"]
    )
    by_database = load_program(f"{project}/a.c:{LINE}", compile_commands=project)
    assert given.scop == by_database.scop
    assert load_program(str(project / "a.c"), function=given.function).scop == given.scop


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-I", "/nowhere"), "expected a folder"),
        (("-D", "1x"), "expected NAME or NAME=VALUE"),
        (("--compile-commands", "/nowhere"), "expected a compilation database"),
    ],
)
def test_wrong_flags(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, str],
    message: str,
) -> None:
    code, _, error = call(capsys, "show", str(project / "a.c"), *arguments)
    assert code == 2
    assert message in error


def test_a_profile_names_what_cannot_be_run(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = call(capsys, "profile", "--", "/nowhere/program")
    assert code == 2
    assert "expected a program that can be run" in error
