"""Random terms and values of given types, to try rules on.

Floats are multiples of a quarter with 0, 1 and -1 among them, so that sums and products of them are
exact, and what a rule says of special values is tried; vectors have 3 elements if a caller does not
say otherwise, Integers are small.
A caller that knows of numbers at which something may change names them (``special``): they come up
in one of four places. Whatever has no value is of no use for a comparison, and the caller tries
again.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from polygym.rewrite.term import Term, term
from polygym.terms.language.nodes import FALSE, TRUE, bound, lam, let, variable
from polygym.terms.language.types import BOOL, FLOAT, INTEGER, BaseType, TupleType, Type, VectorType
from polygym.terms.language.values import Value

Rng: TypeAlias = np.random.Generator
SpecialNumbers: TypeAlias = Sequence[int | float]

LENGTH = 3
_NAMES = 2
_SPECIAL = (0.0, 1.0, -1.0, 2.0)
_OFTEN = 0.25


def random_value(kind: Type, rng: Rng, special: SpecialNumbers = (), length: int = LENGTH) -> Value:
    """Return a value of a type; vectors without a size have ``length`` elements."""
    match kind:
        case VectorType(element, size):
            count = size if isinstance(size, int) else length
            return [random_value(element, rng, special, length) for _ in range(count)]
        case TupleType(parts):
            return tuple(random_value(part, rng, special, length) for part in parts)
        case BaseType():
            if kind == BOOL:
                return bool(rng.integers(2))
            own = [number for number in special if isinstance(number, int) == (kind == INTEGER)]
            if own and rng.random() < _OFTEN:
                return own[int(rng.integers(len(own)))]
            if kind == INTEGER:
                return int(rng.integers(0, LENGTH + 1))
            if rng.random() < 0.2:
                return _SPECIAL[int(rng.integers(len(_SPECIAL)))]
            return float(rng.integers(-16, 17)) / 4.0
        case _:
            raise AssertionError("values are data")


def random_term(
    kind: Type, scope: Sequence[Type], rng: Rng, depth: int = 2, special: SpecialNumbers = ()
) -> Term:
    """Return a term of a type; ``scope`` are the types of the binders around it, innermost last."""
    fitting = [at for at, binder_type in enumerate(reversed(scope)) if binder_type == kind]
    choice = rng.random()
    if fitting and choice < 0.35:
        return bound(fitting[int(rng.integers(len(fitting)))], kind)
    if depth == 0 or choice < 0.55:
        return _leaf(kind, rng, special)

    def part(of: Type, *more: Type) -> Term:
        return random_term(of, (*scope, *more), rng, depth - 1, special)

    if choice < 0.62:
        other = (FLOAT, INTEGER, VectorType(FLOAT))[int(rng.integers(3))]
        return let(part(other), part(kind, other))
    if choice < 0.67:
        return term("if", part(BOOL), part(kind), part(kind))
    match kind:
        case VectorType(element):
            if rng.random() < 0.5:
                return term("constVec", term(LENGTH), part(element))
            return term("build", term(LENGTH), lam(INTEGER, part(element, INTEGER)))
        case TupleType(parts):
            return term("tuple", *map(part, parts))
        case _:
            return _scalar(kind, part, rng)


def zero_term(kind: Type) -> Term:
    """Return the zero of a type, as far as it has one."""
    match kind:
        case VectorType(element):
            return term("constVec", term(LENGTH), zero_term(element))
        case TupleType(parts):
            return term("tuple", *map(zero_term, parts))
        case _:
            return FALSE if kind == BOOL else term(0.0 if kind == FLOAT else 0)


def positive_term(make: Callable[[Type], Term], rng: Rng) -> Term:
    """Return a Float that is written as a positive one; ``make`` makes other terms."""
    if rng.random() < 0.5:
        return term(float(rng.integers(1, 17)) / 4.0)
    return term("exp", make(FLOAT))


def term_without_value(kind: Type, scope: Sequence[Type], rng: Rng) -> Term:
    """Return a term that has no value, or none in the first turn of a loop: a wrong index."""
    place: Term = term(-1)
    turns = [at for at, around in enumerate(reversed(scope)) if around == INTEGER]
    if turns and rng.random() < 0.5:
        place = term("sub", bound(turns[int(rng.integers(len(turns)))], INTEGER), term(1))
    return term("index", place, variable("outside", VectorType(kind)))


def partly_needing(kind: Type, scope: Sequence[Type], rng: Rng) -> Term | None:
    """Return a term that needs one variable around it in some turns of a loop; None without."""
    turns = [at for at, around in enumerate(reversed(scope)) if around == INTEGER]
    others = [at for at, around in enumerate(reversed(scope)) if around == kind]
    if not turns or not others:
        return None
    turn, other = turns[int(rng.integers(len(turns)))], others[int(rng.integers(len(others)))]
    when = term("gt", bound(turn, INTEGER), term(0))
    return term("if", when, bound(other, kind), zero_term(kind))


def extent_term(rng: Rng) -> Term:
    """Return how many turns a loop has: none, some, or fewer than none, which is no extent."""
    return term(int(rng.integers(-1, LENGTH)))


def _scalar(kind: Type, make: Callable[[Type], Term], rng: Rng) -> Term:
    roll = int(rng.integers(6))
    if kind == BOOL:
        if roll < 3:
            return term(("gt", "eq", "lte")[roll], make(INTEGER), make(INTEGER))
        return term("not", make(BOOL))
    if kind == INTEGER:
        if roll == 0:
            return term("size", make(VectorType(FLOAT)))
        return term(("add", "mul", "sub")[roll % 3], make(INTEGER), make(INTEGER))
    if roll == 0:
        return term("index", make(INTEGER), make(VectorType(FLOAT)))
    if roll == 1:
        return term("to_float", make(INTEGER))
    if roll == 2:
        return term("div", make(FLOAT), make(FLOAT))
    return term(("add", "sub", "mul")[roll % 3], make(FLOAT), make(FLOAT))


def _leaf(kind: Type, rng: Rng, special: SpecialNumbers) -> Term:
    if isinstance(kind, BaseType) and rng.random() < 0.4:
        value = random_value(kind, rng, special)
        if isinstance(value, bool):
            return TRUE if value else FALSE
        return term(value)
    short = "".join(letter for letter in str(kind).lower() if letter.isalpha())
    return variable(f"{short}{int(rng.integers(_NAMES))}", kind)
