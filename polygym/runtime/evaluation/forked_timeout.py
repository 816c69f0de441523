"""Time limit for calls that nothing interrupts: work in a fork of this process.

isl counts its operations, which bounds nearly everything (:mod:`polygym.poly.isl_budget`).
But the numbers in one operation may grow without end, and a single call keeps the interpreter's
lock: neither a signal's handler nor another thread gets a turn. Only another process can end it.

That process is a fork, not the compile server, which is another program. A fork is there in some
milliseconds and has all that this process has computed; the server takes a third of a second, more
than most schedules do. A server pays where it answers thousands of times; a command asks once. What
is dangerous about forks beside threads is to need what another thread has locked: the work is
arithmetic, takes no lock but the allocator's, which the C library hands on, and if it did wait for
one, the limit would end that too.

The limit counts what the copy computes, so that a result does not depend on what else a machine
does. A copy that waits, or hardly gets a turn, is given up after :data:`_WAITING` times as long.

The copy ignores Ctrl-C, which is this process's to handle: it only waits, so its handlers run. The
copy ends with whatever ends the wait, and with this process.
"""

import os
import pickle
import resource
import select
import signal
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from polygym.errors import InternalError, LimitError, LongWaitWarning
from polygym.foreign.libc import exit_with_parent
from polygym.runtime.worker.server_process import mapped_bytes, set_soft_limit

Result = TypeVar("Result")

_LENGTH_BYTES = 8
_POLL_SECONDS = 0.2
_LONG_WAIT_SECONDS = 15.0  # after so long a wait the user is told for how long at most


_WAITING = 4.0
"""How many times the limit a copy may take that other processes keep from computing."""


class StoppedError(Exception):
    """The caller has been told to stop."""


def never_stopped() -> bool:
    """Say that nothing is to be stopped."""
    return False


def run_forked(
    purpose: str,
    work: Callable[[], Result],
    seconds: float,
    advice: str,
    is_stopped: Callable[[], bool] = never_stopped,
    memory: int | None = None,
) -> Result:
    """Return what ``work`` returns, computed in a copy of this process; raise what it raises.

    Where it takes long, a :class:`~polygym.errors.LongWaitWarning` says when it is given up. What
    it changes is lost, and what it returns or raises must stand a pickle. It is given up once
    ``is_stopped``, which is asked from time to time. It may take so many bytes of ``memory`` beyond
    what this process has.

    Raises:
        StoppedError: it was given up for that.
        LimitError: it computed longer than ``seconds``, or took more memory; the message has the
            ``purpose`` and ``advice``.
        InternalError: the copy was killed, or crashed.
    """
    ours, theirs = os.pipe()
    process, ended = _fork_child(theirs, work, memory), 0
    os.close(theirs)
    try:
        answer = _receive_result(ours, _ResultWait(process, purpose, seconds, is_stopped))
    except TimeoutError:
        raise LimitError(f"{purpose}: gave up after {seconds:g} s; {advice}") from None
    finally:
        os.close(ours)
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        with suppress(ChildProcessError):  # a process that ignores SIGCHLD has nothing to wait for
            _, ended = os.waitpid(process, 0)
    if answer is None and memory is not None and _ended_for_memory(ended):
        raise _too_large(purpose, memory, advice)
    if answer is None:
        raise InternalError(f"{purpose}: the process that was at it ended without an answer")
    is_fine, outcome = pickle.loads(answer)
    if isinstance(outcome, MemoryError) and memory is not None:
        raise _too_large(purpose, memory, advice)
    if not is_fine:
        raise outcome
    result: Result = outcome
    return result


def _too_large(purpose: str, memory: int, advice: str) -> LimitError:
    return LimitError(f"{purpose}: took more than {memory / 2**20:,.0f} MiB of memory; {advice}")


def _ended_for_memory(status: int) -> bool:
    """Whether a process has ended itself, as libraries do that are refused memory."""
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGABRT


