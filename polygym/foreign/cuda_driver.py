"""NVIDIA's driver: devices, memory, modules, streams, events, graphs and launches.

The library ``libcuda.so.1`` belongs to the driver of the machine and is opened when it is first
needed. Handles and addresses are integers. What the driver refuses is a
:class:`polygym.errors.DriverError` with CUDA's name of the error; where there is no memory on the
device it is a MemoryError.

Calls need a current context (:func:`use_context`). It is the device's primary one, which other
libraries of the process, PyTorch for instance, use as well.
"""

from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from typing import Any

from polygym.errors import DriverError, MissingDeviceError
from polygym.foreign._cuda import ffi

LIBRARY = "libcuda.so.1"
"""The name by which the driver's library is opened."""

_OUT_OF_MEMORY = 2
_ERROR_LOG, _ERROR_LOG_BYTES = 5, 6  # CU_JIT_ERROR_LOG_BUFFER and its size
_LOG_BYTES = 16 * 1024
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
_RELAXED_CAPTURE = 2  # CU_STREAM_CAPTURE_MODE_RELAXED

_LIBRARIES: dict[str, Any] = {}


class DeviceAttribute(IntEnum):
    """Attributes of a device, by CUDA's numbers."""

    WARP_SIZE = 10
    MULTIPROCESSORS = 16
    MEMORY_CLOCK_KILOHERTZ = 36
    MEMORY_BUS_BITS = 37
    CACHE_BYTES = 38
    THREADS_PER_MULTIPROCESSOR = 39
    MAJOR = 75
    MINOR = 76
    SHARED_PER_MULTIPROCESSOR = 81
    REGISTERS_PER_MULTIPROCESSOR = 82
    SHARED_PER_BLOCK = 97


def _library() -> Any:
    """Return the driver's library, initialised.

    Raises:
        MissingDeviceError: there is none, or it has no device.
    """
    if LIBRARY not in _LIBRARIES:
        try:
            library = ffi.dlopen(LIBRARY)
        except OSError:
            raise MissingDeviceError(
                f"device=cuda: expected NVIDIA's driver ({LIBRARY}), found none on this machine"
            ) from None
        code = library.cuInit(0)
        if code:
            raise MissingDeviceError(
                f"device=cuda: expected a GPU that the driver can use, found {_name(library, code)}"
            )
        _LIBRARIES[LIBRARY] = library
    return _LIBRARIES[LIBRARY]


def _text(function: Any, code: int) -> str:
    cell = ffi.new("const char **")
    if function(code, cell) or cell[0] == ffi.NULL:
        return ""
    text: Any = ffi.string(cell[0])
    return str(text.decode())


def _name(library: Any, code: int) -> str:
    return _text(library.cuGetErrorName, code) or f"CUDA error {code}"


def _call(function: str, *arguments: Any) -> None:
    """Call a function of the driver, and refuse what it refuses."""
    library = _library()
    code = getattr(library, function)(*arguments)
    if code == _OUT_OF_MEMORY:
        raise MemoryError(f"{function}: {_name(library, code)}: no memory left on the device")
    if code:
        said = _text(library.cuGetErrorString, code)
        raise DriverError(code, _name(library, code), f"{function}: {said}")


def _result(function: str, kind: str, *arguments: Any) -> int:
    """Return the number that a function of the driver stores at its first argument."""
    cell = ffi.new(f"{kind} *")
    _call(function, cell, *arguments)
    return int(cell[0])


def device_count() -> int:
    """Return how many devices there are.

    Raises:
        MissingDeviceError: there is no driver.
    """
    return _result("cuDeviceGetCount", "int")


def driver_version() -> tuple[int, int]:
    """Return the version of CUDA that the driver has."""
    number = _result("cuDriverGetVersion", "int")
    return number // 1000, number % 1000 // 10


def device_name(ordinal: int) -> str:
    """Return what a device is called."""
    text = ffi.new("char[256]")
    _call("cuDeviceGetName", text, 256, _device(ordinal))
    name: Any = ffi.string(text)
    return str(name.decode())


def device_attribute(ordinal: int, attribute: DeviceAttribute) -> int:
    """Return a number of a device."""
    return _result("cuDeviceGetAttribute", "int", int(attribute), _device(ordinal))


def _device(ordinal: int) -> int:
    return _result("cuDeviceGet", "int", ordinal)


def retain_device(ordinal: int) -> int:
    """Return the primary context of a device, which is made where there is none."""
    return _result("cuDevicePrimaryCtxRetain", "uintptr_t", _device(ordinal))


def use_context(context: int) -> None:
    """Make a context current for this thread."""
    _call("cuCtxSetCurrent", context)


def release_device(ordinal: int) -> None:
    """Give the primary context back, of which others may still have a share."""
    _call("cuDevicePrimaryCtxRelease_v2", _device(ordinal))


def free_memory() -> tuple[int, int]:
    """Return the bytes of the device's memory that are free, and all of them."""
    free, total = ffi.new("size_t *"), ffi.new("size_t *")
    _call("cuMemGetInfo_v2", free, total)
    return int(free[0]), int(total[0])


