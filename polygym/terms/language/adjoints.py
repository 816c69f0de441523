"""Adjoints: what is known of the derivative by a value, part by part.

An *adjoint* is a term of the value's type; None, where nothing contributes; or, of a tuple, a tuple
of adjoints, of which some may be None. So the parts of a tuple that are not used cost nothing. What
is missing is made up for with zeros only where one term has to stand for all of it.

:func:`infer_sizes` reads sizes off a term: types within terms have none, those of parameters do.
``(build n (lam i …))`` has n elements, ``(index i m)`` as many as the rows of m; others are
unknown.

    >>> from polygym.terms.language.parser import parse_program
    >>> program = parse_program(
    ...     "(def f (Vec n (Vec 2 Float)) ((v : Vec n Float)) (build n (lam i (constVec 2 1.0))))"
    ... )
    >>> print(infer_sizes(program.body, dict(program.parameters)))
    (Vec n (Vec 2 Float))
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from polygym.rewrite.term import Term, term
from polygym.terms.language.chain_rules import add_terms
from polygym.terms.language.nodes import FALSE, lam, name_of, term_facts, variable
from polygym.terms.language.substitution import close_binder
from polygym.terms.language.types import (
    BOOL,
    FLOAT,
    INTEGER,
    TupleType,
    Type,
    VectorSize,
    VectorType,
    join_types,
    leaf_types,
    sizes_of,
)

Adjoint: TypeAlias = "Term | tuple[Any, ...] | None"


def has_floats(kind: Type) -> bool:
    """Whether there is anything to differentiate by."""
    return FLOAT in leaf_types(kind)


def part_of(whole: Term, place: int) -> Term:
    """Return a part of a tuple: itself, where the tuple is written out."""
    return whole.children[place] if whole.head == "tuple" else term("select", term(place), whole)


def split_adjoint(adjoint: Adjoint, kind: Type, bind: Callable[[Term], Term]) -> Adjoint:
    """Return the adjoint of a tuple as a tuple, and that of tuples in it."""
    if not isinstance(kind, TupleType) or adjoint is None:
        return adjoint
    if isinstance(adjoint, Term):
        whole = adjoint if adjoint.head == "tuple" else bind(adjoint)
        adjoint = tuple(part_of(whole, place) for place in range(len(kind.parts)))
    return tuple(
        split_adjoint(part, its, bind) for part, its in zip(adjoint, kind.parts, strict=True)
    )


def leafwise(change: Callable[[Term], Term], adjoint: Adjoint) -> Adjoint:
    """Return an adjoint with other terms for those that it consists of."""
    if isinstance(adjoint, tuple):
        return tuple(leafwise(change, part) for part in adjoint)
    return None if adjoint is None else change(adjoint)


def add_adjoints(one: Adjoint, other: Adjoint) -> Adjoint:
    """Return the sum of two adjoints of one value."""
    if one is None or other is None:
        return one if other is None else other
    if isinstance(one, Term) and isinstance(other, Term):
        return add_terms(one, other)
    count = len(one) if isinstance(one, tuple) else len(other)  # type: ignore[arg-type]
    return tuple(add_adjoints(_at(one, place), _at(other, place)) for place in range(count))


def _at(whole: Term | tuple[Any, ...], place: int) -> Adjoint:
    adjoint: Adjoint = whole[place] if isinstance(whole, tuple) else part_of(whole, place)
    return adjoint


def complete_adjoint(
    adjoint: Adjoint, kind: Type, value: Term, size: Callable[[Term, VectorSize], Term]
) -> Term:
    """Return an adjoint as one term, with zeros where there is nothing.

    ``value`` is what it is the adjoint of; ``size`` says how many elements a vector has, from the
    value and from what its type says.
    """
    if isinstance(adjoint, Term):
        return adjoint
    if adjoint is None:
        return zero_adjoint(kind, value, size)
    assert isinstance(kind, TupleType)
    parts = enumerate(zip(adjoint, kind.parts, strict=True))
    return term(
        "tuple",
        *(complete_adjoint(part, its, part_of(value, at), size) for at, (part, its) in parts),
    )


def zero_adjoint(kind: Type, value: Term, size: Callable[[Term, VectorSize], Term]) -> Term:
    """Return the zero of a value's type and shape."""
    match kind:
        case VectorType(inner, known):
            count = size(value, known)
            if _is_regular(inner):
                return term("constVec", count, zero_adjoint(inner, value, size))
            # No text has such a name, and no two that are nested are the same.
            name = variable(f"place {term_facts(value).nodes}", INTEGER)
            body = zero_adjoint(inner, term("index", name, value), size)
            return term("build", count, lam(INTEGER, close_binder(body, name)))
        case TupleType(parts):
            return term(
                "tuple",
                *(zero_adjoint(part, part_of(value, at), size) for at, part in enumerate(parts)),
            )
        case _:
            return term(0.0) if kind == FLOAT else FALSE if kind == BOOL else term(0)


def size_term(vector: Term, size: VectorSize, kinds: Mapping[str, Type]) -> Term:
    """Return how many elements a vector has, from its type or what it is made of."""
    if size is None:
        known = infer_sizes(vector, kinds)
        size = known.size if isinstance(known, VectorType) else None
    if size is None:
        return term("size", vector)
    return term(size) if isinstance(size, int) else variable(size, INTEGER)


def _is_regular(kind: Type) -> bool:
    """Whether the zero of a type needs no value: all its sizes are known."""
    return None not in sizes_of(kind)


def is_additive(kind: Type) -> bool:
    """Whether values can be added up."""
    return BOOL not in leaf_types(kind)


_DEEPEST = 100


def infer_sizes(node: Term, kinds: Mapping[str, Type]) -> Type:
    """Return the type of a term, given the types of names."""
    plain = term_facts(node).type
    if term_facts(node).depth > _DEEPEST or not isinstance(plain, VectorType | TupleType):
        return plain
    return _sized(node, kinds, plain)


def _sized(node: Term, kinds: Mapping[str, Type], plain: Type) -> Type:
    head, children = node.head, node.children
    if not children:
        return kinds.get(name_of(node), plain)
    if head in ("index", "select"):
        whole = infer_sizes(children[1], kinds)
        if isinstance(whole, VectorType):
            return whole.element
        return whole.parts[int(children[0].head)] if isinstance(whole, TupleType) else plain
    if head == "build":
        return VectorType(infer_sizes(children[1].children[0], kinds), _size(children[0]))
    if head in ("constVec", "deltaVec"):
        return VectorType(infer_sizes(children[-1], kinds), _size(children[0]))
    if head == "sumbuild":
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
