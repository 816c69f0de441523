"""Running a compiled schedule inside the test process, on numpy arrays.

LLVM's passes over a module are those that users get: they are what makes use of all that code says
about itself (what does not overlap, what does not depend on each other, what does not wrap around),
and would bring to light what is not true of it. The machine instructions are then chosen in the
quickest way, a seventh of the time, which knows nothing of all that; tests of the whole way to
machine code ask for the one that users get. So do programs that call functions: the root of a
negative number is no number, whose sign depends on whether a negation is an instruction of its own,
as it is in the quickest way.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.llvm.jit import optimization_level, optimized_module
from polygym.codegen.loopir.ir import LoopProgram
from polygym.codegen.pipeline import compile_program, lower
from polygym.foreign.calls import time_cell
from polygym.ir.expressions import Call, walk
from polygym.ir.scop import Scop
from polygym.ir.types import ScalarType
from polygym.mapping.machine import compile_target
from polygym.mapping.mapping import SEQUENTIAL_MAPPING
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.runtime.loader import load_object

DTYPE: dict[ScalarType, Any] = {
    ScalarType.BYTE: np.int8,
    ScalarType.UNSIGNED_BYTE: np.uint8,
    ScalarType.SHORT: np.int16,
    ScalarType.UNSIGNED_SHORT: np.uint16,
    ScalarType.INT: np.int32,
    ScalarType.UNSIGNED: np.uint32,
    ScalarType.LONG: np.int64,
    ScalarType.FLOAT: np.float32,
    ScalarType.DOUBLE: np.float64,
}


def random_arrays(
    scop: Scop, parameters: Mapping[str, int], generator: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return an array of random values for every array of the program.

    They are small, or the least and the greatest that a narrow integer type has.
    """
    arrays = {}
    for array in scop.arrays:
        shape = tuple(evaluate_extent(extent, parameters) for extent in array.extents)
        if array.initial is not None:
            # One value for a scalar, a value for every element of an array.
            values = np.reshape(array.initial, shape)
        elif array.type.is_integer and array.type.size < 4:
            ends = np.iinfo(DTYPE[array.type])
            values = generator.choice([ends.min, 0, 1, 77, ends.max // 2, ends.max], size=shape)
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
    mapping: MachineMapping = SEQUENTIAL_MAPPING,
    *,
    is_known: bool = False,
    is_watched: bool = False,
    is_for_users: bool = False,
) -> None:
    """Compile the schedule, for all sizes or for these alone, and run it on the arrays in place.

    Code that is watched returns what it has done that it must not; code for users is theirs to the
    last instruction.
    """
    known = parameters if is_known else None
    program = lower(LegalSchedule(scop, schedule), mapping, known)
    run_loops(program, parameters, arrays, is_watched=is_watched, is_for_users=is_for_users)


def run_in_order(
    scop: Scop, parameters: Mapping[str, int], arrays: Mapping[str, np.ndarray]
) -> None:
    """Run a program in its own order on the arrays in place; its code is made once."""
    code, program = _code_in_order(scop)
    assert run_code(code, program, parameters, arrays) == 0


@lru_cache(maxsize=128)
def _code_in_order(scop: Scop) -> tuple[bytes, LoopProgram]:
    program = lower(LegalSchedule(scop, original_schedule(scop)))
    return quick_code(program), program


def run_loops(
    program: LoopProgram,
    parameters: Mapping[str, int],
    arrays: Mapping[str, np.ndarray],
    *,
    is_watched: bool = False,
    is_for_users: bool = False,
) -> None:
    """Compile loops and run them on the arrays in place."""
    compiled = compile_program if is_for_users else quick_code
    assert run_code(compiled(program, is_watched=is_watched), program, parameters, arrays) == 0


def quick_code(program: LoopProgram, *, is_watched: bool = False) -> bytes:
    """Return machine code that computes what users' code does, made in much less time if it can."""
    if any(
        isinstance(expression, Call)
        for own in program.scop.statements
        for expression in walk(own.body)
    ):
        return compile_program(program, is_watched=is_watched)
    return _quick_object(
        emit_llvm(program, is_instrumented=is_watched), optimization_level(program.mapping)
    )


@lru_cache(maxsize=32)
def _quick_object(llvm_ir: str, passes: int) -> bytes:
    return bytes(_quick_machine().emit_object(optimized_module(llvm_ir, passes)))


@lru_cache(maxsize=1)
def _quick_machine() -> Any:
    """Return this machine, as :mod:`polygym.codegen.llvm.jit` has it but for the level."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=compile_target().processor,
        features=compile_target().target,
        opt=0,
        reloc="pic",
        codemodel="default",
        jit=False,
    )


def run_code(
    code: bytes,
    program: LoopProgram,
    parameters: Mapping[str, int],
    arrays: Mapping[str, np.ndarray],
) -> int:
    """Run the code of a program on the arrays in place, and return what it returns."""
    scop = program.scop
    loaded = load_object(code)
    sizes = np.array([parameters[parameter.name] for parameter in scop.parameters], np.int64)
    addresses = [arrays[array.name].ctypes.data for array in scop.arrays if array.name in arrays]
    addresses += [sizes.ctypes.data + 8 * place for place in range(len(sizes))]
    elapsed = time_cell()
    try:
        result = loaded.call(addresses, elapsed)
    finally:
        loaded.close()
    assert elapsed[0] >= 0
    return result
