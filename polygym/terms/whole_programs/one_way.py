"""Rules that an e-graph must not use both ways, and what they are used for before and after it.

A rule may give a value to a term that had none: (mul 0.0 a) → 0.0 where a is infinite, or
(index i (build n f)) → f(i) where i is not below n. An e-graph forgets which of two sides was
there first, and might put the side without a value where the other one stood: the part of a loop
over n in a loop over more. So these rules are applied to terms, by a short search with all rules.
:data:`NEARLY` are applied in the e-graph all the same: the side without a value has it only in
loops of no turns, or of fewer.
"""

from collections.abc import Sequence

from polygym.rewrite.term import Term
from polygym.search.planning import PlanningLimits, search
from polygym.terms.fusion_value import fuse_loops
from polygym.terms.language.nodes import term_facts
from polygym.terms.rules.patterns import LetPattern
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.rules.rule_types import PatternRule, TermRule
from polygym.terms.rules.soundness import find_counterexample
from polygym.terms.saturation import inline_lets
from polygym.terms.whole_programs.program_system import ProgramSystem

ONE_WAY = frozenset(
    (
        *("sub-itself", "mul-zero", "mul-zero-right", "div-itself", "eq-itself", "if-same"),
        *("index-of-build", "index-of-constant", "index-of-delta", "index-of-add", "index-of-sub"),
        *("index-of-mul", "size-of-build", "size-of-delta", "size-of-constant", "sum-of-delta"),
        *("sum-of-build", "sumbuild-of-delta", "sumbuild-of-build", "sumbuild-of-if"),
        *("sumbuild-of-constant", "sumbuild-of-own-delta", "sumbuild-of-delta-or-zeros"),
        *("sumbuild-of-zeros-or-delta", "sumbuild-of-zeros", "delta-of-zeros", "add-zeros"),
        *("add-zeros-right", "if-of-constant-and-build", "if-of-build-and-constant"),
        *("sumbuild-of-one-turn", "mul-of-build", "mul-of-exps", "div-of-exps", "inverse-of-exp"),
        *("log-of-exp", "exp-of-log", "log-of-mul", "log-of-div", "log-of-exp-factor"),
        *("log-of-sqrt", "square-of-sqrt", "sqrt-of-square"),
    )
)
NEARLY = frozenset(
    (
        *("factor-into-sumbuild", "factor-into-sumbuild-right"),
        *("exchange-sumbuilds", "sumbuild-of-invariant"),
    )
)
_MOST_NODES = 600
_PLAN = PlanningLimits(horizon=16, max_states=120)


def split_rules(
    rules: Sequence[TermRule],
) -> tuple[tuple[PatternRule, ...], tuple[TermRule, ...]]:
    """Return the rules for an e-graph, and those for terms; rules of ``let`` are in neither.

    Rules that come with polygym are told by name, others are tried.
    """
    known = frozenset(rules_named("all"))
    both, one = list[PatternRule](), list[TermRule]()
    for rule in rules:
        if not isinstance(rule, PatternRule) or isinstance(rule.source, LetPattern):
            continue
        if rule in known:
            is_one_way = rule.name in ONE_WAY
        else:
            is_one_way = find_counterexample(rule, tries=200, is_equation=True) is not None
        (one if is_one_way else both).append(rule)
    return tuple(both), tuple(one)


def simplify(root: Term, rules: Sequence[TermRule]) -> Term:
    """Return the cheapest term without ``let`` that a short search by rules for terms finds."""
    fused = fuse_loops(inline_lets(root))[0]
    if term_facts(fused).nodes > _MOST_NODES:
        return fused
    return search("greedy", ProgramSystem(rules), fused, _PLAN).best
