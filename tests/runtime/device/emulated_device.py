"""A device whose kernels run in the emulator: what stands for a GPU where results count."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polygym.codegen.loopir.index_arithmetic import evaluate_index
from polygym.gpu.device_program import DeviceProgram
from polygym.gpu.emulator.machine import emulate
from polygym.gpu.ptx.compile_ptx import DeviceCode
from polygym.programs.dtypes import dtype_of
from polygym.runtime.device.device import DeviceProperties
from polygym.runtime.device.worker import DeviceRun, DeviceWorker, KeptArrays
from polygym.runtime.worker.outcome import Ok

PROPERTIES = DeviceProperties(
    name="Emulator",
    architecture="sm_90",
    multiprocessors=132,
    warp_size=32,
    threads_per_multiprocessor=2048,
    registers_per_multiprocessor=65536,
    shared_per_multiprocessor=233472,
    shared_per_block=232448,
    cache_bytes=50 * 2**20,
    memory_bytes=80 * 2**30,
    bandwidth=3.35e12,
    driver=(13, 0),
)


class EmulatedDevice(DeviceWorker):
    """Runs programs in this process, as slowly as it takes; the time of a run is always the same.

    ``spoils`` makes the results wrong, as a GPU might.
    """

    def __init__(self, *, spoils: bool = False) -> None:
        super().__init__()
        self.spoils = spoils
        self.runs = 0

    def properties(self) -> DeviceProperties:
        return PROPERTIES

    def run(
        self,
        program: DeviceProgram,
        code: DeviceCode,
        arrays: Mapping[str, np.ndarray[Any, Any]] | KeptArrays,
        parameters: Mapping[str, int],
        *,
        results: Sequence[str] = (),
        runs: int = 1,
        seconds: float = 30.0,
    ) -> DeviceRun:
        self.runs += 1
        arrays = arrays.arrays if isinstance(arrays, KeptArrays) else arrays
        scop = program.program.scop
        sizes = {**parameters, **dict(program.program.sizes or ())}
        names = (own.name for own in scop.arrays)
        extents = dict(zip(names, program.program.extents, strict=True))
        shaped = {}
        for name, content in arrays.items():
            if name not in extents:  # the program has got rid of it
                continue
            array = scop.array(name)
            shape = [evaluate_index(extent, sizes) for extent in extents[name]]
            shaped[name] = (
                np.ascontiguousarray(content).copy().view(dtype_of(array.type)).reshape(shape)
            )
        emulate(program, parameters, shaped)
        found = {}
        for name in results:
            content = shaped[name].reshape(-1).view(np.uint8)
            if self.spoils:
                content[-1] ^= 0x3F
            found[name] = content.view(arrays[name].dtype).reshape(arrays[name].shape)
        return DeviceRun(Ok((1e-3,) * runs), found)
