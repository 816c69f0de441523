"""What stands above the function: headers, prototypes, and definitions that its text needs."""

from __future__ import annotations

from collections.abc import Iterator

from polygym.compiler.codegen.c_printer.index import macros_of
from polygym.compiler.codegen.common.exponential import EXPONENTIALS, exponential_in_c
from polygym.compiler.codegen.common.special.definitions import SPECIAL
from polygym.compiler.codegen.common.special.in_c import special_in_c
from polygym.compiler.ir.expr import Call, MathFunction, walk
from polygym.compiler.ir.foreign import Foreign
from polygym.compiler.ir.gathers import sites
from polygym.compiler.ir.scop import Scop
from polygym.compiler.ir.types import ScalarType

_CHECK = """static long polygym_in(long subscript, long size, const char *access)
{
  if (subscript < 0 || subscript >= size) {
    fprintf(stderr, "%s: expected a subscript from 0 to %ld, found %ld\\n", access, size - 1,
            subscript);
    exit(1);
  }
  return subscript;
}"""

_BFLOAT = """typedef uint16_t polygym_bfloat16;
static inline float polygym_from_bfloat16(polygym_bfloat16 x)
{
  union { uint32_t bits; float value; } found = { (uint32_t)x << 16 };
  return found.value;
}
static inline polygym_bfloat16 polygym_to_bfloat16(double x)
{
  union { float value; uint32_t bits; } found = { (float)x };
  double back = found.value;
  if (x != x)
    return (polygym_bfloat16)(found.bits >> 16 | 0x40);
  /* What is lost shows in the last bit, so that it is rounded once. */
  found.bits -= __builtin_fabs(back) > __builtin_fabs(x);
  found.bits |= back != x;
  return (polygym_bfloat16)((found.bits + 0x7fff + (found.bits >> 16 & 1)) >> 16);
}"""


def prelude(scop: Scop, text: str) -> Iterator[str]:
    """Yield what a function of a program needs whose body has this text."""
    yield from _headers(scop)
    yield from _prototypes(scop)
    if ScalarType.BFLOAT in _types(scop):
        yield _BFLOAT
    if not scop.contraction:
        yield "#pragma STDC FP_CONTRACT OFF"
    yield from macros_of(text)
    for scalar in EXPONENTIALS:
        name = MathFunction.EXPONENTIAL.c_name(scalar)
        if f"{name}(" in text:
            yield exponential_in_c(scalar, name)
    for function in sorted(SPECIAL, key=lambda one: one.value):
        single = function.c_name(ScalarType.FLOAT) + "(" in text
        if single or function.c_name(ScalarType.DOUBLE) + "(" in text:
            yield special_in_c(function, single=single)
    if sites(scop):
        yield _CHECK


def _types(scop: Scop) -> frozenset[ScalarType]:
    """Return the types of arrays and of what is computed."""
    computed = {node.type for s in scop.statements for node in walk(s.body)}
    return frozenset(computed | {array.type for array in scop.arrays})


def _headers(scop: Scop) -> Iterator[str]:
    """Yield the lines that include what the function uses."""
    types = _types(scop)
    if ScalarType.BFLOAT in types or any(one.is_fixed_width for one in types):
        yield "#include <stdint.h>"
    calls = _calls(scop)
    checks = bool(sites(scop))
    if calls:
        yield "#include <math.h>"
    if any(call.function.value in ("toupper", "tolower") for call in calls):
        yield "#include <ctype.h>"
    if checks:
        yield "#include <stdio.h>"
    if checks or any(call.function is MathFunction.ABS for call in calls):
        yield "#include <stdlib.h>"


def _prototypes(scop: Scop) -> list[str]:
    """Return the declarations of the functions of a user's library."""
    found = {}
    for call in _calls(scop):
        if isinstance(call.function, Foreign) and call.function.library:
            name = call.function.name
            takes = ", ".join(one.value for one in call.function.takes) or "void"
            found[name] = f"{call.type.value} {name}({takes}) __attribute__((const));"
    return list(found.values())


def _calls(scop: Scop) -> list[Call]:
    return [node for s in scop.statements for node in walk(s.body) if isinstance(node, Call)]
