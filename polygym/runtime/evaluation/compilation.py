"""Compiled programs for the worker: buffers, initial data, original, candidate."""

from math import prod

from polygym.codegen.contraction import legal_with_storage
from polygym.codegen.loopir.canonical_form import canonical_key
from polygym.codegen.pipeline import compile_program, lower
from polygym.codegen.transforms.privatization import private_array_sizes
from polygym.errors import InputError
from polygym.ir.scop import Array, Scop, StorageClass
from polygym.ir.types import ScalarType
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.poly.evaluation import longest_reduction
from polygym.poly.legality import LegalSchedule
from polygym.poly.may_accesses import out_of_range_messages
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.memory_cost import new_arrays
from polygym.programs.program import Program
from polygym.runtime.worker import problem as measure
from polygym.runtime.worker.output_comparison import SINGLE_PRECISION_FACTOR

# Half a unit in the last place of a number in single precision.
_ROUNDING = 2.0**-24
_HALF_PRECISION_ROUNDING = {ScalarType.HALF: 2.0**-11, ScalarType.BFLOAT: 2.0**-8}


def compile_problem(program: Program) -> measure.Problem:
    """Return the program with its data and its original order, compiled."""
    both = (*program.as_written.statements, *program.scop.statements)
    written = {statement.write.array for statement in both}
    return measure.Problem(
        tuple(
            measure.Buffer(
                name,
                array.type,
                prod(program.shape(array)),
                _is_compared(array) and name not in program.storage.dead,
                constant=name not in written,
            )
            for name, array in _buffers(program)
        ),
        _compile(
            program,
            program.initial_data,
            original_schedule(program.initial_data),
            SEQUENTIAL_MAPPING,
        ),
        _compile(
            program, program.as_written, original_schedule(program.as_written), SEQUENTIAL_MAPPING
        ),
    )


def compile_schedule(
    program: Program, schedule: Schedule, mapping: Mapping = SEQUENTIAL_MAPPING
) -> measure.CompiledProgram:
    """Return a schedule of the program, compiled; an illegal one is refused."""
    return _compile_legal(program, contracted_schedule(program, schedule), mapping)


def contracted_schedule(program: Program, schedule: Schedule) -> LegalSchedule:
    """Return a schedule as code is made of it: where its plan says so, with smaller arrays."""
    return legal_with_storage(program.storage, program.scop, schedule)


def _compile(
    program: Program, scop: Scop, schedule: Schedule, mapping: Mapping
) -> measure.CompiledProgram:
    """Compile one Scop in an order of its own."""
    return _compile_legal(program, LegalSchedule(scop, schedule), mapping)


def _compile_legal(
    program: Program, legal: LegalSchedule, mapping: Mapping
) -> measure.CompiledProgram:
    """Compile a schedule and bind its arrays and parameters to the program's."""
    scop = legal.scop
    loops = lower(legal, mapping, dict(program.parameters))
    names, new = [name for name, _ in _buffers(program)], new_arrays(scop)
    return measure.CompiledProgram(
        compile_program(loops),
        tuple(
            names.index(_buffer_name(program, scop, array))
            for array in scop.arrays
            if array not in new
        ),
        tuple(program.value(parameter.name) for parameter in scop.parameters),
        output_tolerance(program, mapping),
        out_of_range_messages(scop, dict(program.parameters)),
        loops.mapping,
        private_array_sizes(loops),
        canonical_key(loops),
    )


def output_tolerance(program: Program, mapping: Mapping) -> float | None:
    """Return the tolerance to which outputs are compared.

    A sum of L numbers in single precision, added one after the other, is known to L roundings of
    the numbers' sum: the original order's as well, which the other one is compared with. One that
    is kept in sixteen bits all the while is rounded so often to these.
    """
    if mapping.tolerance is None:
        return None
    scop, result = program.as_written, mapping.tolerance
    if not any(array.type.is_floating and array.type.size <= 4 for array in scop.arrays):
        return result
    sizes = dict(program.parameters)
    result = max(result, longest_reduction(scop, sizes) * _ROUNDING / SINGLE_PRECISION_FACTOR)
    for kept, rounding in _HALF_PRECISION_ROUNDING.items():
        terms = longest_reduction(scop, sizes, kept)
        if terms > 1:
            result = max(result, terms * rounding / SINGLE_PRECISION_FACTOR)
    return result


def _buffers(program: Program) -> tuple[tuple[str, Array], ...]:
    """Return the arrays of the program and those that only its initial data need, by name.

    Where both name an array, the two must agree on its type and size: one writes, the other reads.
    """
    arrays = {array.name: array for array in program.as_written.arrays}
    for array in program.initial_data.arrays:
        name = _buffer_name(program, program.initial_data, array)
        there = arrays.setdefault(name, array)
        if (array.type, program.shape(array)) != (there.type, program.shape(there)):
            raise InputError(
                f"{program.initial_data.file}: {program.initial_data.name} fills {array.name} as "
                f"{array.type.value} {list(program.shape(array))}, but {program.scop.name} has it "
                f"as {there.type.value} {list(program.shape(there))}"
            )
    return tuple(arrays.items())


def _buffer_name(program: Program, scop: Scop, array: Array) -> str:
    """Return the buffer of an array; what is private to the initial data shares nothing."""
    private = array.storage_class in (StorageClass.LOCAL, StorageClass.BLOCK)
    is_other = private and scop == program.initial_data
    return f"{array.name} of {scop.name}" if is_other else array.name


def _is_compared(array: Array) -> bool:
    """Whether an array must end as in the original order: private variables need not."""
    private = (StorageClass.BLOCK, StorageClass.VALUE, StorageClass.LOCAL)
    return array.live_out or array.storage_class not in private
