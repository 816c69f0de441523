"""C headers of exported code: the kernel's, and that of the user's function.

Both are read by C from C99 on and by C++ (:mod:`polygym.frontend.c.prototype`).
"""

import re
from collections.abc import Sequence

from polygym.export.kernel import KernelPlan
from polygym.frontend.c.embedding import RegionEmbedding
from polygym.frontend.c.prototype import prototype_lines
from polygym.ir.scop import Array
from polygym.ir.types import ScalarType


def kernel_header(plan: KernelPlan, comment: Sequence[str]) -> str:
    """Return the header of a kernel: one prototype."""
    notes = [
        *comment,
        "Returns 0 when the loops have run, 1 when they have not: then nothing is written, and",
        "the loops of the source have to run.",
    ]
    return guarded_header(f"{plan.name}_h", notes, [f"{kernel_prototype(plan)};"])


def kernel_prototype(plan: KernelPlan) -> str:
    """Return ``int gemm_kernel(double *C, const double *A, long n)``."""
    arguments = [_pointer(array, array.name in plan.written) for array in plan.arrays]
    arguments += [f"const void *{name}" for name in watched_names(plan)]
    arguments += [f"long {parameter.name}" for parameter in plan.parameters]
    return f"int {plan.name}({', '.join(arguments) or 'void'})"


def watched_names(plan: KernelPlan) -> list[str]:
    """Return the names of the arguments that say where variables are."""
    return [f"place_of_{name}" for name, *_ in plan.watched]


_PLAIN_TYPES = {
    ScalarType.BOOL: "unsigned char",
    ScalarType.BYTE: "signed char",
    ScalarType.UNSIGNED_BYTE: "unsigned char",
    ScalarType.SHORT: "short",
    ScalarType.UNSIGNED_SHORT: "unsigned short",
    ScalarType.UNSIGNED: "unsigned int",
    ScalarType.UNSIGNED_LONG: "unsigned long",
    ScalarType.HALF: "unsigned short",
    ScalarType.BFLOAT: "unsigned short",
}


def element_type(array: Array) -> str:
    """Return the type of an array's elements in a header; numbers of 16 bits are their bits."""
    return _PLAIN_TYPES.get(array.type, array.type.value)


def _pointer(array: Array, is_written: bool) -> str:
    return f"{'' if is_written else 'const '}{element_type(array)} *{array.name}"


def function_header(embedding: RegionEmbedding, name: str, comment: Sequence[str]) -> str:
    """Return the header of the user's function under a name."""
    return guarded_header(f"{name}_h", comment, list(prototype_lines(embedding, name)))


def comment_block(lines: Sequence[str]) -> str:
    """Return a comment of some lines."""
    text = "\n   ".join(line.replace("*/", "* /") for line in lines)
    return f"/* {text} */"


def guarded_header(
    guard: str, comment: Sequence[str], lines: Sequence[str], includes: Sequence[str] = ()
) -> str:
    """Return a header of declarations for C and C++, below a comment."""
    macro = re.sub(r"\W", "_", guard).upper()
    return "\n".join(
        [
            comment_block(comment),
            f"#ifndef {macro}",
            f"#define {macro}",
            *(f"#include <{name}>" for name in includes),
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            *lines,
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "#endif",
            "",
        ]
    )
