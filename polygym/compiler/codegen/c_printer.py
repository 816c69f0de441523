"""Loop IR → C: any schedule as a function that a C compiler takes.

The function has the arguments of the source's, in their order, and computes what the machine code
computes: both are printed from the same loop IR. Compile it with the contraction that C compilers
do by default (``-ffp-contract=on``; gcc's ``fast`` may fuse across statements) to get the same
bits. Loop counters are ``long``; globals of the source are declared ``extern``. A parallel loop has
an OpenMP pragma, the lanes of a vector are a short loop around their one statement. A subscript
that is computed is checked before it is used: where it is out of range, the program says so and
ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from polygym.compiler.codegen.common.exponential import EXPONENTIALS, exponential_in_c
from polygym.compiler.codegen.common.loop_annotation import Parallel, annotation_text
from polygym.compiler.codegen.common.reductions import Operator
from polygym.compiler.codegen.common.special.definitions import SPECIAL
from polygym.compiler.codegen.common.special.in_c import special_in_c
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
from polygym.compiler.ir.expr import (
    Access,
    Expression,
    FloatLiteral,
    Foreign,
    IntegerLiteral,
    IteratorValue,
    MathFunction,
    Update,
    walk,
)
from polygym.compiler.ir.expr import Call as MathCall
from polygym.compiler.ir.gathers import sites
from polygym.compiler.ir.printer import c_expression
from polygym.compiler.ir.scop import Array, Scop, Storage
from polygym.compiler.ir.types import ScalarType

_MACROS = {
    IndexOperator.MINIMUM: ("min", "((a) < (b) ? (a) : (b))"),
    IndexOperator.MAXIMUM: ("max", "((a) > (b) ? (a) : (b))"),
    IndexOperator.DIVIDE_FLOOR: ("floord", "((a) < 0 ? -((-(a) + (b) - 1) / (b)) : (a) / (b))"),
}

_CHECK = """static long polygym_in(long subscript, long size, const char *access)
{
  if (subscript < 0 || subscript >= size) {
    fprintf(stderr, "%s: expected a subscript from 0 to %ld, found %ld\\n", access, size - 1,
            subscript);
    exit(1);
  }
  return subscript;
}"""

_BFLOAT = """typedef uint16_t polygym_bfloat16;
static inline float polygym_from_bfloat16(polygym_bfloat16 x)
{
  union { uint32_t bits; float value; } found = { (uint32_t)x << 16 };
  return found.value;
}
static inline polygym_bfloat16 polygym_to_bfloat16(double x)
{
  union { float value; uint32_t bits; } found = { (float)x };
  double back = found.value;
  if (x != x)
    return (polygym_bfloat16)(found.bits >> 16 | 0x40);
  /* What is lost shows in the last bit, so that it is rounded once. */
  found.bits -= __builtin_fabs(back) > __builtin_fabs(x);
  found.bits |= back != x;
  return (polygym_bfloat16)((found.bits + 0x7fff + (found.bits >> 16 & 1)) >> 16);
}"""

# Operator text and precedence, as in C's grammar: a higher number binds tighter.
_INFIX = {
    IndexOperator.MULTIPLY: ("*", 9),
    IndexOperator.DIVIDE_EXACT: ("/", 9),
    IndexOperator.DIVIDE_NONNEGATIVE: ("/", 9),
    IndexOperator.REMAINDER_NONNEGATIVE: ("%", 9),
    IndexOperator.REMAINDER_ZERO_TEST: ("%", 9),
    IndexOperator.ADD: ("+", 8),
    IndexOperator.SUBTRACT: ("-", 8),
    IndexOperator.LESS: ("<", 6),
    IndexOperator.LESS_EQUAL: ("<=", 6),
    IndexOperator.GREATER: (">", 6),
    IndexOperator.GREATER_EQUAL: (">=", 6),
    IndexOperator.EQUAL: ("==", 5),
    IndexOperator.AND: ("&&", 2),
    IndexOperator.OR: ("||", 1),
}
_AND, _UNARY, _ATOM = 2, 10, 11


def print_c(program: LoopProgram, comment: str = "", *, annotated: bool = False) -> str:
    """Return a compilable C function; ``comment`` stands above it.

    In ``annotated`` C it stands behind the head of a loop what the loop has been given to do.
    """
    scop = program.scop
    body = list(_lines(program, program.body, 1, annotated))
    made = [one for one in scop.arrays if one.storage is Storage.SCRATCH and one.rank]
    lines = [f"/* {comment} */"] if comment else []
    lines += _headers(scop)
    lines += _prototypes(scop)
    if ScalarType.BFLOAT in _types(scop):
        lines.append(_BFLOAT)
    if not scop.contraction:
        lines.append("#pragma STDC FP_CONTRACT OFF")
    text = "\n".join(body)
    for name, definition in _MACROS.values():
        if f"polygym_{name}(" in text:
            lines.append(f"#define polygym_{name}(a, b) {definition}")
    lines += [
        exponential_in_c(scalar, MathFunction.EXPONENTIAL.c_name(scalar))
        for scalar in EXPONENTIALS
        if MathFunction.EXPONENTIAL.c_name(scalar) + "(" in text
    ]
    for function in sorted(SPECIAL, key=lambda one: one.value):
        single = function.c_name(ScalarType.FLOAT) + "(" in text
        if single or function.c_name(ScalarType.DOUBLE) + "(" in text:
            lines.append(special_in_c(function, single=single))
    if sites(scop):
        lines.append(_CHECK)
    lines += [
        f"extern {_declaration(array)};" for array in scop.arrays if array.storage is Storage.GLOBAL
    ]
    lines += [
        f"static _Thread_local {_declaration(array)} __attribute__((aligned(64)));"
        for array in scop.arrays
        if array.storage in (Storage.TILE, Storage.PRIVATE)
    ]
    lines += ["", f"void {scop.name}({', '.join(_arguments(scop)) or 'void'})", "{"]
    lines += [f"  {_declaration(array)}{_initial(array)};" for array in _locals(scop)]
    lines += [_allocation(array) for array in made]
    if made:
        missing = " || ".join(f"!{array.name}" for array in made)
        lines.append(f"  if ({missing})\n    __builtin_trap();")
    body += [f"  __builtin_free({array.name});" for array in made]
    return "\n".join([*lines, *body, "}", ""]).lstrip("\n")


def _types(scop: Scop) -> frozenset[ScalarType]:
    """Return the types of arrays and of what is computed."""
    computed = {node.type for s in scop.statements for node in walk(s.body)}
    return frozenset(computed | {array.type for array in scop.arrays})


def _headers(scop: Scop) -> Iterator[str]:
    """Yield the lines that include what the function uses."""
    types = _types(scop)
    if ScalarType.BFLOAT in types or any(one.is_fixed_width for one in types):
        yield "#include <stdint.h>"
    calls = _calls(scop)
    checks = bool(sites(scop))
    if calls:
        yield "#include <math.h>"
    if any(call.function.value in ("toupper", "tolower") for call in calls):
        yield "#include <ctype.h>"
    if checks:
        yield "#include <stdio.h>"
    if checks or any(call.function is MathFunction.ABS for call in calls):
        yield "#include <stdlib.h>"


def _prototypes(scop: Scop) -> list[str]:
    """Return the declarations of the functions of a user's library."""
    found = {}
    for call in _calls(scop):
        if isinstance(call.function, Foreign) and call.function.library:
            name = call.function.name
            takes = ", ".join(one.value for one in call.function.takes) or "void"
            found[name] = f"{call.type.value} {name}({takes}) __attribute__((const));"
    return list(found.values())


