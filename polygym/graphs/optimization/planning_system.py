"""Tensor graphs under rules, as the searches of :mod:`polygym.search.planning` take them.

A state is the term of a graph, a step one substitution at one place, as TASO's search has them
(:mod:`polygym.rewrite.backtracking`); a graph costs what its different nodes do. So A*, MCTS, a
beam and all others search graphs as they search terms and schedules.
"""

from collections.abc import Callable, Hashable, Sequence

from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.rewrite.backtracking import Valuation
from polygym.rewrite.domain import Data, type_table
from polygym.rewrite.rule import Rule
from polygym.rewrite.substitution import TermIndex
from polygym.rewrite.term import Head, Term


class GraphRewriteSystem:
    """What tensor graphs become by a set of rules, and what they cost."""

    def __init__(
        self,
        rules: Sequence[Rule],
        cost: Callable[[Head, tuple[Data, ...], Data], float],
        unit: float = 1.0,
    ) -> None:
        """Take rules, and the cost of a node by its head, its arguments' data and its own.

        Costs are counted in a unit. MCTS weighs what it gains against what it has not tried yet,
        so it needs one that makes gains small numbers: the cost of the start, say.
        """
        self._rules, self._types, self._unit = tuple(rules), type_table(TENSOR_DOMAIN), unit
        self._valuation = Valuation(self._types, cost)

    def successors(self, state: Term) -> Sequence[Term]:
        """Return what a graph can become by one substitution, each of them once."""
        places = TermIndex(state, self._types)
        made = (places.apply(match) for match in places.matches(self._rules))
        return list(dict.fromkeys(term for term in made if term is not None and term is not state))

    def cost(self, state: Term) -> float:
        """Return what a graph costs."""
        return self._valuation.of(state) / self._unit

    def key(self, state: Term) -> Hashable:
        """Return the term: equal ones are one object."""
        return state

    def features(self, state: Term) -> Term:
        """Return the term itself."""
        return state
