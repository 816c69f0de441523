"""The user's file with the call of the kernel, the kernel beside it, and how both are built."""

import difflib
import re
import shlex
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from polygym.errors import InputError
from polygym.export.cpu_dispatch import kernel_texts, level_plans
from polygym.export.cpu_levels import cpu_names
from polygym.export.exporting import Export
from polygym.files import create_folder, path_from_here, write_atomically
from polygym.frontend.c.driver import read_text
from polygym.frontend.c.generated_text import MARK
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
            texts |= {f"{part.stem}.c": part.text.encode() for part in kernel_texts(export)}
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


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel that the changed file calls: its path without an ending, seen from the file.

    ``processor`` is that of ``-march`` for one in C, None for one that chooses among others.
    """

    path: str
    ending: str
    has_threads: bool
    processor: str | None

    @property
    def file(self) -> str:
        return self.path + self.ending

    @property
    def is_c(self) -> bool:
        return self.ending == ".c"

    @property
    def flags(self) -> str:
        """The flags of a kernel in C."""
        march = "" if self.processor is None else f" -march={self.processor}"
        return f"-O3{march}{' -fopenmp' if self.has_threads else ''}"


def lost_kernels(export: Export, folder: Path) -> tuple[str, ...]:
    """Return the kernels that a changed copy in a folder calls, and will not when it is replaced.

    A file with two regions is changed twice, the second time from the copy of the first.
    """
    assert export.embedding is not None
    copy = folder / Path(export.embedding.scop.file).name
    if not copy.is_file():
        return ()
    kept = {kernel.path for kernel in _called(changed_text(export, folder), folder)}
    called = [kernel.path for kernel in _called(read_text(copy), folder)]
    return tuple(path for path in called if path not in kept and path != export.plan.name)


def _called(text: str, folder: Path) -> list[_Kernel]:
    """Return the kernels, written by polygym, whose headers a text in a folder includes."""
    result = []
    for path in dict.fromkeys(_KERNEL_HEADER.findall(text)):
        header = folder / f"{path}.h"
        endings = [end for end in (".c", ".o") if (folder / f"{path}{end}").is_file()]
        if not endings or not header.is_file() or MARK not in (said := read_text(header)):
            continue
        level = _MARCH.search(read_text(folder / f"{path}.c")) if endings[0] == ".c" else None
        processor = None if level is None else level[1]
        result.append(_Kernel(path, endings[0], _OPENMP in said, processor))
    return result


def _with_levels(kernel: _Kernel, folder: Path) -> list[_Kernel]:
    """Return a kernel and, where it chooses among some for processors, those."""
    if not kernel.is_c or kernel.processor is not None:
        return [kernel]
    paths = {name: f"{kernel.path}_{name.replace('-', '_')}" for name in cpu_names()}
    levels = [
        replace(kernel, path=path, processor=name)
        for name, path in paths.items()
        if (folder / f"{path}.c").is_file()
    ]
    return [replace(kernel, has_threads=False), *levels]


_KERNEL_HEADER = re.compile(r'^#include "([^"\n]+)\.h"', re.MULTILINE)
_MARCH = re.compile(r"compile with -O3 -march=([\w-]+)")
_OPENMP = "link with -fopenmp"


def build_lines(export: Export, kind: ApplyKind, folder: Path) -> dict[str, str]:
    """Return the lines that build the changed file, by the tool that reads them.

    There are none where the file stays as it is. Kernels that it has called before are among them.
    """
    assert export.embedding is not None
    if export.is_source:
        return {}
    name, is_cpp = Path(export.embedding.scop.file).name, export.embedding.cpp is not None
    ending, has_threads = ".c" if kind is ApplyKind.C else ".o", export.plan.threads > 1
    level = export.plans[0][0].name if len(export.plans) == 1 else None
    own = _Kernel(export.plan.name, ending, has_threads and level is not None, level)
    kernels = [own]
    if own.is_c and level is None:
        kernels += [
            _Kernel(plan.name, ending, has_threads, level.name)
            for level, plan in level_plans(export)
        ]
    for other in _called(changed_text(export, folder), folder):
        kernels += [] if other.path == own.path else _with_levels(other, folder)
    has_threads = any(kernel.has_threads for kernel in kernels)
    own_flags = "".join(f"{shlex.quote(flag)} " for flag in export.embedding.compile_flags)
    return {
        "Shell": _shell_lines(folder, name, kernels, own_flags, is_cpp=is_cpp),
        "Make": _make_lines(Path(name).stem, kernels, has_threads),
        "CMake": _cmake_lines(name, kernels, has_threads, "CXX" if is_cpp else "C"),
        "Meson": _meson_lines(name, kernels, has_threads, "cpp" if is_cpp else "c"),
    }


def _shell_lines(
    folder: Path, name: str, kernels: list[_Kernel], own_flags: str, *, is_cpp: bool
) -> str:
    """Return the commands that build a changed file with all kernels.

    It is one command where all are C for one processor. g++ takes a C file for C++, so gcc is
    first.
    """
    openmp = " -fopenmp" if any(kernel.has_threads for kernel in kernels) else ""
    levels = {kernel.processor for kernel in kernels if kernel.is_c}
    if not is_cpp and len(levels) < 2:
        march = "".join(f" -march={level}" for level in levels)
        files = " ".join(str(folder / file) for file in (name, *(k.file for k in kernels)))
        return f"gcc -O3{march}{openmp} {own_flags}{files} -lm"
    lines = [
        f"gcc {kernel.flags} -c {folder / kernel.file} -o {folder / kernel.path}.o"
        for kernel in kernels
        if kernel.is_c
    ]
    files = " ".join([str(folder / name), *(f"{folder / kernel.path}.o" for kernel in kernels)])
    compiler = "g++" if is_cpp else "gcc"
    return "\n".join([*lines, f"{compiler} -O3{openmp} {own_flags}{files} -lm"])


def _make_lines(stem: str, kernels: list[_Kernel], has_threads: bool) -> str:
    flags = "".join(f"{k.path}.o: CFLAGS += {k.flags}\n" for k in kernels if k.is_c)
    objects = " ".join([f"{stem}.o", *(f"{kernel.path}.o" for kernel in kernels)])
    openmp = " -fopenmp" if has_threads else ""
    return f"{flags}{_TARGET}: LDLIBS += -lm{openmp}\n{_TARGET}: {objects}"


def _cmake_lines(name: str, kernels: list[_Kernel], has_threads: bool, language: str) -> str:
    package = "find_package(OpenMP REQUIRED)\n" if has_threads else ""
    sources = " ".join([name, *(kernel.file for kernel in kernels)])
    flags = "".join(
        f"set_source_files_properties({kernel.file} PROPERTIES COMPILE_OPTIONS\n"
        f'  "{kernel.flags.replace(" ", ";")}")\n'
        for kernel in kernels
        if kernel.is_c
    )
    libraries = f"OpenMP::OpenMP_{language} m" if has_threads else "m"
    return (
        f"{package}target_sources({_TARGET} PRIVATE {sources})\n{flags}"
        f"target_link_libraries({_TARGET} PRIVATE {libraries})"
    )


def _meson_lines(name: str, kernels: list[_Kernel], has_threads: bool, language: str) -> str:
    lines = [f"m = meson.get_compiler('{language}').find_library('m')"]
    libraries, objects = [], []
    for kernel in kernels:
        if not kernel.is_c:
            objects.append(f"'{kernel.file}'")
            continue
        variable = re.sub(r"\W", "_", kernel.path)
        arguments = ", ".join(repr(flag) for flag in kernel.flags.split())
        lines.append(
            f"{variable} = static_library('{variable}', '{kernel.file}', c_args: [{arguments}])"
        )
        libraries.append(variable)
    extra = [f"link_with: {_meson_list(libraries)}"] if libraries else []
    extra += [f"objects: [{', '.join(objects)}]"] if objects else []
    threads = ", dependency('openmp')" if has_threads else ""
    lines.append(
        f"executable('{_TARGET}', '{name}', {', '.join(extra)},\n  dependencies: [m{threads}])"
    )
    return "\n".join(lines)


def _meson_list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


_TARGET = "app"
