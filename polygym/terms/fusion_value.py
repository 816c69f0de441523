"""Value of fusion: vectors that are built only to be read, element by element.

A vector that a ``let`` binds is put where it is read (``inline``), and what is read of it is its
body (``index-of-build``), until nothing is left of it: that many steps, and the term that comes of
them is what a search can hope for. Tuples that are taken apart go likewise.

Example: with w bound to ``(build n (lam i (mul a (index i v))))`` in ``(build n (lam j (index j
w)))`` three steps (``inline``, ``index-of-build``, ``inline``) make ``(build n (lam j (mul a (index
j v))))``.

:class:`ReuseValue` is the value function of both: what fusing saves within the steps that are left,
or else what binding saves.
"""

from collections.abc import Sequence

import numpy as np

from polygym.rewrite.term import Term, postorder, term
from polygym.search.planning.protocol import Values
from polygym.terms.cost import StaticCost, TermCost
from polygym.terms.language.nodes import is_lam, let, term_facts
from polygym.terms.language.substitution import open_binder
from polygym.terms.language.types import TupleType, VectorType
from polygym.terms.normalization import Normalizer
from polygym.terms.rules.rule_types import TermRule
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
    for one in postorder([root]):
        if is_done:
            children = tuple(made.get(child, child) for child in one.children)
            made[one] = one if children == one.children else term(one.head, *children)
            continue
        other = _redex(one)
        made[one] = other
        is_done = other is not one
    return made[root]


def _redex(one: Term) -> Term:
    if one.head == "let":
        value, body = one.children
        is_read = isinstance(term_facts(value).type, VectorType | TupleType) or not value.children
        return open_binder(body, value) if is_read or not term_facts(body).free & 1 else one
    if one.head == "index" and one.children[1].head == "build":
        place, (_, function) = one.children[0], one.children[1].children
        return let(place, function.children[0]) if is_lam(function) else one
    if one.head == "select" and one.children[1].head == "tuple":
        at = one.children[0].head
        assert isinstance(at, int)
        return one.children[1].children[at]
    if one.head == "size" and one.children[0].head == "build":
        return one.children[0].children[0]
    return one


class ReuseValue:
    """Expects what fusing loops saves, or binding what is shared, within the steps left.

    Given the rules of a search, what those with a direction lead to
    (:mod:`polygym.terms.normalization`) is expected as well.
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
