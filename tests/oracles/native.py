"""Running a compiled schedule inside the test process, on numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polygym.compiler.codegen.llvm.loader import load
from polygym.compiler.codegen.mapping import SEQUENTIAL
from polygym.compiler.codegen.mapping import Mapping as MachineMapping
from polygym.compiler.codegen.pipeline import compile_program, lower
from polygym.compiler.ir.scop import Scop
from polygym.compiler.ir.types import ScalarType
from polygym.compiler.poly.evaluate import evaluate
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Schedule
from polygym.native.calls import clock

DTYPE = {
    ScalarType.INT: np.int32,
    ScalarType.LONG: np.int64,
    ScalarType.FLOAT: np.float32,
    ScalarType.DOUBLE: np.float64,
}


def random_arrays(
    scop: Scop, parameters: Mapping[str, int], generator: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return an array of small random values for every array of the program."""
    arrays = {}
    for array in scop.arrays:
        shape = tuple(evaluate(extent, parameters) for extent in array.extents)
        if array.initial is not None:
            # One value for a scalar, a value for every element of an array.
            values = np.reshape(array.initial, shape)
        elif array.type.is_integer:
            values = generator.integers(1, 100, size=shape)
        else:
            values = generator.uniform(0.25, 2.0, size=shape)
        arrays[array.name] = np.array(values, dtype=DTYPE[array.type])
    return arrays


def run_natively(
    scop: Scop,
    schedule: Schedule,
    parameters: Mapping[str, int],
    arrays: Mapping[str, np.ndarray],
    mapping: MachineMapping = SEQUENTIAL,
    *,
    is_known: bool = False,
) -> None:
    """Compile the schedule, for all sizes or for these alone, and run it on the arrays in place."""
    known = parameters if is_known else None
    program = lower(LegalSchedule(scop, schedule), mapping, known)
    loaded = load(compile_program(program))
    sizes = np.array([parameters[parameter.name] for parameter in scop.parameters], np.int64)
    addresses = [arrays[array.name].ctypes.data for array in scop.arrays]
    addresses += [sizes.ctypes.data + 8 * place for place in range(len(sizes))]
    elapsed = clock()
    try:
        assert loaded.call(addresses, elapsed) == 0
    finally:
        loaded.close()
    assert elapsed[0] >= 0
