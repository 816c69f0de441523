"""Program → what the worker runs: buffers, the initial-data program, the original, a candidate."""

from __future__ import annotations

from math import prod

from polygym.compiler.codegen.common.mapping import SEQUENTIAL, Mapping
from polygym.compiler.codegen.contraction import legal_under
from polygym.compiler.codegen.loops.alike import loops_key
from polygym.compiler.codegen.loops.private import private_figures
from polygym.compiler.codegen.pipeline import compile_program, lower
from polygym.compiler.ir.scop import Array, Scop, Storage
from polygym.compiler.ir.types import ScalarType
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.evaluate import longest_sum
from polygym.compiler.poly.gathers import complaints
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.storage.price import new_arrays
from polygym.errors import InputError
from polygym.measure.worker import problem as measure
from polygym.measure.worker.compare import SINGLE
from polygym.programs.program import Program

# Half a unit in the last place of a number in single precision.
_ROUNDING = 2.0**-24
_ROUNDING_OF_SIXTEEN_BITS = {ScalarType.HALF: 2.0**-11, ScalarType.BFLOAT: 2.0**-8}


def compile_problem(program: Program) -> measure.Problem:
    """Return the program with its data and its original order, compiled."""
    both = (*program.written.statements, *program.scop.statements)
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
        _compile(program, program.initial_data, original(program.initial_data), SEQUENTIAL),
        _compile(program, program.written, original(program.written), SEQUENTIAL),
    )


def compile_schedule(
    program: Program, schedule: Schedule, mapping: Mapping = SEQUENTIAL
) -> measure.CompiledProgram:
    """Return a schedule of the program, compiled; an illegal one is refused."""
    return _coded(program, legal_schedule(program, schedule), mapping)


def legal_schedule(program: Program, schedule: Schedule) -> LegalSchedule:
    """Return a schedule as code is made of it: where its plan says so, with smaller arrays."""
    return legal_under(program.storage, program.scop, schedule)


def _compile(
    program: Program, scop: Scop, schedule: Schedule, mapping: Mapping
) -> measure.CompiledProgram:
    """Compile one Scop in an order of its own."""
    return _coded(program, LegalSchedule(scop, schedule), mapping)


def _coded(program: Program, legal: LegalSchedule, mapping: Mapping) -> measure.CompiledProgram:
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
        _tolerance(program, mapping),
        complaints(scop, dict(program.parameters)),
        loops.mapping,
        private_figures(loops),
        loops_key(loops),
    )


def _tolerance(program: Program, mapping: Mapping) -> float | None:
    """Return the tolerance to which outputs are compared.

    A sum of L numbers in single precision, added one after the other, is known to L roundings of
    the numbers' sum: the original order's as well, which the other one is compared with. One that
    is kept in sixteen bits all the while is rounded so often to these.
    """
    if mapping.tolerance is None:
        return None
    scop, found = program.written, mapping.tolerance
    if not any(array.type.is_floating and array.type.size <= 4 for array in scop.arrays):
        return found
    sizes = dict(program.parameters)
    found = max(found, longest_sum(scop, sizes) * _ROUNDING / SINGLE)
    for kept, rounding in _ROUNDING_OF_SIXTEEN_BITS.items():
        terms = longest_sum(scop, sizes, kept)
        if terms > 1:
            found = max(found, terms * rounding / SINGLE)
    return found


def _buffers(program: Program) -> tuple[tuple[str, Array], ...]:
    """Return the arrays of the program and those that only its initial data need, by name.

    Where both name an array, the two must agree on its type and size: one writes, the other reads.
    """
    found = {array.name: array for array in program.written.arrays}
    for array in program.initial_data.arrays:
        name = _buffer_name(program, program.initial_data, array)
        there = found.setdefault(name, array)
        if (array.type, program.shape(array)) != (there.type, program.shape(there)):
            raise InputError(
                f"{program.initial_data.file}: {program.initial_data.name} fills {array.name} as "
                f"{array.type.value} {list(program.shape(array))}, but {program.scop.name} has it "
                f"as {there.type.value} {list(program.shape(there))}"
            )
    return tuple(found.items())


def _buffer_name(program: Program, scop: Scop, array: Array) -> str:
    """Return the buffer of an array; what is private to the initial data shares nothing."""
    private = array.storage in (Storage.LOCAL, Storage.BLOCK)
    is_other = private and scop == program.initial_data
    return f"{array.name} of {scop.name}" if is_other else array.name


def _is_compared(array: Array) -> bool:
    """Whether an array must end as in the original order: private variables need not."""
    return array.storage not in (Storage.BLOCK, Storage.VALUE) and (
        array.live_out or array.storage is not Storage.LOCAL
    )
