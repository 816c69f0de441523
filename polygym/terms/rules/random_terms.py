"""Random terms and values of given types, to try rules on.

Floats are multiples of a quarter with 0, 1 and -1 among them, so that sums and products of them are
exact, and what a rule says of special values is tried; vectors have 3 elements, Integers are small.
Whoever knows of numbers at which something may change names them (``special``): they come up in one
of four places. Whatever has no value is of no use for a comparison, and the caller tries again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from polygym.rewrite.term import Term, term
from polygym.terms.language.nodes import FALSE, TRUE, bound, lam, let, variable
from polygym.terms.language.types import BOOL, FLOAT, INTEGER, Base, Pair, Type, Vector
from polygym.terms.language.values import Value

__all__ = ["LENGTH", "Special", "random_term", "random_value", "zero_term"]

Dice: TypeAlias = np.random.Generator
Special: TypeAlias = Sequence[int | float]

LENGTH = 3
_NAMES = 2
_SPECIAL = (0.0, 1.0, -1.0, 2.0)
_OFTEN = 0.25


def random_value(kind: Type, dice: Dice, special: Special = ()) -> Value:
    """Return a value of a type."""
    match kind:
        case Vector(element, size):
            count = size if isinstance(size, int) else LENGTH
            return [random_value(element, dice, special) for _ in range(count)]
        case Pair(parts):
            return tuple(random_value(part, dice, special) for part in parts)
        case Base():
            if kind == BOOL:
                return bool(dice.integers(2))
            own = [one for one in special if isinstance(one, int) == (kind == INTEGER)]
            if own and dice.random() < _OFTEN:
                return own[int(dice.integers(len(own)))]
            if kind == INTEGER:
                return int(dice.integers(0, LENGTH + 1))
            if dice.random() < 0.2:
                return _SPECIAL[int(dice.integers(len(_SPECIAL)))]
            return float(dice.integers(-16, 17)) / 4.0
        case _:
            raise AssertionError("values are data")


def random_term(
    kind: Type, scope: Sequence[Type], dice: Dice, depth: int = 2, special: Special = ()
) -> Term:
    """Return a term of a type; ``scope`` are the types of the binders around it, innermost last."""
    fitting = [at for at, one in enumerate(reversed(scope)) if one == kind]
    choice = dice.random()
    if fitting and choice < 0.35:
        return bound(fitting[int(dice.integers(len(fitting)))], kind)
    if depth == 0 or choice < 0.55:
        return _leaf(kind, dice, special)

    def part(of: Type, *more: Type) -> Term:
        return random_term(of, (*scope, *more), dice, depth - 1, special)

    if choice < 0.62:
        other = (FLOAT, INTEGER, Vector(FLOAT))[int(dice.integers(3))]
        return let(part(other), part(kind, other))
    if choice < 0.67:
        return term("if", part(BOOL), part(kind), part(kind))
    match kind:
        case Vector(element):
            if dice.random() < 0.5:
                return term("constVec", term(LENGTH), part(element))
            return term("build", term(LENGTH), lam(INTEGER, part(element, INTEGER)))
        case Pair(parts):
            return term("tuple", *map(part, parts))
        case _:
            return _scalar(kind, part, dice)


def zero_term(kind: Type) -> Term:
    """Return the zero of a type, as far as it has one."""
    match kind:
        case Vector(element):
            return term("constVec", term(LENGTH), zero_term(element))
        case Pair(parts):
            return term("tuple", *map(zero_term, parts))
        case _:
            return FALSE if kind == BOOL else term(0.0 if kind == FLOAT else 0)


def _scalar(kind: Type, part: object, dice: Dice) -> Term:
    make = part
    assert callable(make)
    roll = int(dice.integers(6))
    if kind == BOOL:
        if roll < 3:
            return term(("gt", "eq", "lte")[roll], make(INTEGER), make(INTEGER))
        return term("not", make(BOOL))
    if kind == INTEGER:
        if roll == 0:
            return term("size", make(Vector(FLOAT)))
        return term(("add", "mul", "sub")[roll % 3], make(INTEGER), make(INTEGER))
    if roll == 0:
        return term("index", make(INTEGER), make(Vector(FLOAT)))
    if roll == 1:
        return term("to_float", make(INTEGER))
    if roll == 2:
        return term("div", make(FLOAT), make(FLOAT))
    return term(("add", "sub", "mul")[roll % 3], make(FLOAT), make(FLOAT))


def _leaf(kind: Type, dice: Dice, special: Special) -> Term:
    if isinstance(kind, Base) and dice.random() < 0.4:
        value = random_value(kind, dice, special)
        if isinstance(value, bool):
            return TRUE if value else FALSE
        return term(value)
    short = "".join(letter for letter in str(kind).lower() if letter.isalpha())
    return variable(f"{short}{int(dice.integers(_NAMES))}", kind)
