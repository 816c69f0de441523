"""Operators on numbers as C expressions; Integers that are known are computed at once.

Integers have 64 bits and go round, in the term and in C as it is compiled here. A Float is a
``double``. What has a value everywhere needs no check; a division of Integers does, and is written
by :mod:`polygym.terms.code.emitter`.
"""

from collections.abc import Sequence
from dataclasses import replace

from polygym.terms.code.c_values import CScalar, literal
from polygym.terms.code.sizes import Extent, add, is_moderate, scale, subtract
from polygym.terms.language.interpreter import PRIMITIVES
from polygym.terms.language.operators import result_of
from polygym.terms.language.types import BOOL, FLOAT, INTEGER, BaseType

FUNCTIONS = {
    **{name: name for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "pow")},
    "abs": "fabs",
}
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_COMPARED = {"eq": "==", "ne": "!=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_LOGIC = {"and": "&&", "or": "||"}
_FOLDED = frozenset((*_INFIX, *_COMPARED, *_LOGIC, "neg", "not"))
_SCALAR_OPERATORS = _FOLDED.union(FUNCTIONS, ("max", "min", "to_float"))


def is_scalar_operator(name: str) -> bool:
    """Whether an operator is one of numbers and truth values, if its arguments are."""
    return name in _SCALAR_OPERATORS


def apply_operator(name: str, parts: Sequence[CScalar]) -> CScalar:
    """Return what an operator makes of scalars."""
    result = abstract_operator(name, parts)
    if result.known_value is not None:
        return result
    return replace(
        result,
        text=_text(name, parts),
        is_affine=_is_fixed(name, parts),
        weight=1 + sum(part.weight for part in parts),
        depth=1 + max(part.depth for part in parts),
    )


def abstract_operator(name: str, parts: Sequence[CScalar]) -> CScalar:
    """Return what is known of the result of an operator, without text."""
    known = known_value(name, parts)
    if known is not None:
        return literal(known)
    kind = result_of(name, tuple(part.kind for part in parts))
    assert isinstance(kind, BaseType)
    is_of_facts = all(part.is_decided_by_facts for part in parts)
    if name in _COMPARED:
        is_of_facts = all(part.form is not None for part in parts)
    return CScalar(
        "",
        kind,
        form=_form(name, parts),
        facts=_facts(name, parts),
        is_decided_by_facts=is_of_facts,
    )


def _form(name: str, parts: Sequence[CScalar]) -> Extent | None:
    """Return an Integer as a linear form, if it is one."""
    forms = [part.form for part in parts]
    left, right = forms[0], forms[-1]
    if left is None or right is None:
        return None
    result: Extent | None = None
    if name == "neg":
        result = scale(left, -1)
    elif name in ("add", "sub"):
        result = (add if name == "add" else subtract)(left, right)
    elif name == "mul" and isinstance(left, int):
        result = scale(right, left)
    elif name == "mul" and isinstance(right, int):
        result = scale(left, right)
    return result if result is not None and is_moderate(result) else None


def _facts(name: str, parts: Sequence[CScalar]) -> tuple[tuple[Extent, ...], tuple[Extent, ...]]:
    """Return forms that are 0 or more if a truth value holds, and if it does not."""
    if name == "not":
        return parts[0].facts[1], parts[0].facts[0]
    if name == "and":
        return (*parts[0].facts[0], *parts[1].facts[0]), ()
    if name == "or":
        return (), (*parts[0].facts[1], *parts[1].facts[1])
    left, right = parts[0].form, parts[-1].form
    if name not in _COMPARED or left is None or right is None:
        return (), ()
    less, more = subtract(right, left), subtract(left, right)
    return {
        "eq": ((less, more), ()),
        "ne": ((), (less, more)),
        "gt": ((subtract(more, 1),), (less,)),
        "gte": ((more,), (subtract(less, 1),)),
        "lt": ((subtract(less, 1),), (more,)),
        "lte": ((less,), (subtract(more, 1),)),
    }[name]


def _text(name: str, parts: Sequence[CScalar]) -> str:
    texts = [part.text for part in parts]
    if name in FUNCTIONS:
        return f"{FUNCTIONS[name]}({', '.join(texts)})"
    if name == "neg":
        return f"(-{texts[0]})" if parts[0].kind == FLOAT else f"(0 - {texts[0]})"
    if name == "not":
        return f"(!{texts[0]})"
    if name == "to_float":
        return f"(double)({texts[0]})"
    if name in ("max", "min"):
        # As the interpreter has it: the first of two that are equal, and NaN if one is.
        one, other = texts
        order = ">" if name == "max" else "<"
        return f"(({other} {order} {one} || {other} != {other}) ? {other} : {one})"
    sign = _INFIX.get(name) or _COMPARED.get(name) or _LOGIC[name]
    return f"({texts[0]} {sign} {texts[1]})"


def known_value(name: str, parts: Sequence[CScalar]) -> int | bool | None:
    """Return the value of an operator on Integers or truth values that are known.

    >>> known_value("div", [literal(-7), literal(2)]), known_value("neg", [literal(-(2**63))])
    (-3, -9223372036854775808)
    """
    values = [part.known_value for part in parts]
    if name in _LOGIC and any(value is (name == "or") for value in values):
        return name == "or"
    if name not in _FOLDED or any(value is None for value in values):
        return None
    if name == "div" and not values[1]:
        return None
    result: int | bool = PRIMITIVES[name](*values)
    return result


def _is_fixed(name: str, parts: Sequence[CScalar]) -> bool:
    """Whether isl can follow: affine in counters, and comparisons of what is."""
    if not all(part.is_affine and part.kind in (INTEGER, BOOL) for part in parts):
        return False
    if name == "mul":
        return any(part.known_value is not None for part in parts)
    if name == "div":
        return False
    return name in ("add", "sub", "neg", "not") or name in _COMPARED or name in _LOGIC
