"""Vectors that are bound only to be added to a result: they need no array of their own.

``(let (x v) (tuple (add a (select 0 x)) (deltaVec n i (select 1 x))))`` adds the parts of v to
places of the result, so that v can be added there as it is computed. Gradients are made of such
terms. :func:`additive_uses` finds where each part of x goes, and what is left to be added
afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from polygym.rewrite.term import Term, term
from polygym.terms.language.nodes import bound, index_of, name_of, term_facts, variable
from polygym.terms.language.substitution import shift_indices
from polygym.terms.language.types import TupleType, Type, contains_vector

_DEEPEST = 200
_NOTHING = "nothing to add"  # no text has such a name

Step: TypeAlias = "int | Term"
"""The number of a part of a tuple, or the ``deltaVec`` whose element is meant."""

Path: TypeAlias = "tuple[Step, ...]"


@dataclass(frozen=True, slots=True)
class AdditiveUses:
    """Where the parts of a value are added, None for one that is not used; and what is left.

    A value that is no tuple has one part. ``deltaVec`` of a path are as they would be written where
    the value is; ``rest`` is the body without its binder.
    """

    paths: tuple[Path | None, ...]
    rest: Term


def is_nothing(node: Term) -> bool:
    """Whether a term stands for what was added before."""
    return name_of(node) == _NOTHING


def mentions_nothing(node: Term) -> bool:
    """Whether an addend of a sum stands for what was added before."""
    if node.head != "add":
        return is_nothing(node)
    return any(map(mentions_nothing, node.children))


def additive_uses(node: Term) -> AdditiveUses | None:
    """Return where a ``let``'s vectors are added; None if they are used otherwise, or twice."""
    value, body = node.children
    kind = term_facts(value).type
    if not value.children or not contains_vector(kind) or term_facts(body).depth > _DEEPEST:
        return None
    walk = _Walk(kind, [None] * (len(kind.parts) if isinstance(kind, TupleType) else 1))
    rest = walk.without(body, 0, ())
    return None if walk.failed else AdditiveUses(tuple(walk.paths), shift_indices(rest, -1))


@dataclass(slots=True)
class _Walk:
    kind: Type
    paths: list[Path | None]
    failed: bool = field(default=False)

    def without(self, node: Term, depth: int, path: Path) -> Term:
        """Return a term without the variable, which is ``depth`` binders away."""
        if self.failed or term_facts(node).free >> depth & 1 == 0:
            return node
        head, children = node.head, node.children
        if index_of(node) == depth:
            is_tuple = isinstance(self.kind, TupleType)
            for part in range(len(self.paths)):
                self._add(part, (*path, part) if is_tuple else path)
            return self._nothing(node)
        if head == "select" and children[1] is bound(depth, self.kind):
            self._add(int(children[0].head), path)
            return self._nothing(node)
        if head == "tuple":
            parts = enumerate(children)
            return term(head, *(self.without(part, depth, (*path, at)) for at, part in parts))
        if head == "add":
            return term(head, *(self.without(part, depth, path) for part in children))
        if head == "let" and term_facts(children[0]).free >> depth & 1 == 0:
            return term(head, children[0], self.without(children[1], depth + 1, path))
        if head == "deltaVec":
            place = term_facts(children[0]).free | term_facts(children[1]).free
            if place & ((2 << depth) - 1) == 0:
                step = term(
                    head, *(shift_indices(part, -depth - 1) for part in children[:2]), _ZERO
                )
                return term(head, *children[:2], self.without(children[2], depth, (*path, step)))
        self.failed = True
        return node

    def _add(self, part: int, path: Path) -> None:
        self.failed = self.failed or self.paths[part] is not None
        self.paths[part] = path

    def _nothing(self, node: Term) -> Term:
        return variable(_NOTHING, term_facts(node).type)


_ZERO = term(0.0)
