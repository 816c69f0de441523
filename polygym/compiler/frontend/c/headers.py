"""What the front end knows of the standard headers: a few macros, and the names of types.

System headers are never opened: the text of a program must mean the same on every machine. Their
functions need no declaration here (calls outside the region are never looked at, calls inside are
known by name), but the parser must be told which identifiers are types.
"""

from __future__ import annotations

import re

MACROS: dict[str, tuple[str, ...]] = {
    "math.h": (
        "M_PI 3.14159265358979323846",
        "M_PI_2 1.57079632679489661923",
        "M_PI_4 0.78539816339744830962",
        "M_1_PI 0.31830988618379067154",
        "M_2_PI 0.63661977236758134308",
        "M_E 2.7182818284590452354",
        "M_LN2 0.69314718055994530942",
        "M_LN10 2.30258509299404568402",
        "M_LOG2E 1.4426950408889634074",
        "M_LOG10E 0.43429448190325182765",
        "M_SQRT2 1.41421356237309504880",
        "M_SQRT1_2 0.70710678118654752440",
    ),
    "limits.h": (
        "CHAR_BIT 8",
        "INT_MAX 2147483647",
        "INT_MIN (-2147483647 - 1)",
        "LONG_MAX 9223372036854775807L",
        "LONG_MIN (-9223372036854775807L - 1)",
    ),
    "stdint.h": (
        "INT32_MAX 2147483647",
        "INT32_MIN (-2147483647 - 1)",
        "INT64_MAX 9223372036854775807L",
        "INT64_MIN (-9223372036854775807L - 1)",
    ),
    "float.h": (
        "FLT_EPSILON 1.1920928955078125e-7f",
        "FLT_MAX 3.40282346638528859812e38f",
        "FLT_MIN 1.17549435082228750797e-38f",
        "DBL_EPSILON 2.2204460492503130808e-16",
        "DBL_MAX 1.79769313486231570815e308",
        "DBL_MIN 2.22507385850720138309e-308",
    ),
    "stdbool.h": ("bool _Bool", "true 1", "false 0"),
    "complex.h": ("complex _Complex",),
    "stddef.h": ("NULL ((void *)0)",),
    "stdlib.h": ("NULL ((void *)0)", "EXIT_SUCCESS 0", "EXIT_FAILURE 1", "RAND_MAX 2147483647"),
    "stdio.h": ("NULL ((void *)0)",),
    "string.h": ("NULL ((void *)0)",),
    "time.h": ("NULL ((void *)0)", "CLOCKS_PER_SEC 1000000L"),
}

_TYPES = {
    "FILE": "struct _polygym_file",
    "va_list": "char *",
    "size_t": "unsigned long",
    "ssize_t": "long",
    "ptrdiff_t": "long",
    "intptr_t": "long",
    "uintptr_t": "unsigned long",
    "time_t": "long",
    "clock_t": "long",
    "int8_t": "signed char",
    "int16_t": "short",
    "int32_t": "int",
    "int64_t": "long",
    "uint8_t": "unsigned char",
    "uint16_t": "unsigned short",
    "uint32_t": "unsigned int",
    "uint64_t": "unsigned long",
}

# One line, so that the rows of the program's own tokens are not disturbed.
TYPEDEFS = " ".join(f"typedef {meaning} {name};" for name, meaning in _TYPES.items())

KNOWN_TYPES = frozenset(re.findall(r"(\w+);", TYPEDEFS))

# Words with which declarations begin, and statements.
TYPE_WORDS = frozenset(
    "void char short int long float double signed unsigned _Bool const volatile static extern "
    "register typedef struct union enum inline auto restrict _Static_assert ;".split()
)
STATEMENT_WORDS = frozenset(
    "for if while do switch return goto break continue else case default sizeof".split()
)

# Spellings of GNU C and their plain C; the empty ones say nothing about what a program computes.
SPELLINGS = {
    "__restrict": "restrict",
    "__restrict__": "restrict",
    "__inline": "inline",
    "__inline__": "inline",
    "__const": "const",
    "__const__": "const",
    "__volatile__": "volatile",
    "__volatile": "volatile",
    "__signed__": "signed",
    "__extension__": "",
}

# Words that are dropped together with the parentheses after them.
ANNOTATIONS = frozenset({"__attribute__", "__attribute", "__declspec", "__asm__", "__asm"})
