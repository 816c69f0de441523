"""What may take hours ends in a sentence: isl's scheduler and code generation, in every command."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from polygym.cli import dispatch
from polygym.poly.scheduling import baselines
from tests.runtime.evaluation.programs import endless
from tests.runtime.evaluation.test_time_limits import TEXT

LONG = 60.0

# A command in which isl's scheduler gets the numbers as they stand, which keeps it busy for hours.
SCRIPT = (
    "import sys; from polygym.poly.scheduling import baselines; "
    "baselines.with_symbolic_sizes = lambda _: None; "
    "from polygym.cli.main import main; sys.argv[1:] = ['show', sys.argv[1], '--schedule', 'isl']; "
    "sys.exit(main())"
)


@pytest.fixture
def heat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a file for which isl's scheduler takes hours here, with little patience."""
    monkeypatch.setattr(baselines, "with_symbolic_sizes", lambda _: None)
    monkeypatch.setenv("POLYGYM_PATIENCE", "0.7")
    path = tmp_path / "heat.c"
    path.write_text(TEXT)
    return str(path)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYGYM_PATIENCE", "1.5")


def children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = dispatch.run(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out + captured.err


@pytest.mark.parametrize("command", ["show", "check", "run"])
def test_commands_give_isl_up(capsys: pytest.CaptureFixture[str], heat: str, command: str) -> None:
    before, start = children(), time.monotonic()
    code, said = call(capsys, command, heat, "--schedule", "isl fusion=maximum")
    assert code == 2
    assert "isl's scheduler: gave up after 0.7 s" in said
    assert "`original`" in said
    assert time.monotonic() - start < LONG / 2
    assert children() == before


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "words", [("show", "--c"), ("show", "--after", "generate"), ("run", "-d", "mini")]
)
def test_commands_give_code_up(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    command, *rest = words
    before = children()
    code, said = call(capsys, command, "cholesky", "--schedule", str(endless()), *rest)
    assert (code, "generating code: gave up after 1.5 s" in said) == (2, True), said
    assert children() == before


@pytest.mark.usefixtures("impatient")
def test_what_is_given_up_is_an_entry_of_bench(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("bench", "cholesky", "-d", "mini", "--repeat", "1", "--schedules", str(endless()))
    code, said = call(capsys, *words)
    assert (code, "gave up after 1.5 s" in said) == (1, True), said


def test_a_space_is_given_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYGYM_PATIENCE", "0.001")
    code, said = call(capsys, "space", "deriche")
    assert (code, "constructing the space: gave up after 0.001 s" in said) == (2, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_a_command_and_its_copy(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "heat.c"
    path.write_text(TEXT)
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path)], stderr=subprocess.PIPE, text=True
    ) as process:
        copy = _wait_for_child(process.pid)
        descriptor = os.pidfd_open(copy)
        process.send_signal(number)
        assert process.wait(LONG) == (130 if number is signal.SIGINT else -number)
        assert process.stderr is not None
        assert ("interrupted" in process.stderr.read()) == (number is signal.SIGINT)
    assert select.select([descriptor], [], [], LONG)[0] == [descriptor]
    os.close(descriptor)


def _wait_for_child(process: int) -> int:
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        text = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
        if text.split():
            time.sleep(0.5)  # isl is at it
            return int(text.split()[0])
        time.sleep(0.02)
    raise AssertionError("no copy was made")
