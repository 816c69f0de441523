"""A kernel as C: the functions of its module, and what a file with kernels has before them.

``print_kernel`` gives a function that takes a pointer for every array of the caller's and the
parameters; it returns 0 when it is done, 1 where there is no memory, 2 + k where the computed
subscript k is out of range, and a negative number where a check has failed, as machine code does
(:mod:`polygym.codegen.llvm.core.binary_interface`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from polygym.codegen.c.kernel.dead_code import remove_dead
from polygym.codegen.c.kernel.expressions.numbers import number_text
from polygym.codegen.c.kernel.helpers.table import needed_helpers
from polygym.codegen.c.kernel.lifting.function import lift
from polygym.codegen.c.kernel.names import type_name, vector_typedefs
from polygym.codegen.c.kernel.promotion import promote_scalars, remove_unused_arguments
from polygym.codegen.c.kernel.short_rows import find_short_rows
from polygym.codegen.c.kernel.statements.function_printer import FunctionPrinter
from polygym.codegen.c.kernel.values import Argument, Kind, LiftedFunction, Operation, Value
from polygym.codegen.c.prelude import library_prototypes, math_definitions
from polygym.codegen.llvm.core.binary_interface import FOREIGN_PREFIX
from polygym.codegen.llvm.emit_module import source_kernel
from polygym.codegen.loopir.ir import LoopProgram
from polygym.ir.scop import Scop

_WRITERS = {
    "store": 1,
    "masked_store": 1,
    "strided_store": 1,
    "scatter": 1,
    "stream": 1,
    "copy_memory": 0,
    "publish": 0,
}


def print_kernel(program: LoopProgram, name: str, *, static: bool = True) -> str:
    """Return the C functions of a loop program; the one of that name is the kernel.

    It takes pointers to the arrays of the caller, each ``restrict``, and the parameters as
    ``long``. What it needs before it, once in a file, is :func:`kernel_prelude`.
    """
    kernel = source_kernel(program)
    pointees = {array.name: array.type.value for array in program.scop.arrays}
    own = [function for function in kernel.module.functions if function.blocks]
    own = [function for function in own if function is kernel or hasattr(function, "hint")]
    names: dict[str, str] = {}
    for function in own:
        names[function.name] = name
        if function is not kernel:
            base = f"{name}_{_identifier(function.hint)}"
            taken = set(names.values()) - {name}
            number = 2
            names[function.name] = base
            while names[function.name] in taken:
                names[function.name] = f"{base}_{number}"
                number += 1
    lifted = {names[f.name]: lift(f, names[f.name], names, pointees) for f in own}
    remove_unused_arguments(lifted, name)
    for function in lifted.values():
        promote_scalars(function)
        find_short_rows(function)
        remove_dead(function)
    _mark_written(lifted)
    texts = [
        _function_text(
            program.scop, function, lifted, pointees, is_kernel=key == name, static=static
        )
        for key, function in _callees_first(lifted, name)
    ]
    text = _c_names("\n\n".join(texts)) + "\n"
    return f"{_BEFORE}\n{text}{_AFTER}\n"


_BEFORE = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off", "no-math-errno", "no-trapping-math")
#endif"""
_AFTER = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif"""
_HEAD = """#if defined(__clang__)
#define POLYGYM_UNFUSED _Pragma("clang fp contract(off)")
#define POLYGYM_APART __attribute__((noinline))
#pragma clang diagnostic ignored "-Wpsabi"
#else
#define POLYGYM_UNFUSED
#define POLYGYM_APART __attribute__((noipa))
#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#ifndef _OPENMP
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif"""


def kernel_prelude(programs: Iterable[LoopProgram]) -> str:
    """Return what a file with the kernels of these programs needs once, before them."""
    programs = tuple(programs)
    text = "\n".join(print_kernel(program, "kernel") for program in programs)
    math = [line for program in programs for line in math_definitions(program.scop, text)]
    helpers = "\n".join(needed_helpers(text))
    typedefs = vector_typedefs(text + helpers)
    typedefs += [
        f"typedef {scalar} {word}_at __attribute__((may_alias));"
        for word, scalar in _SCALARS.items()
        if f"{word}_at" in text
    ]
    lines = [
        *_headers(text + helpers),
        _HEAD,
        *dict.fromkeys(line for program in programs for line in library_prototypes(program.scop)),
        *typedefs,
        _BEFORE,
        *([helpers] if helpers else []),
        *dict.fromkeys(math),
        _AFTER,
    ]
    return "\n".join(lines) + "\n"


_SCALARS = {
    "double": "double",
    "float": "float",
    "half": "_Float16",
    "long": "long",
    "int": "int",
    "short": "short",
    "char": "signed char",
}


def _headers(text: str) -> Iterator[str]:
    """Yield the lines that include what a text uses."""
    if re.search(r"\bu?int\d+_t\b|polygym_bfloat16", text):
        yield "#include <stdint.h>"
    yield "#include <math.h>"
    if re.search(r"\bto(upper|lower)\(", text):
        yield "#include <ctype.h>"
    yield "#include <stdlib.h>"
    if "polygym_allocate" in text:
        yield "#ifdef __linux__\n#include <sys/mman.h>\n#endif"
    if "_mm" in text:
        yield "#if defined(__x86_64__)\n#include <immintrin.h>\n#endif"
    if "omp_get" in text:
        yield "#ifdef _OPENMP\n#include <omp.h>\n#endif"


def _function_text(
    scop: Scop,
    function: LiftedFunction,
    functions: dict[str, LiftedFunction],
    pointees: dict[str, str],
    *,
    is_kernel: bool,
    static: bool,
) -> str:
    """Return the text of a function."""
    printer = FunctionPrinter(function, pointees, functions)
    body = printer.lines()
    declared = [_parameter(argument) for argument in function.arguments]
    result = "int" if function.returns else "void"
    head = f"static POLYGYM_APART {result}" if static or not is_kernel else result
    text = "\n".join(body)
    unused = [
        f"  (void){argument.name};"
        for argument in function.arguments
        if not re.search(rf"\b{re.escape(argument.name)}\b", text)
    ]
    tables = [_table(scop, key, row) for key, row in function.tables.items()]
    lines = [*_signature(f"{head} {function.name}(", declared or ["void"]), "{"]
    lines += ["  POLYGYM_UNFUSED", *tables, *unused, *body, "}"]
    return "\n".join(lines)


def _table(scop: Scop, key: str, row: tuple[str, tuple[Any, ...]]) -> str:
    array = scop.array(key.removesuffix("_initial"))
    kind = Kind("f" if array.type.is_floating else "i", array.type.bits)
    values = ", ".join(number_text(kind, value) for value in row[1])
    return f"  static const {array.type.value} {key}[{len(row[1])}] = {{{values}}};"


def _parameter(argument: Argument) -> str:
    if argument.kind.base != "p":
        return f"{type_name(argument.kind)} {argument.name}"
    const = "" if argument.is_written else "const "
    restrict = "restrict " if argument.pointee != "char" else ""
    return f"{const}{argument.pointee} *{restrict}{argument.name}"


def _signature(start: str, parameters: list[str]) -> list[str]:
    lines, current = [], start
    for place, parameter in enumerate(parameters):
        more = parameter + ("," if place < len(parameters) - 1 else ")")
        if len(current) + len(more) > 98:
            lines.append(current.rstrip())
            current = "    "
        current += more + " "
    return [*lines, current.rstrip()]


def _callees_first(
    functions: dict[str, LiftedFunction], name: str
) -> list[tuple[str, LiftedFunction]]:
    done: dict[str, LiftedFunction] = {}

    def add(key: str) -> None:
        if key in done:
            return
        for operation in functions[key].operations():
            if operation.name in ("call", "parallel_call"):
                add(operation.data[0])
        done[key] = functions[key]

    add(name)
    return list(done.items())


def _mark_written(functions: dict[str, LiftedFunction]) -> None:
    """Note which arguments functions write to, those that they call too."""
    changed = True
    while changed:
        changed = False
        for function in functions.values():
            for pointer in _written_pointers(function, functions):
                root = _root(pointer)
                if isinstance(root, Argument) and not root.is_written:
                    root.is_written = changed = True


def _written_pointers(
    function: LiftedFunction, functions: dict[str, LiftedFunction]
) -> Iterator[Value]:
    for operation in function.operations():
        if operation.name in _WRITERS:
            yield operation.operands[_WRITERS[operation.name]]
        elif operation.name == "scattered_store":
            yield from operation.operands[1 : 1 + operation.data[1].lanes]
        elif operation.name in ("call", "parallel_call"):
            callee = functions[operation.data[0]]
            for argument, value in zip(callee.arguments, operation.operands, strict=True):
                if argument.is_written:
                    yield value


def _root(pointer: Value) -> Value:
    while isinstance(pointer, Operation) and pointer.name in ("address", "row"):
        pointer = pointer.operands[0]
    return pointer


def _identifier(text: str) -> str:
    return re.sub(r"\W", "_", text)


def _c_names(text: str) -> str:
    """Return a text with the names that users gave their functions."""
    return re.sub(rf"\b{FOREIGN_PREFIX}_[0-9a-f]{{16}}_", "", text)
