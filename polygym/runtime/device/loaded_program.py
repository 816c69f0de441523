"""Device programs on a device: their code, their arguments, their runs and the times of these.

The launches of a run are known beforehand. If they are many they are noted once as a graph of the
driver's, which takes a microsecond for a launch where a call takes several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from math import prod
from types import TracebackType

import numpy as np

from polygym.codegen.llvm.core.binary_interface import BROKEN_ASSUMPTION_TEXTS
from polygym.codegen.llvm.emit_module import caller_arrays
from polygym.codegen.loopir.index_arithmetic import evaluate_index
from polygym.errors import InputError, InternalError, OutOfRangeError
from polygym.foreign import cuda_driver
from polygym.foreign.cuda_driver import LaunchArguments
from polygym.gpu.device_program import STATIC_SHARED_BYTES, DeviceProgram
from polygym.gpu.ptx.compile_ptx import DeviceCode
from polygym.ir.gathers import computed_subscripts
from polygym.ir.scop import Array
from polygym.programs.dtypes import dtype_of
from polygym.runtime.device.device import Device
from polygym.runtime.device.launch_plan import PlannedLaunch, launch_plan

_LEAST_FOR_GRAPH, _MOST_FOR_GRAPH = 4, 20_000
_NOTE_BYTES = 4


class LoadedProgram:
    """A program whose code is on a device."""

    def __init__(self, program: DeviceProgram, code: DeviceCode, device: Device) -> None:
        """Load the code.

        Raises:
            DriverError: the driver refuses it.
            InputError: a kernel needs more shared memory than a block of this device can have.
        """
        self.program, self.code, self.device = program, code, device
        most = device.properties.shared_per_block
        for kernel in code.kernels:
            if kernel.shared > most:
                raise InputError(
                    f"kernel {kernel.name}: expected at most {most} bytes of shared memory on "
                    f"{device.properties.name}, found {kernel.shared}"
                )
        self._module = cuda_driver.load_module(code.ptx.encode())
        self.signatures = {kernel.name: kernel for kernel in code.kernels}
        self.functions = {
            name: cuda_driver.function_of(self._module, name) for name in self.signatures
        }
        for name, kernel in self.signatures.items():
            if kernel.shared > STATIC_SHARED_BYTES:
                cuda_driver.allow_shared(self.functions[name], kernel.shared)

    def close(self) -> None:
        """Unload the code."""
        cuda_driver.unload_module(self._module)

    def __enter__(self) -> LoadedProgram:
        """Return the program."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Unload the code, unless the device is lost."""
        if error is None:
            self.close()

    def array_bytes(self, parameters: Mapping[str, int]) -> dict[str, int]:
        """Return how many bytes every array of the program takes at sizes."""
        program = self.program.program
        sizes = {**parameters, **dict(program.sizes or ())}
        return {
            array.name: array.type.size
            * prod(max(evaluate_index(extent, sizes), 0) for extent in extents)
            for array, extents in zip(program.scop.arrays, program.extents, strict=True)
        }

    @contextmanager
    def bound(
        self,
        addresses: Mapping[str, int],
        parameters: Mapping[str, int],
        *,
        repeats: bool = True,
    ) -> Iterator[BoundProgram]:
        """Lend the program with its arguments: the arrays of the caller by name, and sizes.

        It is to be run several times, unless ``repeats`` says otherwise.

        Raises:
            MemoryError: the device has no memory for the arrays that the program makes for itself.
        """
        program = self.program.program
        known = dict(program.sizes or ())
        for name, value in parameters.items():
            if known.setdefault(name, value) != value:
                raise InputError(f"{name}: expected the size {known[name]}, found {value}")
        with ExitStack() as stack:
            places = dict(addresses)
            sizes = self.array_bytes(known)
            given = {array.name for array in caller_arrays(program.scop)}
            for array in self._global_arrays():
                if array.name in given and not self._needs_copy(array):
                    if array.name not in places:
                        raise InputError(f"{array.name}: expected an array, found none")
                    continue
                places[array.name] = stack.enter_context(self.device.memory(sizes[array.name]))
            note = stack.enter_context(self.device.memory(_NOTE_BYTES))
            bound = BoundProgram(self, addresses, places, note, known, repeats=repeats)
            try:
                yield bound
            finally:
                bound.end()

    def _global_arrays(self) -> tuple[Array, ...]:
        touched = {name for kernel in self.code.kernels for name in kernel.arrays}
        return tuple(own for own in self.program.program.scop.arrays if own.name in touched)

    def _needs_copy(self, array: Array) -> bool:
        """Whether a run works on a copy: of a scalar that it writes and nobody sees."""
        written = {own.write.array for own in self.program.program.scop.statements}
        return not array.rank and not array.live_out and array.name in written

    def copied_scalars(self) -> tuple[Array, ...]:
        """Return the scalars of the caller of which each run has a copy."""
        given = caller_arrays(self.program.program.scop)
        return tuple(own for own in self._global_arrays() if own in given and self._needs_copy(own))

    def initialized_arrays(self) -> tuple[Array, ...]:
        """Return the arrays that begin with values of the source."""
        return tuple(own for own in self._global_arrays() if own.initial is not None)


