"""The oracle for exported code: the user's function, as exported, does what the source does.

One driver is compiled with the source by gcc and its sanitizers, and once more with the export.
Both write all that a caller can see after the call: arrays, globals, the value returned.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from math import prod
from pathlib import Path

import llvmlite.binding as llvm
from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polygym.export.c_compiler import UserCompiler
from polygym.export.exporting import Export, ExportOptions, prepare_export
from polygym.export.writing import ExportKind, write_export
from polygym.frontend.c.source import syntax
from polygym.ir.scop import Array, StorageClass
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import Program, load_program

GCC = UserCompiler(("gcc",), ())
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_FLAGS = ("-O1", "-g", "-w", "-ffp-contract=off", "-fopenmp")
_ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}


def check_like_source(
    folder: Path,
    text: str,
    *sizes: dict[str, int],
    kind: ExportKind = ExportKind.OBJECT,
    mapping: Mapping = DEFAULT_MAPPING,
    function: str | None = None,
    is_fast: bool | None = True,
    options: ExportOptions | None = None,
    in_order: bool = False,
) -> Export:
    """Compare an export, made for the first sizes, with the source at all sizes.

    ``is_fast`` says whether the kernel has to run at the first sizes; None for either.
    """
    source = folder / "program.c"
    source.write_text(f"#include <assert.h>\n#pragma STDC FP_CONTRACT OFF\n{text}")
    program = load_program(str(source), function=function, parameters=sizes[0])
    schedule = original_schedule(program.scop) if in_order else isl_schedule(program.scop)
    options = options or ExportOptions(sizes=(program.parameters,))
    export = prepare_export(program, schedule, mapping, options)
    assert export.embedding is not None
    whole = export.embedding.text
    for begin, end in reversed(export.embedding.linkage_spans):
        whole = whole[:begin] + whole[end:]
    (folder / "whole.c").write_text(whole)
    written = write_export(export, kind, folder / "out", GCC)
    made = [path for path in written.files if path.suffix in (".o", ".a", ".so", ".c")]
    if kind is ExportKind.LLVM:
        made = [_object_of_ir(folder / "out" / f"{export.function}.ll", folder / "made.o")]
    if kind is ExportKind.C:
        GCC.compile(made[0], folder / "made.o", "-O2", "-w", "-ffp-contract=off", "-fopenmp")
        made = [folder / "made.o"]
    for number, own in enumerate(sizes):
        here = load_program(str(source), function=function, parameters=own)
        driver = folder / f"driver{number}.c"
        driver.write_text(_driver(export, here))
        name = _compiled(folder, [driver, *made], f"fast{number}")
        expected_name = _compiled(
            folder, [driver, folder / "whole.c"], f"slow{number}", sanitized=True
        )
        assert _run(name) == _run(expected_name), f"other results at {own}"
    return export


def _object_of_ir(text: Path, result: Path) -> Path:
    """Compile LLVM IR with LLVM's own library."""
    module = llvm.parse_assembly(text.read_text())
    module.verify()
    target = llvm.Target.from_triple(module.triple)
    machine = target.create_target_machine(opt=2, reloc="pic", codemodel="default")
    result.write_bytes(machine.emit_object(module))
    return result


