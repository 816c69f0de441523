"""The function: a loop program's loops, guards and instances as C.

Loop counters are ``long``. A parallel loop has an OpenMP pragma, the lanes of a vector are a short
loop around their one statement. A subscript that is computed is checked before it is used: where it
is out of range, the program says so and ends.

Arrays and parameters as C declares them: arguments, globals, the function's own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from polygym.codegen.analysis.loop_data_bounds import KnownConditions, loop_data_bounds
from polygym.codegen.analysis.private_memory import pooled_arrays
from polygym.codegen.c.data_bounds import data_bounded_header
from polygym.codegen.c.index_text import print_index
from polygym.codegen.c.prelude import prelude_lines
from polygym.codegen.c.size_checks import HEADERS, size_check_lines
from polygym.codegen.c.statements import print_assignment
from polygym.codegen.common.loop_annotation import ParallelLoop, annotation_text
from polygym.codegen.common.reductions import ReductionOperator
from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import add_constant, minimum, substitute_in
from polygym.ir.expressions import FloatLiteral, IntegerLiteral
from polygym.ir.printer import c_expression
from polygym.ir.scop import Array, Scop, StorageClass

_NOTHING_KNOWN: KnownConditions = {}


def global_declarations(program: ir.LoopProgram) -> Iterator[str]:
    """Yield the declarations of globals, and of what each thread has of its own."""
    scop, pooled = program.scop, pooled_arrays(program)
    for array in scop.arrays:
        if array.storage_class is StorageClass.GLOBAL:
            yield f"extern {_declaration(array)};"
    for array in scop.arrays:
        is_own = array.storage_class in (StorageClass.TILE, StorageClass.PRIVATE)
        if is_own and array.name not in pooled:
            yield f"static _Thread_local {_declaration(array)} __attribute__((aligned(64)));"


def argument_declarations(scop: Scop) -> Iterator[str]:
    """Yield the declarations of the function's arguments."""
    parameters = {parameter.name: parameter for parameter in scop.parameters}
    arrays = {array.name: array for array in scop.arrays}
    unused = dict(scop.unused_arguments)
    for name in scop.signature:
        if name in parameters:
            yield f"{parameters[name].type.value} {name}"
        elif name in arrays:
            yield _declaration(arrays[name])
        else:
            yield unused[name]
    for name, parameter in parameters.items():
        if name not in scop.signature:
            yield f"{parameter.type.value} {name}"


def local_declarations(scop: Scop) -> Iterator[str]:
    """Yield the declarations of what lives as long as a call."""
    own = (StorageClass.LOCAL, StorageClass.BLOCK)
    for array in scop.arrays:
        is_scalar = array.storage_class is StorageClass.SCRATCH and not array.rank
        if array.storage_class in own or is_scalar:
            yield f"  {_declaration(array)}{_initializer(array)};"


def allocations(program: ir.LoopProgram) -> Iterator[str]:
    """Yield what makes arrays of memory, and ends the program where there is none."""
    made = _heap_arrays(program)
    yield from map(_allocation, made)
    if made:
        missing = " || ".join(f"!{array.name}" for array in made)
        yield f"  if ({missing})\n    __builtin_trap();"
    yield from _slot_declarations(program, "0", "  ")


def deallocations(program: ir.LoopProgram) -> Iterator[str]:
    """Yield what gives that memory back."""
    return (f"  __builtin_free({array.name});" for array in _heap_arrays(program))


def _heap_arrays(program: ir.LoopProgram) -> list[Array]:
    """Return the arrays that are allocated; large private ones with a slot for each thread."""
    scratch, pooled = StorageClass.SCRATCH, pooled_arrays(program)
    result = []
    for array in program.scop.arrays:
        if array.storage_class is scratch and array.rank:
            result.append(array)
        elif array.name in pooled:
            extents = (str(program.threads), *array.c_extents)
            result.append(replace(array, name=f"{array.name}_slots", c_extents=extents))
    return result


