"""Whatever goes wrong: one message, the documented exit code, one JSON document, no traceback."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import pytest

from polygym.cli import dispatch
from polygym.cli.commands import check, kernels
from polygym.cli.failures import error_report
from polygym.cli.group import COMMANDS
from polygym.cli.output.console import message_of, printable
from polygym.errors import InputError, InternalError, SourceError, SourceLocation
from polygym.runtime.worker.outcome import OutOfMemory, ProblemError
from tests.cli.invoke import call

SCHEDULE = "{ S[i] -> [i] }"
COPY = """
void f(int n, double A[n], double B[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
S:  A[i] = B[i] + B[i] + A[i];
#pragma endscop
}
"""


@pytest.fixture
def copy(tmp_path: Path) -> str:
    path = tmp_path / "copy.c"
    path.write_text(COPY)
    return str(path)


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which ``polygym`` is the command."""
    polygym = f"'{sys.executable}' -m polygym"
    return subprocess.run(
        ["bash", "-c", line.replace("polygym", polygym)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
    )


@pytest.mark.parametrize(
    ("error", "code", "fragment"),
    [
        (RecursionError("maximum"), 2, "the input nests too deeply"),
        (MemoryError("A takes 5 bytes"), 2, "not enough memory: A takes 5 bytes"),
        (
            ProblemError("memory", OutOfMemory("no page is left")),
            1,
            "not enough memory: no page is left",
        ),
        (MemoryError(), 2, "not enough memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left", "x.c"), 2, "x.c: No space left"),
        (ValueError("odd\nthing"), 2, "internal error: ValueError: odd thing; please report it"),
        (InternalError("lost"), 2, "internal error: InternalError: lost; please report it"),
        (InputError("no"), 2, "no"),
    ],
)
def test_every_exception_is_one_document(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    fragment: str,
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(kernels, "load_scop", fail)
    status, out, err = call(capsys, "kernels", "gemm", "--json")
    assert (status, json.loads(out), err) == (code, {"error": fragment}, "")
    status, out, err = call(capsys, "kernels", "gemm")
    assert (status, out) == (code, "")
    assert fragment in err
    assert len(err.splitlines()) == 1


def test_arrays_that_do_not_fit_are_told_in_gigabytes(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["-d", "mini", "-p", "ni=1000000", "-p", "nj=1000000"]
    assert dispatch.run(["run", "gemm", *sizes]) == 1
    captured = capsys.readouterr()
    told = captured.out + captured.err
    assert "to run it takes 24,0" in told
    assert " GB are there: choose smaller sizes" in told
    assert " bytes" not in told


def test_a_defect_shows_its_traceback_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Traceback" not in error_report(ValueError("x")).text
    monkeypatch.setenv("POLYGYM_DEBUG", "1")
    assert error_report(ValueError("x")).text.startswith("ValueError: x")
    assert error_report(ValueError("x")).message.startswith("internal error")


def test_no_command_is_a_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys)
    assert (code, out) == (2, "")
    assert all(name in err for name in COMMANDS)
    code, out, _ = call(capsys, "--json")
    assert code == 2
    assert "--json" in json.loads(out)["error"]


def test_c_and_json_together(capsys: pytest.CaptureFixture[str], copy: str) -> None:
    code, out, _ = call(capsys, "show", copy, "--c", "--json")
    assert code == 0
    assert "void f(" in json.loads(out)["c"]


def test_people_read_every_relation_once(capsys: pytest.CaptureFixture[str], copy: str) -> None:
    _, out, _ = call(capsys, "show", copy)
    assert out.count("S[i] -> B[i]") == 1
    assert "reads  { S[i] -> B[i] }" in out
    assert "context     n > 0" in out
    assert "\nSchedule" not in out
    _, out, _ = call(capsys, "show", copy, "--schedule", "{ S[i] -> [-i] }")
    assert "\nSchedule: { S[i] -> [-i] }\n" in out


@pytest.mark.parametrize("what", ["/dev/zero", "fifo", "directory", "large", "binary", "missing"])
def test_schedules_are_read_from_small_files_only(
    capsys: pytest.CaptureFixture[str], copy: str, tmp_path: Path, what: str
) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "directory").mkdir()
    (tmp_path / "large").write_text(SCHEDULE + " " * 2**20)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    code, out, err = call(capsys, "check", copy, "--schedule", str(tmp_path / what))
    assert (code, out) == (2, "")
    expected = {"large": "larger than 1 MiB", "binary": "UTF-8", "missing": "no such file"}
    assert expected.get(what, "not a regular file") in err


def test_a_byte_order_mark_is_fine(
    capsys: pytest.CaptureFixture[str], copy: str, tmp_path: Path
) -> None:
    path = tmp_path / "mark.txt"
    path.write_text(SCHEDULE, encoding="utf-8-sig")
    assert call(capsys, "check", copy, "--schedule", str(path))[0] == 0


@pytest.mark.parametrize("schedule", ["\udcff", "{ S\udcff[i] -> [i] }"])
def test_bytes_that_are_no_text(
    capsys: pytest.CaptureFixture[str], copy: str, schedule: str
) -> None:
    code, out, err = call(capsys, "check", copy, "--schedule", schedule)
    assert (code, out) == (2, "")
    assert "\\udcff" in err


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["run", "blas"], "stands for several: gemm, gemver"),
        (["show", "*mm"], "stands for several: 2mm, 3mm"),
        (["run", "gemm", "-p", "ni=5", "-p", "ni=6"], "found 'ni' twice"),
        (["run", "gemm", "-p", "ni=" + "9" * 5000], "found 'ni=999"),
        (["run", "gemm", "-p", "ni=0x" + "f" * 40], "type int"),
        (["run", "gemm", "--memory-limit", "9" * 30], "bytes"),
        (["run", "gemm", "--function", ""], "expected a name, found none; "),
        (["show", "gemm", "--" + "x" * 5000], "No such option"),
        (["show", "z" * 5000], "unknown kernel"),
        (["bench", "mvt", "gemm", "-p", "n=5"], "gemm: -p n"),
        (["bench", "mvt", "nowhere.c"], "nowhere.c"),
        (["bench", "mvt", "--schedules", "nowhere"], "no such file"),
    ],
)
def test_messages_name_what_is_wrong_and_stay_short(
    capsys: pytest.CaptureFixture[str], arguments: list[str], fragment: str
) -> None:
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert fragment in err
    assert len(err) < 1500


