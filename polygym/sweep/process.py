"""The process in which one program of a sweep is searched, or its best schedules are confirmed.

The campaign starts it with a request in JSON and ends it with SIGTERM, after which it records the
schedule in flight and leaves. What it finds goes into the store, and so does why it failed. It has
a session of its own, so that Ctrl-C on the terminal reaches the campaign only, and it is killed by
the kernel when the campaign ends, however that ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import BinaryIO, assert_never

from polygym.errors import PolygymError
from polygym.measure.outcome import crash_from_exit
from polygym.measure.runner import die_with
from polygym.sweep.confirming import confirm
from polygym.sweep.cores import Place
from polygym.sweep.searching import search
from polygym.sweep.setting import setting_from_json
from polygym.sweep.store import STORE, open_store, stored_setting

FAILED = 1
_LONGEST_REASON = 2000
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from polygym.sweep.process import main; main(sys.argv[2])"
)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """Explore every policy up to ``budget`` episodes, for ``seconds`` at most.

    ``against`` names other compilers, as it does in a :class:`ConfirmRequest`.
    """

    policies: tuple[str, ...]
    budget: int
    seconds: float | None
    against: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfirmRequest:
    """Measure the ``count`` best again."""

    count: int
    against: tuple[str, ...] = ()


Request = SearchRequest | ConfirmRequest


@dataclass(slots=True)
class Running:
    """A process that was started."""

    kernel: str
    request: Request
    process: subprocess.Popen[bytes]
    log: BinaryIO
    is_stopped: bool = False

    def stop(self) -> None:
        """Ask for its end: after the schedule in flight, or at once if all are one flight."""
        self.is_stopped = True
        match self.request:
            case SearchRequest():
                self.process.terminate()
            case ConfirmRequest():
                self.process.kill()
            case _:
                assert_never(self.request)

    def failure(self) -> str:
        """Return what to say of a process that ended without having said it itself, or nothing."""
        code = self.process.returncode
        self.log.seek(0)
        said = self.log.read().decode(errors="replace").strip()
        self.log.close()
        if code in (0, FAILED):
            return ""
        last = said.splitlines()[-1] if said else "it said nothing"
        return f"its process ended ({crash_from_exit(code).name}): {last[:_LONGEST_REASON]}"


def start(folder: Path, kernel: str, request: Request, place: Place, lock: int) -> Running:
    """Start a process for a program; it holds the lock of the folder as long as it lives."""
    message = {
        "folder": str(folder.absolute()),
        "kernel": kernel,
        "kind": type(request).__name__,
        "request": asdict(request),
        "place": asdict(place),
        "parent": os.getpid(),
    }
    path = json.dumps([os.path.abspath(entry) for entry in sys.path])
    log = os.fdopen(os.memfd_create("polygym sweep errors"), "w+b")
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _START, path, json.dumps(message)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=log,
        pass_fds=(lock,),
        start_new_session=True,
    )
    return Running(kernel, request, process, log)


def main(text: str) -> None:
    """Do what the campaign asks for, and exit with 0, or with 1 after recording why not."""
    message = json.loads(text)
    with _termination() as is_stopped:
        die_with(message["parent"])
        kernel, given, place = message["kernel"], message["request"], message["place"]
        cores = Place(tuple(place["measuring"]), tuple(place["compiling"]))
        with open_store(Path(message["folder"]) / STORE) as store:
            setting = setting_from_json(stored_setting(store.path, store.connection))
            against = tuple(given["against"])
            try:
                match message["kind"]:
                    case SearchRequest.__name__:
                        policies, budget = tuple(given["policies"]), given["budget"]
                        search(
                            store,
                            setting,
                            kernel,
                            policies,
                            budget,
                            against,
                            cores,
                            given["seconds"],
                            lambda: bool(is_stopped),
                        )
                    case _:
                        confirm(store, setting, kernel, given["count"], against, cores)
            except (PolygymError, MemoryError, RecursionError) as error:
                reason = str(error) or type(error).__name__
                store.fail(kernel, reason[:_LONGEST_REASON])
                sys.exit(FAILED)


@contextmanager
def _termination() -> Iterator[list[int]]:
    """Give a list that is empty until the process is asked to end."""
    come: list[int] = []

    def remember(number: int, _: FrameType | None) -> None:
        come.append(number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    before = signal.signal(signal.SIGTERM, remember)
    try:
        yield come
    finally:
        signal.signal(signal.SIGTERM, before)
