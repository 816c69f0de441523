"""A model as a C library: an object, an archive or a shared library, its header and its weights.

Files are written into a new folder beside the result first, and moved there when all are made: a
run that is stopped leaves nothing half done.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from polygym.errors import InputError
from polygym.export.c_compiler import UserCompiler, archive, hide_all_but
from polygym.export.cpu_levels import NATIVE, CpuLevel, best_first, cpu_level
from polygym.files import create_folder, temporary_folder
from polygym.graphs.execution.runtime.compiled_model import compile_steps
from polygym.graphs.export.c_text import API, c_text, header_text
from polygym.graphs.export.kernels import write_kernels
from polygym.graphs.export.plan import LibraryPlan, expect_c_name, plan_library
from polygym.graphs.export.weights_file import array_bytes, checksum, write_weights
from polygym.graphs.ir.graph import Model
from polygym.pickling import pickle_by_name

_FLAGS = ("-O2", "-fPIC", "-std=gnu11")


class LibraryKind(Enum):
    """What a library is written as."""

    OBJECT = "object"
    STATIC = "static"
    SHARED = "shared"


_ENDINGS = {LibraryKind.OBJECT: ".o", LibraryKind.STATIC: ".a", LibraryKind.SHARED: ".so"}


@pickle_by_name
@dataclass(frozen=True, slots=True)
class LibraryOptions:
    """The name of the functions, the kind of file, the processors, the threads."""

    name: str
    kind: LibraryKind = LibraryKind.SHARED
    cpus: tuple[str, ...] = (NATIVE,)
    threads: int = 1


@pickle_by_name
@dataclass(frozen=True, slots=True)
class WrittenLibrary:
    """The files of a library: its code, its header, its weights."""

    code: Path
    header: Path
    weights: Path


def write_library(
    model: Model,
    out: Path,
    options: LibraryOptions,
    compiler: UserCompiler | None,
    progress: Callable[[int, int], None] | None = None,
) -> WrittenLibrary:
    """Compile a model and write it into a folder as a library.

    Raises:
        InputError: the folder cannot be written to, a tool is missing, or refuses.
    """
    levels = expect_library(options, compiler)
    assert compiler is not None, "expect_library has looked"
    create_folder(out)
    layout, kernels = compile_steps(model, options.threads, progress=progress)
    plan = plan_library(options.name, model.graph, layout, kernels, options.threads)
    identity = _identity(plan, levels)
    try:
        with temporary_folder(out, ".export-") as folder:
            made = WrittenLibrary(
                folder / f"{plan.name}{_ENDINGS[options.kind]}",
                folder / f"{plan.name}.h",
                folder / f"{plan.name}.safetensors",
            )
            made.header.write_text(header_text(plan, levels), encoding="utf-8")
            write_weights(made.weights, identity, [array for _, array in plan.constants])
            _build(plan, levels, identity, made, compiler)
            paths = [
                Path(shutil.move(path, out / path.name))
                for path in (made.weights, made.header, made.code)
            ]
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written to: {error.strerror}") from None
    weights, header, code = paths
    return WrittenLibrary(code, header, weights)


def expect_library(options: LibraryOptions, compiler: UserCompiler | None) -> tuple[CpuLevel, ...]:
    """Return the processors of a library, the best first, after a look at the options.

    Raises:
        InputError: the name is none for C, there is no such processor, or no compiler.
    """
    expect_c_name(options.name)
    if compiler is None:
        raise InputError(
            f"--kind {options.kind.value}: expected a C compiler (CC, cc, gcc, clang), found none"
        )
    return best_first(tuple(cpu_level(name) for name in dict.fromkeys(options.cpus)))


def _identity(plan: LibraryPlan, levels: tuple[CpuLevel, ...]) -> str:
    """Return what tells a library and its weights from all others."""
    whole = hashlib.sha256(repr((plan.name, levels, plan.codes, plan.steps)).encode())
    for code in plan.objects:
        whole.update(code or b"")
    for _, array in plan.constants:
        whole.update(array_bytes(array))
    return whole.hexdigest()[:32]


def _build(
    plan: LibraryPlan,
    levels: tuple[CpuLevel, ...],
    identity: str,
    made: WrittenLibrary,
    compiler: UserCompiler,
) -> None:
    """Make the file of the code."""
    with temporary_folder() as folder:
        sums = checksum([array for _, array in plan.constants])
        source = folder / f"{plan.name}.c"
        source.write_text(c_text(plan, levels, identity, sums), encoding="utf-8")
        objects = [folder / f"{plan.name}.o", *write_kernels(plan, levels, folder)]
        compiler.compile(source, objects[0], *_FLAGS, f"-I{made.header.parent}")
        joined = folder / f"{plan.name}_joined.o"
        compiler.join(objects, joined)
        hide_all_but(joined, [f"{plan.name}_{function}" for function in API])
        match made.code.suffix:
            case ".so":
                threads = ("-fopenmp",) if plan.threads > 1 else ()
                compiler.link_shared([joined], made.code, *threads, "-lm")
            case ".a":
                archive([joined], made.code)
            case _:
                shutil.copyfile(joined, made.code)
