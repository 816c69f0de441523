"""Headers of loops between bounds that are read from memory, as C.

::

    if (0 <= nnz - 1) for (long k = max(0, row[i]); k <= nnz - 1 && k < row[i + 1]; k += 1)

The condition in front says that there is an iteration, without which what the bounds read may not
exist. :mod:`polygym.codegen.analysis.loop_data_bounds` has the side conditions.
"""

from collections.abc import Iterator

from polygym.codegen.analysis.loop_data_bounds import LoopDataBounds
from polygym.codegen.c.index_text import UNARY_PRECEDENCE, print_index
from polygym.codegen.c.statements import expression_printer
from polygym.codegen.loopir.ir import Loop, LoopProgram
from polygym.ir.types import ScalarType


def data_bounded_header(program: LoopProgram, loop: Loop, bounds: LoopDataBounds) -> str | None:
    """Return the header of a loop, None where a sum with a bound of 64 bits might wrap."""
    text = expression_printer(program, bounds.instance)
    statement = program.scop.statement(bounds.instance.statement)
    values = dict(zip(statement.iterators, bounds.instance.iterators, strict=True))
    first, last = print_index(loop.lower), print_index(loop.upper, 7)
    stops = [f"{loop.variable} <= {last}"]
    for bound in bounds.bounds:
        value = f"(long)({text(bound.value)})"
        if bound.value.type is ScalarType.UNSIGNED_LONG:
            return None
        if bound.is_lower is not (bounds.sign > 0):
            iterator = print_index(values[bound.iterator], UNARY_PRECEDENCE)
            stops.append(f"{iterator} {bound.operator.value} {value}")
        elif bound.value.type.bits == 64:
            return None
        else:
            offset = print_index(bounds.offset, UNARY_PRECEDENCE)
            far = f"{value} - {offset}" if bounds.sign > 0 else f"{offset} - {value}"
            far = far.removesuffix(" - 0")
            first = f"polygym_max({first}, {far}{' + 1' if bound.is_strict else ''})"
    exists = " && ".join([f"{print_index(loop.lower, 7)} <= {last}", *_existence(program, bounds)])
    step = f"{loop.variable} += 1"
    return f"if ({exists}) for (long {loop.variable} = {first}; {' && '.join(stops)}; {step})"


def _existence(program: LoopProgram, bounds: LoopDataBounds) -> Iterator[str]:
    """Yield the conditions under which what the bounds read exists, if that is not sure."""
    if bounds.are_reads_sure:
        return
    statement = program.scop.statement(bounds.instance.statement)
    for array, dimension, subscript in bounds.affine_subscripts(statement):
        place = print_index(subscript, 7)
        yield f"0 <= {place} && {place} < {program.scop.array(array).c_extents[dimension]}"
