"""C's integer arithmetic on affine values: division, shifts, and conversions that wrap around.

Division by a constant is quasi-affine. Division by a parameter ``p`` is not, but where the program
keeps ``-K p < e < K p`` for a small K it is *piecewise* affine, one piece for every quotient::

    0 <= i < n:   (i + 1) % n  is  i + 1       where i + 1 < n       (quotient 0)
                               and i + 1 - n   where n <= i + 1      (quotient 1)

which is what a stencil with periodic boundaries needs.

A value v that is converted to a type of w bits becomes the number of that type with the same last w
bits: ``v mod 2^w`` for an unsigned type, ``(v + 2^(w-1)) mod 2^w - 2^(w-1)`` for a signed one.
Where the type holds v for everything that is looked at, and that is the usual case, it stays v::

    unsigned i, n;   for (i = 0; i < n; i++) … a[i + 1] …      i + 1, for i >= 0
    unsigned char c; … a[(unsigned char)(c + 200)] …           (c + 200) mod 256

Parameters have no upper bound here. Types of 32 and 64 bits are taken to hold what only grows with
a parameter: :mod:`polygym.programs` refuses to run a program with one of 2^31 or more.
"""

import re
from collections.abc import Mapping
from typing import Any

import islpy as isl
from pycparser import c_ast

from polygym.frontend.c.sema.affine_expressions import comparison_set
from polygym.frontend.c.source.syntax import walk
from polygym.ir.types import ScalarType
from polygym.poly.isl_values import to_int

_MAX_QUOTIENT = 4


def constant_of_function(function: Any) -> Any:
    """Return the value of a constant function, None for any other."""
    if function.n_piece() != 1:
        return None
    ((_, piece),) = function.get_pieces()
    return piece.get_constant_val() if piece.is_cst() else None


def constant_on_domain(function: Any, domain: Any) -> Any:
    """Return the value that a function has everywhere on a set, None where it has several.

    After ``assert(s == 4);`` s is 4.
    """
    if (value := constant_of_function(function)) is not None:
        return value
    there = function.intersect_domain(domain)
    if domain.is_empty():
        return None
    least, most = there.min_val(), there.max_val()
    return least if least.is_int() and least.eq(most) else None


def truncated_quotient(dividend: Any, divisor: Any, domain: Any) -> Any:
    """Return ``dividend / divisor`` rounded towards zero, for a constant divisor other than zero.

    One piece is enough where the sign of the dividend is known on ``domain``.
    """
    if divisor.is_neg():
        dividend, divisor = dividend.neg(), divisor.neg()
    if divisor.is_one():
        return dividend
    zero = dividend.scale_val(0)
    ratio = dividend.scale_down_val(divisor)
    negative = dividend.lt_set(zero)
    if domain.is_disjoint(negative):
        return ratio.floor()
    if domain.is_subset(negative):
        return ratio.ceil()
    below = ratio.ceil().intersect_domain(negative)
    return ratio.floor().intersect_domain(dividend.ge_set(zero)).union_add(below)


def parametric_quotients(dividend: Any, divisor: Any, domain: Any) -> list[tuple[Any, int]] | None:
    """Return the pieces (set, quotient) of a division by a parameter, None if they do not cover.

    Quotient 0 holds for ``-p < e < p``, k > 0 for ``k p <= e < (k+1) p``, and -k for
    ``-(k+1) p < e <= -k p``. The divisor must be positive everywhere on ``domain``.
    """
    if domain.is_empty():
        return [(domain, 0)]
    if not domain.is_subset(divisor.gt_set(divisor.scale_val(0))):
        return None

    def multiple(factor: int) -> Any:
        """Return a multiple of the divisor."""
        return divisor.scale_val(isl.Val(str(factor), domain.get_ctx()))

    pieces: list[tuple[Any, int]] = []
    left = domain
    for size in range(_MAX_QUOTIENT + 1):
        for quotient in sorted({size, -size}, reverse=True):
            lower, upper = multiple(quotient), multiple(quotient + (1 if quotient >= 0 else -1))
            if quotient == 0:
                above, below = ("<", upper.neg()), ("<", upper)
            elif quotient > 0:
                above, below = ("<=", lower), ("<", upper)
            else:
                above, below = ("<", upper), ("<=", lower)
            where = comparison_set(above[0], above[1], dividend)
            where = where.intersect(comparison_set(below[0], dividend, below[1]))
            if not left.is_disjoint(where):
                pieces.append((where, quotient))
                left = left.subtract(where)
            if left.is_empty():
                return pieces
    return None


def divided_by_parameter(operator: str, left: Any, right: Any, domain: Any) -> Any:
    """Return C's quotient or remainder by a parameter, None where it is not known."""
    result: Any = None
    for where, quotient in parametric_quotients(left, right, domain) or ():
        number = isl.Val(str(quotient), domain.get_ctx())
        value = left.sub(right.scale_val(number))
        if operator == "/":
            value = left.scale_val(0).add_constant_val(number)
        value = value.intersect_domain(where)
        result = value if result is None else result.union_add(value)
    return result


def shift_or_mask(operator: str, left: Any, right: Any) -> Any:
    """Return a shift by a constant, or the low bits of a value; or the reason why it is neither."""
    amount = constant_of_function(right)
    if operator == "&":
        mask = to_int(amount) if amount is not None else -1
        if mask < 0 or mask & (mask + 1):
            return "uses & with something else than 2^k - 1"
        return left.mod_val(isl.Val(str(mask + 1), left.get_ctx()))
    if amount is None or not 0 <= to_int(amount) < 63:
        return "shifts by something else than a constant"
    power = isl.Val(str(1 << to_int(amount)), left.get_ctx())
    return left.scale_val(power) if operator == "<<" else left.scale_down_val(power).floor()


def narrow_type_names(typedefs: Mapping[str, Any]) -> frozenset[str]:
    """Return words without which all integers of a program are int and long.

    ``typedefs`` are the types that the program and its headers name, in their order.
    """
    words = {"unsigned", "char", "short", "_Bool", "bool", "enum", "sizeof"}
    for name, kind in typedefs.items():
        if any(not words.isdisjoint(part.names) for part in walk(kind, c_ast.IdentifierType)):
            words.add(name)
    return frozenset(words)


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
        true_value = _constant(value, 1).intersect_domain(value.ne_set(zero))
        return true_value.union_add(zero.intersect_domain(value.eq_set(zero)))
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
