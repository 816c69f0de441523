"""The parent's side of a server process: start, messages, end.

The usual server is the supervisor of the programs that run; the compile server is another. It is
started with ``fork`` and ``exec`` (``subprocess``), never through ``multiprocessing``: environments
live inside daemonic workers, which may not have children of that kind. It gets its own session, so
that Ctrl-C on the terminal reaches the parent only, no descriptor but its end of the socket, and
the parent's module search path.

A connection belongs to the process that made it. After a fork, the copy in the child is closed and
does nothing to the server.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import BinaryIO

from polygym.errors import InternalError
from polygym.foreign.libc import fixed_addresses
from polygym.runtime.worker.job_messages import Channel, ChannelClosedError, Json
from polygym.runtime.worker.outcome import WorkerError, crash_from_exit
from polygym.version import PACKAGE

# What is imported stays until the end: looking for garbage in it would take a tenth of the start.
_START = (
    "import gc, json, sys; from importlib import import_module; gc.disable(); "
    "sys.path[:] = json.loads(sys.argv[3]); server = import_module(sys.argv[4]); "
    "gc.freeze(); gc.enable(); server.main(int(sys.argv[1]), int(sys.argv[2]))"
)
SUPERVISOR = "polygym.runtime.worker.supervisor"
# Without the module `site` the interpreter starts 10 ms sooner, but does not know where an editable
# installation has its packages.
_PACKAGE_PARENT = str(PACKAGE.parent)
_ORDERLY_END_SECONDS = 2.0

_live: weakref.WeakSet[Connection] = weakref.WeakSet()


class ConnectionLostError(Exception):
    """The server ended; ``exit_code`` says how, as in ``subprocess.Popen.returncode``."""

    def __init__(self, server: str, exit_code: int, error_output: str = "") -> None:
        """Keep the code and what the server wrote to its standard error, and render the code."""
        self.exit_code = exit_code
        self.said = error_output
        super().__init__(f"the {server} ended: {crash_from_exit(exit_code).name}")


class AnswerTimeoutError(Exception):
    """The other side took longer than it was given."""


class Connection:
    """A running server and the way to talk to it.

    ``forgotten`` collects the numbers of problems that are no longer used; the next request tells
    the supervisor. (They come from finalizers, which may run in the middle of an exchange.)
    """

    def __init__(self, module: str = SUPERVISOR) -> None:
        """Start a server and wait until it is ready.

        ``module`` is the one whose ``main`` is called with the socket's descriptor and the id of
        this process; another module than the supervisor's makes another kind of server.

        Raises:
            WorkerError: it does not start; the message holds what it said.
        """
        self._name = module.rpartition(".")[2].replace("_", " ")
        if not sys.executable:
            raise WorkerError(
                f"the {self._name}: expected sys.executable to name Python, found nothing"
            )
        ours, theirs = socket.socketpair()
        path = [os.path.abspath(entry) for entry in (*sys.path, _PACKAGE_PARENT)]
        arguments = [str(theirs.fileno()), str(os.getpid()), json.dumps(path), module]
        log = os.fdopen(os.memfd_create(f"polygym {self._name} errors"), "w+b")
        # Branch predictors and caches know code and data by parts of their addresses: the same code
        # may take half as long again in another process. Hashes say where Python's objects lie.
        with theirs, fixed_addresses():
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-S", "-c", _START, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env={**os.environ, "PYTHONHASHSEED": "0"},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._channel = Channel(ours)
        self._log = log
        self.forgotten: list[int] = []
        self._finalizer = weakref.finalize(self, _end, self._process, self._channel, log)
        _live.add(self)
        try:
            self._channel.receive()
        except ChannelClosedError:
            code = self._process.wait()
            said = self._errors()
            self.close()
            raise WorkerError(
                f"the {self._name} does not start ({crash_from_exit(code).name}): {said}"
            ) from None
        except BaseException:
            self.kill()
            raise

    @property
    def process_id(self) -> int:
        """The server's process id."""
        return self._process.pid

    @property
    def is_closed(self) -> bool:
        """Whether the server was ended from here; its own end shows at the next exchange."""
        return not self._finalizer.alive

    def exchange(
        self, body: Json, blobs: Sequence[bytes] = (), seconds: float | None = None
    ) -> tuple[Json, list[bytes]]:
        """Send a request and return its answer; ``seconds`` is the limit on both.

        Whatever interrupts the exchange (Ctrl-C, say) ends the server: the next answer to
        arrive would be the one to this request.

        Raises:
            AnswerTimeoutError: there was no answer in time; the server has been ended.
            ConnectionLostError: the server was killed.
            InternalError: the server failed by itself.
        """
        forgotten = self.forgotten[:]
        del self.forgotten[: len(forgotten)]
        end = None if seconds is None else time.monotonic() + seconds
        try:
            self._channel.send({**body, "forget": forgotten}, blobs)
            self._wait(end, seconds)
            return self._channel.receive()
        except ChannelClosedError:
            # It closes its socket only by ending; should it linger, it is of no use any more.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_ORDERLY_END_SECONDS)
            said = self._errors()
            self.kill()
            if self._process.returncode > 0:
                raise InternalError(f"the {self._name} failed: {said}") from None
            raise ConnectionLostError(self._name, self._process.returncode, said) from None
        except BaseException:
            self.kill()
            raise

    def _wait(self, end: float | None, seconds: float | None) -> None:
        """Wait until an answer begins to arrive, or the other end is closed."""
        if end is not None:
            poller = select.poll()
            poller.register(self._channel.fileno(), select.POLLIN)
            if not poller.poll(1000 * max(0.0, end - time.monotonic())):
                raise AnswerTimeoutError(f"no answer in {seconds:g} s")

    def _errors(self) -> str:
        """Return what the server wrote to its standard error."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace").strip()

    def close(self) -> None:
        """End the server in order; harmless if it has ended."""
        _live.discard(self)
        self._finalizer()

    def kill(self) -> None:
        """End the server at once; the kernel ends its children."""
        with suppress(ProcessLookupError):
            self._process.kill()
        self.close()

    def end_process(self) -> None:
        """End the server's process, whatever another thread is waiting for: that finds it lost."""
        self._process.send_signal(signal.SIGKILL)  # asks first whether it is still there

    def disown(self) -> None:
        """Close this copy of another process's connection."""
        self._finalizer.detach()
        self._channel.close()
        self._log.close()
        self._process.returncode = 0  # not a child of this process: nothing to wait for


