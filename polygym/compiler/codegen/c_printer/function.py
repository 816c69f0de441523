"""The function: a loop program's loops, guards and instances as C.

Loop counters are ``long``. A parallel loop has an OpenMP pragma, the lanes of a vector are a short
loop around their one statement. A subscript that is computed is checked before it is used: where it
is out of range, the program says so and ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from polygym.compiler.codegen.c_printer.declarations import (
    allocated,
    arguments,
    declared_inside,
    declared_outside,
    freed,
)
from polygym.compiler.codegen.c_printer.index import UNARY, print_index
from polygym.compiler.codegen.c_printer.prelude import prelude
from polygym.compiler.codegen.common.loop_annotation import Parallel, annotation_text
from polygym.compiler.codegen.common.reductions import Operator
from polygym.compiler.codegen.loops.index import minimum, plus, replaced_in
from polygym.compiler.codegen.loops.ir import (
    Block,
    Guard,
    Index,
    IndexOperator,
    Instance,
    Lanes,
    Loop,
    LoopProgram,
    Node,
    Number,
    Operation,
    Variable,
)
from polygym.compiler.ir.expr import Access, Expression, IteratorValue, Update, walk
from polygym.compiler.ir.printer import c_expression
from polygym.compiler.ir.scop import Array, Scop, Storage


def print_c(program: LoopProgram, comment: str = "", *, annotated: bool = False) -> str:
    """Return a compilable C function; ``comment`` stands above it.

    In ``annotated`` C it stands behind the head of a loop what the loop has been given to do.
    """
    scop = program.scop
    body = list(_lines(program, program.body, 1, annotated))
    lines = [f"/* {comment} */"] if comment else []
    lines += prelude(scop, "\n".join(body))
    lines += declared_outside(scop)
    lines += ["", f"void {scop.name}({', '.join(arguments(scop)) or 'void'})", "{"]
    lines += [*declared_inside(scop), *allocated(scop), *body, *freed(scop)]
    return "\n".join([*lines, "}", ""]).lstrip("\n")


def _lines(program: LoopProgram, node: Node, depth: int, annotated: bool) -> Iterator[str]:
    """Yield the lines of a node."""
    indent = "  " * depth
    match node:
        case Block(children):
            for child in children:
                yield from _lines(program, child, depth, annotated)
        case Loop(variable, lower, upper, step, body, annotation):
            if isinstance(annotation, Parallel) and program.threads > 1:
                kind = "dynamic" if annotation.dynamic else "static"
                yield (
                    f"{indent}#pragma omp parallel for schedule({kind}) "
                    f"num_threads({program.threads})"
                    f"{_reductions(program.scop, annotation.sums)}"
                )
            text = annotation_text(annotation) if annotated else ""
            note = f"  /* {text} */" if text else ""
            yield f"{indent}{_loop_header(variable, lower, upper, step)} {{{note}"
            yield from _lines(program, body, depth + 1, annotated)
            yield f"{indent}}}"
        case Guard(condition, then, otherwise):
            yield f"{indent}if ({print_index(condition)}) {{"
            yield from _lines(program, then, depth + 1, annotated)
            if otherwise is not None:
                yield f"{indent}}} else {{"
                yield from _lines(program, otherwise, depth + 1, annotated)
            yield f"{indent}}}"
        case Instance(lanes=lanes):
            if lanes is None:
                note = _streams(program, node.statement) if annotated else ""
                yield f"{indent}{_assignment(program, node)}{note}"
                return
            lane = f"{lanes.variable}_"
            one = replaced_in(replace(node, lanes=None), {lanes.variable: Variable(lane)})
            yield f"{indent}{_loop_header(lane, lanes.base, _last_lane(lanes), 1)}"
            yield from _lines(program, one, depth + 1, annotated)
        case _:
            assert_never(node)


def _streams(program: LoopProgram, statement: str) -> str:
    """Return what a statement does beyond the caches, as a comment."""
    reads = program.scop.statement(statement).reads
    notes = ["past the caches"] if statement in program.past else []
    asked = sorted((one for one in program.ahead if one.statement == statement), key=repr)
    notes += [f"asks for {reads[a.read].array} at {a.variable} + {a.by}" for a in asked]
    return f"  /* {'; '.join(notes)} */" if notes else ""


def _reductions(scop: Scop, sums: tuple[tuple[str, Operator], ...]) -> str:
    """Return OpenMP's clauses for arrays that threads copy, as `` reduction(+: q[0:n])``."""
    clauses = []
    for name, operator in sums:
        array = scop.array(name)
        sections = "".join(f"[0:{extent}]" for extent in array.extents_c)
        if not sections and array.storage is Storage.ARGUMENT:
            sections = "[0:1]"
        clauses.append(f" reduction({operator.value}: {name}{sections})")
    return "".join(clauses)


def _last_lane(lanes: Lanes) -> Index:
    """Return the variable's value in the last lane that exists."""
    last = plus(lanes.base, lanes.width - 1)
    if lanes.active is None:
        return last
    end = plus(Operation(IndexOperator.ADD, (lanes.base, lanes.active)), -1)
    return minimum(last, end)


def _loop_header(variable: str, lower: Index, upper: Index, step: int) -> str:
    """Return ``for (...)``, with ``<`` where the bound was written as something minus one."""
    match upper:
        case Operation(IndexOperator.SUBTRACT, (bound, Number(1))):
            condition = f"{variable} < {print_index(bound, 7)}"
        case _:
            condition = f"{variable} <= {print_index(upper, 7)}"
    return f"for (long {variable} = {print_index(lower)}; {condition}; {variable} += {step})"


def _assignment(program: LoopProgram, instance: Instance) -> str:
    statement = program.scop.statement(instance.statement)
    reads = {
        access: _element(program.scop.array(access.array), subscripts)
        for access, subscripts in zip(statement.reads, instance.reads, strict=True)
    }
    values = dict(zip(statement.iterators, instance.iterators, strict=True))

    types = {
        node.name: node.type for node in walk(statement.body) if isinstance(node, IteratorValue)
    }

    def load(access: Access) -> str:
        return reads[access]

    def iterator(name: str) -> str:
        return f"(({types[name].value}){print_index(values[name], UNARY)})"

    subscripts_of = dict(zip(statement.reads, instance.reads, strict=True))

    def gather(access: Access, computed: tuple[str, ...]) -> str:
        array = program.scop.array(access.array)
        texts = [print_index(subscript) for subscript in subscripts_of[access]]
        for dimension, text in zip(access.gathered, computed, strict=True):
            size = array.extents_c[dimension]
            said = f"{access.text}, dimension {dimension} of {array.name}"
            texts[dimension] = f'polygym_in({text}, {size}, "{said}")'
        return array.name + "".join(f"[{text}]" for text in texts)

    def text(expression: Expression) -> str:
        return c_expression(expression, load, iterator, gather=gather)

    match statement.body:
        case Update(access, condition, computed, value):
            guard = "" if condition is None else f"if ({text(condition)}) "
            return f"{guard}{gather(access, tuple(map(text, computed)))} = {text(value)};"
        case _:
            target = _element(program.scop.array(statement.write.array), instance.write)
            return f"{target} = {text(statement.body)};"


def _element(array: Array, subscripts: tuple[Index, ...]) -> str:
    """Return an element as C; a scalar behind a pointer argument is dereferenced."""
    if not array.rank and array.storage is Storage.ARGUMENT:
        return f"(*{array.name})"
    return array.name + "".join(f"[{print_index(subscript)}]" for subscript in subscripts)
