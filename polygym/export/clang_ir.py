"""The user's file as LLVM IR, with the function under its own name and signature.

Only a C compiler knows how structures are passed, and the code around the region. So clang makes
the IR of the C that ``--kind c`` writes: the file with the call of the kernel, and the kernel::

    double blur(int n, …) { … }     →     define double @blur(i32 %n, …) { … }

The tools of that clang read it. Its functions are for the processor that needs least of those that
are asked for, since C has no dispatch.
"""

import re
from pathlib import Path

from polygym.export.c_compiler import UserCompiler
from polygym.export.cpu_levels import best_first
from polygym.export.exporting import Export

_IDENTIFICATION = re.compile(r"^(; ModuleID = |source_filename = ).*\n", re.MULTILINE)


def clang_flags(export: Export) -> tuple[str, ...]:
    """Return the flags that clang makes the code with."""
    level = best_first(tuple(level for level, _ in export.plans))[-1]
    threads = ("-fopenmp",) if export.plan.threads > 1 else ()
    return ("-O3", f"-march={level.name}", *threads)


def function_ir(export: Export, text: str, clang: UserCompiler, folder: Path) -> str:
    """Return the IR of a C text with the user's function, made in a folder.

    Raises:
        InputError: clang refuses it.
    """
    assert export.embedding is not None
    source, result = folder / f".{export.function}.c", folder / f".{export.function}.ll"
    source.write_text(text, encoding="utf-8")
    user_file = Path(export.embedding.scop.file).resolve()
    flags = (*clang_flags(export), "-fPIC", "-w", "-iquote", str(user_file.parent))
    clang.compile(source, result, *flags, *export.embedding.compile_flags, "-S", "-emit-llvm")
    shown = " ".join((*clang_flags(export), "-lm"))
    heading = [*export.comment(shown), f"made by {clang.version}"]
    code = _IDENTIFICATION.sub("", result.read_text(encoding="utf-8"))
    return "".join(f"; {line}\n" for line in heading) + code
