"""The user's file as LLVM IR, with the function under its own name and signature.

Only a C compiler knows how structures are passed, and the code around the region. So clang makes
the IR of the C that ``--kind c`` writes: the file with the call of the kernel, and the kernel::

    double blur(int n, …) { … }     →     define double @blur(i32 %n, …) { … }

The tools of that clang read it. C has no dispatch, so with CPU levels other than this machine's own
there is one more text for each level, and the first one chooses
(:mod:`~polygym.export.cpu_dispatch`)::

    blur.ll                 for any processor: the user's file, and blur_kernel, which chooses
    blur_x86_64_v3.ll       blur_kernel_x86_64_v3, for that level
"""

import re
from dataclasses import dataclass
from pathlib import Path

from polygym.export.c_compiler import UserCompiler
from polygym.export.c_kernel import kernel_c_text, plan_c_text
from polygym.export.cpu_dispatch import dispatch_text, level_plans
from polygym.export.cpu_levels import NATIVE
from polygym.export.exporting import Export

_IDENTIFICATION = re.compile(r"^(; ModuleID = |source_filename = ).*\n", re.MULTILINE)
_ANY = "x86-64"


@dataclass(frozen=True, slots=True)
class ClangText:
    """A C text of which clang makes one file of IR.

    ``stem`` is the name of the file, ``processor`` that of ``-march``. ``is_unit`` says that it
    stands above the user's file.
    """

    stem: str
    text: str
    processor: str
    is_unit: bool = False


def clang_texts(export: Export) -> tuple[ClangText, ...]:
    """Return the C texts of an export: the top of the user's file, and kernels beside it."""
    ((first, _), *others) = export.plans
    if not others and (first.name == NATIVE or not first.required):
        return (ClangText(export.function, kernel_c_text(export), first.name, is_unit=True),)
    kernels = (
        ClangText(f"{export.function}_{level.symbol}", plan_c_text(export, level, plan), level.name)
        for level, plan in level_plans(export)
    )
    top = ClangText(export.function, dispatch_text(export), _ANY, is_unit=True)
    return (top, *kernels)


def source_text(export: Export, text: str) -> ClangText:
    """Return the text of the user's file where it stays as it is."""
    names = [level.name for level, _ in export.plans]
    return ClangText(export.function, text, NATIVE if names == [NATIVE] else _ANY)


def clang_ir(export: Export, part: ClangText, clang: UserCompiler, folder: Path) -> str:
    """Return the IR of a C text, made in a folder.

    Raises:
        InputError: clang refuses it.
    """
    assert export.embedding is not None
    source, result = folder / f".{part.stem}.c", folder / f".{part.stem}.ll"
    source.write_text(part.text, encoding="utf-8")
    user_file = Path(export.embedding.scop.file).resolve()
    threads = ("-fopenmp",) if export.plan.threads > 1 else ()
    own_flags = ("-O3", f"-march={part.processor}", *threads)
    flags = (*own_flags, "-fPIC", "-w", "-iquote", str(user_file.parent))
    clang.compile(source, result, *flags, *export.embedding.compile_flags, "-S", "-emit-llvm")
    heading = [*export.comment(" ".join((*own_flags, "-lm"))), f"made by {clang.version}"]
    code = _IDENTIFICATION.sub("", result.read_text(encoding="utf-8"))
    return "".join(f"; {line}\n" for line in heading) + code