def _calls(scop: Scop) -> list[MathCall]:
    return [node for s in scop.statements for node in walk(s.body) if isinstance(node, MathCall)]


def print_index(index: Index, precedence: int = 0) -> str:
    """Return an index as C text, in parentheses where the surroundings bind tighter."""
    text, own = _index(index)
    return f"({text})" if own < precedence else text


def _index(index: Index) -> tuple[str, int]:
    match index:
        case Number(value):
            return str(value), _ATOM if value >= 0 else _UNARY
        case Variable(name):
            return name, _ATOM
        case Operation(IndexOperator.NEGATE, (operand,)):
            return f"-{print_index(operand, _ATOM)}", _UNARY
        case Operation(IndexOperator.SELECT, (condition, then, otherwise)):
            parts = (print_index(condition, 1), print_index(then), print_index(otherwise))
            return "{} ? {} : {}".format(*parts), 0
        case Operation(operator, operands) if operator in _MACROS:
            return _macro(operator, operands), _ATOM
        case Operation(operator, operands):
            symbol, own = _INFIX[operator]
            if operator is IndexOperator.OR:
                # Compilers warn about && inside || without parentheses.
                return f" {symbol} ".join(print_index(o, _AND + 1) for o in operands), own
            first, *others = operands
            pieces = [print_index(first, own)]
            pieces += [print_index(other, own + 1) for other in others]
            return f" {symbol} ".join(pieces), own
        case _:
            assert_never(index)


def _macro(operator: IndexOperator, operands: tuple[Index, ...]) -> str:
    """Return nested calls of a two-argument macro."""
    name, _ = _MACROS[operator]
    first, *others = operands
    text = print_index(first)
    for other in others:
        text = f"polygym_{name}({text}, {print_index(other)})"
    return text


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
        return f"(({types[name].value}){print_index(values[name], _UNARY)})"

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


def _arguments(scop: Scop) -> Iterator[str]:
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


def _declaration(array: Array) -> str:
    """Return ``double A[n][m]``, ``double x``, or ``double *x`` for a scalar behind a pointer."""
    sizes = "".join(f"[{extent}]" for extent in array.extents_c)
    star = "*" if not array.rank and array.storage is Storage.ARGUMENT else ""
    return f"{array.type.value} {star}{array.name}{sizes}"


def _allocation(array: Array) -> str:
    """Return ``double (*B)[n] = __builtin_malloc(sizeof(double[m][n]) + 1);``.

    gcc's and clang's names need no header, whose own names the source may use for something else;
    no more than nothing could be a null pointer.
    """
    kind, first, *rest = (array.type.value, *(f"[{extent}]" for extent in array.extents_c))
    inner = "".join(rest)
    return f"  {kind} (*{array.name}){inner} = __builtin_malloc(sizeof({kind}{first}{inner}) + 1);"


def _locals(scop: Scop) -> list[Array]:
    """Return what the function declares itself."""
    own = (Storage.LOCAL, Storage.BLOCK)
    return [
        one
        for one in scop.arrays
        if one.storage in own or (one.storage is Storage.SCRATCH and not one.rank)
    ]


def _initial(array: Array) -> str:
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
        size = len(part) // int(array.extents_c[array.rank - rank])
        rows = [part[start : start + size] for start in range(0, len(part), size)]
        while len(rows) > 1 and all(repr(value) in ("0", "0.0") for value in rows[-1]):
            rows.pop()
        return f"{{{', '.join(braced(row, rank - 1) for row in rows)}}}"

    return f" = {braced(values, array.rank)}"
