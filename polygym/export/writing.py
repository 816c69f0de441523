"""The kinds of output: object code, libraries, C, LLVM IR, a Python module.

Files are written into a new folder beside the result first, and moved there when all are made: a
run that is stopped leaves nothing half done.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from polygym.errors import InputError
from polygym.export.c_compiler import (
    UserCompiler,
    archive,
    user_clang,
    user_cpp_compiler,
    weaken_all_but,
)
from polygym.export.clang_ir import clang_ir, clang_texts, source_text
from polygym.export.cpp_header import expect_external, has_own_types
from polygym.export.cpu_dispatch import kernel_texts
from polygym.export.exporting import Export
from polygym.export.header import comment_block
from polygym.export.python_module import python_module
from polygym.files import create_folder, temporary_folder
from polygym.frontend.c.source.preprocessor import encode_as
from polygym.pickling import pickle_by_name

_COMMON_FLAGS = ("-O3", "-fPIC", "-w")
_LIBRARIES = ("-lm",)


class ExportKind(Enum):
    """What an export is written as."""

    OBJECT = "object"
    STATIC = "static"
    SHARED = "shared"
    C = "c"
    LLVM = "llvm"
    PYTHON = "python"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class WrittenExport:
    """The files of an export, and the sentence about what is missing, if anything is."""

    files: tuple[Path, ...]
    note: str = ""


def write_export(
    export: Export, kind: ExportKind, out: Path, compiler: UserCompiler | None
) -> WrittenExport:
    """Write an export into a folder.

    Raises:
        InputError: the folder cannot be written to, a tool is missing, or refuses.
    """
    create_folder(out)
    try:
        with temporary_folder(out, ".export-") as folder:
            note = _WRITERS[kind](export, folder, out, compiler)
            made = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
            files = tuple(Path(shutil.move(path, out / path.name)) for path in made)
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written to: {error.strerror}") from None
    return WrittenExport(files, note)


def _write_object(export: Export, folder: Path, out: Path, compiler: UserCompiler | None) -> str:
    return _write_linked(export, folder, out, compiler, ".o")


def _write_static(export: Export, folder: Path, out: Path, compiler: UserCompiler | None) -> str:
    return _write_linked(export, folder, out, compiler, ".a")


def _write_shared(export: Export, folder: Path, out: Path, compiler: UserCompiler | None) -> str:
    if compiler is None:
        raise InputError("--kind shared: expected a C compiler that links (CC), found none")
    return _write_linked(export, folder, out, compiler, ".so")


def _write_linked(
    export: Export, folder: Path, out: Path, compiler: UserCompiler | None, ending: str
) -> str:
    """Write an object or a library with the user's function, or without a compiler its parts."""
    cpp = None if export.embedding is None else export.embedding.cpp
    unit_compiler = compiler if cpp is None else user_cpp_compiler()
    if cpp is not None:
        expect_external(cpp)
    if export.is_unchanged:
        return _write_source(export, folder, out, unit_compiler, ending)
    name, kernel = export.function, export.plan.name
    kernel_file = folder / f"{kernel}.o"
    kernel_file.write_bytes(export.object_code())
    if export.embedding is None:
        (folder / f"{kernel}.h").write_text(export.kernel_header(), encoding="utf-8")
        _link([kernel_file], folder / f"{kernel}{ending}", export, compiler)
        if ending != ".o":
            kernel_file.unlink()
        return _no_function(export)
    if unit_compiler is None:
        (folder / f"{kernel}.h").write_text(export.kernel_header(), encoding="utf-8")
        _write_unit(export, folder, out)
        names = _compiler_names(export)
        return f"no {names}: compile {name}{export.suffix} and link it with {kernel}.o"
    unit_object = _compiled_unit(export, folder, export.kernel_header(), unit_compiler)
    note = _write_function_header(export, folder)
    result = folder / f"{name}{ending}"
    if ending == ".o":
        joined = folder / ".joined.o"
        unit_compiler.join([unit_object, kernel_file], joined)
        joined.rename(result)
    else:
        _link([unit_object, kernel_file], result, export, unit_compiler)
    kernel_file.unlink()
    return note


