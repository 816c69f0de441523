"""Types with the sizes that can be read off a term: those that are numbers or names.

Types within terms have no sizes; those of parameters do. ``(build n (lam i …))`` has n elements,
``(index i m)`` as many as the rows of m. What cannot be read off stays unknown, and ``(size v)``
says it when the program runs.

    >>> from polygym.terms.language.reading import parse_program
    >>> program = parse_program(
    ...     "(def f (Vec n (Vec 2 Float)) ((v : Vec n Float)) (build n (lam i (constVec 2 1.0))))"
    ... )
    >>> print(sized(program.body, dict(program.parameters)))
    (Vec n (Vec 2 Float))
"""

from __future__ import annotations

from collections.abc import Mapping

from polygym.rewrite.term import Term
from polygym.terms.language.nodes import facts, name_of
from polygym.terms.language.types import Pair, Size, Type, Vector, common

__all__ = ["sized"]

_DEEPEST = 100


def sized(one: Term, kinds: Mapping[str, Type]) -> Type:
    """Return the type of a term, given the types of names."""
    plain = facts(one).type
    if facts(one).depth > _DEEPEST or not isinstance(plain, Vector | Pair):
        return plain
    return _sized(one, kinds, plain)


def _sized(one: Term, kinds: Mapping[str, Type], plain: Type) -> Type:
    head, children = one.head, one.children
    if not children:
        return kinds.get(name_of(one), plain)
    if head in ("index", "select"):
        whole = sized(children[1], kinds)
        if isinstance(whole, Vector):
            return whole.element
        return whole.parts[int(children[0].head)] if isinstance(whole, Pair) else plain
    if head == "build":
        return Vector(sized(children[1].children[0], kinds), _size(children[0]))
    if head in ("constVec", "deltaVec"):
        return Vector(sized(children[-1], kinds), _size(children[0]))
    if head in ("sumbuild",):
        return sized(children[1].children[0], kinds)
    if head == "tuple":
        return Pair(tuple(sized(child, kinds) for child in children))
    if head == "let":
        return sized(children[1], kinds)
    if head == "if":
        return common(sized(children[1], kinds), sized(children[2], kinds)) or plain
    if head in ("add", "sub", "mul", "neg"):
        found = [sized(child, kinds) for child in children if facts(child).type == plain]
        return found[0] if found else plain
    return plain


def _size(count: Term) -> Size:
    """Return a size that has a name or is a number."""
    if isinstance(count.head, int) and not isinstance(count.head, bool):
        return count.head
    return name_of(count) or None
