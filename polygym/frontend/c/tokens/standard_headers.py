"""Standard headers as the front end knows them: a few macros, and the names of types.

System headers are never opened: the text of a program must mean the same on every machine. Their
functions need no declaration here (calls outside the region are never looked at, calls inside are
known by name), but the parser must be told which identifiers are types.
"""

import re

_MATH = (
    "M_PI 3.14159265358979323846",
    "M_PI_2 1.57079632679489661923",
    "M_PI_4 0.78539816339744830962",
    "M_1_PI 0.31830988618379067154",
    "M_2_PI 0.63661977236758134308",
    "M_2_SQRTPI 1.12837916709551257390",
    "M_E 2.7182818284590452354",
    "M_LN2 0.69314718055994530942",
    "M_LN10 2.30258509299404568402",
    "M_LOG2E 1.4426950408889634074",
    "M_LOG10E 0.43429448190325182765",
    "M_SQRT2 1.41421356237309504880",
    "M_SQRT1_2 0.70710678118654752440",
    "MAXFLOAT 3.40282347e+38F",
    "INFINITY (__builtin_inff())",
    'NAN (__builtin_nanf(""))',
    "HUGE_VAL (__builtin_huge_val())",
    "HUGE_VALF (__builtin_huge_valf())",
)


def _signed_limits(name: str, bits: int, suffix: str = "") -> tuple[str, str]:
    """Return the macros for the least and the largest integer of so many bits, with a sign."""
    most = f"{2 ** (bits - 1) - 1}{suffix}"
    least = f"(-{most} - 1)" if bits > 16 else str(-(2 ** (bits - 1)))
    return f"{name}_MIN {least}", f"{name}_MAX {most}"


def _unsigned_limit(name: str, bits: int, suffix: str = "") -> str:
    """Return the macro for the largest integer of so many bits, without a sign."""
    return f"{name}_MAX {2**bits - 1}{suffix}"