def _write_function_header(export: Export, folder: Path) -> str:
    """Write the header of the user's function; say why there is none."""
    assert export.embedding is not None
    cpp = export.embedding.cpp
    if cpp is not None and has_own_types(cpp):
        return f"no header is written: {cpp.name} takes types of its file, whose header declares it"
    ending = "h" if cpp is None else "hpp"
    path = folder / f"{export.function}.{ending}"
    path.write_text(export.function_header(), encoding="utf-8")
    return ""


def _write_source(
    export: Export, folder: Path, out: Path, compiler: UserCompiler | None, ending: str
) -> str:
    """Write an object or a library of the user's file as it is, without a compiler the file."""
    name = export.function
    note = _write_function_header(export, folder)
    if compiler is None:
        _write_source_text(export, folder, out)
        return f"no {_compiler_names(export)}: compile {name}{export.suffix}"
    unit_object = _compiled_unit(export, folder, "", compiler)
    if ending == ".o":
        unit_object.rename(folder / f"{name}.o")
    else:
        _link([unit_object], folder / f"{name}{ending}", export, compiler)
    return note


def _compiler_names(export: Export) -> str:
    """Return the compilers that were looked for, and not found."""
    if export.suffix == ".cpp":
        return "C++ compiler was found (CXX, c++, g++, clang++)"
    return "C compiler was found (CC, cc, gcc, clang)"


def _write_source_text(export: Export, folder: Path, out: Path) -> None:
    text = _whole_unit(export, "", out)
    (folder / f"{export.function}{export.suffix}").write_bytes(_encoded(export, text))


def _compiled_unit(export: Export, folder: Path, top: str, compiler: UserCompiler) -> Path:
    """Return the object of the user's file below a text."""
    assert export.embedding is not None
    unit_file, unit_object = folder / f".unit{export.suffix}", folder / ".unit.o"
    unit_file.write_bytes(_encoded(export, _whole_unit(export, top, folder)))
    source = Path(export.embedding.scop.file).resolve()
    flags = (*_COMMON_FLAGS, "-iquote", str(source.parent), *export.embedding.compile_flags)
    compiler.compile(unit_file, unit_object, *flags)
    if export.options.name:
        weaken_all_but(export.function, unit_object)
    return unit_object


def _write_unit(export: Export, folder: Path, out: Path) -> None:
    """Write the user's file with the call, which stands in ``out`` in the end."""
    top = f'{comment_block(export.comment())}\n#include "{export.plan.name}.h"\n'
    unit = folder / f"{export.function}{export.suffix}"
    unit.write_bytes(_encoded(export, export.unit(top, out)))


def _link(objects: list[Path], result: Path, export: Export, compiler: UserCompiler | None) -> None:
    """Make a library of objects."""
    if result.suffix == ".a":
        archive(objects, result)
    elif result.suffix == ".so":
        assert compiler is not None
        threads = ("-fopenmp",) if export.plan.threads > 1 else ()
        compiler.link_shared(objects, result, *threads, *_LIBRARIES)


def _whole_unit(export: Export, top: str, folder: Path) -> str:
    """Return the user's file with the call and the function's name below a text, for a folder."""
    assert export.embedding is not None
    own = export.embedding.function.decl.name
    renamed = f"#define {own} {export.function}\n" if export.function != own else ""
    return export.unit(top + renamed, folder, is_external=True)


def _no_function(export: Export) -> str:
    return f"{export.program.name} is no C file: there is no function but the kernel"


def _encoded(export: Export, text: str) -> bytes:
    """Return the user's file with the call in the encoding that it has."""
    assert export.embedding is not None
    return encode_as(text, export.embedding.scop.file)


