"""The supervisor: the process between the parent and the measured code.

The parent starts it (:mod:`polygym.runtime.worker.connection`) and sends requests; the supervisor
holds the shared memory of the open problems and has each job done by a runner
(:mod:`polygym.runtime.worker.runner_control`). It never executes generated code. It ends, and takes
its runner with it, as soon as the parent closes the connection or ends in whatever way, also while
a job is running. The processes::

    parent  --socket, JSON and bytes-->  supervisor  --fork, one a job-->  runner

Requests and their answers, as JSON (object code and contents travel as bytes behind it):

* ``open``: allocate a problem, write its initial data, run the original; ``{problem, baseline}`` or
  ``{stage, outcome}`` where that failed;
* ``measure``: run programs on an open problem; ``{outcomes}``, one for each program;
* ``read``: the contents of a buffer in one of the shared sets; ``{}`` and the bytes;
* ``describe``: the same as figures, without a copy of it; ``{figures}``;
* ``forget``: nothing more; ``{}``. Every request carries a list ``forget`` of problems whose memory
  is given back first.
"""

import gc
import os
import select
import socket
import sys
from dataclasses import replace
from itertools import count
from typing import assert_never

from polygym.runtime import loader
from polygym.runtime.worker import job_messages
from polygym.runtime.worker.outcome import Ok, Outcome, OutOfMemory, outcome_to_json
from polygym.runtime.worker.output_comparison import array_statistics, prepare_tolerance
from polygym.runtime.worker.runner_control import OpenProblem, RunnerControl, open_memory
from polygym.runtime.worker.server_process import ParentGoneError, ParentWatch, begin_server
from polygym.runtime.worker.timing import ONCE, Repetition, available_memory


class _StageError(Exception):
    """A problem cannot be opened: at which stage, and why."""

    def __init__(self, stage: str, outcome: Outcome) -> None:
        self.stage = stage
        self.outcome = outcome
        super().__init__(f"{stage}: {outcome}")


