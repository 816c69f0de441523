"""The groups of rules that an agent applies together: a closed list, into which every rule falls.

A rule belongs to the first group that fits, decided by the operators of its sources and targets
alone, so that a table of rules that somebody else wrote is divided in the same way:

    a rule with several sources     by whether it has convolutions, products, or neither
    concat, split among operators   by the same three
    else transposes and reshapes, activations, convolutions and pools, products; the rest

Example, ``(relu (matmul none ?x ?y)) => (matmul relu ?x ?y)`` is one of activations.
"""

from collections.abc import Sequence
from enum import Enum

from polygym.graphs.operators.registry import OPERATORS
from polygym.rewrite.rule import Rule
from polygym.rewrite.term import postorder

_CONVOLUTIONS = frozenset({"conv", "enlarge", "merge", "poolmax", "poolavg"})
_MOVES = frozenset({"transpose", "reshape"})
_SPLITS = frozenset({"split", "split0", "split1"})


class RuleGroup(Enum):
    """What the rules of a group are about."""

    ELEMENTWISE = "element-wise algebra"
    PRODUCTS = "products"
    CONVOLUTIONS = "convolutions and pools"
    ACTIVATIONS = "activations"
    TRANSPOSES = "transposes and reshapes"
    CONCATS = "concatenations and splits"
    CONCATS_OF_PRODUCTS = "concatenations of products"
    CONCATS_OF_CONVOLUTIONS = "concatenations of convolutions"
    SEVERAL = "several outputs"
    SEVERAL_PRODUCTS = "several products"
    SEVERAL_CONVOLUTIONS = "several convolutions"

    @property
    def is_multiple(self) -> bool:
        """Whether its rules have several sources, which match together."""
        return self in _MULTIPLE


_MULTIPLE = frozenset(
    {RuleGroup.SEVERAL, RuleGroup.SEVERAL_PRODUCTS, RuleGroup.SEVERAL_CONVOLUTIONS}
)
_OF_SEVERAL = (RuleGroup.SEVERAL_CONVOLUTIONS, RuleGroup.SEVERAL_PRODUCTS, RuleGroup.SEVERAL)
_OF_CONCATS = (RuleGroup.CONCATS_OF_CONVOLUTIONS, RuleGroup.CONCATS_OF_PRODUCTS, RuleGroup.CONCATS)


def rule_operators(rule: Rule, *, of_sources: bool = False) -> frozenset[str]:
    """Return the operators of a rule, or those that its sources need."""
    roots = rule.sources if of_sources else (*rule.sources, *rule.targets)
    return frozenset(
        str(term.head)
        for term in postorder(roots)
        if term.children and not str(term.head).startswith("=")
    )


def rule_group(rule: Rule) -> RuleGroup:
    """Return the group of a rule.

    >>> from polygym.rewrite.rule import parse_rules
    >>> [rule] = parse_rules("a: (ewadd ?x ?y) => (ewadd ?y ?x)")
    >>> rule_group(rule)
    <RuleGroup.ELEMENTWISE: 'element-wise algebra'>
    """
    heads = rule_operators(rule)
    has_convolutions, has_products = bool(heads & _CONVOLUTIONS), "matmul" in heads
    place = 0 if has_convolutions else 1 if has_products else 2
    if rule.is_multiple:
        return _OF_SEVERAL[place]
    if heads & _SPLITS or any(name.startswith("concat") for name in heads):
        return _OF_CONCATS[place]
    if heads & _MOVES:
        return RuleGroup.TRANSPOSES
    if any(OPERATORS[name].is_unary for name in heads if name in OPERATORS):
        return RuleGroup.ACTIVATIONS
    return (RuleGroup.CONVOLUTIONS, RuleGroup.PRODUCTS, RuleGroup.ELEMENTWISE)[place]


def rules_by_group(rules: Sequence[Rule]) -> dict[RuleGroup, tuple[Rule, ...]]:
    """Return the rules of every group, in the order of the table; empty ones among them."""
    groups = [rule_group(rule) for rule in rules]
    return {
        kind: tuple(rule for rule, group in zip(rules, groups, strict=True) if group is kind)
        for kind in RuleGroup
    }