class BoundProgram:
    """A program with its arguments, to be run as often as one likes."""

    def __init__(
        self,
        loaded: LoadedProgram,
        addresses: Mapping[str, int],
        places: Mapping[str, int],
        note: int,
        sizes: Mapping[str, int],
        *,
        repeats: bool,
    ) -> None:
        """Keep where everything is; note the launches as a graph if they are many.

        Raises:
            LimitError: there are too many launches, or a grid is too large.
        """
        plan = launch_plan(loaded.program, loaded.code.kernels, sizes)
        self._loaded, self.note, self._plan = loaded, note, plan
        self._places, self._addresses, self._sizes = places, addresses, sizes
        self._arguments: dict[PlannedLaunch, LaunchArguments] = {}
        self._constants = {
            own.name: np.array(own.initial, dtype=dtype_of(own.type))
            for own in loaded.initialized_arrays()
        }
        self._graph = 0
        if self.checks_subscripts:
            self._clear_note()
        if repeats and _LEAST_FOR_GRAPH <= len(plan) <= _MOST_FOR_GRAPH:
            cuda_driver.begin_capture(self._stream)
            try:
                self._launch_all()
            except BaseException:
                cuda_driver.discard_capture(self._stream)
                raise
            self._graph = cuda_driver.end_capture(self._stream)

    @property
    def _stream(self) -> int:
        return self._loaded.device.stream

    @property
    def checks_subscripts(self) -> bool:
        """Whether :meth:`wait` tells of computed subscripts that are out of range."""
        return any(kernel.takes_note for kernel in self._loaded.code.kernels)

    def run(self) -> None:
        """Ask the device for one run; :meth:`wait` says how it went."""
        self._prepare()
        if self._graph:
            cuda_driver.launch_graph(self._graph, self._stream)
        else:
            self._launch_all()

    def wait(self) -> None:
        """Wait until all runs are done.

        Raises:
            DriverError: a kernel failed.
            OutOfRangeError: a computed subscript was out of range.
        """
        self._loaded.device.wait()
        if not self.checks_subscripts:
            return
        number = np.zeros(1, dtype=np.uint32)
        cuda_driver.copy_from_device(number.ctypes.data, self.note, _NOTE_BYTES, self._stream)
        self._loaded.device.wait()
        if number[0]:
            self._clear_note()
            raise self._broken(int(number[0]))

    def _clear_note(self) -> None:
        cuda_driver.fill(self.note, 0, _NOTE_BYTES, self._stream)

    def timed(self) -> float:
        """Return the seconds that one run takes on the device, after it is done."""
        start, end = cuda_driver.new_event(), cuda_driver.new_event()
        self._prepare()
        cuda_driver.record_event(start, self._stream)
        if self._graph:
            cuda_driver.launch_graph(self._graph, self._stream)
        else:
            self._launch_all()
        cuda_driver.record_event(end, self._stream)
        self.wait()
        cuda_driver.wait_for_event(end)
        seconds = cuda_driver.seconds_between(start, end)
        for event in (start, end):
            cuda_driver.end_event(event)
        return seconds

    def end(self) -> None:
        """Forget the graph."""
        graph, self._graph = self._graph, 0
        if graph:
            cuda_driver.end_graph(graph)

    def _prepare(self) -> None:
        """Set what a run begins with: the source's values, copies of scalars."""
        for array in self._loaded.copied_scalars():
            place, source = self._places[array.name], self._addresses.get(array.name)
            if source is not None and array.initial is None:
                cuda_driver.copy_on_device(place, source, array.type.size, self._stream)
        for name, values in self._constants.items():
            cuda_driver.copy_to_device(
                self._places[name], values.ctypes.data, values.nbytes, self._stream
            )

    def _launch_all(self) -> None:
        loaded = self._loaded
        for planned in self._plan:
            signature = loaded.signatures[planned.kernel]
            if planned not in self._arguments:
                addresses = [self._places[name] for name in signature.arrays]
                note = [self.note] * signature.takes_note
                self._arguments[planned] = LaunchArguments([*addresses, *planned.values, *note])
            cuda_driver.launch(
                loaded.functions[planned.kernel],
                planned.grid,
                signature.block,
                signature.shared,
                self._stream,
                self._arguments[planned],
            )

    def _broken(self, note: int) -> InputError | InternalError:
        """Return the error of a note (:mod:`polygym.codegen.llvm.core.runtime_checks`)."""
        program = self._loaded.program.program
        subscripts = computed_subscripts(program.scop)
        if note > len(subscripts):
            return InternalError(BROKEN_ASSUMPTION_TEXTS[len(subscripts) - note])
        site = subscripts[len(subscripts) - note]
        arrays = zip(program.scop.arrays, program.extents, strict=True)
        extents = next(extents for array, extents in arrays if array.name == site.array)
        size = evaluate_index(extents[site.dimension], self._sizes)
        return OutOfRangeError(site.out_of_range_message(size))
