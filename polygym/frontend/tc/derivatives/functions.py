"""Derivatives of the functions that a comprehension may call, as texts of its own language.

``x`` is the argument of a function of one, ``a``, ``b``, ``c`` and ``d`` those of several, ``r``
its result. Where a function has a kink, its derivative is PyTorch's: that of ``fabs`` is 0 at 0; of
``max(a, b)`` with a = b, each argument gets half. If b depends on nothing, ``max(a, b)`` is the
rectified linear unit, whose derivative at a = b is 0.
"""

from functools import cache

from polygym.frontend.tc.parsing.expressions import ExpressionParser, tokenize
from polygym.frontend.tc.semantics.functions import function_named
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.where_values import substitute_values

_STEP = "x > 0 ? 1 : x < 0 ? -1 : 0"
_FLAT = ("0",)

PARTIAL_DERIVATIVES: dict[str, tuple[str, ...]] = {
    "sqrt": ("0.5 / r",),
    "cbrt": ("1 / (3 * r * r)",),
    "rsqrt": ("-0.5 * r * r * r",),
    "rcbrt": ("r * r * r * r / -3",),
    "exp": ("r",),
    "exp2": ("0.6931471805599453 * r",),
    "exp10": ("2.302585092994046 * r",),
    "expm1": ("exp(x)",),
    "log": ("1 / x",),
    "log2": ("1.4426950408889634 / x",),
    "log10": ("0.4342944819032518 / x",),
    "log1p": ("1 / (1 + x)",),
    "sin": ("cos(x)",),
    "cos": ("-sin(x)",),
    "tan": ("1 + r * r",),
    "asin": ("1 / sqrt(1 - x * x)",),
    "acos": ("-1 / sqrt(1 - x * x)",),
    "atan": ("1 / (1 + x * x)",),
    "sinh": ("cosh(x)",),
    "cosh": ("sinh(x)",),
    "tanh": ("1 - r * r",),
    "asinh": ("1 / sqrt(x * x + 1)",),
    "acosh": ("1 / sqrt(x * x - 1)",),
    "atanh": ("1 / (1 - x * x)",),
    "erf": ("1.1283791670955126 * exp(-x * x)",),
    "erfc": ("-1.1283791670955126 * exp(-x * x)",),
    "erfcx": ("2 * x * r - 1.1283791670955126",),
    "erfinv": ("0.8862269254527580 * exp(r * r)",),
    "erfcinv": ("-0.8862269254527580 * exp(r * r)",),
    "normcdf": ("0.3989422804014327 * exp(-0.5 * x * x)",),
    "normcdfinv": ("2.5066282746310002 * exp(0.5 * r * r)",),
    "sinpi": ("3.141592653589793 * cospi(x)",),
    "cospi": ("-3.141592653589793 * sinpi(x)",),
    "j0": ("-j1(x)",),
    "j1": ("x == 0 ? 0.5 : j0(x) - r / x",),
    "y0": ("-y1(x)",),
    "y1": ("y0(x) - r / x",),
    "cyl_bessel_i0": ("cyl_bessel_i1(x)",),
    "cyl_bessel_i1": ("x == 0 ? 0.5 : cyl_bessel_i0(x) - r / x",),
    "fabs": (_STEP,),
    "abs": (_STEP,),
    "floor": _FLAT,
    "ceil": _FLAT,
    "trunc": _FLAT,
    "round": _FLAT,
    "rint": _FLAT,
    "logb": _FLAT,
    "pow": (
        "b == 0 ? 0 : b * pow(a, b - 1)",
        "a == 0 && b >= 0 ? 0 : r * log(a)",
    ),
    "hypot": tuple(f"r == 0 ? 0 : {name} / r" for name in "ab"),
    "rhypot": ("-a * r * r * r", "-b * r * r * r"),
    "norm3d": tuple(f"r == 0 ? 0 : {name} / r" for name in "abc"),
    "norm4d": tuple(f"r == 0 ? 0 : {name} / r" for name in "abcd"),
    "rnorm3d": tuple(f"-{name} * r * r * r" for name in "abc"),
    "rnorm4d": tuple(f"-{name} * r * r * r" for name in "abcd"),
    "fdivide": ("1 / b", "-r / b"),
    "atan2": ("b / (a * a + b * b)", "-a / (a * a + b * b)"),
    "fmod": ("1", "-trunc(a / b)"),
    "remainder": ("1", "-rint(a / b)"),
    "fdim": ("a > b ? 1 : 0", "a > b ? -1 : 0"),
    "copysign": ("a == 0 ? 0 : r / a", "0"),
    "nextafter": ("1", "0"),
    "fma": ("b", "a", "1"),
    "max": ("a < b ? 0 : a == b ? 0.5 : 1", "b < a ? 0 : a == b ? 0.5 : 1"),
    "min": ("a > b ? 0 : a == b ? 0.5 : 1", "b > a ? 0 : a == b ? 0.5 : 1"),
    "fmax": ("a < b || a != a ? 0 : 1", "a < b || a != a ? 1 : 0"),
    "fmin": ("a > b || a != a ? 0 : 1", "a > b || a != a ? 1 : 0"),
}
"""The derivatives of each function with respect to its arguments; others have none here."""

_AGAINST_A_CONSTANT = {
    "max": "r <= b ? 0 : 1",
    "min": "r >= b ? 0 : 1",
    "fmax": "r <= b || a != a ? 0 : 1",
    "fmin": "r >= b || a != a ? 0 : 1",
}


def partial_derivative(
    call: tree.ElementOrCall, place: int, result: tree.Expression, *, others_vary: bool
) -> tree.Expression | None:
    """Return the derivative of a call with respect to an argument, None where there is none.

    ``result`` is the value of the call. ``others_vary`` says whether other arguments depend on what
    is differentiated by.
    """
    base = call.name
    if base not in PARTIAL_DERIVATIVES and function_named(base) and base.endswith("f"):
        base = base[:-1]
    texts = PARTIAL_DERIVATIVES.get(base)
    if texts is None:
        return None
    names = "x" if len(call.arguments) == 1 else "abcd"
    values = {**dict(zip(names, call.arguments, strict=False)), "r": result}
    text = texts[place]
    if base in _AGAINST_A_CONSTANT and not others_vary:
        text = _AGAINST_A_CONSTANT[base]
        first, second = call.arguments
        values |= {"a": first, "b": second} if place == 0 else {"a": second, "b": first}
    return substitute_values(_parsed(text), values)


@cache
def _parsed(text: str) -> tree.Expression:
    return ExpressionParser(tokenize(text, "<derivative>")).expression()
