"""A program, rules, a search: the derivation of the cheapest term that was found.

Searches take a value function where they can use one;
:class:`~polygym.terms.fusion_value.ReuseValue` is what they take if nothing else is said. Beside
those of :mod:`polygym.search.planning` there is one for large terms, by their parts
(:mod:`polygym.terms.decomposition`). Several sets of rules are
phases:
what the search finds with the first is where it begins with the second, as the paper has it for
linear algebra.
"""

from collections.abc import Sequence
from dataclasses import replace

from polygym.errors import InputError
from polygym.rewrite.term import Term
from polygym.search.planning import ALGORITHMS, PlanningLimits, ValueFunction, search
from polygym.terms.decomposition import search_by_fragments
from polygym.terms.derivation import Derivation, derive
from polygym.terms.fusion_value import ReuseValue
from polygym.terms.language.nodes import term_facts
from polygym.terms.language.program import TermProgram
from polygym.terms.rewriter import RewriteStep, TermSystem
from polygym.terms.rules.rule_table import merge_rules, rules_named
from polygym.terms.rules.rule_types import TermRule

_MOST_NODES = 1_500_000
_PARTS = "parts"
SEARCH_METHODS = {**ALGORITHMS, _PARTS: "astar of small parts of a large term, one by one"}
"""The searches by name."""

VALUE_METHODS = ("astar", "beam", "mcts", _PARTS)
"""The searches that take a value function."""


def optimize_term(
    program: TermProgram,
    rule_phases: Sequence[Sequence[TermRule]] = (),
    method: str = "astar",
    plan: PlanningLimits | None = None,
    value: ValueFunction[Term] | None = None,
    seed: int = 0,
) -> Derivation:
    """Return the way to the cheapest term that a search found.

    Raises:
        InputError: there is no such search.
    """
    if method not in SEARCH_METHODS:
        raise InputError(f"a search: expected one of {', '.join(SEARCH_METHODS)}, found {method!r}")
    plan = _affordable(PlanningLimits() if plan is None else plan, program.body)
    sets = [tuple(rules) for rules in rule_phases] or [rules_named("simple")]
    if value is None and method in VALUE_METHODS:
        value = ReuseValue(rules=merge_rules(sets))
    body, steps = program.body, list[RewriteStep]()
    for rules in sets:
        if method == _PARTS:
            parts = search_by_fragments(body, rules, plan, value)
            steps += parts.steps
            body = parts.term
            continue
        system = TermSystem(rules)
        result = search(method, system, body, plan, value, seed)
        for state, number in zip(result.states, result.steps, strict=False):
            steps.append(system.rewriter.step(state, number))
        body = result.best
    return derive(program, merge_rules(sets), steps)


def _affordable(plan: PlanningLimits, body: Term) -> PlanningLimits:
    """Return a plan with fewer states where the nodes that these are made of would fill memory.

    A rewrite makes new nodes for all that it is a part of, as many as the term is deep at most.
    """
    most = max(20, _MOST_NODES // term_facts(body).depth)
    return replace(plan, max_states=min(plan.max_states, most))