class Supervisor:
    """The state of the process: open problems, the keeper of the runner, the way to the parent."""

    def __init__(self, connection: socket.socket, watch: ParentWatch) -> None:
        """Take over the connection to the parent."""
        self._watch = watch
        self._connection = connection
        self._channel = job_messages.Channel(connection, self._wait_for_parent)
        self._keeper = RunnerControl((connection.fileno(), *watch.descriptors), self._check_silence)
        self._problems: dict[int, OpenProblem] = {}
        self._numbers = count()

    def serve(self) -> None:
        """Answer requests until the parent is gone."""
        try:
            while True:
                body, blobs = self._channel.receive()
                for number in body["forget"]:
                    self._forget(number)
                self._channel.send(*self._answer(body, blobs))
                if body["request"] == "measure":
                    self._keeper.stop()
                    self._keeper.fork_spare(self._problems[body["problem"]])
        finally:
            self._keeper.stop()

    def _answer(
        self, body: job_messages.Json, blobs: list[bytes]
    ) -> tuple[job_messages.Json, list[memoryview]]:
        match body["request"]:
            case "open":
                return self._open(body, blobs), []
            case "measure":
                job = job_messages.job_from_message(body["job"], blobs)
                outcomes = self._measure(self._problems[body["problem"]], job)
                return {"outcomes": [outcome_to_json(outcome) for outcome in outcomes]}, []
            case "read":
                memory = self._problems[body["problem"]].memory
                return {}, [memory.contents(body["set"], body["buffer"])]
            case "describe":
                memory = self._problems[body["problem"]].memory
                contents = memory.contents(body["set"], body["buffer"])
                scalar = memory.buffers[body["buffer"]].type
                return {
                    "figures": array_statistics(contents, scalar, body["shape"], body["part"])
                }, []
            case "forget":
                return {}, []
            case other:
                raise ParentGoneError(f"expected a request, found {other!r}")

    def _open(self, body: job_messages.Json, blobs: list[bytes]) -> job_messages.Json:
        problem = job_messages.problem_from_message(body["problem"], blobs)
        try:
            opened = open_memory(problem, body["memory_limit"] or available_memory())
        except MemoryError as error:
            return _failure("memory", OutOfMemory(str(error)))

        initialise = job_messages.RunnerJob(
            job_messages.JobPurpose.INITIALIZE,
            (problem.initialize,),
            ONCE,
            body["original_seconds"],
            body["preparation_seconds"],
        )
        original = replace(
            initialise,
            purpose=job_messages.JobPurpose.EXPECT,
            programs=(problem.original,),
            repetition=Repetition(**body["repetition"]),
        )
        try:
            samples = self._prepare(opened, initialise, original)
        except _StageError as failed:
            opened.close()
            return _failure(failed.stage, failed.outcome)
        number = next(self._numbers)
        self._problems[number] = opened
        self._keeper.fork_spare(opened)
        return {"problem": number, "baseline": list(samples)}

    def _prepare(
        self,
        opened: OpenProblem,
        initialize: job_messages.RunnerJob,
        original: job_messages.RunnerJob,
    ) -> tuple[float, ...]:
        """Make the initial data, run the original, and return its samples."""
        self._stage("initial data", opened, initialize)
        try:
            opened.memory.read_only.move_from(opened.memory.initial)
        except MemoryError as error:
            raise _StageError("memory", OutOfMemory(str(error))) from error
        return self._stage("original program", opened, original)

    def _stage(
        self, name: str, opened: OpenProblem, job: job_messages.RunnerJob
    ) -> tuple[float, ...]:
        """Do one of the two jobs that have to succeed before anything else can be measured."""
        verdict = self._keeper.run(opened, job)
        self._keeper.stop()
        match verdict:
            case job_messages.JobFailed(_, outcome):
                raise _StageError(name, outcome)
            case job_messages.JobFinished(samples):
                return samples[0]
            case _:
                assert_never(verdict)

    def _measure(self, opened: OpenProblem, job: job_messages.RunnerJob) -> list[Outcome]:
        """Run the programs together, in one runner after another if the job has parts."""
        if any(program.tolerance is not None for program in job.programs):
            prepare_tolerance()
        first, *others = job.repetition.parts()
        outcomes = self._run_together(
            opened, replace(job, repetition=first), list(range(len(job.programs)))
        )
        for repetition in others:
            self._keeper.stop()
            going = [index for index, outcome in outcomes.items() if isinstance(outcome, Ok)]
            part = self._run_together(opened, replace(job, repetition=repetition), going)
            for index, outcome in part.items():
                before = outcomes[index]
                if isinstance(before, Ok) and isinstance(outcome, Ok):
                    outcome = Ok(before.samples + outcome.samples)
                outcomes[index] = outcome
        return [outcomes[index] for index in range(len(job.programs))]

    def _run_together(
        self, opened: OpenProblem, job: job_messages.RunnerJob, remaining: list[int]
    ) -> dict[int, Outcome]:
        """Run some of the programs; those left over by one that fails start anew without it."""
        outcomes: dict[int, Outcome] = {}
        while remaining:
            programs = tuple(job.programs[index] for index in remaining)
            verdict = self._keeper.run(opened, replace(job, programs=programs))
            match verdict:
                case job_messages.JobFinished(samples):
                    outcomes.update(zip(remaining, map(Ok, samples), strict=True))
                    break
                case job_messages.JobFailed(position, outcome):
                    outcomes[remaining.pop(position)] = outcome
                    self._keeper.stop()
                case _:
                    assert_never(verdict)
        return outcomes

    def _forget(self, number: int) -> None:
        self._keeper.stop()  # the spare may be for this problem
        self._problems.pop(number).close()

    def _wait_for_parent(self) -> None:
        """Wait until the parent sends something; raise ParentGoneError if it never will."""
        poller = select.poll()
        for descriptor in (self._connection.fileno(), *self._watch.descriptors):
            poller.register(descriptor, select.POLLIN)
        while not any(fd == self._connection.fileno() for fd, _ in poller.poll(500)):
            self._watch.check()

    def _check_silence(self) -> None:
        """Raise ParentGoneError if the parent ended, hung up, or sent something during a job."""
        self._watch.check()
        poller = select.poll()
        poller.register(self._connection, select.POLLIN)
        if poller.poll(0):
            raise ParentGoneError


def _failure(stage: str, outcome: Outcome) -> job_messages.Json:
    return {"stage": stage, "outcome": outcome_to_json(outcome)}


def main(descriptor: int, parent: int) -> None:
    """Be a supervisor for the process ``parent``, which holds the other end of the socket."""
    watch = begin_server(parent)
    try:
        connection = socket.socket(fileno=descriptor)
        supervisor = Supervisor(connection, watch)
        loader.create_linker()
        gc.collect()
        gc.freeze()  # what exists now stays: collecting would copy pages shared with the runners
        job_messages.Channel(connection).send({"ready": os.getpid()})
        supervisor.serve()
    except (ParentGoneError, job_messages.ChannelClosedError):
        sys.exit(0)
