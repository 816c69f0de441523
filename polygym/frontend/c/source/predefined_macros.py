"""Macros that a compiler has defined before it reads a file, as far as programs ask for them.

The table is fixed, and no compiler is asked: a text must mean the same on every machine. It is that
of gcc and clang for 64-bit Linux, with three decisions:

* The version is the one that clang claims, 4.2.1, so that texts take what all compilers have.
* Instruction sets (``__SSE2__``, ``__AVX2__``), ``__SIZEOF_INT128__`` and ``_OPENMP`` are not
  defined: texts that ask for them have portable loops for the others, and these can be scheduled.
* The processor is the one that runs: ``__x86_64__`` or ``__aarch64__``.

A macro of the command line, ``-D NAME=VALUE``, replaces one of the table.
"""

import platform
from functools import cache

_PROCESSORS = {
    "x86_64": ("__x86_64__", "__x86_64", "__amd64__", "__amd64"),
    "aarch64": ("__aarch64__", "__ARM_64BIT_STATE"),
    "riscv64": ("__riscv",),
}
_ALIASES = {"amd64": "x86_64", "arm64": "aarch64"}

_LANGUAGE = {
    "__STDC__": "1",
    "__STDC_VERSION__": "201710L",
    "__STDC_HOSTED__": "1",
    "__STDC_IEC_559__": "1",
    "__STDC_UTF_16__": "1",
    "__STDC_UTF_32__": "1",
    "__GNUC__": "4",
    "__GNUC_MINOR__": "2",
    "__GNUC_PATCHLEVEL__": "1",
    "__GNUC_STDC_INLINE__": "1",
    "__VERSION__": '"4.2.1"',
    "__CHAR_BIT__": "8",
    "__FINITE_MATH_ONLY__": "0",
    "__USER_LABEL_PREFIX__": "",
}
_SYSTEM = dict.fromkeys(
    "__linux__ __linux __gnu_linux__ __unix__ __unix __ELF__ __LP64__ _LP64".split(), "1"
)
_BYTE_ORDER = {
    "__ORDER_LITTLE_ENDIAN__": "1234",
    "__ORDER_BIG_ENDIAN__": "4321",
    "__ORDER_PDP_ENDIAN__": "3412",
    "__BYTE_ORDER__": "__ORDER_LITTLE_ENDIAN__",
    "__FLOAT_WORD_ORDER__": "__ORDER_LITTLE_ENDIAN__",
}
_SIZES = {
    f"__SIZEOF_{name}__": str(size)
    for size, names in {
        2: "SHORT",
        4: "INT FLOAT WCHAR_T WINT_T",
        8: "LONG LONG_LONG DOUBLE POINTER SIZE_T PTRDIFF_T",
        16: "LONG_DOUBLE",
    }.items()
    for name in names.split()
}

# Integer types: the name in macros, how it is written, its bits; a U is put before a name.
_INTEGERS = (
    ("INT8", "signed char", 8),
    ("INT16", "short int", 16),
    ("INT32", "int", 32),
    ("INT64", "long int", 64),
    ("INT_LEAST8", "signed char", 8),
    ("INT_LEAST16", "short int", 16),
    ("INT_LEAST32", "int", 32),
    ("INT_LEAST64", "long int", 64),
    ("INT_FAST8", "signed char", 8),
    ("INT_FAST16", "long int", 64),
    ("INT_FAST32", "long int", 64),
    ("INT_FAST64", "long int", 64),
    ("INTMAX", "long int", 64),
    ("INTPTR", "long int", 64),
)
_UNSIGNED = {"signed char": "unsigned char", "short int": "short unsigned int"} | {
    "int": "unsigned int",
    "long int": "long unsigned int",
}
_MORE_LIMITS = {
    "__SCHAR_MAX__": "127",
    "__SHRT_MAX__": "32767",
    "__INT_MAX__": "2147483647",
    "__LONG_MAX__": "9223372036854775807L",
    "__LONG_LONG_MAX__": "9223372036854775807LL",
    "__SIZE_MAX__": "18446744073709551615UL",
    "__PTRDIFF_MAX__": "9223372036854775807L",
    "__WCHAR_MAX__": "2147483647",
    "__SIZE_TYPE__": "long unsigned int",
    "__PTRDIFF_TYPE__": "long int",
    "__WCHAR_TYPE__": "int",
    "__WINT_TYPE__": "unsigned int",
}
_FLOATING = {
    "__FLT_RADIX__": "2",
    "__FLT_EVAL_METHOD__": "0",
    "__FLT_MANT_DIG__": "24",
    "__FLT_DIG__": "6",
    "__FLT_MIN_EXP__": "(-125)",
    "__FLT_MAX_EXP__": "128",
    "__FLT_MIN_10_EXP__": "(-37)",
    "__FLT_MAX_10_EXP__": "38",
    "__FLT_MAX__": "3.40282346638528859811704183484516925e+38F",
    "__FLT_MIN__": "1.17549435082228750796873653722224568e-38F",
    "__FLT_EPSILON__": "1.19209289550781250000000000000000000e-7F",
    "__DBL_MANT_DIG__": "53",
    "__DBL_DIG__": "15",
    "__DBL_MIN_EXP__": "(-1021)",
    "__DBL_MAX_EXP__": "1024",
    "__DBL_MIN_10_EXP__": "(-307)",
    "__DBL_MAX_10_EXP__": "308",
    "__DBL_MAX__": "1.79769313486231570814527423731704357e+308",
    "__DBL_MIN__": "2.22507385850720138309023271733240406e-308",
    "__DBL_EPSILON__": "2.22044604925031308084726333618164062e-16",
}


def _integers() -> dict[str, str]:
    """Return the types, limits and constants of the integer types."""
    result: dict[str, str] = {}
    for name, spelling, bits in _INTEGERS:
        suffix = "L" if bits == 64 else ""
        unsigned_suffix = {64: "UL", 32: "U"}.get(bits, "")
        result[f"__{name}_TYPE__"] = spelling
        result[f"__U{name}_TYPE__"] = _UNSIGNED[spelling]
        result[f"__{name}_MAX__"] = f"{2 ** (bits - 1) - 1}{suffix}"
        result[f"__U{name}_MAX__"] = f"{2**bits - 1}{unsigned_suffix}"
        if name in ("INT8", "INT16", "INT32", "INT64", "INTMAX"):
            result[f"__{name}_C(c)"] = f"c ## {suffix}" if suffix else "c"
            result[f"__U{name}_C(c)"] = f"c ## {unsigned_suffix}" if unsigned_suffix else "c"
    return result


@cache
def predefined_macros(processor: str | None = None, *, is_cpp: bool = False) -> tuple[str, ...]:
    """Return the macros as ``#define`` has them, for a processor or the one that runs.

    Those of C++ have its version in the place of C's.

    >>> "__x86_64__ 1" in predefined_macros("x86_64"), "__LP64__ 1" in predefined_macros("x86_64")
    (True, True)
    """
    machine = (processor or platform.machine()).lower()
    names = _PROCESSORS.get(_ALIASES.get(machine, machine), ())
    table = _LANGUAGE | _SYSTEM | dict.fromkeys(names, "1") | _BYTE_ORDER | _SIZES | _integers()
    table |= _MORE_LIMITS | _FLOATING
    if is_cpp:
        del table["__STDC_VERSION__"], table["__GNUC_STDC_INLINE__"]
        table |= {"__cplusplus": "201703L", "__GNUG__": "4", "_GNU_SOURCE": "1"}
    return tuple(f"{name} {value}".rstrip() for name, value in table.items())