def _write_llvm(export: Export, folder: Path, out: Path, compiler: UserCompiler | None) -> str:
    """Write the loops as they are measured, and the user's function as clang makes it.

    Without clang, the changed C file is written: it has the function.
    """
    name, kernel = export.function, export.plan.name
    if export.is_unchanged:
        return _write_source_ir(export, folder, out)
    text = "".join(f"; {line}\n" for line in export.comment()) + export.llvm_ir()
    (folder / f"{kernel}.ll").write_text(text, encoding="utf-8")
    (folder / f"{kernel}.h").write_text(export.kernel_header(), encoding="utf-8")
    if export.embedding is None:
        return _no_function(export)
    clang = user_clang()
    if export.embedding.cpp is not None:
        _write_unit(export, folder, out)
        return f"compile {name}.cpp, which has the function, and link it with {kernel}.ll"
    if clang is None:
        _write_unit(export, folder, out)
        return (
            f"no clang was found (CC, clang): compile {name}.c, which has the function, and link "
            f"it with {kernel}.ll"
        )
    parts = clang_texts(export)
    for part in parts:
        if part.is_unit:
            part = replace(part, text=_whole_unit(export, part.text + "\n", folder))
        ir = clang_ir(export, part, clang, folder)
        (folder / f"{part.stem}.ll").write_text(ir, encoding="utf-8")
    (folder / f"{name}.h").write_text(export.function_header(), encoding="utf-8")
    linked = ", ".join(f"{part.stem}.ll" for part in parts[1:])
    with_others = f", and is linked with {linked}" if linked else ""
    return (
        f"{name}.ll is by {clang.version}{with_others}; {kernel}.ll has the loops as measured in "
        "polygym"
    )


def _write_source_ir(export: Export, folder: Path, out: Path) -> str:
    """Write the user's file as it is as LLVM IR, without clang the file."""
    name = export.function
    if export.suffix == ".cpp":
        _write_source_text(export, folder, out)
        return f"compile {name}.cpp, which is the source, by clang++ -S -emit-llvm"
    (folder / f"{name}.h").write_text(export.function_header(), encoding="utf-8")
    clang = user_clang()
    if clang is None:
        _write_source_text(export, folder, out)
        return f"no clang was found (CC, clang): compile {name}.c"
    part = source_text(export, _whole_unit(export, "", folder))
    (folder / f"{name}.ll").write_text(clang_ir(export, part, clang, folder), encoding="utf-8")
    return f"{name}.ll is by {clang.version}"


def _write_c(export: Export, folder: Path, out: Path, compiler: UserCompiler | None) -> str:
    """Write one C file: the kernel, and the user's file with the call; two for a C++ file.

    With several processors there is one more file for each.
    """
    if export.is_unchanged:
        _write_source_text(export, folder, out)
        return _write_function_header(export, folder)
    kernel = export.plan.name
    first, *others = kernel_texts(export)
    is_apart = export.embedding is None or export.embedding.cpp is not None
    for part in [*([first] if is_apart else []), *others]:
        (folder / f"{part.stem}.c").write_text(part.text, encoding="utf-8")
    if is_apart:
        (folder / f"{kernel}.h").write_text(export.kernel_header(), encoding="utf-8")
    if export.embedding is None:
        return _no_function(export)
    with_flags = [f"{part.stem}.c with -O3 -march={part.processor}" for part in others]
    if is_apart:
        _write_unit(export, folder, out)
        names = [f"{kernel}.c as C", f"{export.function}.cpp as C++", *with_flags]
        return f"compile {', '.join(names)}, and link {'all' if others else 'both'}"
    text = _whole_unit(export, first.text + "\n", out)
    (folder / f"{export.function}.c").write_bytes(_encoded(export, text))
    _write_function_header(export, folder)
    listed = ", ".join([f"{export.function}.c", *with_flags])
    return f"compile {listed}, and link all" if others else ""


def _write_python(export: Export, folder: Path, out: Path, compiler: UserCompiler | None) -> str:
    if compiler is None:
        raise InputError("--kind python: expected a C compiler that links (CC), found none")
    kernel = folder / ".kernel.o"
    kernel.write_bytes(export.object_code())
    _link([kernel], folder / f"{export.plan.name}.so", export, compiler)
    (folder / f"{export.function}.py").write_text(python_module(export), encoding="utf-8")
    return ""


_Writer = Callable[[Export, Path, Path, UserCompiler | None], str]
_WRITERS: dict[ExportKind, _Writer] = {
    ExportKind.OBJECT: _write_object,
    ExportKind.STATIC: _write_static,
    ExportKind.SHARED: _write_shared,
    ExportKind.C: _write_c,
    ExportKind.LLVM: _write_llvm,
    ExportKind.PYTHON: _write_python,
}
