"""The user's program, run on the terminal of the command until it ends or is stopped.

Ctrl-C and SIGTERM are for the program: it ends, and the samples until then are kept. A terminal
sends Ctrl-C to the program itself; all others send their signals to the command alone, which passes
them on. The second signal kills the program.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from polygym.errors import InputError
from polygym.profiling.samples import ProgramEnd

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_program(
    command: Sequence[str], *, output_to_stderr: bool, environment: Mapping[str, str] | None = None
) -> ProgramEnd:
    """Run a program on the user's own terminal, and return how it ended.

    Raises:
        InputError: it cannot be started.
    """
    stopped_by: list[int] = []
    output = 2 if output_to_stderr else None
    try:
        process = subprocess.Popen(command, env=environment, stdout=output)
    except OSError as error:
        raise InputError(f"{command[0]}: {error}") from None
    with process, _passing_signals(process, stopped_by):
        code = process.wait()
    return ProgramEnd(code, stopped_by[0] if stopped_by else 0)


@contextmanager
def _passing_signals(process: subprocess.Popen[bytes], stopped_by: list[int]) -> Iterator[None]:
    """Inside, signals are for the process; only the main thread of Python handles signals."""

    def handle(number: int, _: FrameType | None) -> None:
        if stopped_by:
            _kill_with_children(process.pid)
        elif number != signal.SIGINT or not _has_terminal():
            process.send_signal(number)
        stopped_by.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _has_terminal() -> bool:
    """Return whether a terminal sends Ctrl-C to this process and those that it starts."""
    with suppress(OSError):
        descriptor = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
        try:
            return os.tcgetpgrp(descriptor) == os.getpgrp()
        finally:
            os.close(descriptor)
    return False


def _kill_with_children(process: int) -> None:
    """Kill a process and those below it."""
    with suppress(OSError):
        for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
            _kill_with_children(int(child))
    with suppress(OSError):
        os.kill(process, signal.SIGKILL)
