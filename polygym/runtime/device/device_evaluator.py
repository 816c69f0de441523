"""Schedules of a program under mappings to a GPU: run there, compared with the CPU, timed.

Inputs and expected outputs are those of the CPU's worker: the program's initial data, and what its
original order leaves. Outputs in floating point are compared to a tolerance, since functions of
libdevice are not those of the C library, all others bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygym.closeable import Closeable
from polygym.codegen.contraction import legal_with_storage
from polygym.errors import InputError, InternalError, MissingDeviceError
from polygym.gpu.device_program import DeviceProgram
from polygym.gpu.mapping.device_mapping import DEFAULT_DEVICE_MAPPING, DeviceMapping
from polygym.gpu.mapping.device_model import model_for
from polygym.gpu.mapping.pipeline import map_to_device
from polygym.gpu.ptx.compile_ptx import DeviceCode, compile_ptx
from polygym.mapping.mapping import Mapping
from polygym.poly.schedule import Schedule
from polygym.programs.program import Program
from polygym.runtime.device.worker import DeviceWorker, KeptArrays
from polygym.runtime.evaluation.compilation import compile_problem, output_tolerance
from polygym.runtime.worker.outcome import DoesNotCompile, Ok, Outcome, WrongOutput
from polygym.runtime.worker.output_comparison import first_difference
from polygym.runtime.worker.worker import Worker

_REASSOCIATED = Mapping(reassociate=True)


class DeviceEvaluator(Closeable):
    """Judges schedules of a program under mappings to a GPU; close it, or leave it to ``with``."""

    def __init__(self, program: Program, device: DeviceWorker, cpu: Worker | None = None) -> None:
        """Run the program's original order on the CPU.

        Raises:
            MissingDeviceError: there is no driver, or no such device.
            ProblemError: the original order does not run.
        """
        self.program = program
        self._device = device
        self._architecture = device.properties().architecture
        self._owned = None if cpu else Worker()
        problem = compile_problem(program)
        self._session = (cpu or self._owned or Worker()).open(problem)
        self._buffers = {buffer.name: k for k, buffer in enumerate(problem.buffers)}
        self._problem = problem
        given = {own.name for own in program.as_written.arrays}
        self._arrays = KeptArrays(
            {
                name: self._bytes(self._session.initial(place))
                for name, place in self._buffers.items()
                if name in given
            }
        )
        self._tolerance = output_tolerance(program, _REASSOCIATED)

    def close(self) -> None:
        """End the use of the CPU's worker; the device's is its owner's."""
        self._session.close()
        if self._owned is not None:
            self._owned.close()

    def compile(
        self, schedule: Schedule, mapping: DeviceMapping
    ) -> tuple[DeviceProgram, DeviceCode]:
        """Return a schedule under a mapping as code for the device.

        Raises:
            IllegalScheduleError: the schedule is not legal.
            InputError: a function is none of a GPU's.
        """
        program = self.program
        legal = legal_with_storage(program.storage, program.scop, schedule)
        device = map_to_device(
            legal, mapping, dict(program.parameters), model_for(self._architecture)
        )
        return device, compile_ptx(device, self._architecture)

    def evaluate(
        self,
        schedule: Schedule,
        mapping: DeviceMapping = DEFAULT_DEVICE_MAPPING,
        *,
        runs: int = 5,
        seconds: float = 20.0,
    ) -> Outcome:
        """Measure a legal schedule under a mapping; ``seconds`` is the limit on all runs.

        Raises:
            MissingDeviceError: there is no driver, or no such device.
        """
        try:
            device, code = self.compile(schedule, mapping)
        except (InputError, InternalError) as error:
            return DoesNotCompile(str(error))
        compared = [name for name, place in self._buffers.items() if self._is_result(place)]
        try:
            done = self._device.run(
                device,
                code,
                self._arrays,
                dict(self.program.parameters),
                results=compared,
                runs=runs,
                seconds=seconds,
            )
        except MissingDeviceError:
            raise
        except InputError as error:  # the device cannot have so much shared memory, for instance
            return DoesNotCompile(str(error))
        if not isinstance(done.outcome, Ok):
            return done.outcome
        for name in compared:
            wrong = self._difference(name, done.arrays[name], done.outcome.samples)
            if wrong is not None:
                return wrong
        return done.outcome

    def _is_result(self, place: int) -> bool:
        buffer = self._problem.buffers[place]
        return buffer.compared and not buffer.constant and buffer.name in self._arrays.arrays

    def _difference(
        self, name: str, found: np.ndarray[Any, Any], samples: tuple[float, ...]
    ) -> WrongOutput | None:
        place = self._buffers[name]
        expected, actual = self._bytes(self._session.expected(place)), np.ascontiguousarray(found)
        difference = first_difference(
            self._problem.buffers[place],
            expected.ctypes.data,
            actual.ctypes.data,
            self._tolerance,
        )
        if difference is None:
            return None
        return WrongOutput(name, difference.index, difference.expected, difference.found, samples)

    @staticmethod
    def _bytes(content: bytes) -> np.ndarray[Any, Any]:
        return np.frombuffer(content, dtype=np.uint8)
