"""A process for each nest, ended with all that it started when its time is over.

It is a fork of this process, which has imported all that it needs, and the leader of a group of
its own. It sends every stage that it ends, so what was found before the end is kept.
"""

import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

Stage = dict[str, Any]


def run_bounded(work: Callable[[], Iterator[Stage]], seconds: float) -> tuple[list[Stage], str]:
    """Return the stages that work yields, and how it failed: "" where it came to its end.

    >>> run_bounded(lambda: iter([{"stage": "legal"}]), 60.0)
    ([{'stage': 'legal'}], '')
    """
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(work, theirs), daemon=False)
    process.start()
    theirs.close()
    stages, end = [], time.monotonic() + seconds
    failure = f"gave up after {seconds:g} s"
    try:
        while ours.poll(max(0.0, end - time.monotonic())):
            stage = ours.recv()
            if "failure" in stage:
                failure = stage["failure"]
                break
            stages.append(stage)
    except EOFError:
        process.join(5.0)
        failure = f"crash: the process ended with {process.exitcode}"
    finally:
        _end(process.pid)
        process.join()
        ours.close()
    return stages, failure


def _run(work: Callable[[], Iterator[Stage]], connection: Connection) -> None:
    """Send the stages, and how the work failed."""
    os.setsid()
    failure = ""
    try:
        for stage in work():
            connection.send(stage)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        failure = f"crash: {type(error).__name__}: {error} ({place.name}, line {place.lineno})"
    connection.send({"failure": failure[:400]})
    connection.close()


def _end(process: int | None) -> None:
    """End a process and what it has started."""
    if process is not None:
        for end in (os.killpg, os.kill):  # the group is there from its first statement on
            with suppress(ProcessLookupError, PermissionError):
                end(process, signal.SIGKILL)