def test_hidden_characters_are_shown_and_the_caret_stays() -> None:
    place = SourceLocation("a\x1b.c", 1, 5, "\x1b[31 = \x07;")
    assert message_of(SourceError(place, "bad \x1b")) == (
        "a\\x1b.c:1:8: error: bad \\x1b\n    \\x1b[31 = \\x07;\n           ^"
    )
    assert printable("é\t\n") == "é\t\n"


def test_output_that_cannot_be_written() -> None:
    done = shell("polygym kernels stencils > /dev/full")
    assert (done.returncode, done.stderr) == (2, "error: No space left on device\n")
    done = shell("polygym show nowhere.c --json > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "error: cannot write the output: No space left on device\n"
    done = shell("polygym kernels stencils >&-")
    assert done.returncode == 2
    assert "closed" in done.stderr
    done = shell("polygym check mvt --schedule original 2>&- <&-")
    assert (done.returncode, done.stdout) == (0, "legal\n")
    done = shell("set -o pipefail; polygym kernels blas | head -n 1")
    assert done.returncode in (0, 141)
    assert done.stderr == ""


def test_a_working_directory_that_is_gone() -> None:
    with tempfile.TemporaryDirectory() as directory:
        gone = Path(directory) / "gone"
        done = shell(f"mkdir {gone}; cd {gone}; rmdir {gone}; polygym show mvt")
    assert done.returncode in (0, 2)
    assert "Traceback" not in done.stderr


def test_every_help_keeps_its_examples_as_written() -> None:
    for name in COMMANDS:
        command = dispatch.polygym.get_command(click.Context(dispatch.polygym), name)
        assert command is not None
        with click.Context(command, info_name=name, terminal_width=80) as context:
            text = command.get_help(context)
        assert "\\b" not in text
        assert "\b" not in text
        assert max(map(len, text.splitlines())) <= 80
        for block in (command.help or "").split("\b\n")[1:]:
            lines = block.partition("\n\n")[0].splitlines()
            assert all(f"  {line}".rstrip() in text.splitlines() for line in lines)
    assert "\b" in (check.command.help or "")
