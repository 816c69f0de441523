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

Sessions: one problem, open in a worker, against which programs are measured.

Sessions are made by :meth:`polygym.runtime.worker.worker.Worker.open`. A session remembers on which
connection its problem is open; when the worker has had to start another process, the problem is
opened there before the next request. The baseline stays the one that was measured first.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, TypeVar

from polygym.closeable import Closeable
from polygym.errors import InputError
from polygym.runtime.worker import job_messages
from polygym.runtime.worker.connection import Connection, ConnectionLostError, OwnedServer
from polygym.runtime.worker.measurement_turn import measurement_turn
from polygym.runtime.worker.outcome import (
    Ok,
    Outcome,
    ProblemError,
    WorkerError,
    WrongOutput,
    crash_from_exit,
    outcome_from_json,
)
from polygym.runtime.worker.problem import CompiledProgram, Problem, check_problem, check_programs
from polygym.runtime.worker.timing import ONCE, MeasureOptions, Repetition, WorkerOptions

_Answer = TypeVar("_Answer")

# Of programs that run in turn: a short one runs so long before it is the next one's turn.
_SLICE_SECONDS = 0.001


class Session:
    """An open problem.

    ``problem`` is what was opened, ``baseline`` holds the times of its original when that was done.
    """

    def __init__(self, worker: Worker, problem: Problem, repetition: Repetition) -> None:
        """Open the problem; see :meth:`polygym.runtime.worker.worker.Worker.open`."""
        self.problem = check_problem(problem)
        self._worker = worker
        self._closed = False
        self._connection: Connection | None = None
        self._kept_on: Connection | None = None
        try:
            with measurement_turn():
                self.baseline = worker.ask(lambda connection: self._open(connection, repetition))
        except ConnectionLostError as lost:
            raise WorkerError(f"the worker, opening a problem twice: {lost}") from None

    def measure(self, program: CompiledProgram, options: MeasureOptions | None = None) -> Outcome:
        """Run a program, check what it computes, and time it.

        Should the worker's process be lost twice while it does so, the outcome is a Crash.

        Raises:
            InputError: the program's arguments do not fit the problem.
            ProblemError: the worker's process was lost, and the problem cannot be opened again.
            WorkerError: the worker or the session is closed, or no process can be started.
        """
        options = options or MeasureOptions()
        (outcome,) = self._measure((program,), options)
        if options.keep_contents and isinstance(outcome, Ok | WrongOutput):
            self._kept_on = self._connection
        return outcome

    def measure_together(
        self,
        programs: Sequence[CompiledProgram],
        rounds: int,
        options: MeasureOptions | None = None,
    ) -> tuple[Outcome, ...]:
        """Run programs in turn, ``rounds`` times each, in one process, and return their outcomes.

        Sample k of one program was taken right beside sample k of the others, so that what slows
        the machine down for a while slows all of them down; it is the best of some runs in a row,
        if these are short. For a baseline beside a candidate,
        measure ``(session.problem.original, candidate)``. Of the options, the repetition rule and
        ``keep_contents`` have no effect. When a program fails, the others start anew without it.

        Raises:
            InputError: as :meth:`measure` does.
            ProblemError: as :meth:`measure` does.
            WorkerError: as :meth:`measure` does.
        """
        rule = Repetition(minimum=rounds, minimum_seconds=0.0, turn_seconds=_SLICE_SECONDS)
        options = replace(options or MeasureOptions(), repetition=rule, keep_contents=False)
        return self._measure(tuple(programs), options)

    def initial(self, index: int) -> bytes:
        """Return the initial contents of a buffer."""
        return self._read("initial", index)

    def expected(self, index: int) -> bytes:
        """Return what the original leaves in a buffer, which must be one that is compared."""
        self._check_compared(index)
        return self._read("expected", index)

    def array_statistics(
        self, index: int, shape: Sequence[int], part: str, *, from_measurement: bool = False
    ) -> dict[str, Any]:
        """Describe what the original leaves in a buffer, or what the last measurement kept of it.

        The figures are those of :mod:`polybench.summary`, of the elements that count under a part's
        name; the buffer stays where it is.

        Raises:
            InputError: as :meth:`expected` does, or :meth:`contents`.
        """
        body = {"shape": list(shape), "part": part}
        if not from_measurement:
            self._check_compared(index)
        answer, _ = self._request(
            "describe", "results" if from_measurement else "expected", index, body
        )
        result: dict[str, Any] = answer["figures"]
        return result

    def contents(self, index: int) -> bytes:
        """Return what the last measurement, which must have kept it, left in a buffer.

        Raises:
            InputError: the last measurement was not made with ``keep_contents``, or ended with
                neither Ok nor WrongOutput, or the worker's process has been lost since.
        """
        return self._read("results", index)

    def close(self) -> None:
        """Give the problem's memory back; harmless the second time."""
        if self._closed:
            return
        self._closed = True
        self._release()
        if self._connection is not None and not self._connection.is_closed:
            with suppress(ConnectionLostError):
                self._worker.ask(lambda connection: connection.exchange({"request": "forget"}))

    def _measure(
        self, programs: tuple[CompiledProgram, ...], options: MeasureOptions
    ) -> tuple[Outcome, ...]:
        check_programs(self.problem, programs)
        self._kept_on = None
        try:
            # The turn comes before the worker's own lock, here and where a problem is opened.
            with measurement_turn() as cores:
                job = job_messages.RunnerJob(
                    purpose=job_messages.JobPurpose.COMPARE,
                    programs=programs,
                    repetition=options.repetition,
                    run_seconds=options.time_limit.seconds(self.baseline.best),
                    preparation_seconds=self._worker.options.preparation_seconds,
                    keep_contents=options.keep_contents,
                    cores=cores,
                )
                body, blobs = job_messages.job_to_message(job)
                answer, _ = self._ask({"request": "measure", "job": body}, blobs)
        except ConnectionLostError as lost:
            return (crash_from_exit(lost.exit_code),) * len(programs)
        return tuple(outcome_from_json(item) for item in answer["outcomes"])

    def _check_compared(self, index: int) -> None:
        if index in range(len(self.problem.buffers)) and not self.problem.buffers[index].compared:
            name = self.problem.buffers[index].name
            raise InputError(f"buffer {name}: expected one that is compared, found one that is not")

    def _read(self, which: str, index: int) -> bytes:
        _, (contents,) = self._request("read", which, index, {})
        return contents

    def _request(
        self, request: str, which: str, index: int, more: job_messages.Json
    ) -> tuple[job_messages.Json, list[bytes]]:
        """Ask something about a buffer's contents in one of the sets."""
        if index not in range(len(self.problem.buffers)):
            raise InputError(
                f"buffer: expected an index below {len(self.problem.buffers)}, found {index}"
            )
        try:
            return self._ask({"request": request, "set": which, "buffer": index, **more})
        except ConnectionLostError as lost:
            raise WorkerError(f"the worker, reading a buffer twice: {lost}") from None

    def _ask(
        self, body: job_messages.Json, blobs: Sequence[bytes] = ()
    ) -> tuple[job_messages.Json, list[bytes]]:
        """Send a request about this problem, which is opened first where it is not open yet."""
        if self._closed:
            raise WorkerError("the session: expected it to be open, found it closed")

        def request(connection: Connection) -> tuple[job_messages.Json, list[bytes]]:
            if body.get("set") == "results" and connection is not self._kept_on:
                raise InputError(
                    "contents: expected a measurement with keep_contents before, found none"
                )
            if connection is not self._connection:
                self._open(connection, ONCE)
            return connection.exchange({**body, "problem": self._number}, blobs)

        return self._worker.ask(request)

    def _open(self, connection: Connection, repetition: Repetition) -> Ok:
        body, blobs = job_messages.problem_to_message(self.problem)
        options = self._worker.options
        message = {
            "request": "open",
            "problem": body,
            "repetition": asdict(repetition),
            "memory_limit": options.memory_limit,
            "original_seconds": options.original_seconds,
            "preparation_seconds": options.preparation_seconds,
        }
        answer, _ = connection.exchange(message, blobs)
        if "stage" in answer:
            raise ProblemError(answer["stage"], outcome_from_json(answer["outcome"]))
        self._connection = connection
        self._number: int = answer["problem"]
        # A session that is simply dropped gives its memory back with the next request.
        self._release = weakref.finalize(self, connection.forgotten.append, self._number)
        self._release.atexit = False
        return Ok(tuple(answer["baseline"]))


class Worker(Closeable):
    """A process in which programs are run and timed."""

    def __init__(self, options: WorkerOptions | None = None) -> None:
        """Keep the options; the process starts with the first problem."""
        self.options = options or WorkerOptions()
        self._closed = False
        self._server = OwnedServer()

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
        return self._server.process_id

    def ask(self, request: Callable[[Connection], _Answer]) -> _Answer:
        """Make a request on a live connection, and once more on a new one if that is lost.

        Raises:
            ConnectionLostError: the second connection was lost as well.
            WorkerError: the worker is closed, or cannot be started.
        """
        with self._server.lock():
            try:
                return request(self._connected())
            except ConnectionLostError:
                return request(self._connected())

    def end_process(self) -> None:
        """End the process at once, from another thread; the next request starts another one."""
        self._server.end_process()

    def close(self) -> None:
        """End the process; nothing of it stays. Harmless the second time."""
        with self._server.lock():
            self._closed = True
            self._server.end()

    def _connected(self) -> Connection:
        if self._closed:
            raise WorkerError("the worker: expected it to be open, found it closed")
        return self._server.connected()
