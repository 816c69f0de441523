"""Value of fusion: vectors that are built only to be read, element by element.

A vector that a ``let`` binds is put where it is read (``inline``), and what is read of it is its
body (``index-of-build``), until nothing is left of it: that many steps, and the term that comes of
them is what a search can hope for. Tuples that are taken apart go likewise.

Example: with w bound to ``(build n (lam i (mul a (index i v))))`` in ``(build n (lam j (index j
w)))`` three steps (``inline``, ``index-of-build``, ``inline``) make ``(build n (lam j (mul a (index
j v))))``.

:class:`ReuseValue` is the value function of both: what fusing saves within the steps that are left,
or else what binding saves.

Normalization of a term by the rules that have a direction.

Rules of vectors, tuples and gradients move what is built outwards and sums inwards: a sum of tuples
becomes a tuple of sums, a sum of vectors a vector of sums, a sum of what is zero but in one place
the vector of it. On the way the term may be dearer for a while; what comes out at the end is what a
search can hope for, and so many steps away. Vectors and tuples that a ``let`` binds are put where
they are read, as in :mod:`polygym.terms.fusion_value`, unless that is dearer.

What a node becomes is remembered, so that of two terms that differ in one place nearly everything
is known.
"""

from collections.abc import Sequence

import numpy as np

from polygym.rewrite.term import Term, postorder, term
from polygym.search.planning.protocol import Values
from polygym.terms.cost import StaticCost, TermCost
from polygym.terms.language.nodes import is_lam, let, term_facts
from polygym.terms.language.substitution import open_binder
from polygym.terms.language.trampoline import Trampolined, run_trampoline
from polygym.terms.language.types import TupleType, VectorType
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.rules.rule_types import TermRule, apply_rule, by_head
from polygym.terms.sharing_value import SharingValue

_READ = ("build", "tuple", "deltaVec", "constVec")
_STEP = 1e-3
_MOST_NODES = 3_000
_MOST_STEPS = 100


def fuse_loops(root: Term) -> tuple[Term, int]:
    """Return a term without vectors and tuples that are only there to be read, and the steps.

    Of a term that grows too large on the way, as far as it came.
    """
    steps = 0
    while steps < _MOST_STEPS and term_facts(root).nodes <= _MOST_NODES:
        made = _once(root)
        if made is root:
            break
        root, steps = made, steps + 1
    return root, steps


def _once(root: Term) -> Term:
    """Return a term after one step at the first place where there is one, itself without any."""
    made: dict[Term, Term] = {}
    is_done = False
    for node in postorder([root]):
        if is_done:
            children = tuple(made.get(child, child) for child in node.children)
            made[node] = node if children == node.children else term(node.head, *children)
            continue
        other = _redex(node)
        made[node] = other
        is_done = other is not node
    return made[root]


def _redex(node: Term) -> Term:
    if node.head == "let":
        value, body = node.children
        is_read = isinstance(term_facts(value).type, VectorType | TupleType) or not value.children
        return open_binder(body, value) if is_read or not term_facts(body).free & 1 else node
    if node.head == "index" and node.children[1].head == "build":
        place, (_, function) = node.children[0], node.children[1].children
        return let(place, function.children[0]) if is_lam(function) else node
    if node.head == "select" and node.children[1].head == "tuple":
        at = node.children[0].head
        assert isinstance(at, int)
        return node.children[1].children[at]
    if node.head == "size" and node.children[0].head == "build":
        return node.children[0].children[0]
    return node


