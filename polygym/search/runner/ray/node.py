"""Actions of a node: greet, calibrate itself, do a job, stop it. No Ray in here.

Every method takes a text of JSON and yields texts of JSON, lists of rows. Rows come out in bundles:
what has come together in a quarter of a second, or in less at the end. All work is done by one
thread, since the processes that measure belong to the thread that started them; it holds the
host's measuring slot meanwhile.

Several drivers may share a node, and several nodes a host: a call may have to wait for its turn.
Meanwhile it gives a sign of life now and then, the row ``waiting``, and can be stopped.

What is done is chosen by a name in a table, never by anything that comes with the message.

Measuring slot of a host: a lock, so that one process measures at a time.

Ray counts slots by nodes (the resource ``measuring``). Two nodes of Ray on one host are two
programs on one machine all the same, and so are two clusters; their clocks would disturb each
other. A lock on a file settles it: the kernel gives it back when its holder ends, however it ends.
"""

import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from polybench import Dataset
from polygym.cost.models.pretrained import local_machine
from polygym.errors import InternalError, PolygymError
from polygym.files import try_lock
from polygym.programs import load_program
from polygym.runtime.evaluation import EvaluationOptions, Evaluator
from polygym.runtime.worker.outcome import WorkerError
from polygym.runtime.worker.timing import describe_host
from polygym.search.runner.ray.fleet.jobs import FAILED_ROW, Json
from polygym.search.runner.ray.fleet.node_kinds import source_digest, this_node_kind
from polygym.search.runner.ray.fleet.programs import ProgramTexts
from polygym.version import __version__

_BUNDLE_SECONDS, _POLL_SECONDS = 0.25, 0.02
_HEARTBEAT_SECONDS = 15.0
_MAX_REASON = 2000
_CLOCK = ("gemm", Dataset.SMALL)
_QUIET_TASKS = frozenset({"confirm", "together"})  # all that they measure is one row, at the end

_HEARTBEAT = json.dumps([{"row": "waiting"}])

Emit: TypeAlias = Callable[[Json], None]
NodeTask: TypeAlias = Callable[[Json, ProgramTexts, Emit, Callable[[], bool]], None]


