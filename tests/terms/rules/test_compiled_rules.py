"""Compiled rules do what rules do, and what is offered is what there is."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.rewrite.term import Term, postorder
from polygym.search.planning import PlanningLimits, explore
from polygym.terms.language.nodes import term_facts
from polygym.terms.library import expressions, programs
from polygym.terms.rewriter import Rewriter, TermSystem
from polygym.terms.rules.compiled_rules import compile_rule
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.rules.rule_types import BindRule, LiftRule, PatternRule, SelectRule, apply_rule


@pytest.fixture(scope="module")
def nodes() -> list[Term]:
    """Nodes of terms that walks come through, with binders and without."""
    roots = [*expressions("train")[::6], *programs("linear-algebra"), *programs("convolution")]
    system, terms = TermSystem(rules_named("all")), list[Term]()
    for number, program in enumerate(roots):
        seen, _ = explore("random", system, program.body, PlanningLimits(8, 25), seed=number)
        terms += seen.states
    return list(postorder(terms))


def test_compiled_rules_do_what_rules_do(nodes: list[Term]) -> None:
    count = 0
    for rule in rules_named("all"):
        if not isinstance(rule, PatternRule | SelectRule):
            continue
        work = compile_rule(rule)
        for term in nodes:
            made = work(term) if term.children else None
            assert made is (apply_rule(rule, term) if term.children else None), (rule.name, term)
            count += made is not None
    assert count > 1000


def test_what_is_offered_is_what_there_is(nodes: list[Term]) -> None:
    """Rules by number with how many more nodes there are, as applying them has it."""
    rewriter = Rewriter(rules_named("all"))
    rng = np.random.default_rng(0)
    large = [term for term in nodes if term_facts(term).nodes > 12]
    kinds = set()
    for at in rng.permutation(len(large))[:60].tolist():
        root = large[at]
        own, *links = rewriter.applicable_rules(root)
        expected = []
        for step in rewriter.steps(root):
            is_link = isinstance(step.rule, BindRule | LiftRule)
            if len(step.position) == is_link:
                more = term_facts(rewriter.after(root, step)).nodes - term_facts(root).nodes
                expected.append((step.position, rewriter.numbers[step.rule.name], more))
                kinds.add(type(step.rule))
        offered = [((), *offer) for offer in own]
        offered += [((at,), *offer) for at, group in enumerate(links) for offer in group]
        assert sorted(offered) == sorted(expected)
    assert kinds == {PatternRule, BindRule, LiftRule}
