"""The user's file with the call of the kernel, the kernel beside it, and how both are built."""

import difflib
import shlex
from enum import Enum
from pathlib import Path

from polygym.errors import InputError
from polygym.export.c_kernel import kernel_c_text
from polygym.export.exporting import Export
from polygym.files import create_folder, path_from_here, write_atomically
from polygym.frontend.c.driver import read_text
from polygym.frontend.c.source.preprocessor import encode_as


class ApplyKind(Enum):
    """What the kernel is written as."""

    C = "c"
    OBJECT = "object"


def changed_text(export: Export, folder: Path) -> str:
    """Return the changed file as it stands in a folder."""
    if export.is_source:
        return _file_text(export)
    return export.unit(f'#include "{export.plan.name}.h"\n', folder)


def _file_text(export: Export) -> str:
    """Return the user's file; in the text of the embedding a region without pragmas has some."""
    assert export.embedding is not None
    return read_text(export.embedding.scop.file)


def unified_diff(export: Export, folder: Path) -> str:
    """Return the change of the user's file as a unified diff, for ``patch -p1`` in this folder."""
    assert export.embedding is not None
    shown = path_from_here(Path(export.embedding.scop.file).resolve())
    name = shown.name if shown.is_absolute() else shown
    before = _file_text(export).splitlines(keepends=True)
    after = changed_text(export, folder).splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"))


def apply_export(export: Export, kind: ApplyKind, folder: Path) -> tuple[Path, ...]:
    """Write the changed file and the kernel into a folder; return the files.

    Raises:
        InputError: the folder cannot be written to.
    """
    assert export.embedding is not None
    name, kernel = Path(export.embedding.scop.file).name, export.plan.name
    texts = {} if export.is_source else {f"{kernel}.h": export.kernel_header().encode()}
    if not export.is_source:
        if kind is ApplyKind.C:
            texts[f"{kernel}.c"] = kernel_c_text(export).encode()
        else:
            texts[f"{kernel}.o"] = export.object_code()
    # Last: it needs the others.
    texts[name] = encode_as(changed_text(export, folder), export.embedding.scop.file)
    create_folder(folder)
    try:
        for file, content in texts.items():
            write_atomically(folder / file, content)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to: {error.strerror}") from None
    return tuple(folder / file for file in texts)


def build_lines(export: Export, kind: ApplyKind, folder: Path) -> dict[str, str]:
    """Return the lines that build the changed file, by the tool that reads them.

    There are none where the file stays as it is.
    """
    assert export.embedding is not None
    if export.is_source:
        return {}
    name, kernel = Path(export.embedding.scop.file).name, export.plan.name
    stem = Path(name).stem
    own_flags = "".join(f"{shlex.quote(flag)} " for flag in export.embedding.compile_flags)
    with_threads = export.plan.threads > 1
    openmp = " -fopenmp" if with_threads else ""
    target = "app"
    if kind is ApplyKind.C:
        flags = f"-O3 -march=native{openmp}"
        objects, sources = f"{stem}.o {kernel}.o", f"{name} {kernel}.c"
        cmake = f"set_source_files_properties({kernel}.c PROPERTIES COMPILE_OPTIONS\n"
        cmake += f'  "{flags.replace(" ", ";")}")\n'
        arguments = ", ".join(repr(flag) for flag in flags.split())
        meson = f"{kernel} = static_library('{kernel}', '{kernel}.c', c_args: [{arguments}])\n"
        meson_extra = f"link_with: {kernel}"
    else:
        flags = f"-O3{openmp}"
        objects, sources, cmake = f"{stem}.o {kernel}.o", f"{name} {kernel}.o", ""
        meson, meson_extra = "", f"objects: ['{kernel}.o']"
    shell_sources = " ".join(str(folder / part) for part in sources.split())
    meson_threads = ", dependency('openmp')" if with_threads else ""
    libraries = "OpenMP::OpenMP_C m" if with_threads else "m"
    package = "find_package(OpenMP REQUIRED)\n" if with_threads else ""
    make = f"{kernel}.o: CFLAGS += {flags}\n" if kind is ApplyKind.C else ""
    return {
        "Shell": f"gcc {flags} {own_flags}{shell_sources} -lm",
        "Make": f"{make}{target}: LDLIBS += -lm{openmp}\n{target}: {objects}",
        "CMake": f"{package}target_sources({target} PRIVATE {sources})\n{cmake}"
        f"target_link_libraries({target} PRIVATE {libraries})",
        "Meson": f"m = meson.get_compiler('c').find_library('m')\n{meson}"
        f"executable('{target}', '{name}', {meson_extra},\n  dependencies: [m{meson_threads}])",
    }
