"""Compilation behind running code: requests, one after the other, to a process of its own.

A thread waits for that process, and calls what was to be called with the code. Both end with the
program; a process that was copied by ``fork`` starts its own.
"""

from __future__ import annotations

import atexit
import os
import pickle
import threading
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue

from polygym.errors import PolygymError
from polygym.frontend.tc import TcDefinition
from polygym.runtime.loader import LoadError
from polygym.runtime.worker.connection import Connection, ConnectionLostError
from polygym.tc.kernel import CompiledKernel

_SERVER = "polygym.tc.kernel_server"
_IDLE_SECONDS = 5.0
_LAST_SECONDS = 1.0

_Request = tuple[bytes, Callable[[CompiledKernel], None]]


class _Compiler:
    """The thread, and what it has to do."""

    def __init__(self) -> None:
        """Begin without a thread."""
        self._owner = os.getpid()
        self._requests: SimpleQueue[_Request | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._connection: Connection | None = None
        self._is_ended = self._is_registered = False

    def ask(self, request: _Request) -> None:
        """Have a request done, at some time."""
        with self._lock:
            self._requests.put(request)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="polygym-kernels", daemon=True
                )
                self._thread.start()

    def end(self) -> None:
        """End the process at once: what it does is of no use any more."""
        if self._owner != os.getpid():
            return  # it is that of the process that this one is a copy of
        self._is_ended = True
        self._requests.put(None)
        connection, thread = self._connection, self._thread
        if connection is not None:
            connection.end_process()
        if thread is not None:
            thread.join(_LAST_SECONDS)

    def _run(self) -> None:
        """Do requests until there are none for a while."""
        try:
            self._serve()
        except Exception:
            if not self._is_ended:  # else the connection was closed in the middle
                raise

    def _serve(self) -> None:
        try:
            while not self._is_ended:
                try:
                    request = self._requests.get(timeout=_IDLE_SECONDS)
                except Empty:
                    with self._lock:
                        if self._requests.empty():
                            self._hang_up()
                            self._thread = None
                            return
                    continue
                if request is not None:
                    self._answer(*request)
        except BaseException:
            self._hang_up()
            with self._lock:
                self._thread = None  # the next request has another
            raise

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.kill()
            self._connection = None

    def _answer(self, request: bytes, use: Callable[[CompiledKernel], None]) -> None:
        """Do one request; what cannot be compiled for its own is left to the code for all sizes."""
        try:
            if self._connection is None or self._connection.is_closed:
                self._connection = Connection(_SERVER)
                if not self._is_registered:  # behind the connection, so that it is called before
                    atexit.register(self.end)
                    self._is_registered = True
            body, blobs = self._connection.exchange({}, [request])
            if "error" not in body:
                code, recipe = blobs
                use(CompiledKernel.from_recipe(code, recipe.decode()))
        except (PolygymError, ConnectionLostError, LoadError, OSError, ValueError, KeyError):
            return


_compiler = _Compiler()


def compile_behind(
    definition: TcDefinition,
    mapping: str,
    strategy: str,
    sizes: Mapping[str, int],
    use: Callable[[CompiledKernel], None],
) -> None:
    """Have a kernel compiled for sizes, and ``use`` called with it in another thread."""
    request = pickle.dumps((definition, mapping, strategy, dict(sizes)))
    _compiler.ask((request, use))


def _start_over() -> None:
    """Forget the thread and the process of the process that this one is a copy of."""
    global _compiler
    _compiler = _Compiler()


os.register_at_fork(after_in_child=_start_over)
