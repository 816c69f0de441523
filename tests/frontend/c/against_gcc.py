"""The oracle for whole files: what a region leaves must be what gcc's program leaves, bit for bit.

The file is compiled by gcc with its sanitisers, and writes every variable that the region knows to
a file where the region begins, and what is seen of it where the region ends. The region's own
machine code, started from the one, must leave the other: in the order of the text, and in isl's.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
from pycparser import c_ast

from polygym.frontend.c import argument_passing, completed_file
from polygym.frontend.c.source.parser import find_regions, parse
from polygym.ir.scop import Array, Scop, StorageClass
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import Program, load_program
from polygym.programs.dtypes import DTYPES
from tests.frontend.c.gcc_results import Result, gcc_result
from tests.oracles.compiled_runs import run_natively

_HEADERS = "".join(
    f"#include <{name}.h>\n" for name in ("stdio", "stdlib", "stdint", "stddef", "math", "assert")
)
_FLAGS = (
    "-std=gnu11 -O1 -w -ffp-contract=off -fno-builtin "
    "-fsanitize=undefined,address,float-cast-overflow -fno-sanitize-recover=all"
).split()


def like_gcc(folder: Path, text: str, library: Path | None = None, **values: int) -> Scop:
    """Compare a file, and a library for both, with gcc at these sizes; return its Scop."""
    path = folder / "program.c"
    path.write_text(text)
    linked = None if library is None else str(library)
    program = load_program(str(path), parameters=values, library=linked)
    scop = replace(program.scop, contraction=False)
    shapes = {a.name: program.shape(a) for a in scop.arrays}
    start = _initial(program, shapes)
    known = [
        a for a in scop.arrays if a.storage_class is not StorageClass.BLOCK and a.initial is None
    ]
    seen = [a for a in scop.arrays if a.live_out]
    assert seen, "nothing is seen of what the region computes"
    arguments = argument_passing(path, scop.name).arguments
    given = [a for a in known if a.storage_class is StorageClass.GLOBAL or a.name in arguments]
    source = _traced(path, program, known, seen, shapes)
    data = b"".join(start[a.name].tobytes() for a in given)

    def compute() -> Result:
        (folder / "traced.c").write_text(source)
        (folder / "given").write_bytes(data)
        libraries = [linked] if linked else []
        _run(folder, ["gcc", *_FLAGS, "-o", "traced", "traced.c", *libraries, "-lm"])
        _run(folder, ["./traced"])
        return {name: (folder / name).read_bytes() for name in ("before", "after", "sizes")}

    key = (" ".join(_FLAGS), source.replace(str(folder), ""), data)
    result = compute() if linked else gcc_result(key, compute)
    before = _read(result["before"], known, shapes)
    expected = _read(result["after"], seen, shapes)
    numbers = np.frombuffer(result["sizes"], np.int64)
    sizes = {p.name: int(v) for p, v in zip(scop.parameters, numbers, strict=True)}
    for schedule in (original_schedule(scop), isl_schedule(scop)):
        arrays = {
            a.name: np.reshape(np.array(a.initial, DTYPES[a.type]), shapes[a.name])
            if a.initial is not None
            else before.get(a.name, np.full(shapes[a.name], 77).astype(DTYPES[a.type])).copy()
            for a in scop.arrays
        }
        run_natively(scop, schedule, sizes, arrays)
        for a in seen:
            np.testing.assert_array_equal(arrays[a.name], expected[a.name], f"{a.name} {schedule}")
    return scop


def _initial(program: Program, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Return what polygym's own rule fills the arrays with."""
    filling = program.initial_data
    arrays = {a.name: np.zeros(program.shape(a), DTYPES[a.type]) for a in filling.arrays}
    sizes = {parameter.name: program.value(parameter.name) for parameter in filling.parameters}
    run_natively(filling, original_schedule(filling), sizes, arrays)
    return arrays | {
        a.name: np.zeros(shapes[a.name], DTYPES[a.type])
        for a in program.scop.arrays
        if a.name not in arrays
    }


def _traced(
    path: Path, program: Program, known: list[Array], seen: list[Array], shapes: dict
) -> str:
    """Return the file with what writes its variables, and a main that calls its function."""
    scop, whole = program.scop, completed_file(path)
    tree = parse(whole.source)
    region = next(r for r in find_regions(tree, whole.source) if r.function.decl.name == scop.name)
    declared = region.function.decl.type.args
    arguments = {p.name: p.type for p in (declared.params if declared else ()) if p.name}

    def size(a: Array) -> int:
        return a.type.size * prod(shapes[a.name])

    def address(a: Array) -> str:
        points = isinstance(arguments.get(a.name), c_ast.PtrDecl | c_ast.ArrayDecl)
        return a.name if a.rank or points else f"&{a.name}"

    def dump(name: str, arrays: list[Array]) -> str:
        written = "".join(f"fwrite((void *){address(a)}, 1, {size(a)}, to_);" for a in arrays)
        return f'{{ FILE *to_ = fopen("{name}", "wb"); {written} fclose(to_); }}'

    # Those that are no arguments have what the code before the region gives them.
    values = "".join(f"{{ long v_ = {p.name}; fwrite(&v_, 8, 1, to_); }}" for p in scop.parameters)
    values = f'{{ FILE *to_ = fopen("sizes", "wb"); {values} fclose(to_); }}'
    lines = []
    for line in whole.text.split("\n"):
        if line.split() == ["#pragma", "endscop"]:
            lines.append(dump("after", seen) + " exit(0);")
        lines.append(line)
        if line.split() == ["#pragma", "scop"]:
            lines.append(dump("before", known))
            lines.append(values)
    if scop.name == "main":
        return _HEADERS + "\n".join(lines)
    calls, main = [], ['FILE *from_ = fopen("given", "rb");']
    for a in known:
        if a.storage_class is StorageClass.GLOBAL:
            main.append(f"fread((void *)&{a.name}, 1, {size(a)}, from_);")
        elif a.name in arguments:
            main.append(f"static {a.type.value} own_{a.name}[{prod(shapes[a.name])}];")
            main.append(f"fread(own_{a.name}, 1, {size(a)}, from_);")
    outside = {decl.name for decl in tree.ext if isinstance(decl, c_ast.Decl)}
    for parameter in scop.parameters:
        if parameter.name not in arguments and parameter.name in outside:
            main.append(f"{parameter.name} = {program.value(parameter.name)};")
    for name in arguments:
        if name in dict(program.parameters):
            calls.append(str(program.value(name)))
        elif name in shapes:
            value = scop.array(name).storage_class is StorageClass.VALUE
            calls.append(f"own_{name}[0]" if value else f"(void *)own_{name}")
        else:
            calls.append("0")
    main.append(f"{scop.name}({', '.join(calls)});")
    return _HEADERS + "\n".join([*lines, "int main(void) {", *main, "return 1;", "}\n"])


def _read(data: bytes, arrays: list[Array], shapes: dict) -> dict[str, np.ndarray]:
    """Return the arrays that a run has written."""
    result, place = {}, 0
    for a in arrays:
        size = a.type.size * prod(shapes[a.name])
        part = np.frombuffer(data[place : place + size], DTYPES[a.type])
        result[a.name] = part.reshape(shapes[a.name])
        place += size
    return result


def _run(folder: Path, command: list[str]) -> None:
    quiet = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, env=quiet
    )
    assert done.returncode == 0, done.stderr
