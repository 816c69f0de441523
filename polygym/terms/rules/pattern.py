r"""Patterns with binders, how they match terms, and what is put in their places.

A pattern's binders have names, which connect its two sides: what was matched under ``x`` may be put
under ``x`` again, however many other binders there are, and nowhere else. A *metavariable* ``?b``
that stands under ``x`` in the source, and not in the target, therefore matches only what does not
have x: no rule can let a variable escape, and none has to say so. ``(subst x e ?b)`` in a target is
?b with e for x.

Example, the rule that takes a factor out of a sum::

    (sumbuild ?n (lam x (mul ?a ?b))) => (mul ?a (sumbuild ?n (lam x ?b)))

matches ``(sumbuild n (lam (i : Integer) (mul alpha (index i v))))``, ?a being ``alpha``, and not
with ``(index i v)`` as ?a. Within terms variables have numbers
(:mod:`polygym.terms.language.nodes`), and a piece that moves from the scope S to the scope T has
them renumbered by name: :func:`moved`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from polygym.rewrite.term import Term, term
from polygym.terms.language.nodes import bound, facts, index_of, is_lam, lam, let, parameter_of
from polygym.terms.language.substitution import renumbered, replaced, shifted
from polygym.terms.language.types import INTEGER, Type

__all__ = [
    "Binder",
    "Let",
    "Literal",
    "Match",
    "Meta",
    "Names",
    "Node",
    "Pattern",
    "Substituted",
    "instance",
    "match",
    "metas",
    "moved",
    "parts",
    "text_of_pattern",
]

Names: TypeAlias = tuple[str, ...]
"""The binders around a place, the innermost last."""


@dataclass(frozen=True, slots=True)
class Meta:
    """A metavariable, and the binders around it."""

    name: str
    scope: Names


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    term: Term


@dataclass(frozen=True, slots=True)
class Named:
    """A variable that the pattern itself binds."""

    name: str
    scope: Names


@dataclass(frozen=True, slots=True)
class Node:
    """An operator and its arguments."""

    head: str
    children: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Let:
    """``(let (name value) body)``."""

    name: str
    value: Pattern
    body: Pattern


@dataclass(frozen=True, slots=True)
class Binder:
    """``(lam name body)``."""

    name: str
    body: Pattern


@dataclass(frozen=True, slots=True)
class Substituted:
    """``(subst name value ?meta)``, in targets; ``scope`` are the binders around all of it."""

    name: str
    value: Pattern
    meta: str
    scope: Names


Pattern: TypeAlias = Meta | Literal | Named | Node | Let | Binder | Substituted


@dataclass(slots=True)
class Match:
    """What metavariables stand for, with the scopes they were found in; the types of binders."""

    found: dict[str, tuple[Term, Names]] = field(default_factory=dict)
    kinds: dict[str, Type] = field(default_factory=dict)


def match(pattern: Pattern, one: Term, known: Match) -> bool:
    """Whether a term is an instance of a pattern; notes of what."""
    match pattern:
        case Meta(name=name, scope=scope):
            before = known.found.get(name)
            if before is None:
                known.found[name] = one, scope
                return True
            return one is moved(before[0], before[1], scope)
        case Node(head, children):
            if one.head != head or len(one.children) != len(children):
                return False
            for part, child in zip(children, one.children, strict=True):
                if not match(part, child, known):
                    return False
            return True
        case Literal(literal):
            return one is literal
        case Let(name, value, body):
            if one.head != "let" or not match(value, one.children[0], known):
                return False
            known.kinds[name] = facts(one.children[0]).type
            return match(body, one.children[1], known)
        case Binder(name, body):
            if not is_lam(one):
                return False
            known.kinds[name] = parameter_of(one)
            return match(body, one.children[0], known)
        case Named(name, scope):
            return index_of(one) == _distance(name, scope)
        case Substituted():
            return False
        case _:
            assert_never(pattern)


def instance(
    pattern: Pattern, known: Match, kinds: tuple[Type, ...] = (), operator: str = ""
) -> Term | None:
    """Return what a pattern stands for; None if a variable would lose its binder, or change type.

    ``kinds`` are the types of the binders around the pattern, ``operator`` what it is in.
    """
    match pattern:
        case Meta(name, scope):
            one, its_scope = known.found[name]
            return moved(one, its_scope, scope)
        case Literal(literal):
            return literal
        case Named(name, scope):
            distance = _distance(name, scope)
            return bound(distance, kinds[-1 - distance])
        case Node(head, children):
            made: list[Term] = []
            for child in children:
                part = instance(child, known, kinds, head)
                if part is None:
                    return None
                made.append(part)
            return term(head, *made)
        case Let(name, value, body):
            inner = instance(value, known, kinds)
            if inner is None:
                return None
            kind = facts(inner).type
            if known.kinds.get(name, kind) != kind:
                return None
            rest = instance(body, known, (*kinds, kind))
            return None if rest is None else let(inner, rest)
        case Binder(name, body):
            kind = known.kinds.get(name, INTEGER)
            if operator in ("build", "sumbuild") and kind != INTEGER:
                return None
            rest = instance(body, known, (*kinds, kind))
            return None if rest is None else lam(kind, rest)
        case Substituted(name, value, meta, scope):
            inner = instance(value, known, kinds)
            one, its_scope = known.found[meta]
            if inner is None or known.kinds.get(name) != facts(inner).type:
                return None
            return moved(one, its_scope, scope, name, inner)
        case _:
            assert_never(pattern)


def moved(
    one: Term, scope: Names, other: Names, name: str = "", value: Term | None = None
) -> Term | None:
    """Return a term of one scope as it is written in another one; None if it cannot be.

    ``value``, if there is one, is what stands for ``name``, and is written in the other scope.
    """
    if scope == other and value is None:
        return one
    within = facts(one).free & ((1 << len(scope)) - 1)
    if not within:
        return shifted(one, len(other) - len(scope))
    images: dict[int, int] = {}
    for index in range(len(scope)):
        if within >> index & 1:
            binder = scope[-1 - index]
            if binder == name and value is not None:
                continue
            if binder not in other:
                return None
            images[index] = _distance(binder, other)

    def image(index: int, leaf: Term) -> Term:
        if index >= len(scope):
            return renumbered(leaf, index - len(scope) + len(other))
        if index in images:
            return renumbered(leaf, images[index])
        assert value is not None
        return value

    return replaced(one, image)


def _distance(name: str, scope: Names) -> int:
    return next(at for at, binder in enumerate(reversed(scope)) if binder == name)


def metas(pattern: Pattern) -> Iterator[Meta]:
    """Yield the metavariables, from the left, with the scope in which each is written."""
    for part in parts(pattern):
        match part:
            case Meta():
                yield part
            case Substituted(_, _, meta, scope):
                yield Meta(meta, scope)


def parts(pattern: Pattern) -> Iterator[Pattern]:
    """Yield a pattern and all that it consists of, from the left, parts before the whole."""
    match pattern:
        case Node(_, children):
            for child in children:
                yield from parts(child)
        case Let(_, value, body):
            yield from parts(value)
            yield from parts(body)
        case Binder(_, body):
            yield from parts(body)
        case Substituted(_, value, _, _):
            yield from parts(value)
    yield pattern


def text_of_pattern(pattern: Pattern) -> str:
    """Return the text of a pattern."""
    match pattern:
        case Meta(name, _) | Named(name, _):
            return name
        case Literal(literal):
            return repr(literal.head) if isinstance(literal.head, float) else str(literal.head)
        case Node(head, children):
            return " ".join([f"({head}", *map(text_of_pattern, children)]) + ")"
        case Let(name, value, body):
            return f"(let ({name} {text_of_pattern(value)}) {text_of_pattern(body)})"
        case Binder(name, body):
            return f"(lam {name} {text_of_pattern(body)})"
        case Substituted(name, value, meta, _):
            return f"(subst {name} {text_of_pattern(value)} {meta})"
        case _:
            assert_never(pattern)
