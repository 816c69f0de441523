"""Normalization of a term by the rules that have a direction.

Rules of vectors, tuples and gradients move what is built outwards and sums inwards: a sum of tuples
becomes a tuple of sums, a sum of vectors a vector of sums, a sum of what is zero but in one place
the vector of it. On the way the term may be dearer for a while; what comes out at the end is what a
search can hope for, and so many steps away. Vectors and tuples that a ``let`` binds are put where
they are read, as in :mod:`polygym.terms.fusion_value`, unless that is dearer.

What a node becomes is remembered, so that of two terms that differ in one place nearly everything
is known.

    >>> from polygym.terms.language.printer import text_of
    >>> from polygym.terms.language.parser import parse_program
    >>> from polygym.terms.rules.rule_sets import rules_named
    >>> program = parse_program('''(def f (Vec n Float) ((v : Vec n Float))
    ...   (sumbuild n (lam i (deltaVec n i (index i v)))))''')
    >>> made, steps = Normalizer(rules_named("gradients"))(program.body)
    >>> text_of(made), steps
    ('(build n (lam (i1 : Integer) (index i1 v)))', 1)
"""

from collections.abc import Sequence

from polygym.rewrite.term import Term, term
from polygym.terms.cost import StaticCost
from polygym.terms.language.nodes import let, term_facts
from polygym.terms.language.substitution import open_binder
from polygym.terms.language.trampoline import Trampolined, run_trampoline
from polygym.terms.language.types import TupleType, VectorType
from polygym.terms.rules.rule_sets import rules_named
from polygym.terms.rules.rule_types import TermRule, apply_rule, by_head

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

    def _made(self, one: Term) -> Trampolined[tuple[Term, int]]:
        if not one.children:
            return one, 0
        if one in self._known:
            return self._known[one]
        if term_facts(one).nodes > _MOST_NODES:
            return one, 0
        if _binds_many(one):
            last, steps = yield self._binding(one)
        else:
            last, steps = yield self._rewritten(one)
        self._known[one] = last, steps
        return last, steps

    def _rewritten(self, one: Term) -> Trampolined[tuple[Term, int]]:
        """Return what a node becomes by rules for itself, or else by those for its parts."""
        made, steps = self._next(one), 1
        if made is None:
            parts, steps = [], 0
            for child in one.children:
                part, more = yield self._made(child)
                parts.append(part)
                steps += more
            rebuilt = term(one.head, *parts)
            made = None if rebuilt is one else self._next(rebuilt)
            if made is None:
                return rebuilt, steps
            steps += 1
        last, more = yield self._made(made)
        return last, steps + more

    def _binding(self, one: Term) -> Trampolined[tuple[Term, int]]:
        """Put a vector or tuple where it is read, if that is no dearer than to bind it."""
        value, steps = yield self._made(one.children[0])
        body, more = yield self._made(one.children[1])
        steps += more
        if not term_facts(body).free & 1:
            return open_binder(body, value), steps + 1
        last, more = yield self._made(open_binder(body, value))
        kept = let(value, body)
        if self._cost(last) <= self._cost(kept):
            return last, steps + more + 1
        return kept, steps

    def _next(self, one: Term) -> Term | None:
        """Return a node after one step, None where no rule applies to itself."""
        if one.head == "let":
            value, body = one.children
            if _binds_many(one):
                return None
            # What a vector or tuple needs for its parts is in their way.
            is_read = isinstance(term_facts(one).type, VectorType | TupleType) or not value.children
            if is_read or not term_facts(body).free & 1:
                return open_binder(body, value)
        for rule in self._by_head.get(str(one.head), ()):
            result = apply_rule(rule, one)
            if result is not None:
                return result
        return None


def _binds_many(one: Term) -> bool:
    """Whether a ``let`` binds a vector or tuple."""
    return (
        one.head == "let"
        and bool(one.children[0].children)
        and isinstance(term_facts(one.children[0]).type, VectorType | TupleType)
    )
