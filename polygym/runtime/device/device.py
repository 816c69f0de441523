"""A GPU of this machine: its properties, a stream for work, and memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from polygym.closeable import Closeable
from polygym.errors import MissingDeviceError
from polygym.foreign import cuda_driver
from polygym.foreign.cuda_driver import DeviceAttribute
from polygym.pickling import pickle_by_name
from polygym.runtime.device.memory_pool import MemoryPool


@pickle_by_name
@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """The properties of a device; sizes are in bytes, ``bandwidth`` in bytes a second."""

    name: str
    architecture: str
    multiprocessors: int
    warp_size: int
    threads_per_multiprocessor: int
    registers_per_multiprocessor: int
    shared_per_multiprocessor: int
    shared_per_block: int
    cache_bytes: int
    memory_bytes: int
    bandwidth: float
    driver: tuple[int, int]


class Device(Closeable):
    """A device, used through its primary context; close it, or leave it to ``with``."""

    def __init__(self, ordinal: int = 0, stream: int | None = None) -> None:
        """Begin to use a device, with a stream of its own unless another one is given.

        Raises:
            MissingDeviceError: there is no driver, or no such device.
        """
        count = cuda_driver.device_count()
        if not 0 <= ordinal < count:
            raise MissingDeviceError(
                f"device=cuda: expected a GPU of number {ordinal}, found {count} of them"
            )
        self.ordinal = ordinal
        self._context = cuda_driver.retain_device(ordinal)
        self.make_current()
        self.properties = _properties(ordinal)
        self._owns_stream = stream is None
        self.stream = cuda_driver.new_stream() if stream is None else stream
        self.pool = MemoryPool()
        self._is_open = True

    def close(self) -> None:
        """Give back its memory, its stream and the context; harmless the second time."""
        if self._is_open:
            self._is_open = False
            self.pool.trim()
            if self._owns_stream:
                cuda_driver.end_stream(self.stream)
            cuda_driver.release_device(self.ordinal)

    def make_current(self) -> None:
        """Let the calling thread use the device."""
        cuda_driver.use_context(self._context)

    def wait(self) -> None:
        """Wait until the stream is done.

        Raises:
            DriverError: a kernel failed.
        """
        cuda_driver.wait_for_stream(self.stream)

    @contextmanager
    def memory(self, size: int) -> Iterator[int]:
        """Lend so many bytes of the device."""
        address = self.pool.allocate(size)
        try:
            yield address
        finally:
            self.pool.release(address)


def _properties(ordinal: int) -> DeviceProperties:
    def number(attribute: DeviceAttribute) -> int:
        return cuda_driver.device_attribute(ordinal, attribute)

    major, minor = number(DeviceAttribute.MAJOR), number(DeviceAttribute.MINOR)
    # Memory transfers twice a cycle.
    bus = number(DeviceAttribute.MEMORY_BUS_BITS) / 8
    bandwidth = 2.0 * 1000 * number(DeviceAttribute.MEMORY_CLOCK_KILOHERTZ) * bus
    return DeviceProperties(
        cuda_driver.device_name(ordinal),
        f"sm_{major}{minor}",
        number(DeviceAttribute.MULTIPROCESSORS),
        number(DeviceAttribute.WARP_SIZE),
        number(DeviceAttribute.THREADS_PER_MULTIPROCESSOR),
        number(DeviceAttribute.REGISTERS_PER_MULTIPROCESSOR),
        number(DeviceAttribute.SHARED_PER_MULTIPROCESSOR),
        number(DeviceAttribute.SHARED_PER_BLOCK),
        number(DeviceAttribute.CACHE_BYTES),
        cuda_driver.free_memory()[1],
        bandwidth,
        cuda_driver.driver_version(),
    )
