"""Terms under rules, as the searches of :mod:`polygym.search.planning` take them.

>>> from polygym.search.planning import search
>>> from polygym.terms.language.printer import text_of
>>> from polygym.terms.language.parser import parse_program
>>> from polygym.terms.sharing_value import SharingValue
>>> system = TermSystem(rules_named("simple"))
>>> start = parse_program("(mul (div (mul 2.0 (add x y)) (sub (add x y) 1)) (mul x y))").body
>>> found = search("astar", system, start, value=SharingValue())
>>> found.initial_cost, found.cost, text_of(found.best)
(11.0, 10.1, '(mul (let (t1 (add x y)) (div (mul 2.0 t1) (sub t1 1.0))) (mul x y))')
"""

from collections.abc import Hashable, Sequence

from polygym.rewrite.term import Term
from polygym.terms.cost import StaticCost, TermCost
from polygym.terms.rewriter import Rewriter
from polygym.terms.rules.rule_sets import rules_named
from polygym.terms.rules.rule_types import TermRule


class TermSystem:
    """What terms become by a set of rules, and what they cost."""

    def __init__(
        self,
        rules: Sequence[TermRule] | None = None,
        cost: TermCost | None = None,
        rewriter: Rewriter | None = None,
    ) -> None:
        """Take the rules of Table 3 and the static cost, if nothing else is said.

        A rewriter may be shared: it has rules of its own, and remembers what it has found.
        """
        if rewriter is None:
            rewriter = Rewriter(rules_named("simple") if rules is None else rules)
        self.rewriter = rewriter
        self._cost: TermCost = StaticCost() if cost is None else cost

    def successors(self, state: Term) -> Sequence[Term]:
        """Return what a term can become in one step."""
        return self.rewriter.successors(state)

    def cost(self, state: Term) -> float:
        """Return what a term costs."""
        return self._cost(state)

    def key(self, state: Term) -> Hashable:
        """Return the term: equal ones are one object."""
        return state

    def features(self, state: Term) -> Term:
        """Return the term itself."""
        return state
