"""Jobs of a runner and its answers, as messages over a stream socket.

The three processes of the package (parent, supervisor, runner) speak in messages of JSON plus raw
bytes. This module is the one place that knows how values are written there: ``*_to_message``
appends object code to a list of byte strings and puts its position into the JSON,
``*_from_message`` reads that again.

Messages over a stream socket: a header with lengths, then JSON, then raw bytes.

The layout of a message, integers little-endian::

    uint32  length of the JSON text
    uint32  number of blobs
    uint64  length of each blob
    bytes   the JSON text, then the blobs

JSON carries no code, so nothing that arrives can do anything but fail to parse.
"""

import json
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, TypeAlias, assert_never

from polygym.ir.types import ScalarType
from polygym.runtime.worker.outcome import Outcome, outcome_from_json, outcome_to_json
from polygym.runtime.worker.problem import Buffer, CompiledProgram, Problem
from polygym.runtime.worker.timing import Repetition

Json: TypeAlias = dict[str, Any]


class JobPurpose(Enum):
    """What becomes of the buffers after a program's first run and after its last."""

    INITIALIZE = "initialise"  # they are the problem's initial data
    EXPECT = "expect"  # the first run's are what every later run and program must leave
    COMPARE = "compare"  # they are compared with what is expected


@dataclass(frozen=True, slots=True)
class RunnerJob:
    """Programs to be run round robin, each until its repetition rule is satisfied.

    ``run_seconds`` is the limit on each run, ``preparation_seconds`` on everything else. The
    remaining fields are those of :class:`polygym.runtime.worker.timing.MeasureOptions`, and the
    cores on which the programs may run (none stands for those of the supervisor).
    """

    purpose: JobPurpose
    programs: tuple[CompiledProgram, ...]
    repetition: Repetition
    run_seconds: float
    preparation_seconds: float
    keep_contents: bool = False
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class JobFinished:
    """Every program of the job ran and is right; the samples of each, in seconds."""

    samples: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class JobFailed:
    """The program at this position of the job failed, and the job ended there."""

    position: int
    outcome: Outcome


JobResult: TypeAlias = JobFinished | JobFailed


def job_to_message(job: RunnerJob) -> tuple[Json, list[bytes]]:
    """Return a job as a message."""
    blobs: list[bytes] = []
    body = {
        "purpose": job.purpose.value,
        "programs": [_program_to_message(program, blobs) for program in job.programs],
        "repetition": asdict(job.repetition),
        "run_seconds": job.run_seconds,
        "preparation_seconds": job.preparation_seconds,
        "keep_contents": job.keep_contents,
        "cores": list(job.cores),
    }
    return body, blobs


def job_from_message(body: Json, blobs: Sequence[bytes]) -> RunnerJob:
    """Return the job of a message."""
    return RunnerJob(
        purpose=JobPurpose(body["purpose"]),
        programs=tuple(_program_from_message(item, blobs) for item in body["programs"]),
        repetition=Repetition(**body["repetition"]),
        run_seconds=body["run_seconds"],
        preparation_seconds=body["preparation_seconds"],
        keep_contents=body["keep_contents"],
        cores=tuple(body["cores"]),
    )


def job_result_to_json(verdict: JobResult) -> Json:
    """Return a verdict as JSON."""
    match verdict:
        case JobFinished(samples):
            return {"samples": [list(times) for times in samples]}
        case JobFailed(position, outcome):
            return {"position": position, "outcome": outcome_to_json(outcome)}
        case _:
            assert_never(verdict)


def job_result_from_json(body: Json) -> JobResult:
    """Return the verdict that :func:`job_result_to_json` wrote."""
    if "samples" in body:
        return JobFinished(tuple(tuple(times) for times in body["samples"]))
    return JobFailed(body["position"], outcome_from_json(body["outcome"]))


def problem_to_message(problem: Problem) -> tuple[Json, list[bytes]]:
    """Return a problem as a message."""
    blobs: list[bytes] = []
    body = {
        "buffers": [
            [
                buffer.name,
                buffer.type.value,
                buffer.elements,
                buffer.compared,
                buffer.constant,
            ]
            for buffer in problem.buffers
        ],
        "initialise": _program_to_message(problem.initialize, blobs),
        "original": _program_to_message(problem.original, blobs),
    }
    return body, blobs


def problem_from_message(body: Json, blobs: Sequence[bytes]) -> Problem:
    """Return the problem of a message."""
    return Problem(
        buffers=tuple(
            Buffer(name, ScalarType(scalar), elements, compared, constant)
            for name, scalar, elements, compared, constant in body["buffers"]
        ),
        initialize=_program_from_message(body["initialise"], blobs),
        original=_program_from_message(body["original"], blobs),
    )


def _program_to_message(program: CompiledProgram, blobs: list[bytes]) -> Json:
    blobs.append(program.object_code)
    return {
        "code": len(blobs) - 1,
        "buffers": list(program.buffers),
        "parameters": list(program.parameters),
        "tolerance": program.tolerance,
        "complaints": list(program.range_errors),
    }


def _program_from_message(body: Json, blobs: Sequence[bytes]) -> CompiledProgram:
    return CompiledProgram(
        blobs[body["code"]],
        tuple(body["buffers"]),
        tuple(body["parameters"]),
        body["tolerance"],
        tuple(body["complaints"]),
    )


_HEADER = struct.Struct("<II")
_LENGTH = struct.Struct("<Q")
_CHUNK = 1 << 20


class ChannelClosedError(Exception):
    """The other end is gone."""


class Channel:
    """One end of a conversation.

    ``before_receive`` is called before every wait for bytes; the supervisor looks there whether its
    parent is still alive.
    """

    def __init__(
        self, connection: socket.socket, before_receive: Callable[[], None] | None = None
    ) -> None:
        """Take over a connected stream socket."""
        self._socket = connection
        self._before_receive = before_receive

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._socket.fileno()

    def send(self, body: Json, blobs: Sequence[bytes | memoryview] = ()) -> None:
        """Send one message.

        Raises:
            ChannelClosedError: the other end is gone.
        """
        text = json.dumps(body).encode()
        lengths = b"".join(_LENGTH.pack(len(blob)) for blob in blobs)
        try:
            self._socket.sendall(_HEADER.pack(len(text), len(blobs)) + lengths + text)
            for blob in blobs:
                self._socket.sendall(blob)
        except OSError as error:
            raise ChannelClosedError(str(error)) from error

    def receive(self) -> tuple[Json, list[bytes]]:
        """Wait for one message and return its JSON and its blobs.

        Raises:
            ChannelClosedError: the other end is gone, or what it sent is not a message.
        """
        text_length, count = _HEADER.unpack(self._exactly(_HEADER.size))
        lengths = [_LENGTH.unpack(self._exactly(_LENGTH.size))[0] for _ in range(count)]
        text = self._exactly(text_length)
        blobs = [self._exactly(length) for length in lengths]
        try:
            body = json.loads(text)
        except ValueError as error:
            raise ChannelClosedError(f"expected a JSON object: {error}") from error
        if not isinstance(body, dict):
            raise ChannelClosedError(f"expected a JSON object, found {body!r}")
        return body, blobs

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            if self._before_receive is not None:
                self._before_receive()
            try:
                chunk = self._socket.recv(min(size - len(received), _CHUNK))
            except OSError as error:
                raise ChannelClosedError(str(error)) from error
            if not chunk:
                raise ChannelClosedError("the other end closed the connection")
            received += chunk
        return bytes(received)
