"""Whole programs as a space to search in: terms without ``let``, which code motion binds.

States are terms without ``let``. What one costs is :data:`SCALE` · ln(cost after code motion), so
that programs of all sizes save alike. A step is a rule
at a place, or a part of a loop's body that is computed beforehand
(:func:`~polygym.terms.whole_programs.loop_rules.tabulations`). So nothing is bound or lifted, and
derivations are short.

Rules are applied to terms in their direction, so that one-way rules may be among them.

:data:`SPACES` names both spaces of terms; the other one has ``let`` and the static cost itself.
"""

import math
from collections.abc import Hashable, Sequence

from polygym.rewrite.term import Term
from polygym.search.planning.protocol import RewriteSystem
from polygym.terms.language.nodes import term_facts
from polygym.terms.rewriter import Rewriter, TermSystem, replace_subterm, subterm_at, topmost
from polygym.terms.rules.patterns import LetPattern, subpatterns
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.rules.rule_types import PatternRule, SelectRule, TermRule
from polygym.terms.saturation import inline_lets
from polygym.terms.whole_programs.code_motion import ProgramCost
from polygym.terms.whole_programs.loop_rules import tabulations

SCALE = 10.0
SPACES = ("terms", "programs")
_LOOPS = ("build", "sumbuild")
_MOST_NODES = 400


class ProgramSystem:
    """Terms without ``let`` under rules, with the logarithm of what they cost after code motion."""

    def __init__(self, rules: Sequence[TermRule]) -> None:
        """Take of rules those that say nothing of ``let``."""
        used = [rule for rule in rules if _is_used(rule)]
        self.rewriter = Rewriter(used)
        self.program_cost = ProgramCost()
        self._known: dict[Term, tuple[Term, ...]] = {}

    def successors(self, state: Term) -> Sequence[Term]:
        """Return what a term can become in one step, each once."""
        made = self._known.get(state)
        if made is None:
            terms = [inline_lets(each) for each in self.rewriter.successors(state)]
            for place in _places_of_loops(state):
                made_before = tabulations(subterm_at(state, place))
                terms += [replace_subterm(state, place, other) for other in made_before]
            fitting = (each for each in terms if term_facts(each).nodes <= _MOST_NODES)
            made = self._known[state] = tuple(dict.fromkeys(fitting))
        return made

    def cost(self, state: Term) -> float:
        """Return the scaled logarithm of the cost after code motion."""
        return SCALE * math.log(max(1e-3, self.program_cost(state)))

    def key(self, state: Term) -> Hashable:
        """Return the term: equal ones are one object."""
        return state

    def features(self, state: Term) -> Term:
        """Return the term itself."""
        return state


def _is_used(rule: TermRule) -> bool:
    if isinstance(rule, SelectRule):
        return True
    return isinstance(rule, PatternRule) and not any(
        isinstance(part, LetPattern) for part in subpatterns(rule.source)
    )


def _places_of_loops(root: Term) -> list[tuple[int, ...]]:
    """Return the places of all loops, also of those within others."""
    places: list[tuple[int, ...]] = []
    waiting: list[tuple[tuple[int, ...], Term]] = [((), root)]
    while waiting:
        above, part = waiting.pop()
        for place in topmost(part, lambda node: node.head in _LOOPS):
            whole = (*above, *place)
            places.append(whole)
            loop = subterm_at(part, place)
            waiting += [((*whole, at), child) for at, child in enumerate(loop.children)]
    return sorted(places)


def system_named(space: str, rules: str) -> RewriteSystem[Term]:
    """Return a space of terms by its name, under a set of rules."""
    if space == "programs":
        return ProgramSystem(rules_named(rules))
    return TermSystem(rules_named(rules))


def start_in(space: str, body: Term) -> Term:
    """Return the state that a term is in a space."""
    return inline_lets(body) if space == "programs" else body
