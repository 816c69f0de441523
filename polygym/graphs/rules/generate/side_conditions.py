"""Side conditions: the weakest conjunction of words that excludes whatever goes wrong.

A rule without conditions is tried on instances. Each atom that can be said of its variables is true
or false of each instance; of all conjunctions of up to three atoms that exclude every failure, the
one is chosen that keeps most of the instances on which the rule is right, and of these the
shortest. New failures under it are added, and the search begins again.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, permutations

from polygym.errors import InputError
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.operators.registry import operator_named
from polygym.graphs.operators.types import Data
from polygym.graphs.rules.instances import RuleInstance, infer_patterns, instances, variable_kinds
from polygym.graphs.rules.verification import GraphRuleCounterexample, check_instance, verify_rule
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.rule import Rule
from polygym.rewrite.s_expressions import parse_term, term_text
from polygym.rewrite.term import Term, is_variable, postorder

_ROUNDS = 5
_SAMPLES = 120
_VERIFICATION_CASES = 300
_MAX_FAILURES = 10
"""How many failures there may be for each instance on which a rule is right."""


def add_conditions(rule: Rule, original_types: dict[str, Data], seed: int = 0) -> Rule | None:
    """Return a rule with conditions under which it holds, None if there are none.

    ``original_types`` is an instance that it must keep firing on: the one it was found on.
    """
    good: list[RuleInstance] = []
    bad: list[RuleInstance] = []
    for number, instance in enumerate(instances(rule, seed, _SAMPLES)):
        answer = check_instance(rule, instance, seed, number)
        if isinstance(answer, GraphRuleCounterexample):
            bad.append(instance)
        elif answer:
            good.append(instance)
    if len(good) * _MAX_FAILURES < len(bad):
        return None
    vocabulary = [term for term in candidate_conditions(rule) if _is_true(term, original_types)]
    for _ in range(_ROUNDS):
        chosen = _weakest_conjunction(vocabulary, good, bad)
        if chosen is None:
            return None
        result = replace(rule, conditions=(*rule.conditions, *chosen))
        try:
            outcome = verify_rule(result, _VERIFICATION_CASES, seed)
        except InputError:  # it never fires
            return None
        if not isinstance(outcome, GraphRuleCounterexample):
            return result
        bad.append(RuleInstance(outcome.binding, infer_patterns(rule.sources, outcome.binding)))
    return None


def candidate_conditions(rule: Rule) -> list[Term]:
    """Return what can be said of a rule's variables."""
    result: dict[str, None] = {}
    for atom in _atoms(rule):
        result[atom] = None
    return [parse_term(text) for text in result]


def _atoms(rule: Rule) -> Iterator[str]:
    what = variable_kinds(rule)
    bound = {
        str(term.head)
        for term in postorder(rule.sources)
        if is_variable(term) and term.head in what
    }
    tensors = [name for name in what if name in bound and what[name][0] == "T"]
    by_role = {
        role: [name for name in what if name in bound and what[name][1] == role]
        for role in ("axis", "at", "stride_h", "stride_w", "permutation", "padding", "groups")
    }
    for axis in by_role["axis"]:
        for x in tensors:
            yield f"(equal {axis} (=column-axis {x}))"
            yield f"(equal {axis} (=row-axis {x}))"
            yield f"(below {axis} (=column-axis {x}))"
        yield f"(below {axis} 2)"
        for at in by_role["at"]:
            for x in tensors:
                yield f"(equal {at} (=extent {x} {axis}))"
    for one, other in combinations(by_role["axis"], 2):
        yield f"(different {one} {other})"
    for image, kernel in _convolutions(rule):
        yield f"(equal (=groups {image} {kernel}) 1)"
        for groups in by_role["groups"]:
            yield f"(equal {groups} (=groups {image} {kernel}))"
    for one, other in combinations(tensors, 2):
        yield f"(same-shape {one} {other})"
    for stride in (*by_role["stride_h"], *by_role["stride_w"]):
        yield f"(equal {stride} 1)"
    for padding in by_role["padding"]:
        yield f"(equal {padding} same)"
    for permutation in by_role["permutation"]:
        yield f"(ascending {permutation})"
    if any(node.head == "mul" for node in postorder((*rule.sources, *rule.targets))):
        for one, other in permutations(tensors, 2):
            yield f"(fits {one} {other})"
    for x in tensors:
        yield f"(one-element {x})"
        yield f"(rank {x} 1)"


def _convolutions(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield the pairs of variables of which one is convolved with the other on either side."""
    for term in postorder((*rule.sources, *rule.targets)):
        if term.head == "conv":
            names = [name for name, _ in operator_named("conv").parameters]
            image, kernel = (term.children[names.index(name)] for name in "xw")
            if is_variable(image) and is_variable(kernel):
                yield term_text(image), term_text(kernel)


def _is_true(atom: Term, binding: dict[str, Data]) -> bool:
    try:
        made = infer_patterns(atom.children, binding)
    except (Inadmissible, KeyError):
        return False
    return TENSOR_DOMAIN.holds(str(atom.head), tuple(made[term] for term in atom.children))


def _weakest_conjunction(
    vocabulary: list[Term], good: list[RuleInstance], bad: list[RuleInstance]
) -> tuple[Term, ...] | None:
    """Return the conjunction that excludes all that is bad and least of what is good."""
    masks = []
    for atom in vocabulary:
        kept = sum(
            1 << place
            for place, rule_instance in enumerate(good)
            if _is_true(atom, rule_instance.binding)
        )
        left = sum(
            1 << place
            for place, rule_instance in enumerate(bad)
            if _is_true(atom, rule_instance.binding)
        )
        masks.append((atom, kept, left))
    everything = (1 << len(good)) - 1
    best: tuple[int, int, tuple[Term, ...]] | None = None
    for count in (0, 1, 2, 3):
        for chosen in combinations(masks, count):
            kept, left = everything, (1 << len(bad)) - 1
            for _, instance, other in chosen:
                kept, left = kept & instance, left & other
            if left or not kept:
                continue
            value = kept.bit_count()
            if best is None or value > best[0]:
                best = value, count, tuple(atom for atom, *_ in chosen)
    return best[2] if best else None
