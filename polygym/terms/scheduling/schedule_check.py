"""A schedule of a term's loops against the term's interpreter.

The C file of a term is scheduled with its sizes as parameters. What a schedule and a mapping make
of it is compiled for small sizes, run on random data, and must compute what the interpreter does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polygym.codegen.contraction import legal_with_storage
from polygym.codegen.llvm.emit_module import caller_arrays
from polygym.codegen.pipeline import compile_program, lower
from polygym.errors import InternalError, LimitError
from polygym.ir.scop import Array
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.may_accesses import out_of_range_messages
from polygym.poly.schedule import Schedule
from polygym.programs.dtypes import dtype_of
from polygym.programs.program import Program
from polygym.tc.kernel import ArrayBinding, CompiledKernel
from polygym.terms.code.arguments import bind_arguments, result_of, to_interpreter_value
from polygym.terms.code.c_values import CArray, TermCode
from polygym.terms.code.emitter import emit_code
from polygym.terms.code.timing_record import random_input, small_sizes
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.program import TermProgram
from polygym.terms.language.values import is_close, is_regular

_STEPS = 400_000
_TOLERANCE = 1e-8


def check_schedule(
    term: TermProgram, program: Program, schedule: Schedule, mapping: MachineMapping
) -> dict[str, int] | None:
    """Compare a schedule of a term's C file with the interpreter.

    Returns the sizes at which both agree, None if there are none at which the term has a value.

    Raises:
        InternalError: they do not agree.
    """
    code = emit_code(term, {}, is_symbolic=True)
    own = {name: dict(program.parameters)[c_name] for name, c_name in code.sizes}
    rng = np.random.default_rng(0)
    for sizes in small_sizes(own):
        values: dict[str, Any] = {
            name: sizes[name] if name in sizes else random_input(kind, sizes, rng)
            for name, kind in term.parameters
        }
        try:
            expected = evaluate(term, {**values, **sizes}, _STEPS)
        except LimitError:
            continue
        if not is_regular(expected):
            continue
        computed = _computed(term, code, program, schedule, mapping, {**values, **sizes}, sizes)
        if not is_close(to_interpreter_value(computed, term.result), expected, _TOLERANCE):
            raise InternalError(
                f"{term.name} at {sizes}: expected what the interpreter computes, found another "
                f"value under the schedule {schedule}"
            )
        return sizes
    return None


def _computed(
    term: TermProgram,
    code: TermCode,
    program: Program,
    schedule: Schedule,
    mapping: MachineMapping,
    values: Mapping[str, Any],
    sizes: Mapping[str, int],
) -> Any:
    """Return what the scheduled loops compute."""
    by_name = {c_name: sizes[name] for name, c_name in code.sizes}
    known = {parameter.name: by_name[parameter.name] for parameter in program.scop.parameters}
    legal = legal_with_storage(program.storage, program.scop, schedule)
    loops = lower(legal, mapping, known)
    kernel = CompiledKernel(
        compile_program(loops),
        tuple(_binding(array, code, known) for array in caller_arrays(loops.scop)),
        tuple(known.values()),
        out_of_range_messages(loops.scop, known),
    )
    _, arrays = bind_arguments(term, values)
    flat = [array for name, _ in term.parameters for array in arrays.get(name, ())]
    boxed = [_boxed(array, its) for array, its in zip(flat, code.inputs, strict=True)]
    return result_of(code.outline, kernel(boxed))


def _binding(array: Array, code: TermCode, sizes: Mapping[str, int]) -> ArrayBinding:
    """Return where an array of the loops comes from and goes to; memory of the call's is zero."""
    inputs, results = ([its.name for its in group] for group in (code.inputs, code.results))
    argument = inputs.index(array.name) if array.name in inputs else None
    return ArrayBinding(
        argument,
        results.index(array.name) if array.name in results else None,
        tuple(evaluate_extent(extent, sizes) for extent in array.extents),
        dtype_of(array.type),
        is_updated=False,
        is_partial=argument is None,
    )


def _boxed(array: np.ndarray[Any, Any], its: CArray) -> np.ndarray[Any, Any]:
    """Return an argument as the function takes it: some numbers are arrays of one element."""
    return array.reshape((1,)) if its.extents and not array.ndim else array
