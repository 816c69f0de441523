"""Code motion: whatever a term computes twice, or again in each turn of a loop, gets a ``let``.

A term without ``let`` says what depends on what, and nothing of when it is computed. Two parts are
the same if they are written alike and have the same binders' variables; each is needed once for
every turn of the innermost loop whose variable it has. So it is bound there: as the first thing in
that loop's body, or around the whole term. Only what is needed at least twice, or in a loop further
in, is bound. What ``let`` binds is evaluated when it is needed (call by need): nothing fails that
did not fail before.

Example: in (build n (lam i (div (exp (index i v)) (sumbuild n (lam j (exp (index j v))))))) the sum
has no i, and stands outside of the loop afterwards; the two exponentials are different parts.
"""

from dataclasses import dataclass

from polygym.rewrite.term import Term, postorder, term
from polygym.terms.cost import ASSUMED_VECTOR_SIZE, StaticCost
from polygym.terms.language.nodes import bound, index_of, is_lam, let, term_facts
from polygym.terms.language.types import Type, is_data
from polygym.terms.saturation import inline_lets

_DEEPEST = 150
_WHOLE = 0
_TURNS = ASSUMED_VECTOR_SIZE


def bind_invariants(root: Term) -> Term:
    """Return a term with ``let`` for what is shared or invariant in a loop, where that pays.

    A term that is too deep for it is returned as it is.

    >>> from polygym.terms.language.parser import parse_program
    >>> from polygym.terms.language.printer import text_of
    >>> text_of(bind_invariants(parse_program("(build 3 (lam (i : Integer) (exp x)))").body))
    '(let (t1 (exp x)) (build 3 (lam (i2 : Integer) t1)))'
    """
    if term_facts(root).depth > _DEEPEST:
        return root
    naming = _Naming()
    whole = naming.named(inline_lets(root), ())
    return _Placing(naming, whole).written()


@dataclass(frozen=True, slots=True)
class _NamedFacts:
    """Of a named part: its type, and the innermost binder that it depends on, 0 without any."""

    type: Type
    home: int


class _Naming:
    """Gives every binder a number of its own, the same one where the same loop stands again."""

    def __init__(self) -> None:
        self.facts: dict[Term, _NamedFacts] = {}
        self.levels: dict[int, int] = {_WHOLE: 0}
        self.bodies: dict[int, Term] = {}
        self._known: dict[tuple[Term, tuple[int, ...]], Term] = {}

    def named(self, node: Term, scope: tuple[int, ...]) -> Term:
        """Return a part, whose free variables are of these binders, the innermost last."""
        own = term_facts(node)
        used = tuple(scope[-1 - at] for at in range(len(scope)) if own.free >> at & 1)
        key = node, used
        made = self._known.get(key)
        if made is not None:
            return made
        if (index := index_of(node)) >= 0:
            if index >= len(scope):  # free in the whole term
                made = node
            else:
                made = term(f"#{scope[-1 - index]}")
        elif is_lam(node):
            binder = len(self.levels)
            self.levels[binder] = len(scope) + 1
            self.bodies[binder] = self.named(node.children[0], (*scope, binder))
            made = term(f"{node.head}#{binder}", self.bodies[binder])
        else:
            made = term(node.head, *(self.named(child, scope) for child in node.children))
        self._known[key] = made
        home = max(used, key=self.levels.__getitem__, default=_WHOLE)
        self.facts[made] = _NamedFacts(own.type, home)
        return made


class _Placing:
    """Decides what is bound, and where; writes the term."""

    def __init__(self, naming: _Naming, whole: Term) -> None:
        self._naming, self._whole = naming, whole
        self._bound: dict[int, list[Term]] = {}
        order = list(postorder([whole]))
        regions: dict[Term, list[int]] = {whole: [_WHOLE]}
        for node in reversed(order):
            region = self._region(node, regions[node])
            inner = _binder_of(node) or region
            for child in node.children:
                regions.setdefault(child, []).append(inner)
        places = {node: number for number, node in enumerate(order)}
        for nodes in self._bound.values():
            nodes.sort(key=places.__getitem__)

    def _region(self, node: Term, uses: list[int]) -> int:
        """Return in which loop's body a part is computed; note that it is bound there."""
        facts = self._naming.facts[node]
        levels = self._naming.levels
        outermost = min(uses, key=levels.__getitem__)
        if not node.children or _binder_of(node) or not is_data(facts.type):
            return outermost
        if node is self._whole or (len(uses) == 1 and uses[0] == facts.home):
            return outermost
        self._bound.setdefault(facts.home, []).append(node)
        return facts.home

    def written(self) -> Term:
        """Return the whole term."""
        return self._block(_WHOLE, self._whole, {}, 0)

    def _block(self, binder: int, body: Term, around: dict[Term, int], depth: int) -> Term:
        """Return the body of a loop behind what is bound in it."""
        known, values = dict(around), list[Term]()
        for node in self._bound.get(binder, ()):
            values.append(self._part(node, known, depth + len(values), is_bound=True))
            known[node] = depth + len(values) - 1
        result = self._part(body, known, depth + len(values))
        for value in reversed(values):
            result = let(value, result)
        return result

    def _part(
        self, node: Term, known: dict[Term, int], depth: int, *, is_bound: bool = False
    ) -> Term:
        """Return a part under so many binders, of which ``known`` says what some stand for."""
        level = None if is_bound else known.get(node)
        if level is not None:
            return bound(depth - 1 - level, self._naming.facts[node].type)
        binder = _binder_of(node)
        if binder:
            own = str(node.head).partition("#")[0]
            kind = self._naming.facts[node].type
            inner = dict(known)
            inner[term(f"#{binder}")] = depth
            self._naming.facts.setdefault(
                term(f"#{binder}"), _NamedFacts(getattr(kind, "argument", kind), binder)
            )
            return term(own, self._block(binder, node.children[0], inner, depth + 1))
        if not node.children:
            index = index_of(node)
            return node if index < 0 else bound(index + depth, self._naming.facts[node].type)
        return term(node.head, *(self._part(child, known, depth) for child in node.children))


def _binder_of(node: Term) -> int:
    """Return the number of a named function's binder, 0 for all else."""
    head = node.head
    if isinstance(head, str) and head.startswith("lam:"):
        return int(head.rpartition("#")[2])
    return 0


class ProgramCost:
    """What a term costs after code motion; remembered.

    Of a term with free variables of loops around it, the share of one turn of these loops.
    """

    def __init__(self) -> None:
        self._known: dict[Term, float] = {}
        self._cost = StaticCost()

    def __call__(self, root: Term) -> float:
        """Return the cost."""
        result = self._known.get(root)
        if result is None:
            result = self._known[root] = self._found(root)
        return result

    def _found(self, root: Term) -> float:
        if is_lam(root):
            return self(root.children[0])
        facts = term_facts(root)
        if not facts.free or not is_data(facts.type):
            return self._cost(bind_invariants(root))
        loops, whole = facts.free.bit_length(), root
        for _ in range(loops):
            whole = term("build", term(_TURNS), term("lam:Integer", whole))
        empty = sum(2.0 * float(_TURNS) ** level for level in range(loops))
        return max(0.0, self._cost(bind_invariants(whole)) - empty) / float(_TURNS) ** loops
