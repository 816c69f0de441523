"""C's integer division inside affine expressions, by constants and by parameters.

Division by a constant is quasi-affine. Division by a parameter ``p`` is not, but where the program
keeps ``-K p < e < K p`` for a small K it is *piecewise* affine, one piece for every quotient::

    0 <= i < n:   (i + 1) % n  is  i + 1       where i + 1 < n       (quotient 0)
                               and i + 1 - n   where n <= i + 1      (quotient 1)

which is what a stencil with periodic boundaries needs.
"""

from typing import Any

import islpy as isl

from polygym.frontend.c.sema.conditions import comparison_set
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
        return divisor.scale_val(isl.Val(factor, domain.get_ctx()))

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
        number = isl.Val(quotient, domain.get_ctx())
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