class MeasuringNode:
    """A node at work; it is one process, and measures one thing at a time."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._thread = ThreadPoolExecutor(1, "measuring")
        self._texts = ProgramTexts()
        self._stopped: set[str] = set()
        self._cores = os.sched_getaffinity(0)
        self._seconds: float | None = None
        self._at: Json = {}
        self._niceness = 0

    def greet(self, _: str = "") -> Iterator[str]:
        """Say what kind of node this is, and how fast its clock program is."""
        kind = this_node_kind()
        if self._seconds is None:
            seconds = yield from self._clock()
            self._seconds = self._seconds or seconds
        greeting = {
            "row": "greeting",
            "kind": kind.to_json(),
            "version": __version__,
            "sources": source_digest(),
            "system": describe_host().system,
            "planned_for": asdict(local_machine().machine),
            "seconds": self._seconds,
            "niceness": self._niceness,
        }
        yield json.dumps([greeting])

    def calibrate(self, _: str = "") -> Iterator[str]:
        """Measure the clock program again."""
        seconds = yield from self._clock()
        yield json.dumps([{"row": "clock", "seconds": seconds}])

    def stop(self, text: str) -> Iterator[str]:
        """Have a job end after what it is at."""
        self._stopped.add(str(json.loads(text)["job"]))
        yield "[]"

    def status(self, _: str = "") -> Iterator[str]:
        """Say what the node is at, without disturbing it."""
        kind = this_node_kind()
        status = {
            "row": "status",
            "about": self._at.get("about", ""),
            "task": self._at.get("task", ""),
            "clock_seconds": self._seconds,
            "kind": kind.key,
            "machine": kind.to_json(),
            "version": __version__,
            "sources": source_digest(),
        }
        yield json.dumps([status])

    def work(self, text: str) -> Iterator[str]:
        """Do a job; yield its rows as they come."""
        job = json.loads(text)
        number = str(job["job"])
        rows: SimpleQueue[Json] = SimpleQueue()
        turn = threading.Event()

        def is_stopped() -> bool:
            return number in self._stopped

        def do() -> None:
            with hold_slot(is_stopped) as has_it:
                if has_it:
                    turn.set()
                    self._at = {"about": job.get("about"), "task": job["task"]}
                    self._do(job, rows.put, is_stopped)
                    self._at = {}

        future = self._thread.submit(do)
        try:
            yield from _heartbeats(future, turn, is_stopped)
            if not future.cancelled():
                yield from _bundles(future, rows, is_quiet=job["task"] in _QUIET_TASKS)
        finally:
            self._stopped.discard(number)

    def _clock(self) -> Generator[str, None, float]:
        """Measure the clock program; return its time."""
        turn = threading.Event()

        def measure() -> float:
            with hold_slot(lambda: False):
                turn.set()
                self._undo()
                return clock_seconds()

        future = self._thread.submit(measure)
        yield from _heartbeats(future, turn, lambda: False)
        return future.result()

    def _undo(self) -> None:
        """Have the measuring thread use all cores again, and be as urgent as what users start.

        Ray makes its workers give way to all others (a niceness of 15), and what they start too.
        Clocks would tell what others do. Where the system does not let a process change that, it
        stays, and the fleet says so.
        """
        os.sched_setaffinity(0, self._cores)  # what was pinned for the job before
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, 0)
        self._niceness = os.getpriority(os.PRIO_PROCESS, 0)

    def _do(self, job: Json, emit: Emit, is_stopped: Callable[[], bool]) -> None:
        """Do a job; why it could not be done is its last row."""
        self._undo()
        try:
            _task(str(job["task"]))(job, self._texts, emit, is_stopped)
        except InternalError as error:
            emit(_failure(f"{type(error).__name__}: {error}"))
        except WorkerError as error:
            emit({**_failure(str(error)), "machine": True})
        except (PolygymError, MemoryError, RecursionError) as error:
            emit(_failure(str(error) or type(error).__name__))
        except Exception as error:  # a defect, or the machine: the node goes on
            emit(_failure(f"{type(error).__name__}: {error}"))


def clock_seconds() -> float:
    """Return the best time of the program that is always the same, in its original order."""
    name, dataset = _CLOCK
    with Evaluator(load_program(name, dataset=dataset), EvaluationOptions()) as evaluator:
        return evaluator.baseline_seconds


def _failure(reason: str) -> Json:
    return {"row": FAILED_ROW, "reason": reason[:_MAX_REASON], "machine": False}


def _heartbeats(
    future: Future[Any], turn: threading.Event, is_stopped: Callable[[], bool]
) -> Iterator[str]:
    """Yield signs of life until it is a call's turn, or it has been stopped before."""
    said = time.monotonic()
    while not turn.wait(_BUNDLE_SECONDS) and not future.done():
        if is_stopped():
            future.cancel()
        elif time.monotonic() - said > _HEARTBEAT_SECONDS:
            said = time.monotonic()
            yield _HEARTBEAT


def _bundles(future: Future[None], rows: SimpleQueue[Json], *, is_quiet: bool) -> Iterator[str]:
    """Yield what comes together in a while, until all is done, and signs of life of quiet tasks."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    said = time.monotonic()
    while True:
        is_last = done.wait(_BUNDLE_SECONDS)
        bundle = []
        while True:
            try:
                bundle.append(rows.get_nowait())
            except Empty:
                break
        if bundle:
            yield json.dumps(bundle)
        elif is_quiet and time.monotonic() - said > _HEARTBEAT_SECONDS:
            said = time.monotonic()
            yield "[]"
        if is_last:
            future.result()
            return


# Where each task is done; a module is imported when it is needed.
_TASK_MODULES = {
    "search": "sweep_tasks",
    "confirm": "sweep_tasks",
    "visit": "collection",
    "measure": "measurements",
    "together": "measurements",
}


def _task(name: str) -> NodeTask:
    """Return what does a job of a name."""
    if name not in _TASK_MODULES:
        raise InternalError(f"a job: expected a task that a node knows, found {name!r}")
    module = import_module(f"polygym.search.runner.ray.{_TASK_MODULES[name]}")
    task: NodeTask = getattr(module, f"{name}_task")
    return task


def slot_file() -> Path:
    """Return the file whose lock is the slot of this host, for this user."""
    return Path(tempfile.gettempdir()) / f"polygym-measuring-{os.getuid()}.lock"


@contextmanager
def hold_slot(is_stopped: Callable[[], bool]) -> Iterator[bool]:
    """Hold the slot, which may have to be waited for; give False where it was stopped before."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(slot_file(), flags, 0o600)
    try:
        while not (has_it := try_lock(descriptor)) and not is_stopped():
            time.sleep(_POLL_SECONDS)
        yield has_it
    finally:
        os.close(descriptor)
