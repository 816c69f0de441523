"""The worker: programs measured without risk to the process that asks.

    with Worker() as worker:
        session = worker.open(problem)              # writes the initial data, runs the original
        outcome = session.measure(candidate)        # an Outcome, whatever the candidate does
        if isinstance(outcome, Ok):
            print(session.baseline.best / outcome.best)

A worker starts its process (:mod:`polygym.runtime.worker.supervisor`) when it is first needed.
Should that process be killed from outside, another one is started, the problem is opened there
again and the request is repeated, once. After an interruption (Ctrl-C) the process is ended, and
started anew when it is next needed. A worker that is used in a forked copy of its process starts a
process of its own there. Threads may share a worker; their requests follow one another.
"""

import os
import threading
from collections.abc import Callable
from typing import TypeVar

from polygym.closeable import Closeable
from polygym.runtime.worker.connection import Connection, ConnectionLostError
from polygym.runtime.worker.outcome import WorkerError
from polygym.runtime.worker.problem import Problem
from polygym.runtime.worker.session import Session
from polygym.runtime.worker.timing import Repetition, WorkerOptions

_Answer = TypeVar("_Answer")


class Worker(Closeable):
    """A process in which programs are run and timed."""

    def __init__(self, options: WorkerOptions | None = None) -> None:
        """Keep the options; the process starts with the first problem."""
        self.options = options or WorkerOptions()
        self._connection: Connection | None = None
        self._closed = False
        self._owner = os.getpid()
        self._lock = threading.RLock()

    def open(self, problem: Problem, repetition: Repetition | None = None) -> Session:
        """Allocate a problem, write its initial data, and run and time its original.

        Args:
            problem: what to open.
            repetition: how often the original is run for the session's ``baseline``.

        Raises:
            InputError: the problem does not hold together.
            ProblemError: it needs too much memory, or its own programs fail.
            WorkerError: the worker is closed, or cannot be started, or does not stay alive.
        """
        return Session(self, problem, repetition or Repetition())

    @property
    def process_id(self) -> int | None:
        """The id of the worker's process; None while there is none that belongs to this process."""
        if self._connection is None or self._connection.is_closed or self._owner != os.getpid():
            return None
        return self._connection.process_id

    def ask(self, request: Callable[[Connection], _Answer]) -> _Answer:
        """Make a request on a live connection, and once more on a new one if that is lost.

        Raises:
            ConnectionLostError: the second connection was lost as well.
            WorkerError: the worker is closed, or cannot be started.
        """
        self._disown_after_fork()
        with self._lock:
            try:
                return request(self._connected())
            except ConnectionLostError:
                return request(self._connected())

    def close(self) -> None:
        """End the process; nothing of it stays. Harmless the second time."""
        self._disown_after_fork()
        with self._lock:
            self._closed = True
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _connected(self) -> Connection:
        if self._closed:
            raise WorkerError("the worker: expected it to be open, found it closed")
        if self._connection is None or self._connection.is_closed:
            self._connection = Connection()
        return self._connection

    def _disown_after_fork(self) -> None:
        """In a forked copy of the process, leave what belongs to the original one alone."""
        if self._owner != os.getpid():
            self._owner = os.getpid()
            self._connection = None
            self._lock = threading.RLock()  # the old one may be held by a thread left behind
