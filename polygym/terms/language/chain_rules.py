"""The chain rules: how the derivative by an operator's value becomes those by its operands.

Let y = f(a, b) be a part of a program, r its result, and d = ∂r/∂y, the *adjoint* of y. Then y
contributes d · ∂f/∂a to the adjoint of a, and d · ∂f/∂b to that of b; what all parts contribute to
one is added up. A rule gives these products from d, the operands and y itself, whose values are
there already. None stands for no contribution.

Example: y = a · b contributes d · b to a and d · a to b; y = eᵃ contributes d · y.

Where a function has no derivative one is chosen that holds on one side: of ``abs`` that of a ≥ 0,
of ``max`` and ``min`` that of the operand whose value it gives. The exponent of ``pow`` gets one
where the base is positive, as there is none elsewhere.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from polygym.rewrite.term import Term, term

ChainRule: TypeAlias = Callable[..., "tuple[Term | None, ...]"]
"""From d, the operands and y to what the operands get."""

ZERO, ONE = term(0.0), term(1.0)


def add_terms(one: Term | None, other: Term | None) -> Term | None:
    """Return a sum, of which either may be nothing."""
    if one is None or other is None:
        return one if other is None else other
    return term("add", one, other)


def multiply_terms(one: Term, other: Term) -> Term:
    """Return a product; 1 leaves the other as it is."""
    if one is ONE:
        return other
    return one if other is ONE else term("mul", one, other)


def negate_term(operand: Term) -> Term:
    """Return -a, as the tables of rules have it."""
    return term("mul", term(-1.0), operand)


def divide_terms(one: Term, other: Term) -> Term:
    """Return a quotient."""
    return term("div", one, other)


def _choice(condition: Term, first: Term, second: Term) -> Term:
    return term("if", condition, first, second)


def _larger(d: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term]:
    is_second = term("gt", b, a)
    return _choice(is_second, ZERO, d), _choice(is_second, d, ZERO)


def _smaller(d: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term]:
    is_second = term("lt", b, a)
    return _choice(is_second, ZERO, d), _choice(is_second, d, ZERO)


def _power(d: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term | None]:
    by_base = multiply_terms(d, multiply_terms(b, term("pow", a, term("sub", b, ONE))))
    if not b.children and isinstance(b.head, float):
        return by_base, None
    by_exponent = multiply_terms(multiply_terms(d, y), term("log", a))
    return by_base, _choice(term("gt", a, ZERO), by_exponent, ZERO)


CHAIN_RULES: Mapping[str, ChainRule] = MappingProxyType(
    {
        "add": lambda d, a, b, y: (d, d),
        "sub": lambda d, a, b, y: (d, negate_term(d)),
        "mul": lambda d, a, b, y: (multiply_terms(d, b), multiply_terms(d, a)),
        "div": lambda d, a, b, y: (
            divide_terms(d, b),
            negate_term(divide_terms(multiply_terms(d, y), b)),
        ),
        "neg": lambda d, a, y: (negate_term(d),),
        "exp": lambda d, a, y: (multiply_terms(d, y),),
        "log": lambda d, a, y: (divide_terms(d, a),),
        "sqrt": lambda d, a, y: (divide_terms(d, multiply_terms(term(2.0), y)),),
        "sin": lambda d, a, y: (multiply_terms(d, term("cos", a)),),
        "cos": lambda d, a, y: (negate_term(multiply_terms(d, term("sin", a))),),
        "tanh": lambda d, a, y: (multiply_terms(d, term("sub", ONE, multiply_terms(y, y))),),
        "abs": lambda d, a, y: (_choice(term("gte", a, ZERO), d, negate_term(d)),),
        "pow": _power,
        "max": _larger,
        "min": _smaller,
    }
)
"""A rule for every operator on Floats; of those that are not here, no operand gets anything."""

REQUIRED_OPERANDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("add", "sub", "neg"), ""),
        **dict.fromkeys(("mul", "log", "sin", "cos", "abs", "max", "min"), "operands"),
        **dict.fromkeys(("exp", "sqrt", "tanh"), "value"),
        **dict.fromkeys(("div", "pow"), "operands value"),
    }
)
"""Which values a rule reads: only these are computed."""
