"""C's integer conversions of affine values: what wraps around, and the proof that nothing does.

A value v that is converted to a type of w bits becomes the number of that type with the same last w
bits: ``v mod 2^w`` for an unsigned type, ``(v + 2^(w-1)) mod 2^w - 2^(w-1)`` for a signed one.
Where the type holds v for everything that is looked at, and that is the usual case, it stays v::

    unsigned i, n;   for (i = 0; i < n; i++) … a[i + 1] …      i + 1, for i >= 0
    unsigned char c; … a[(unsigned char)(c + 200)] …           (c + 200) mod 256

Parameters have no upper bound here. Types of 32 and 64 bits are taken to hold what only grows with
a parameter: :mod:`polygym.programs` refuses to run a program with one of 2^31 or more.
"""

import re
from typing import Any

import islpy as isl

from polygym.ir.types import ScalarType
from polygym.poly.isl_values import to_int

# Words in a program without which all its integers are int and long.
NARROW_TYPE_NAMES = frozenset(
    "unsigned char short _Bool bool size_t uintptr_t int8_t int16_t uint8_t uint16_t uint32_t "
    "uint64_t".split()
)

# What sizes and subscripts stay below, however a program combines parameters that are small.
_SMALL_VALUE, LARGE_VALUE = 2**10, 2**31 - 1


def is_representable(value: Any, scalar: ScalarType, domain: Any) -> bool:
    """Whether a type holds a value everywhere on a domain."""
    if domain.is_empty():
        return True
    if not domain.is_subset(value.ge_set(_constant(value, scalar.lowest))):
        return False
    if domain.is_subset(value.le_set(_constant(value, scalar.highest))):
        return True
    if scalar.bits < 32:
        return False
    largest = value.intersect_domain(domain).max_val()
    if not largest.is_int():
        # It grows with parameters; what is too large for small ones is so by its constants.
        largest = value.intersect_domain(at_most(domain, _SMALL_VALUE)).max_val()
    return not largest.is_int() or to_int(largest) <= scalar.highest


def converted_value(value: Any, source: ScalarType, target: ScalarType, domain: Any) -> Any:
    """Return a value of one type converted to another."""
    if target.can_represent(source) or not target.is_integer:
        return value
    if target is ScalarType.BOOL:
        zero = _constant(value, 0)
        one = _constant(value, 1).intersect_domain(value.ne_set(zero))
        return one.union_add(zero.intersect_domain(value.eq_set(zero)))
    if target in (ScalarType.INT, ScalarType.LONG) and source.is_signed:
        return value  # a long that an int does not hold: programs that say so mean that it does
    return value if is_representable(value, target, domain) else wrapped_value(value, target)


def wrapped_value(value: Any, scalar: ScalarType) -> Any:
    """Return the number of a type that has the same last bits."""
    modulus = isl.Val(str(1 << scalar.bits), value.get_ctx())
    if not scalar.is_signed:
        return value.mod_val(modulus)
    half = isl.Val(str(1 << (scalar.bits - 1)), value.get_ctx())
    shifted = value.add_constant_val(half).mod_val(modulus)
    return shifted.add_constant_val(half.neg())


def values_of_type(name: str, scalar: ScalarType, context: Any) -> Any:
    """Return the values that a parameter of a type has: those above a bound, or between two."""
    upper = f" and {name} <= {scalar.highest}" if scalar.bits < 32 else ""
    text = f"[{name}] -> {{ [] : {name} >= {scalar.lowest}{upper} }}"
    return isl.Set.read_from_str(context, text)


def at_most(values: Any, maximum: int) -> Any:
    """Return a set for parameters that are at most so large."""
    bound = isl.Val(str(maximum), values.get_ctx())
    for index in range(values.dim(isl.dim_type.param)):
        values = values.upper_bound_val(isl.dim_type.param, index, bound)
    return values


def has_modulus(value: Any) -> bool:
    """Whether a number as large as 2^32 stands in a value or set."""
    return any(int(number) >= LARGE_VALUE for number in re.findall(r"\d{10,}", str(value)))


def wrapped_domain(value: Any, domain: Any) -> Any:
    """Return for which parameters a value is LARGE because it has wrapped around.

    ``domain`` are all for which it is LARGE. Where they are small themselves, it should not be: of
    ``n - m`` without a sign these are n < m. What no modulus is in has not wrapped around.
    """
    if not has_modulus(value):
        return domain.intersect(domain.complement())
    result = at_most(domain, _SMALL_VALUE)
    return result.gist(at_most(isl.Set.universe(domain.get_space()), _SMALL_VALUE)).coalesce()


def _constant(value: Any, number: int) -> Any:
    return value.scale_val(0).add_constant_val(isl.Val(str(number), value.get_ctx()))