def load_module(image: bytes) -> int:
    """Load PTX or machine code; PTX is assembled by the driver.

    Raises:
        DriverError: the driver refuses it; the message has what its assembler says.
    """
    log = ffi.new(f"char[{_LOG_BYTES}]")
    options = ffi.new("int[]", [_ERROR_LOG, _ERROR_LOG_BYTES])
    values = ffi.new("void *[]", [log, ffi.cast("void *", _LOG_BYTES)])
    text = ffi.new("char[]", image)  # which adds the zero at its end
    try:
        return _result("cuModuleLoadDataEx", "uintptr_t", text, 2, options, values)
    except DriverError as error:
        said: Any = ffi.string(log)
        raise DriverError(
            error.number, error.name, f"{error.details} {said.decode(errors='replace')}".strip()
        ) from None


def unload_module(module: int) -> None:
    """Unload a module."""
    _call("cuModuleUnload", module)


def function_of(module: int, name: str) -> int:
    """Return a kernel of a module."""
    return _result("cuModuleGetFunction", "uintptr_t", module, name.encode())


def allow_shared(function: int, size: int) -> None:
    """Let launches of a kernel ask for so many bytes of shared memory."""
    _call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, size)


def allocate(size: int) -> int:
    """Return the address of new memory of the device.

    Raises:
        MemoryError: there is not so much.
    """
    return _result("cuMemAlloc_v2", "uintptr_t", size)


def release(address: int) -> None:
    """Give memory of the device back."""
    _call("cuMemFree_v2", address)


def copy_to_device(target: int, source: int, size: int, stream: int) -> None:
    """Copy bytes of this process to the device."""
    _call("cuMemcpyHtoDAsync_v2", target, ffi.cast("void *", source), size, stream)


def copy_from_device(target: int, source: int, size: int, stream: int) -> None:
    """Copy bytes of the device to this process."""
    _call("cuMemcpyDtoHAsync_v2", ffi.cast("void *", target), source, size, stream)


def copy_on_device(target: int, source: int, size: int, stream: int) -> None:
    """Copy bytes of the device."""
    _call("cuMemcpyDtoDAsync_v2", target, source, size, stream)


def fill(target: int, value: int, size: int, stream: int) -> None:
    """Set bytes of the device."""
    _call("cuMemsetD8Async", target, value, size, stream)


def new_stream() -> int:
    """Return a new stream, which waits for no other one."""
    return _result("cuStreamCreate", "uintptr_t", _NON_BLOCKING)


def end_stream(stream: int) -> None:
    """End a stream when its work is done."""
    _call("cuStreamDestroy_v2", stream)


def wait_for_stream(stream: int) -> None:
    """Wait until the work of a stream is done.

    Raises:
        DriverError: it failed.
    """
    _call("cuStreamSynchronize", stream)


def begin_capture(stream: int) -> None:
    """Note what a stream is asked for from now on, instead of doing it."""
    _call("cuStreamBeginCapture_v2", stream, _RELAXED_CAPTURE)


def end_capture(stream: int) -> int:
    """Return what was noted, as a graph that can be launched again and again."""
    graph = ffi.new("uintptr_t *")
    _call("cuStreamEndCapture", stream, graph)
    try:
        return _result("cuGraphInstantiateWithFlags", "uintptr_t", graph[0], 0)
    finally:
        _call("cuGraphDestroy", graph[0])


def discard_capture(stream: int) -> None:
    """Forget what was noted, of which a part failed: the stream does what it is asked for again."""
    graph = ffi.new("uintptr_t *")
    with suppress(DriverError, MemoryError):  # the driver says that the capture is no good
        _call("cuStreamEndCapture", stream, graph)
    if graph[0]:
        _call("cuGraphDestroy", graph[0])


def launch_graph(executable: int, stream: int) -> None:
    """Do what was noted."""
    _call("cuGraphLaunch", executable, stream)


def end_graph(executable: int) -> None:
    """Forget a graph."""
    _call("cuGraphExecDestroy", executable)


def new_event() -> int:
    """Return a new event."""
    return _result("cuEventCreate", "uintptr_t", 0)


def record_event(event: int, stream: int) -> None:
    """Let an event happen when a stream has done what it was asked for."""
    _call("cuEventRecord", event, stream)


def wait_for_event(event: int) -> None:
    """Wait until an event has happened."""
    _call("cuEventSynchronize", event)


def seconds_between(start: int, end: int) -> float:
    """Return the time between two events that have happened."""
    cell = ffi.new("float *")
    _call("cuEventElapsedTime", cell, start, end)
    return float(cell[0]) / 1000.0


def end_event(event: int) -> None:
    """Forget an event."""
    _call("cuEventDestroy_v2", event)


class LaunchArguments:
    """The arguments of a launch: addresses and 64-bit integers, in the order of the kernel's."""

    def __init__(self, values: Sequence[int]) -> None:
        """Keep the values where the driver can read them."""
        self._values = ffi.new("int64_t[]", [_signed(value) for value in values] or [0])
        cells = [self._values + place for place in range(len(values))]
        self.pointers = ffi.new("void *[]", cells or [ffi.NULL])


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 > 0 else value


def launch(
    function: int,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared: int,
    stream: int,
    arguments: LaunchArguments,
) -> None:
    """Launch a kernel; its failure shows when somebody waits for the stream."""
    _call("cuLaunchKernel", function, *grid, *block, shared, stream, arguments.pointers, ffi.NULL)