def _compiled(folder: Path, inputs: list[Path], name: str, *, sanitized: bool = False) -> Path:
    result = folder / name
    flags = [*_FLAGS, *(SANITIZERS if sanitized else ())]
    command = [
        "gcc",
        *flags,
        *map(str, inputs),
        "-lm",
        "-o",
        str(result),
        f"-Wl,-rpath,{folder}/out",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return result


def _run(program: Path) -> bytes:
    done = subprocess.run([program], capture_output=True, timeout=60, env=_ENVIRONMENT)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout


def _pointed_memory(
    export: Export, shapes: dict[str, tuple[int, ...]]
) -> Iterator[tuple[str, str]]:
    """Yield C that lets pointers at file scope, and members ``g->u``, point to memory; and dumps.

    The structure is the memory of an argument.
    """
    embedding = export.embedding
    assert embedding is not None
    function = embedding.function.decl.type
    params = {p.name: p for p in (function.args.params if function.args else ())}
    outside = {d.name for d in embedding.tree.ext if isinstance(d, c_ast.Decl)}
    for own in embedding.arrays:
        name, _, member = own.address.partition("->")
        if not (member and name in params) and (name not in outside or own.is_object):
            continue
        memory = f"{own.array.name}_pointed"
        count, kind = prod(shapes[own.array.name]), own.array.type.value
        place = f"extern {kind} *{name}; {name}"
        if member:
            structure = CGenerator().visit(params[name].type.type.type)
            place = f"(({structure} *){name}_memory)->{member}"
        fill = f"fill({memory}, {count}, sizeof *{memory}, {int(own.array.type.is_floating)});"
        yield (
            f"static {kind} {memory}[{count}]; {fill} {place} = {memory};",
            f"fwrite({memory}, sizeof {memory}, 1, stdout);",
        )


def _structures(name: str, count: int, views: list[Array]) -> Iterator[str]:
    """Yield C that declares memory of structures, and fills the members that the program uses."""
    size = views[0].structure.size
    yield f"static _Alignas(16) char {name}[{count * size}];"
    for view in views:
        offsets = sorted({offset for _, offset in view.structure.members})
        for offset in offsets:
            yield (
                f"for (long k = 0; k < {count}; k++) fill({name} + {size} * k + {offset}, 1, "
                f"{view.type.size}, {int(view.type.is_floating)});"
            )


def _driver(export: Export, program: Program) -> str:
    """Return C that fills all arguments, calls the function, and writes what it has left."""
    embedding = export.embedding
    assert embedding is not None
    scop, decl = program.as_written, embedding.function.decl
    shapes = {array.name: program.shape(array) for array in scop.arrays}
    sizes = dict(program.parameters)
    by_address = {own.address.removeprefix("&"): own.array for own in embedding.arrays}
    lines, arguments, dumps = [], [], []
    params = decl.type.args.params if decl.type.args else []
    for param in params:
        if not isinstance(param, c_ast.Decl) or param.name is None:
            continue
        name = param.name
        array = by_address.get(name)
        row = by_address.get(f"{name}[0]")
        if name in sizes:
            arguments.append(str(sizes[name]))
        elif row is not None and row.structure is not None:
            rows, columns, _ = shapes[row.name]
            lines += _structures(name, rows * columns, [row])
            lines.append(f"static char *{name}_rows[{rows}];")
            length = columns * row.structure.size
            lines.append(
                f"for (long i = 0; i < {rows}; i++) {name}_rows[i] = {name} + i * {length};"
            )
            arguments.append(f"(void *){name}_rows")
            dumps.append(f"fwrite({name}, sizeof {name}, 1, stdout);")
        elif row is not None:
            count = prod(shapes[row.name])
            lines.append(f"static {row.type.value} {name}[{count}];")
            lines.append(f"static {row.type.value} *{name}_rows[{shapes[row.name][0]}];")
            lines.append(
                f"for (long i = 0; i < {shapes[row.name][0]}; i++) "
                f"{name}_rows[i] = {name} + i * {shapes[row.name][1]};"
            )
            lines.append(f"fill({name}, {count}, sizeof *{name}, {int(row.type.is_floating)});")
            arguments.append(f"(void *){name}_rows")
            dumps.append(f"fwrite({name}, sizeof {name}, 1, stdout);")
        elif array is not None and array.storage_class is StorageClass.VALUE:
            arguments.append("3")
        elif array is not None and array.structure is not None:
            views = [a for a in scop.arrays if a.structure and a.structure.name == name]
            count = max(prod(shapes[view.name][:-1]) for view in views) or 1
            lines += _structures(name, count, views)
            arguments.append(f"(void *){name}")
            dumps.append(f"fwrite({name}, sizeof {name}, 1, stdout);")
        elif array is not None:
            count = max(prod(shapes[array.name]), 1)
            lines.append(f"static {array.type.value} {name}[{count}];")
            is_index = int(array.type.is_floating)
            lines.append(f"fill({name}, {count}, sizeof *{name}, {is_index});")
            arguments.append(f"(void *){name}")
            dumps.append(f"fwrite({name}, sizeof {name}, 1, stdout);")
        else:
            lines.append(f"static char {name}_memory[1 << 16];")
            is_pointer = isinstance(param.type, c_ast.PtrDecl | c_ast.ArrayDecl)
            lines.append(f"fill({name}_memory, 1 << 13, 8, 0);")
            if is_pointer:
                arguments.append(f"(void *){name}_memory")
                if not any(own.address.startswith(f"{name}->") for own in embedding.arrays):
                    dumps.append(f"fwrite({name}_memory, sizeof {name}_memory, 1, stdout);")
            elif syntax.contains(param.type, c_ast.Struct):
                kind = CGenerator().visit(param.type.type)
                arguments.append(f"*({kind} *){name}_memory")
            else:
                arguments.append("2")
    for line, dump in _pointed_memory(export, shapes):
        lines.append(line)
        dumps.append(dump)
    unnamed = syntax.type_named(decl.type.type, None)
    result = CGenerator().visit(c_ast.Typename(None, [], None, unnamed)).strip()
    for array in scop.arrays:
        if array.storage_class is StorageClass.GLOBAL and array.live_out:
            own = [d for d in embedding.tree.ext if getattr(d, "name", None) == array.name]
            if own and "static" not in (own[0].storage or ()):
                kind = CGenerator().visit(
                    c_ast.Decl(array.name, [], [], [], [], own[0].type, None, None)
                )
                lines.insert(0, f"extern {kind};")
                dumps.append(f"fwrite((void *)&{array.name}, sizeof {array.name}, 1, stdout);")
    call = f"{export.function}({', '.join(arguments)});"
    if result != "void":
        call = f"{result} value = {call} fwrite(&value, sizeof value, 1, stdout);"
    if export.function == "main":
        raise AssertionError("main has no driver")
    return f"""#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "out/{export.function}.h"
static void fill(void *memory, long count, int size, int is_floating)
{{
  static unsigned seed = 12345;
  for (long k = 0; k < count; k++) {{
    seed = seed * 1103515245u + 12345u;
    long value = (seed >> 16) % 3;
    double real = (double)((seed >> 16) % 9) - 4;
    float single = (float)real;
    if (is_floating && size == 8) memcpy((char *)memory + 8 * k, &real, 8);
    else if (is_floating && size == 4) memcpy((char *)memory + 4 * k, &single, 4);
    else memcpy((char *)memory + size * k, &value, size);
  }}
}}
int main(void)
{{
  {chr(10).join(lines)}
  {call}
  {chr(10).join(dumps)}
  return 0;
}}
"""