class ReuseValue:
    """Expects what fusing loops saves, or binding what is shared, within the steps left.

    Given the rules of a search, what those with a direction lead to
    (:mod:`polygym.terms.fusion_value`) is expected as well.
    """

    def __init__(self, cost: TermCost | None = None, rules: Sequence[TermRule] = ()) -> None:
        """Count by the static cost, if nothing else is said."""
        self._cost: TermCost = StaticCost() if cost is None else cost
        self._sharing = SharingValue(self._cost)
        self._directed = Normalizer(rules)

    def __call__(self, states: Sequence[Term], horizon: int) -> Values:
        """Return what is expected, a row a state, a column for each number of steps."""
        result = self._sharing(states, horizon)
        for row, state in zip(result, states, strict=True):
            if not any(part.head in _READ for part in postorder([state])):
                continue
            hoped = [fuse_loops(state)]
            if not self._directed.is_empty:
                hoped.append(self._directed(state))
            for made, steps in hoped:
                saved = self._cost(state) - self._cost(made) - _STEP * steps
                if steps and saved > 0.0:
                    row[steps:] = np.maximum(row[steps:], saved)
        return result


_SETS = ("simplification", "vectors", "functions", "gradients")
_MOST_NODES = 3_000
_MOST = 200_000


class Normalizer:
    """Uses those of some rules that have a direction until none applies."""

    def __init__(self, rules: Sequence[TermRule]) -> None:
        """Choose the rules: those of the sets that say how vectors and tuples become simpler."""
        directed = {rule for name in _SETS for rule in rules_named(name)}
        self._by_head = by_head(rule for rule in rules if rule in directed)
        self._known: dict[Term, tuple[Term, int]] = {}
        self._cost = StaticCost()

    @property
    def is_empty(self) -> bool:
        """Whether there is no such rule."""
        return not self._by_head

    def __call__(self, root: Term) -> tuple[Term, int]:
        """Return what a term becomes, and in how many steps."""
        if len(self._known) > _MOST:
            self._known.clear()
        result: tuple[Term, int] = run_trampoline(self._made(root))
        return result

    def _made(self, node: Term) -> Trampolined[tuple[Term, int]]:
        if not node.children:
            return node, 0
        if node in self._known:
            return self._known[node]
        if term_facts(node).nodes > _MOST_NODES:
            return node, 0
        if _binds_many(node):
            last, steps = yield self._binding(node)
        else:
            last, steps = yield self._rewritten(node)
        self._known[node] = last, steps
        return last, steps

    def _rewritten(self, node: Term) -> Trampolined[tuple[Term, int]]:
        """Return what a node becomes by rules for itself, or else by those for its parts."""
        made, steps = self._next(node), 1
        if made is None:
            parts, steps = [], 0
            for child in node.children:
                part, more = yield self._made(child)
                parts.append(part)
                steps += more
            rebuilt = term(node.head, *parts)
            made = None if rebuilt is node else self._next(rebuilt)
            if made is None:
                return rebuilt, steps
            steps += 1
        last, more = yield self._made(made)
        return last, steps + more

    def _binding(self, node: Term) -> Trampolined[tuple[Term, int]]:
        """Put a vector or tuple where it is read, if that is no dearer than to bind it."""
        value, steps = yield self._made(node.children[0])
        body, more = yield self._made(node.children[1])
        steps += more
        if not term_facts(body).free & 1:
            return open_binder(body, value), steps + 1
        last, more = yield self._made(open_binder(body, value))
        kept = let(value, body)
        if self._cost(last) <= self._cost(kept):
            return last, steps + more + 1
        return kept, steps

    def _next(self, node: Term) -> Term | None:
        """Return a node after one step, None where no rule applies to itself."""
        if node.head == "let":
            value, body = node.children
            if _binds_many(node):
                return None
            # What a vector or tuple needs for its parts is in their way.
            is_read = (
                isinstance(term_facts(node).type, VectorType | TupleType) or not value.children
            )
            if is_read or not term_facts(body).free & 1:
                return open_binder(body, value)
        for rule in self._by_head.get(str(node.head), ()):
            result = apply_rule(rule, node)
            if result is not None:
                return result
        return None


def _binds_many(node: Term) -> bool:
    """Whether a ``let`` binds a vector or tuple."""
    return (
        node.head == "let"
        and bool(node.children[0].children)
        and isinstance(term_facts(node.children[0]).type, VectorType | TupleType)
    )