class OwnedServer:
    """A server that is started when it is first needed, again after its end, and after a fork.

    A copy of the process that owns it leaves the server, and the lock that a thread left behind may
    hold, alone.
    """

    def __init__(self, module: str = SUPERVISOR) -> None:
        """Keep the module of the server."""
        self._module = module
        self._start_over()

    def _start_over(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._connection: Connection | None = None

    @property
    def process_id(self) -> int | None:
        """The id of the process; None while there is none that belongs to this one."""
        if self._connection is None or self._connection.is_closed or self._owner != os.getpid():
            return None
        return self._connection.process_id

    def lock(self) -> threading.RLock:
        """Return the lock under which requests of several threads follow one another."""
        if self._owner != os.getpid():
            self._start_over()
        return self._lock

    def connected(self) -> Connection:
        """Return a connection to a server that is alive."""
        if self._connection is None or self._connection.is_closed:
            self._connection = Connection(self._module)
        return self._connection

    def end_process(self) -> None:
        """End the process of the server, if there is one; the next request starts another."""
        connection = self._connection
        if connection is not None and not connection.is_closed and self._owner == os.getpid():
            connection.end_process()

    def end(self) -> None:
        """End the server in order, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def kill(self) -> None:
        """End the server at once, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.kill()


def _end(process: subprocess.Popen[bytes], channel: Channel, log: BinaryIO) -> None:
    """Hang up, which makes a server end, and wait for it."""
    channel.close()
    log.close()
    try:
        process.wait(_ORDERLY_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _disown_all() -> None:
    for connection in list(_live):
        connection.disown()
    _live.clear()


os.register_at_fork(after_in_child=_disown_all)
