"""A program, rules, a search: the derivation of the cheapest term that was found.

Searches take a value function where they can use one; :class:`~polygym.terms.fusion.Expecting` is
what they take if nothing else is said. Beside those of :mod:`polygym.search.planning` there is one
for large terms, by their parts (:mod:`polygym.terms.piecewise`). Several sets of rules are phases:
what the search finds with the first is where it begins with the second, as the paper has it for
linear algebra.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polygym.errors import InputError
from polygym.rewrite.term import Term
from polygym.search.planning import SEARCHES, Plan, ValueFunction, search
from polygym.terms.derivation import Derivation, derived
from polygym.terms.fusion import Expecting
from polygym.terms.language.nodes import facts
from polygym.terms.language.program import Program
from polygym.terms.piecewise import by_parts
from polygym.terms.rewriter import Step
from polygym.terms.rules.rule import Rule
from polygym.terms.rules.sets import joined, rules_named
from polygym.terms.system import TermSystem

__all__ = ["METHODS", "WITH_A_VALUE", "optimized"]

_MOST_NODES = 1_500_000
_PARTS = "parts"
METHODS = {**SEARCHES, _PARTS: "astar of small parts of a large term, one by one"}
"""The searches by name."""

WITH_A_VALUE = ("astar", "beam", "mcts", _PARTS)
"""The searches that take a value function."""


def optimized(
    program: Program,
    phases: Sequence[Sequence[Rule]] = (),
    method: str = "astar",
    plan: Plan | None = None,
    value: ValueFunction[Term] | None = None,
    seed: int = 0,
) -> Derivation:
    """Return the way to the cheapest term that a search found.

    Raises:
        InputError: there is no such search.
    """
    if method not in METHODS:
        raise InputError(f"a search: expected one of {', '.join(METHODS)}, found {method!r}")
    plan = _affordable(Plan() if plan is None else plan, program.body)
    sets = [tuple(rules) for rules in phases] or [rules_named("simple")]
    if value is None and method in WITH_A_VALUE:
        value = Expecting(rules=joined(sets))
    body, steps = program.body, list[Step]()
    for rules in sets:
        if method == _PARTS:
            parts = by_parts(body, rules, plan, value)
            steps += parts.steps
            body = parts.term
            continue
        system = TermSystem(rules)
        found = search(method, system, body, plan, value, seed)
        for state, number in zip(found.states, found.steps, strict=False):
            steps.append(system.rewriter.step(state, number))
        body = found.best
    return derived(program, joined(sets), steps)


def _affordable(plan: Plan, body: Term) -> Plan:
    """Return a plan with fewer states where the nodes that these are made of would fill memory.

    A rewrite makes new nodes for all that it is a part of, as many as the term is deep at most.
    """
    most = max(20, _MOST_NODES // facts(body).depth)
    return replace(plan, states=min(plan.states, most))