def _slot_declarations(program: ir.LoopProgram, thread: str, indent: str) -> Iterator[str]:
    """Yield the declarations of a thread's slots, as ``double (*w)[8] = w_slots[thread];``.

    Those outside of parallel loops may be unused.
    """
    unused = " __attribute__((unused))" if thread == "0" else ""
    for name in pooled_arrays(program):
        array = program.scop.array(name)
        inner = "".join(f"[{extent}]" for extent in array.c_extents[1:])
        yield f"{indent}{array.type.value} (*{name}){inner}{unused} = {name}_slots[{thread}];"


def _allocation(array: Array) -> str:
    """Return ``double (*B)[n] = __builtin_malloc(sizeof(double[m][n]) + 1);``.

    gcc's and clang's names need no header, whose own names the source may use for something else;
    no more than nothing could be a null pointer.
    """
    kind, first, *rest = (array.type.value, *(f"[{extent}]" for extent in array.c_extents))
    inner = "".join(rest)
    return f"  {kind} (*{array.name}){inner} = __builtin_malloc(sizeof({kind}{first}{inner}) + 1);"


def _declaration(array: Array) -> str:
    """Return ``double A[n][m]``, ``double x``, or ``double *x`` for a scalar behind a pointer."""
    sizes = "".join(f"[{extent}]" for extent in array.c_extents)
    star = "*" if not array.rank and array.storage_class is StorageClass.ARGUMENT else ""
    return f"{array.type.value} {star}{array.name}{sizes}"


def _initializer(array: Array) -> str:
    """Return ``= 0.5``, or ``= {{1, 2}, {3}}``: zeros that end an array or a row are C's to add."""
    if array.initial is None:
        return ""
    values = array.initial if isinstance(array.initial, tuple) else (array.initial,)

    def braced(part: tuple[int | float, ...], rank: int) -> str:
        """Return the text of a part of the array that has so many dimensions."""
        if not rank:
            (value,) = part
            if isinstance(value, int):
                return c_expression(IntegerLiteral(value, array.type))
            return c_expression(FloatLiteral(value, array.type))
        size = len(part) // int(array.c_extents[array.rank - rank])
        rows = [part[start : start + size] for start in range(0, len(part), size)]
        while len(rows) > 1 and all(repr(value) in ("0", "0.0") for value in rows[-1]):
            rows.pop()
        return f"{{{', '.join(braced(row, rank - 1) for row in rows)}}}"

    return f" = {braced(values, array.rank)}"


_THREAD_NUMBER = """#ifdef _OPENMP
#include <omp.h>
#else
#define omp_get_thread_num() 0
#endif"""


def print_c(
    program: ir.LoopProgram,
    comment: str = "",
    *,
    annotated: bool = False,
    sizes: Mapping[str, int] | None = None,
) -> str:
    """Return a compilable C function; ``comment`` stands above it.

    In ``annotated`` C it stands behind the head of a loop what the loop has been given to do. A
    program that was made for given ``sizes`` checks at entry that it is called with these.
    """
    scop = program.scop
    body = list(node_lines(program, program.body, 1, annotated))
    checks = list(size_check_lines(scop, sizes or {}))
    lines = [f"/* {comment} */"] if comment else []
    lines += HEADERS if checks else ()
    lines += prelude_lines(scop, "\n".join(body))
    if program.threads > 1 and pooled_arrays(program):
        lines += [_THREAD_NUMBER]
    lines += global_declarations(program)
    lines += ["", f"void {scop.name}({', '.join(argument_declarations(scop)) or 'void'})", "{"]
    lines += [*local_declarations(scop), *checks, *allocations(program), *body]
    lines += deallocations(program)
    return "\n".join([*lines, "}", ""]).lstrip("\n")


