"""Programs on a GPU, run in another process: the user's outlives whatever a kernel does.

A run ends as an outcome (:mod:`polygym.runtime.worker.outcome`): a kernel that faults is a crash
with CUDA's name of the error, one that goes past its limit a timeout. After both the context is
made anew at the next request.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygym import errors
from polygym.closeable import Closeable
from polygym.errors import DriverError, InputError, InternalError, OutOfRangeError
from polygym.gpu.device_program import DeviceProgram
from polygym.gpu.ptx.compile_ptx import DeviceCode
from polygym.pickling import pickle_by_name
from polygym.runtime.device.device import DeviceProperties
from polygym.runtime.worker.connection import AnswerTimeoutError, ConnectionLostError, OwnedServer
from polygym.runtime.worker.job_messages import Json
from polygym.runtime.worker.outcome import (
    Crash,
    DoesNotCompile,
    Ok,
    Outcome,
    OutOfMemory,
    OutOfRange,
    Timeout,
    crash_from_exit,
)

_SERVER = "polygym.runtime.device.server"
_START_SECONDS = 60.0  # for a context, which takes a second or two
_REFUSED_CODE = frozenset({200, 209, 218, 222})  # no or wrong machine code, PTX refused

Array = np.ndarray[Any, np.dtype[Any]]


@pickle_by_name
@dataclass(frozen=True, slots=True)
class DeviceRun:
    """The outcome of a run, and the arrays asked for, by name; none unless it ended well."""

    outcome: Outcome
    arrays: Mapping[str, Array]


class KeptArrays:
    """Arrays that stay on the device from one run to the next, until a run has others."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        """Keep the arrays, which are not to change from now on."""
        self.arrays = dict(arrays)


class DeviceWorker(Closeable):
    """A GPU, used by a process of its own; close it, or leave it to ``with``."""

    def __init__(self, ordinal: int = 0) -> None:
        """Keep the number of the device; the process starts at the first request."""
        self.ordinal = ordinal
        self._server = OwnedServer(_SERVER)
        self._kept: tuple[int, KeptArrays] | None = None  # by which process

    def close(self) -> None:
        """End the process, if there is one."""
        self._server.end()

    @property
    def process_id(self) -> int | None:
        """The id of the process; None while there is none."""
        return self._server.process_id

    def properties(self) -> DeviceProperties:
        """Return what is known of the device.

        Raises:
            MissingDeviceError: there is no driver, or no such device.
        """
        answer, _ = self._exchange({"task": "properties"}, [], _START_SECONDS)
        _raise_error(answer)
        values = answer["properties"]
        return DeviceProperties(**{**values, "driver": tuple(values["driver"])})

    def run(
        self,
        program: DeviceProgram,
        code: DeviceCode,
        arrays: Mapping[str, Array] | KeptArrays,
        parameters: Mapping[str, int],
        *,
        results: Sequence[str] = (),
        runs: int = 1,
        seconds: float = 30.0,
    ) -> DeviceRun:
        """Run a program so often, from the same contents of its arrays, and return its times.

        ``seconds`` is the limit on all of it, arrays sent and copied included, but not on the start
        of the process. ``results`` are arrays whose contents after the last run are to be returned.

        Raises:
            MissingDeviceError: there is no driver, or no such device.
            InputError: the arguments do not fit the program or the device.
        """
        kept = arrays if isinstance(arrays, KeptArrays) else KeptArrays(arrays)
        with self._server.lock():  # nobody else replaces the arrays on the device meanwhile
            return self._run(program, code, kept, parameters, results, runs, seconds)

    def _run(
        self,
        program: DeviceProgram,
        code: DeviceCode,
        kept: KeptArrays,
        parameters: Mapping[str, int],
        results: Sequence[str],
        runs: int,
        seconds: float,
    ) -> DeviceRun:
        arrays, limit = kept.arrays, _START_SECONDS
        try:
            if self.process_id is None:  # a context takes its time, which is none of the run
                answer, _ = self._exchange({"task": "properties"}, [], limit)
                if "driver_error" in answer:
                    return DeviceRun(_outcome(answer), {})
                _raise_error(answer)
            limit = seconds
            request = self._request(program, code, kept, parameters, results, runs)
            answer, found = self._exchange(*request, limit)
        except AnswerTimeoutError:
            return DeviceRun(Timeout(limit), {})
        except ConnectionLostError as error:
            return DeviceRun(crash_from_exit(error.exit_code), {})
        if "samples" in answer and self.process_id is not None:
            self._kept = (self.process_id, kept)
        outcome = _outcome(answer)
        if not isinstance(outcome, Ok):
            return DeviceRun(outcome, {})
        shaped = {
            name: np.frombuffer(data, dtype=arrays[name].dtype).reshape(arrays[name].shape)
            for name, data in zip(results, found, strict=True)
        }
        return DeviceRun(outcome, shaped)

    def _request(
        self,
        program: DeviceProgram,
        code: DeviceCode,
        kept: KeptArrays,
        parameters: Mapping[str, int],
        results: Sequence[str],
        runs: int,
    ) -> tuple[Json, list[bytes]]:
        """Return the request of a run, with the arrays unless the process has them."""
        arrays = kept.arrays
        is_new = self._kept != (self.process_id, kept)
        values = arrays.values() if is_new else ()
        contents = [np.ascontiguousarray(value).tobytes() for value in values]
        body = {
            "task": "run",
            "is_new": is_new,
            "arrays": list(arrays),
            "parameters": dict(parameters),
            "results": list(results),
            "runs": runs,
        }
        return body, [pickle.dumps((program, code)), *contents]

    def _exchange(
        self, body: Json, blobs: Sequence[bytes], seconds: float
    ) -> tuple[Json, list[bytes]]:
        with self._server.lock():
            request = {**body, "ordinal": self.ordinal}
            answer, found = self._server.connected().exchange(request, blobs, seconds)
            if "error_type" in answer or "driver_error" in answer:
                self._kept = None  # which may have come before or after arrays were taken
            if "driver_error" in answer and _driver_error(answer).is_fatal:
                self._server.kill()
            return answer, found


def _driver_error(answer: Json) -> DriverError:
    return DriverError(**answer["driver_error"])


def _outcome(answer: Json) -> Outcome:
    """Return how a run ended, from the server's answer."""
    if "driver_error" in answer:
        error = _driver_error(answer)
        if error.number in _REFUSED_CODE:
            return DoesNotCompile(str(error))
        return Crash(0, error.name)
    if answer.get("error_type") == OutOfRangeError.__name__:
        return OutOfRange(answer["error"])
    if answer.get("error_type") == MemoryError.__name__:
        return OutOfMemory(answer["error"])
    _raise_error(answer)
    return Ok(tuple(answer["samples"]))


def _raise_error(answer: Json) -> None:
    """Raise the error of an answer, if it has one."""
    if "driver_error" in answer:
        raise _driver_error(answer)
    if "error_type" in answer:
        kind = getattr(errors, answer["error_type"], InternalError)
        raise (kind if issubclass(kind, InputError) else InternalError)(answer["error"])
