"""The process in which one program of a sweep is searched, or its best schedules are confirmed.

The campaign starts it with a request in JSON and ends it with SIGTERM, after which it records the
schedule in flight and leaves. What it finds goes into the store, and so does why it failed. It has
a session of its own, so that Ctrl-C on the terminal reaches the campaign only, and it is killed by
the kernel when the campaign ends, however that ends.
"""

import errno
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
from typing import Any, BinaryIO, NoReturn, assert_never

from polygym.errors import PolygymError
from polygym.foreign.libc import exit_with_parent
from polygym.runtime.worker.outcome import crash_from_exit
from polygym.search.sweep.confirmation import confirm_program
from polygym.search.sweep.cores import JobCores
from polygym.search.sweep.program_search import search_program
from polygym.search.sweep.settings import sweep_setting_from_json
from polygym.search.sweep.store import STORE_FILE, SweepStore, open_store, stored_setting
from polygym.search.sweep.workload import ConfirmRequest, Request, SearchRequest

# Exit statuses besides 0: the reason is in the store; the store cannot be written. Python's own, 1,
# is of an exception by which nobody has been told anything.
RECORDED = 3
UNWRITABLE = 74
_MAX_REASON = 2000
# What is imported stays until the end: looking for garbage in it would take a tenth of the start.
_START = (
    "import gc, json, sys; gc.disable(); sys.path[:] = json.loads(sys.argv[1]); "
    "from polygym.search.sweep.process import main; gc.freeze(); gc.enable(); main(sys.argv[2])"
)


@dataclass(slots=True)
class ProgramProcess:
    """A process that was started."""

    kernel: str
    store: Path
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
        """Return what to say of a process that ended without having said it itself, or nothing.

        Raises:
            OSError: it could not write the store, so that no other process can go on.
        """
        code = self.process.returncode
        self.log.seek(0)
        said = self.log.read().decode(errors="replace").strip()
        self.log.close()
        last = said.splitlines()[-1] if said else "it said nothing"
        if code == UNWRITABLE:
            raise OSError(errno.EIO, last, str(self.store))
        if self.is_stopped or code in (0, RECORDED):
            return ""
        how = crash_from_exit(code).name if code < 0 else f"with {code}"
        return f"its process ended ({how}): {last[:_MAX_REASON]}"


def start_process(
    folder: Path, kernel: str, request: Request, place: JobCores, lock: int
) -> ProgramProcess:
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
    return ProgramProcess(kernel, folder / STORE_FILE, request, process, log)


def main(text: str) -> None:
    """Do what the campaign asks for, and exit with 0, or after recording why not with RECORDED.

    Where the store cannot be written, because the disk is full say, the exit code is UNWRITABLE.
    What else cannot be recorded ends the process as any exception does. The campaign reads what it
    printed.
    """
    message = json.loads(text)
    with _termination() as is_stopped:
        exit_with_parent(message["parent"])
        kernel, place = message["kernel"], message["place"]
        cores = JobCores(tuple(place["measuring"]), tuple(place["compiling"]))
        with open_store(Path(message["folder"]) / STORE_FILE) as store:
            setting = sweep_setting_from_json(stored_setting(store.path, store.connection))
            request = _request(message["kind"], message["request"])
            try:
                match request:
                    case SearchRequest():
                        search_program(
                            store, setting, kernel, request, cores, lambda: bool(is_stopped)
                        )
                    case ConfirmRequest(count, against):
                        confirm_program(store, setting, kernel, count, against, cores)
                    case _:
                        assert_never(request)
            except (PolygymError, MemoryError, RecursionError) as error:
                _record(store, kernel, str(error) or type(error).__name__)
            except Exception as error:  # a defect, or the machine: the others go on
                if isinstance(error, OSError) and error.filename == str(store.path):
                    print(error.strerror, file=sys.stderr)  # nobody can go on
                    sys.exit(UNWRITABLE)
                _record(store, kernel, f"{type(error).__name__}: {error}")


def _request(kind: str, given: dict[str, Any]) -> Request:
    """Return the request of a message."""
    make: Any = ConfirmRequest if kind == ConfirmRequest.__name__ else SearchRequest
    values = {
        key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
    }
    request: Request = make(**values)
    return request


def _record(store: SweepStore, kernel: str, reason: str) -> NoReturn:
    """Keep why a program was left, and end."""
    store.set_error(kernel, reason[:_MAX_REASON])
    sys.exit(RECORDED)


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
