"""exp as polygym computes it: the same in one lane and in sixteen, and wherever it is printed as C.

The C library's exp takes one number at a time, and its last digit depends on the library. So
comprehensions have one of their own, within 1.25 units in the last place. With n the integer next
to x / ln 2 and r = x - n·ln 2, which is at most ln 2 / 2 = 0.35 in size::

    exp(x) = 2ⁿ · exp(r),   exp(r) = 1 + r·(1 + r·(1/2! + r·(1/3! + …)))

Taylor's terms up to r⁷ leave 0.35⁸ / 8! = 6·10⁻⁹ in single precision, a tenth of what rounding
does, and those up to r¹³ in double 5·10⁻¹⁸. Example: x = 1 is n = 1 and r = 0.307; exp(r) = 1.359.

* ln 2 is a sum of two numbers of which the first has so few digits that n times it is exact.
* n is found by adding and subtracting 1.5·2²³ (2⁵² in double), where numbers are 1 apart: the sum's
  bits are n more than those of the constant.
* 2ⁿ is a product of two powers, since n reaches beyond the exponents of normal numbers: what is too
  small for them is rounded once, by the last product, and what is too large becomes infinite.
* x is clamped to where the result is 0 or infinite; NaN passes all comparisons, and stays NaN.
"""

from dataclasses import dataclass
from math import factorial

from polygym.ir.types import ScalarType


@dataclass(frozen=True, slots=True)
class Exponential:
    """The constants for one type of numbers; ``digits`` are the bits behind the leading one."""

    digits: int
    bias: int
    inverse: float
    high: float
    low: float
    lower_limit: float
    upper_limit: float
    degree: int

    @property
    def shift(self) -> float:
        """Where numbers are 1 apart."""
        return 1.5 * 2.0**self.digits

    @property
    def shift_bits(self) -> int:
        """The bits of :attr:`shift`."""
        return (self.bias + self.digits) << self.digits | 1 << (self.digits - 1)

    @property
    def coefficients(self) -> tuple[float, ...]:
        """1/k! from the highest degree down to 0."""
        return tuple(1 / factorial(k) for k in range(self.degree, -1, -1))


EXPONENTIALS = {
    ScalarType.FLOAT: Exponential(
        digits=23,
        bias=127,
        inverse=1.4426950216293335,
        high=float.fromhex("0x1.62e4p-1"),
        low=1.428606765330187e-06,
        lower_limit=-104.0,
        upper_limit=89.0,
        degree=7,
    ),
    ScalarType.DOUBLE: Exponential(
        digits=52,
        bias=1023,
        inverse=1.4426950408889634,
        high=float.fromhex("0x1.62e42fefa3p-1"),
        low=2.8235290563031577e-13,
        lower_limit=-746.0,
        upper_limit=710.0,
        degree=13,
    ),
}


def exponential_c_code(scalar: ScalarType, name: str) -> str:
    """Return a C function of a name that computes exp of a type."""
    exponential = EXPONENTIALS[scalar]
    real, suffix, integer = (
        ("float", "f", "int") if scalar is ScalarType.FLOAT else ("double", "", "long long")
    )

    def text(value: float) -> str:
        return f"{value.hex()}{suffix}"

    first, *others = exponential.coefficients
    return "\n".join(
        [
            f"static inline {real} {name}({real} x)",
            "{",
            f"  union {{ {real} value; {integer} bits; }} n, first, second;",
            f"  x = x > {text(exponential.upper_limit)} ? {text(exponential.upper_limit)} : x;",
            f"  x = x < {text(exponential.lower_limit)} ? {text(exponential.lower_limit)} : x;",
            f"  n.value = x * {text(exponential.inverse)} + {text(exponential.shift)};",
            f"  {integer} power = n.bits - {exponential.shift_bits}{'' if suffix else 'LL'};",
            f"  n.value -= {text(exponential.shift)};",
            f"  x = x - n.value * {text(exponential.high)};",
            f"  x = x - n.value * {text(exponential.low)};",
            f"  {real} result = {text(first)};",
            *(f"  result = result * x + {text(value)};" for value in others),
            f"  {integer} half = power >> 1;",
            f"  first.bits = (unsigned {integer})(half + {exponential.bias}) << "
            f"{exponential.digits};",
            f"  second.bits = (unsigned {integer})(power - half + {exponential.bias}) << "
            f"{exponential.digits};",
            "  return result * first.value * second.value;",
            "}",
        ]
    )
