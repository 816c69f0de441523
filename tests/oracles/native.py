"""Running a compiled schedule inside the test process, on numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from polygym.compiler.codegen.common.mapping import SEQUENTIAL
from polygym.compiler.codegen.common.mapping import Mapping as MachineMapping
from polygym.compiler.codegen.llvm.loader import load
from polygym.compiler.codegen.loops.ir import LoopProgram
from polygym.compiler.codegen.pipeline import compile_program, lower
from polygym.compiler.ir.scop import Scop
from polygym.compiler.ir.types import ScalarType
from polygym.compiler.poly.baselines import original
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
    is_watched: bool = False,
) -> None:
    """Compile the schedule, for all sizes or for these alone, and run it on the arrays in place.

    Code that is watched returns what it has done that it must not.
    """
    known = parameters if is_known else None
    program = lower(LegalSchedule(scop, schedule), mapping, known)
    run_loops(program, parameters, arrays, is_watched=is_watched)


def run_in_order(
    scop: Scop, parameters: Mapping[str, int], arrays: Mapping[str, np.ndarray]
) -> None:
    """Run a program in its own order on the arrays in place; its code is made once."""
    code, program = _code_in_order(scop)
    assert run_code(code, program, parameters, arrays) == 0


@lru_cache(maxsize=128)
def _code_in_order(scop: Scop) -> tuple[bytes, LoopProgram]:
    program = lower(LegalSchedule(scop, original(scop)))
    return compile_program(program), program


def run_loops(
    program: LoopProgram,
    parameters: Mapping[str, int],
    arrays: Mapping[str, np.ndarray],
    *,
    is_watched: bool = False,
) -> None:
    """Compile loops and run them on the arrays in place."""
    assert (
        run_code(compile_program(program, is_watched=is_watched), program, parameters, arrays) == 0
    )


def run_code(
    code: bytes,
    program: LoopProgram,
    parameters: Mapping[str, int],
    arrays: Mapping[str, np.ndarray],
) -> int:
    """Run the code of a program on the arrays in place, and return what it returns."""
    scop = program.scop
    loaded = load(code)
    sizes = np.array([parameters[parameter.name] for parameter in scop.parameters], np.int64)
    addresses = [arrays[array.name].ctypes.data for array in scop.arrays if array.name in arrays]
    addresses += [sizes.ctypes.data + 8 * place for place in range(len(sizes))]
    elapsed = clock()
    try:
        result = loaded.call(addresses, elapsed)
    finally:
        loaded.close()
    assert elapsed[0] >= 0
    return result
