"""Types with the sizes that can be read off a term: those that are numbers or names.

Types within terms have no sizes; those of parameters do. ``(build n (lam i …))`` has n elements,
``(index i m)`` as many as the rows of m. What cannot be read off stays unknown, and ``(size v)``
says it when the program runs.

    >>> from polygym.terms.language.parser import parse_program
    >>> program = parse_program(
    ...     "(def f (Vec n (Vec 2 Float)) ((v : Vec n Float)) (build n (lam i (constVec 2 1.0))))"
    ... )
    >>> print(infer_sizes(program.body, dict(program.parameters)))
    (Vec n (Vec 2 Float))
"""

from __future__ import annotations

from collections.abc import Mapping

from polygym.rewrite.term import Term
from polygym.terms.language.nodes import name_of, term_facts
from polygym.terms.language.types import TupleType, Type, VectorSize, VectorType, join_types

_DEEPEST = 100


def infer_sizes(one: Term, kinds: Mapping[str, Type]) -> Type:
    """Return the type of a term, given the types of names."""
    plain = term_facts(one).type
    if term_facts(one).depth > _DEEPEST or not isinstance(plain, VectorType | TupleType):
        return plain
    return _sized(one, kinds, plain)


def _sized(one: Term, kinds: Mapping[str, Type], plain: Type) -> Type:
    head, children = one.head, one.children
    if not children:
        return kinds.get(name_of(one), plain)
    if head in ("index", "select"):
        whole = infer_sizes(children[1], kinds)
        if isinstance(whole, VectorType):
            return whole.element
        return whole.parts[int(children[0].head)] if isinstance(whole, TupleType) else plain
    if head == "build":
        return VectorType(infer_sizes(children[1].children[0], kinds), _size(children[0]))
    if head in ("constVec", "deltaVec"):
        return VectorType(infer_sizes(children[-1], kinds), _size(children[0]))
    if head in ("sumbuild",):
        return infer_sizes(children[1].children[0], kinds)
    if head == "tuple":
        return TupleType(tuple(infer_sizes(child, kinds) for child in children))
    if head == "let":
        return infer_sizes(children[1], kinds)
    if head == "if":
        return join_types(infer_sizes(children[1], kinds), infer_sizes(children[2], kinds)) or plain
    if head in ("add", "sub", "mul", "neg"):
        types = [infer_sizes(child, kinds) for child in children if term_facts(child).type == plain]
        return types[0] if types else plain
    return plain


def _size(count: Term) -> VectorSize:
    """Return a size that has a name or is a number."""
    if isinstance(count.head, int) and not isinstance(count.head, bool):
        return count.head
    return name_of(count) or None