_LIMITS = (
    "CHAR_BIT 8",
    *_signed_limits("SCHAR", 8),
    *_signed_limits("CHAR", 8),
    *_signed_limits("SHRT", 16),
    *_signed_limits("INT", 32),
    *_signed_limits("LONG", 64, "L"),
    *_signed_limits("LLONG", 64, "LL"),
    _unsigned_limit("UCHAR", 8),
    _unsigned_limit("USHRT", 16),
    _unsigned_limit("UINT", 32, "U"),
    _unsigned_limit("ULONG", 64, "UL"),
    _unsigned_limit("ULLONG", 64, "ULL"),
)
# Where types of so many bits are the fastest ones, the C library has 64 for those of 16 and 32.
_SIZES = (8, 16, 32, 64)
_INTEGER_TYPES = {
    **{f"INT{kind}{bits}": bits for kind in ("", "_LEAST") for bits in _SIZES},
    **{f"INT_FAST{bits}": max(bits, 64 * (bits > 8)) for bits in _SIZES},
    **dict.fromkeys(("INTPTR", "INTMAX"), 64),
}
_STDINT = (
    *(
        limit
        for name, bits in (_INTEGER_TYPES | {"PTRDIFF": 64}).items()
        for limit in _signed_limits(name, bits, "L" * (bits > 32))
    ),
    *(
        _unsigned_limit(name, bits, "UL"[: bits // 32])
        for name, bits in (
            {f"U{name}": bits for name, bits in _INTEGER_TYPES.items()} | {"SIZE": 64}
        ).items()
    ),
    *(f"INT{bits}_C(c) c{' ## L' * (bits > 32)}" for bits in _SIZES),
    *(f"UINT{bits}_C(c) c{' ## ' * (bits > 16)}{'UL'[: bits // 32]}" for bits in _SIZES),
    "INTMAX_C(c) c ## L",
    "UINTMAX_C(c) c ## UL",
)
# Of float and of double.
_FLOATING_LIMITS = {
    "MANT_DIG": ("24", "53"),
    "DIG": ("6", "15"),
    "DECIMAL_DIG": ("9", "17"),
    "MIN_EXP": ("(-125)", "(-1021)"),
    "MAX_EXP": ("128", "1024"),
    "MIN_10_EXP": ("(-37)", "(-307)"),
    "MAX_10_EXP": ("38", "308"),
    "EPSILON": ("1.1920928955078125e-7f", "2.2204460492503130808e-16"),
    "MAX": ("3.40282346638528859812e38f", "1.79769313486231570815e308"),
    "MIN": ("1.17549435082228750797e-38f", "2.22507385850720138309e-308"),
    "TRUE_MIN": ("1.40129846432481707092e-45f", "4.94065645841246544177e-324"),
}
_FLOAT = (
    "FLT_RADIX 2",
    "FLT_EVAL_METHOD 0",
    *(f"FLT_{name} {values[0]}" for name, values in _FLOATING_LIMITS.items()),
    *(f"DBL_{name} {values[1]}" for name, values in _FLOATING_LIMITS.items()),
)
_VALUES = {"SHORT": "SHRT", "INT": "INT", "LONG": "LONG", "DOUBLE": "DBL", "FLOAT": "FLT"}
_NULL = "NULL ((void *)0)"

_PRINTED = {
    "8": "hh", "16": "h", "32": "", "64": "l", "MAX": "l", "PTR": "l",
    "LEAST8": "hh", "LEAST16": "h", "LEAST32": "", "LEAST64": "l",
    "FAST8": "hh", "FAST16": "l", "FAST32": "l", "FAST64": "l",
}  # fmt: skip
_INTTYPES = tuple(
    f'{verb}{letter}{name} "{length}{letter}"'
    for name, length in _PRINTED.items()
    for verb, letters in (("PRI", "dioxXu"), ("SCN", "dioxu"))
    for letter in letters
)

HEADER_MACROS: dict[str, tuple[str, ...]] = {
    "inttypes.h": (*_STDINT, *_INTTYPES),
    "stdarg.h": ("va_arg(list, type) (*(type *)(list))",),
    "tgmath.h": _MATH,
    "values.h": (
        *_LIMITS,
        *_FLOAT,
        *(
            f"{end}{name} {prefix}_{end}"
            for name, prefix in _VALUES.items()
            for end in ("MAX", "MIN")
        ),
    ),
    "math.h": _MATH,
    "limits.h": _LIMITS,
    "stdint.h": _STDINT,
    "float.h": _FLOAT,
    "stdbool.h": ("bool _Bool", "true 1", "false 0"),
    "complex.h": ("complex _Complex",),
    "stdnoreturn.h": ("noreturn _Noreturn",),
    "threads.h": ("thread_local _Thread_local",),
    "stdatomic.h": ("ATOMIC_VAR_INIT(value) (value)",),
    "stddef.h": (_NULL,),
    "stdlib.h": (_NULL, "EXIT_SUCCESS 0", "EXIT_FAILURE 1", "RAND_MAX 2147483647"),
    "stdio.h": (_NULL, "EOF (-1)", "BUFSIZ 8192"),
    "string.h": (_NULL,),
    "time.h": (_NULL, "CLOCKS_PER_SEC 1000000L"),
}

# Headers of C and of POSIX. None of their macros assigns to a number that it is given.
STANDARD_HEADERS = frozenset(
    f"{name}.h"
    for name in (
        "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal "
        "stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath "
        "threads time uchar wchar wctype values malloc memory dirent fcntl glob libgen omp poll "
        "pthread regex sched semaphore strings termios unistd sys/mman sys/resource sys/select "
        "sys/socket sys/stat sys/time sys/times sys/types sys/wait arpa/inet netinet/in"
    ).split()
)

_HEADER_OF_MACRO = {
    re.split(r"[ (]", macro)[0]: name for name in HEADER_MACROS for macro in HEADER_MACROS[name]
}


def is_standard_header(name: str) -> bool:
    """Whether a header belongs to C or to POSIX, and so is there."""
    return name in STANDARD_HEADERS


def header_hint(name: str) -> str:
    """Return what to write above a file that uses a macro of a header; "" for any other name."""
    header = _HEADER_OF_MACRO.get(name)
    return f"#include <{header}> above it: {name} stands there" if header else ""


OPAQUE = "_polygym_"
"""Beginning of the tags of structures that stand for types whose declarations are not read."""

_TYPES = {
    f"struct {OPAQUE}FILE": "FILE",
    "char *": "va_list",
    "unsigned long": "size_t uintptr_t uint64_t",
    "long": "ssize_t ptrdiff_t intptr_t time_t clock_t int64_t",
    "signed char": "int8_t",
    "short": "int16_t",
    "int": "int32_t",
    "unsigned char": "uint8_t",
    "unsigned short": "uint16_t",
    "unsigned int": "uint32_t",
}

# One line, so that the rows of the program's own tokens are not disturbed.
TYPEDEFS = " ".join(
    f"typedef {meaning} {name};" for meaning, names in _TYPES.items() for name in names.split()
)

KNOWN_TYPES = frozenset(re.findall(r"(\w+);", TYPEDEFS))

# Words with which declarations begin, and statements.
TYPE_KEYWORDS = frozenset(
    "void char short int long float double signed unsigned _Bool const volatile static extern "
    "register typedef struct union enum inline auto restrict _Static_assert ;".split()
)
STATEMENT_KEYWORDS = frozenset(
    "for if while do switch return goto break continue else case default sizeof".split()
)

# Spellings of GNU C and of other compilers, and their plain C; the empty ones say nothing about
# what a program computes.
GNU_SPELLINGS = (
    {
        f"__{word}{end}": word
        for word in ("restrict", "inline", "const", "volatile", "signed")
        for end in ("", "__")
    }
    | dict.fromkeys("__extension__ __cdecl __stdcall __fastcall __vectorcall".split(), "")
    | {
        "__forceinline": "inline",
        "__thread": "_Thread_local",
        "__auto_type": "polygym_auto",
        "__complex__": "_Complex",
        "__alignof__": "_Alignof",
        "__alignof": "_Alignof",
        "__builtin_offsetof": "offsetof",
        "__int64": "long long",
        "__int128_t": "__int128",
        "__uint128_t": "unsigned __int128",
        "_Float32": "float",
        "_Float64": "double",
        "_Float32x": "double",
        "_Float64x": "long double",
        "_Float128": "long double",  # both are refused in a region
        "__float128": "long double",
    }
)

# Words that are dropped together with the parentheses after them.
GNU_ANNOTATIONS = frozenset({"__attribute__", "__attribute", "__declspec", "__asm__", "__asm"})

# Attributes that give a type another meaning: they are not dropped.
TYPE_ATTRIBUTES = frozenset(
    {"vector_size", "ext_vector_type", "mode", "scalar_storage_order", "neon_vector_type"}
)
