"""The device server: the process that holds a context of a GPU and runs programs there.

A kernel that faults takes the context of its process with it, and one that hangs cannot be stopped
but with its process. So the user's process holds none: it starts this one, waits for each answer so
long and no longer, and ends it where an answer does not come. The next request starts another.

A request has the pickled program and its code, by which the server remembers what it has loaded,
and the contents of arrays, unless the device has them from the request before; the answer has what
is in them after the last run, and times. (Pickles pass only between a process and the child that it
started itself.)
"""

import os
import pickle
import select
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import NoReturn

import numpy as np

from polygym.errors import DriverError, PolygymError
from polygym.foreign import cuda_driver
from polygym.runtime.device.device import Device
from polygym.runtime.device.loaded_program import LoadedProgram
from polygym.runtime.worker import server_process
from polygym.runtime.worker.job_messages import Channel, ChannelClosedError, Json

_MOST_PROGRAMS = 8


def main(descriptor: int, parent: int) -> None:
    """Be a device server for the process ``parent``, which holds the other end of the socket."""
    watch = server_process.begin_server(parent)
    threading.Thread(target=_end_with_parent, args=(watch,), daemon=True).start()
    channel = Channel(socket.socket(fileno=descriptor))
    try:
        channel.send({"ready": parent})
        _Server(channel).serve()
    except ChannelClosedError:
        sys.exit(0)


def _end_with_parent(watch: server_process.ParentWatch) -> NoReturn:
    """End this process when its parent has ended, whatever the driver is busy with."""
    poller = select.poll()
    for descriptor in watch.descriptors:
        poller.register(descriptor, select.POLLIN)
    while True:
        poller.poll(500)
        try:
            watch.check()
        except server_process.ParentGoneError:
            os._exit(0)


class _Server:
    """Answers requests; the device is opened at the first one."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._device: Device | None = None
        self._programs: dict[bytes, LoadedProgram] = {}
        self._kept: dict[str, tuple[int, int]] = {}  # addresses and bytes

    def serve(self) -> NoReturn:
        while True:
            body, blobs = self._channel.receive()
            try:
                answer, result = self._answer(body, blobs)
            except DriverError as error:
                answer = {"number": error.number, "name": error.name, "details": error.details}
                self._channel.send({"driver_error": answer}, [])
                if error.is_fatal:
                    sys.exit(0)
                continue
            except (PolygymError, MemoryError) as error:
                self._channel.send({"error_type": type(error).__name__, "error": str(error)}, [])
                continue
            self._channel.send(answer, result)

    def _answer(self, body: Json, blobs: Sequence[bytes]) -> tuple[Json, list[bytes]]:
        if self._device is None:
            self._device = Device(body["ordinal"])
        if body["task"] == "properties":
            return {"properties": asdict(self._device.properties)}, []
        loaded = self._loaded(blobs[0], self._device)
        return self._run(loaded, self._device, body, blobs[1:])

    def _loaded(self, packed: bytes, device: Device) -> LoadedProgram:
        if packed not in self._programs:
            while len(self._programs) >= _MOST_PROGRAMS:
                self._programs.pop(next(iter(self._programs))).close()
            program, code = pickle.loads(packed)
            self._programs[packed] = LoadedProgram(program, code, device)
        return self._programs[packed]

    def _run(
        self, loaded: LoadedProgram, device: Device, body: Json, contents: Sequence[bytes]
    ) -> tuple[Json, list[bytes]]:
        """Run a program so often, each time from the same contents, and return the times."""
        if body["is_new"]:
            self._keep(device, dict(zip(body["arrays"], contents, strict=True)))
        written = {own.write.array for own in loaded.program.program.scop.statements}
        with ExitStack() as stack:
            places = {
                name: stack.enter_context(device.memory(size)) if name in written else address
                for name, (address, size) in self._kept.items()
            }
            bound = stack.enter_context(loaded.bound(places, body["parameters"]))
            samples = []
            for _ in range(body["runs"]):
                for name in written & self._kept.keys():
                    address, size = self._kept[name]
                    cuda_driver.copy_on_device(places[name], address, size, device.stream)
                samples.append(bound.timed())
            results = []
            for name in body["results"]:
                found = np.empty(self._kept[name][1], dtype=np.uint8)
                cuda_driver.copy_from_device(
                    found.ctypes.data, places[name], found.nbytes, device.stream
                )
                device.wait()
                results.append(found.tobytes())
            return {"samples": samples}, results

    def _keep(self, device: Device, contents: Mapping[str, bytes]) -> None:
        """Keep arrays on the device, in the place of those that were kept before."""
        for address, _ in self._kept.values():
            device.pool.release(address)
        self._kept = {}
        for name, content in contents.items():
            self._kept[name] = (device.pool.allocate(len(content)), len(content))
            source = np.frombuffer(content, dtype=np.uint8)
            cuda_driver.copy_to_device(
                self._kept[name][0], source.ctypes.data, source.nbytes, device.stream
            )
        device.wait()