def node_lines(
    program: ir.LoopProgram,
    node: ir.Node,
    depth: int,
    annotated: bool,
    known: KnownConditions = _NOTHING_KNOWN,
) -> Iterator[str]:
    """Yield the lines of a node in a function, at a depth, where ``known`` holds."""
    indent = "  " * depth
    match node:
        case ir.Block(children):
            for child in children:
                yield from node_lines(program, child, depth, annotated, known)
        case ir.Loop(variable, lower, upper, step, body, annotation):
            if isinstance(annotation, ParallelLoop) and program.threads > 1:
                kind = "dynamic" if annotation.is_dynamic else "static"
                yield (
                    f"{indent}#pragma omp parallel for schedule({kind}) "
                    f"num_threads({program.threads})"
                    f"{_reduction_clauses(program.scop, annotation.reductions)}"
                )
            text = annotation_text(annotation) if annotated else ""
            note = f"  /* {text} */" if text else ""
            header = loop_header(variable, lower, upper, step)
            if not isinstance(annotation, ParallelLoop):
                bounds = loop_data_bounds(program, node, known)
                if bounds is not None and (own := data_bounded_header(program, node, bounds)):
                    header, known = own, {**known, **bounds.known}
            yield f"{indent}{header} {{{note}"
            if isinstance(annotation, ParallelLoop) and program.threads > 1:
                yield from _slot_declarations(program, "omp_get_thread_num()", indent + "  ")
            yield from node_lines(program, body, depth + 1, annotated, known)
            yield f"{indent}}}"
        case ir.Guard(condition, then, otherwise):
            yield f"{indent}if ({print_index(condition)}) {{"
            yield from node_lines(program, then, depth + 1, annotated, known)
            if otherwise is not None:
                yield f"{indent}}} else {{"
                yield from node_lines(program, otherwise, depth + 1, annotated, known)
            yield f"{indent}}}"
        case ir.Instance(lanes=lanes):
            if lanes is None:
                note = _stream_comment(program, node.statement) if annotated else ""
                yield f"{indent}{print_assignment(program, node, known)}{note}"
                return
            lane = f"{lanes.variable}_"
            iteration = substitute_in(
                replace(node, lanes=None), {lanes.variable: ir.IndexVariable(lane)}
            )
            yield f"{indent}{loop_header(lane, lanes.base, _last_lane(lanes), 1)}"
            yield from node_lines(program, iteration, depth + 1, annotated, known)
        case _:
            assert_never(node)


def _stream_comment(program: ir.LoopProgram, statement: str) -> str:
    """Return what a statement does beyond the caches, as a comment."""
    reads = program.scop.statement(statement).reads
    notes = ["past the caches"] if statement in program.nontemporal_stores else []
    asked = sorted((a for a in program.prefetches if a.statement == statement), key=repr)
    notes += [f"asks for {reads[a.read].array} at {a.variable} + {a.distance}" for a in asked]
    return f"  /* {'; '.join(notes)} */" if notes else ""


def _reduction_clauses(scop: Scop, sums: tuple[tuple[str, ReductionOperator], ...]) -> str:
    """Return OpenMP's clauses for arrays that threads copy, as `` reduction(+: q[0:n])``."""
    clauses = []
    for name, operator in sums:
        array = scop.array(name)
        sections = "".join(f"[0:{extent}]" for extent in array.c_extents)
        if not sections and array.storage_class is StorageClass.ARGUMENT:
            sections = "[0:1]"
        clauses.append(f" reduction({operator.value}: {name}{sections})")
    return "".join(clauses)


def _last_lane(lanes: ir.Lanes) -> ir.Index:
    """Return the variable's value in the last lane that exists."""
    last = add_constant(lanes.base, lanes.width - 1)
    if lanes.active is None:
        return last
    end = add_constant(ir.IndexOperator.ADD(lanes.base, lanes.active), -1)
    return minimum(last, end)


def loop_header(variable: str, lower: ir.Index, upper: ir.Index, step: int) -> str:
    """Return ``for (...)``, with ``<`` where the bound was written as something minus one."""
    match upper:
        case ir.IndexOperation(ir.IndexOperator.SUBTRACT, (bound, ir.IndexConstant(1))):
            condition = f"{variable} < {print_index(bound, 7)}"
        case _:
            condition = f"{variable} <= {print_index(upper, 7)}"
    return f"for (long {variable} = {print_index(lower)}; {condition}; {variable} += {step})"