def _fork_child(descriptor: int, work: Callable[[], object], memory: int | None) -> int:
    """Return the id of a copy of this process that writes what comes of the work."""
    parent = os.getpid()
    # An exception of a signal's handler would make the copy go on as if it were this process.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: see above
            process = os.fork()
        if process == 0:
            _run_child(descriptor, parent, before, work, memory)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process


def _run_child(
    descriptor: int,
    parent: int,
    mask: Iterable[int],
    work: Callable[[], object],
    memory: int | None,
) -> NoReturn:
    """Do the work, write what comes of it, and end without a trace of what else was going on."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        exit_with_parent(parent)
        if memory is not None:
            _limit_memory(memory)
        answer = _pickled_result(work)
        with os.fdopen(descriptor, "wb") as file:
            file.write(len(answer).to_bytes(_LENGTH_BYTES, "little") + answer)
    finally:
        os._exit(0)


def _limit_memory(more: int) -> None:
    """Have every demand refused that goes so many bytes beyond what this process has.

    C++ complains on standard error before it gives up; the waiting process says it in a sentence.
    """
    set_soft_limit(resource.RLIMIT_AS, mapped_bytes() + more)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _pickled_result(work: Callable[[], object]) -> bytes:
    """Return the pickled result of the work, or the pickled exception."""
    try:
        return pickle.dumps((True, work()))
    except BaseException as error:  # whatever it is, it is the other side's to handle
        with suppress(Exception):  # some do not stand a pickle
            answer = pickle.dumps((False, error))
            pickle.loads(answer)
            return answer
        return pickle.dumps((False, InternalError(f"{type(error).__name__}: {error}")))


class _ResultWait:
    """How long there is to wait, and what is to be done meanwhile."""

    def __init__(
        self, process: int, purpose: str, seconds: float, is_stopped: Callable[[], bool]
    ) -> None:
        self._process = process
        self._purpose, self._seconds, self._is_stopped = purpose, seconds, is_stopped
        self._start = time.monotonic()
        self._is_said = seconds <= _LONG_WAIT_SECONDS

    @property
    def next_look(self) -> float:
        """In how many milliseconds to look up."""
        return 1000 * min(max(0.001, self._seconds - self._passed), _POLL_SECONDS)

    @property
    def _passed(self) -> float:
        """How much of the limit has passed: seconds of computing, or a share of all seconds."""
        waited = (time.monotonic() - self._start) / _WAITING
        return max(waited, _computing_seconds(self._process))

    def look(self) -> None:
        """Look up, where there is still something to wait for.

        Raises:
            StoppedError: somebody says so.
            TimeoutError: it has been long enough.
        """
        if self._is_stopped():
            raise StoppedError
        if self._passed >= self._seconds:
            raise TimeoutError
        waited = time.monotonic() - self._start
        if waited >= _LONG_WAIT_SECONDS and not self._is_said:
            self._is_said = True
            warnings.warn(
                f"{self._purpose} takes longer than {_LONG_WAIT_SECONDS:g} s; it is given up after "
                f"{self._seconds:g} s of computing",
                LongWaitWarning,
                stacklevel=4,
            )


def _computing_seconds(process: int) -> float:
    """Return how long a process has computed, 0 where the system does not say."""
    clock = (~process << 3) | 2  # Linux's clock of the processor time of a process
    try:
        return time.clock_gettime(clock)
    except OSError:
        return 0.0


def _receive_result(descriptor: int, wait: _ResultWait) -> bytes | None:
    """Return what is sent while there is somebody who waits; None if it ends in the middle of it.

    Raises:
        StoppedError: not all is there when it is to be stopped.
        TimeoutError: not all is there in time.
    """
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    result = bytearray()
    length: Any = None
    while length is None or len(result) < _LENGTH_BYTES + length:
        if not poller.poll(wait.next_look):
            wait.look()
            continue
        if not (part := os.read(descriptor, 1 << 20)):
            return None
        result += part
        if length is None and len(result) >= _LENGTH_BYTES:
            length = int.from_bytes(result[:_LENGTH_BYTES], "little")
    return bytes(result[_LENGTH_BYTES:])
