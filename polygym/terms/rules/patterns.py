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
them renumbered by name: :func:`change_scope`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from polygym.rewrite.term import Term, term
from polygym.terms.language.nodes import bound, index_of, is_lam, lam, let, parameter_of, term_facts
from polygym.terms.language.substitution import shift_indices, substitute, with_index
from polygym.terms.language.types import INTEGER, Type

BinderNames: TypeAlias = tuple[str, ...]
"""The binders around a place, the innermost last."""


@dataclass(frozen=True, slots=True)
class Metavariable:
    """A metavariable, and the binders around it."""

    name: str
    scope: BinderNames


@dataclass(frozen=True, slots=True)
class LiteralPattern:
    """A constant."""

    term: Term


@dataclass(frozen=True, slots=True)
class BoundPattern:
    """A variable that the pattern itself binds."""

    name: str
    scope: BinderNames


@dataclass(frozen=True, slots=True)
class OperatorPattern:
    """An operator and its arguments."""

    head: str
    children: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class LetPattern:
    """``(let (name value) body)``."""

    name: str
    value: Pattern
    body: Pattern


@dataclass(frozen=True, slots=True)
class LambdaPattern:
    """``(lam name body)``."""

    name: str
    body: Pattern


@dataclass(frozen=True, slots=True)
class SubstitutionPattern:
    """``(subst name value ?meta)``, in targets; ``scope`` are the binders around all of it."""

    name: str
    value: Pattern
    metavariable: str
    scope: BinderNames


Pattern: TypeAlias = (
    Metavariable
    | LiteralPattern
    | BoundPattern
    | OperatorPattern
    | LetPattern
    | LambdaPattern
    | SubstitutionPattern
)


@dataclass(slots=True)
class PatternMatch:
    """What metavariables stand for, with the scopes they were found in; the types of binders."""

    bindings: dict[str, tuple[Term, BinderNames]] = field(default_factory=dict)
    binder_types: dict[str, Type] = field(default_factory=dict)


def match_pattern(pattern: Pattern, node: Term, known: PatternMatch) -> bool:
    """Whether a term is an instance of a pattern; notes of what."""
    match pattern:
        case Metavariable(name=name, scope=scope):
            before = known.bindings.get(name)
            if before is None:
                known.bindings[name] = node, scope
                return True
            return node is change_scope(before[0], before[1], scope)
        case OperatorPattern(head, children):
            if node.head != head or len(node.children) != len(children):
                return False
            for part, child in zip(children, node.children, strict=True):
                if not match_pattern(part, child, known):
                    return False
            return True
        case LiteralPattern(literal):
            return node is literal
        case LetPattern(name, value, body):
            if node.head != "let" or not match_pattern(value, node.children[0], known):
                return False
            known.binder_types[name] = term_facts(node.children[0]).type
            return match_pattern(body, node.children[1], known)
        case LambdaPattern(name, body):
            if not is_lam(node):
                return False
            known.binder_types[name] = parameter_of(node)
            return match_pattern(body, node.children[0], known)
        case BoundPattern(name, scope):
            return index_of(node) == _distance(name, scope)
        case SubstitutionPattern():
            return False
        case _:
            assert_never(pattern)


def instantiate(
    pattern: Pattern, known: PatternMatch, kinds: tuple[Type, ...] = (), operator: str = ""
) -> Term | None:
    """Return what a pattern stands for; None if a variable would lose its binder, or change type.

    ``binder_types`` are the types of the binders around the pattern, ``operator`` what it is in.
    """
    match pattern:
        case Metavariable(name, scope):
            node, its_scope = known.bindings[name]
            return change_scope(node, its_scope, scope)
        case LiteralPattern(literal):
            return literal
        case BoundPattern(name, scope):
            distance = _distance(name, scope)
            return bound(distance, kinds[-1 - distance])
        case OperatorPattern(head, children):
            made: list[Term] = []
            for child in children:
                part = instantiate(child, known, kinds, head)
                if part is None:
                    return None
                made.append(part)
            return term(head, *made)
        case LetPattern(name, value, body):
            inner = instantiate(value, known, kinds)
            if inner is None:
                return None
            kind = term_facts(inner).type
            if known.binder_types.get(name, kind) != kind:
                return None
            rest = instantiate(body, known, (*kinds, kind))
            return None if rest is None else let(inner, rest)
        case LambdaPattern(name, body):
            kind = known.binder_types.get(name, INTEGER)
            if operator in ("build", "sumbuild") and kind != INTEGER:
                return None
            rest = instantiate(body, known, (*kinds, kind))
            return None if rest is None else lam(kind, rest)
        case SubstitutionPattern(name, value, meta, scope):
            inner = instantiate(value, known, kinds)
            node, its_scope = known.bindings[meta]
            if inner is None or known.binder_types.get(name) != term_facts(inner).type:
                return None
            return change_scope(node, its_scope, scope, name, inner)
        case _:
            assert_never(pattern)


def change_scope(
    node: Term, scope: BinderNames, other: BinderNames, name: str = "", value: Term | None = None
) -> Term | None:
    """Return a term of one scope as it is written in another one; None if it cannot be.

    ``value``, if there is one, is what stands for ``name``, and is written in the other scope.
    """
    if scope == other and value is None:
        return node
    within = term_facts(node).free & ((1 << len(scope)) - 1)
    if not within:
        return shift_indices(node, len(other) - len(scope))
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
            return with_index(leaf, index - len(scope) + len(other))
        if index in images:
            return with_index(leaf, images[index])
        assert value is not None
        return value

    return substitute(node, image)


def _distance(name: str, scope: BinderNames) -> int:
    return next(at for at, binder in enumerate(reversed(scope)) if binder == name)


def metavariables(pattern: Pattern) -> Iterator[Metavariable]:
    """Yield the metavariables, from the left, with the scope in which each is written."""
    for part in subpatterns(pattern):
        match part:
            case Metavariable():
                yield part
            case SubstitutionPattern(_, _, meta, scope):
                yield Metavariable(meta, scope)


def subpatterns(pattern: Pattern) -> Iterator[Pattern]:
    """Yield a pattern and all that it consists of, from the left, parts before the whole."""
    match pattern:
        case OperatorPattern(_, children):
            for child in children:
                yield from subpatterns(child)
        case LetPattern(_, value, body):
            yield from subpatterns(value)
            yield from subpatterns(body)
        case LambdaPattern(_, body):
            yield from subpatterns(body)
        case SubstitutionPattern(_, value, _, _):
            yield from subpatterns(value)
    yield pattern


def text_of_pattern(pattern: Pattern) -> str:
    """Return the text of a pattern."""
    match pattern:
        case Metavariable(name, _) | BoundPattern(name, _):
            return name
        case LiteralPattern(literal):
            return repr(literal.head) if isinstance(literal.head, float) else str(literal.head)
        case OperatorPattern(head, children):
            return " ".join([f"({head}", *map(text_of_pattern, children)]) + ")"
        case LetPattern(name, value, body):
            return f"(let ({name} {text_of_pattern(value)}) {text_of_pattern(body)})"
        case LambdaPattern(name, body):
            return f"(lam {name} {text_of_pattern(body)})"
        case SubstitutionPattern(name, value, meta, _):
            return f"(subst {name} {text_of_pattern(value)} {meta})"
        case _:
            assert_never(pattern)
