"""Rules of terms: a source becomes a target at a place; three that no pattern can say.

A :class:`PatternRule` has patterns and conditions. The others are of all operators, or of any
number of parts: :class:`BindRule` makes a ``let`` of a part, :class:`LiftRule` takes a ``let`` out
of what it is a part of, :class:`SelectRule` takes a part of a tuple. What each does to a node is
one function, :func:`apply_rule`, or for the two that need what is around it, :func:`bind_child` and
:func:`lift_let`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from polygym.rewrite.term import Term, term
from polygym.terms.language.nodes import binds, bound, is_lam, let, term_facts
from polygym.terms.language.operators import IllTypedError
from polygym.terms.language.substitution import shift_indices, substitute, with_index
from polygym.terms.language.types import BOOL, FLOAT, INTEGER, is_data
from polygym.terms.rules import patterns

_ZERO, _NOTHING = term(0.0), term(0)
_DEEPEST = 200

CONDITIONS = {
    "absent": "(absent x ?a): x does not occur in ?a",
    "constant": "(constant ?a): ?a is a number or a truth value that is written out",
    "zero": "(zero ?a): ?a is 0, or constVec or tuple of such, written out",
    "float": "(float ?a): ?a is a Float",
    "integer": "(integer ?a): ?a is an Integer",
    "bool": "(bool ?a): ?a is a truth value",
    "data": "(data ?a): ?a is no function",
    "needed": "(needed x ?a): no value of ?a without that of x",
    "positive": "(positive ?a): ?a is written as what is above 0, such as exp",
}
BINDER_CONDITIONS = ("absent", "needed")
"""Those that are said of a binder too."""


@dataclass(frozen=True, slots=True)
class RuleCondition:
    """A word of :data:`CONDITIONS` about a metavariable; for some a binder's name."""

    name: str
    metavariable: str
    binder: str = ""

    def holds(self, known: patterns.PatternMatch) -> bool:
        """Whether it holds of what was matched."""
        node, scope = known.bindings[self.metavariable]
        kind = term_facts(node).type
        match self.name:
            case "absent" | "needed":
                at = len(scope) - 1 - scope.index(self.binder) if self.binder in scope else -1
                if self.name == "needed":
                    return at >= 0 and is_needed(node, at)
                return at < 0 or not term_facts(node).free >> at & 1
            case "positive":
                return _is_positive(node)
            case "constant":
                return (
                    not node.children
                    and (not isinstance(node.head, str) or kind == BOOL)
                    and (term_facts(node).free == 0 and ":" not in str(node.head))
                )
            case "zero":
                return _is_zero(node)
            case "float":
                return kind == FLOAT
            case "integer":
                return kind == INTEGER
            case "bool":
                return kind == BOOL
            case _:
                return is_data(kind)

    def __str__(self) -> str:
        """Return the text."""
        return " ".join(filter(None, [f"({self.name}", self.binder, self.metavariable])) + ")"


def _is_zero(node: Term) -> bool:
    """Whether a term is written as a zero; -0.0 is none, to which adding 0.0 makes a difference."""
    if node.head == "constVec":
        return _is_zero(node.children[1])
    if node.head == "tuple":
        return all(map(_is_zero, node.children))
    return node is _ZERO or node is _NOTHING


def is_needed(root: Term, index: int) -> bool:
    """Whether a term has no value where a variable has none: it is evaluated in every case.

    Not in an arm of an ``if``, unless the other one needs it too; not in the body of a loop, which
    may have no turns; in what a ``let`` binds only if that is needed. Of deep terms this is not
    looked at: then the answer is no.
    """
    if term_facts(root).depth > _DEEPEST:
        return False
    known: dict[tuple[Term, int], bool] = {}

    def needs(node: Term, at: int) -> bool:
        if not term_facts(node).free >> at & 1 or is_lam(node):
            return False
        if not node.children:
            return True
        if (node, at) not in known:
            known[node, at] = parts_need(node, at)
        return known[node, at]

    def parts_need(node: Term, at: int) -> bool:
        first, *rest = node.children
        if node.head == "let":
            return needs(rest[0], at + 1) or (needs(first, at) and needs(rest[0], 0))
        if node.head == "if":
            return needs(first, at) or all(needs(arm, at) for arm in rest)
        if node.head == "apply":
            return needs(first, at)
        return any(needs(child, at) for child in node.children)

    return needs(root, index)


_POSITIVE_PARTS = ("add", "mul", "div", "max", "sqrt")


def _is_positive(node: Term) -> bool:
    """Whether a Float is written as a positive one: only rounding and overflow make it another."""
    if isinstance(node.head, float):
        return node.head > 0.0
    if node.head == "exp":
        return True
    return node.head in _POSITIVE_PARTS and all(map(_is_positive, node.children))


@dataclass(frozen=True, slots=True)
class PatternRule:
    """Wherever the source matches and the conditions hold, it may become the target."""

    name: str
    source: patterns.Pattern
    target: patterns.Pattern
    conditions: tuple[RuleCondition, ...] = ()

    def __str__(self) -> str:
        """Return the line of a table."""
        sides = (
            f"{patterns.text_of_pattern(self.source)} => {patterns.text_of_pattern(self.target)}"
        )
        conditions = " & ".join(map(str, self.conditions))
        return f"{self.name}: {sides}" + (f" if {conditions}" if conditions else "")

    @property
    def head(self) -> str:
        """The head of all terms that it may apply to."""
        match self.source:
            case patterns.OperatorPattern(head, _):
                return head
            case patterns.LetPattern():
                return "let"
            case patterns.LambdaPattern():
                return "lam"
            case _:
                raise AssertionError("a source is an operator")


@dataclass(frozen=True, slots=True)
class BindRule:
    """e → ``(let (x e) x)``, wherever a ``let`` can be of use.

    Not of what costs nothing to have twice (constants, variables), of a whole term, of a ``let``,
    of what a ``let`` is a part of or binds already, or of a function.
    """

    name: str

    def __str__(self) -> str:
        """Return the line of a table."""
        return f"{self.name}: ?e => (let (x ?e) x)"


@dataclass(frozen=True, slots=True)
class LiftRule:
    """``(op … (let (x e) b) …)`` → ``(let (x e) (op … b …))``, for any op, also one that binds.

    Side condition: e has no variable that op binds. The names of the other parts cannot clash.
    """

    name: str

    def __str__(self) -> str:
        """Return the line of a table."""
        return f"{self.name}: (?op (let (x ?e) ?b)) => (let (x ?e) (?op ?b))"


@dataclass(frozen=True, slots=True)
class SelectRule:
    """``(select i (tuple e0 e1 …))`` → ei."""

    name: str

    def __str__(self) -> str:
        """Return the line of a table."""
        return f"{self.name}: (select ?i (tuple ?e ...)) => ?e.i"

    @property
    def head(self) -> str:
        """The head of all terms that it may apply to."""
        return "select"


TermRule: TypeAlias = PatternRule | BindRule | LiftRule | SelectRule


def by_head(rules: Iterable[TermRule]) -> dict[str, list[PatternRule | SelectRule]]:
    """Return the rules that look at one node, by its head, in their order."""
    pattern_rules: dict[str, list[PatternRule | SelectRule]] = {}
    for rule in rules:
        if isinstance(rule, PatternRule | SelectRule):
            pattern_rules.setdefault(rule.head, []).append(rule)
    return pattern_rules


def apply_rule(rule: PatternRule | SelectRule, node: Term) -> Term | None:
    """Return what a rule makes of a node; None where it does not apply, or nothing changes."""
    if isinstance(rule, SelectRule):
        if node.head == "select" and node.children[1].head == "tuple":
            place = node.children[0].head
            assert isinstance(place, int)
            return node.children[1].children[place]
        return None
    known = patterns.PatternMatch()
    if not patterns.match_pattern(rule.source, node, known):
        return None
    if not all(condition.holds(known) for condition in rule.conditions):
        return None
    made = patterns.instantiate(rule.target, known)
    if made is None or made is node:
        return None
    try:
        return made if term_facts(made).type == term_facts(node).type else None
    except IllTypedError:
        return None


def may_bind(parent: Term, place: int) -> bool:
    """Whether it is of use to bind one of a node's children there, which makes two nodes more."""
    child = parent.children[place]
    if not child.children or child.head == "let" or (parent.head == "let" and place == 0):
        return False
    if is_lam(child) or any(part.head == "let" for part in child.children):
        return False
    return is_data(term_facts(child).type)


def bind_child(parent: Term, place: int) -> Term | None:
    """Return a node with one of its children bound there; None where that is of no use."""
    if not may_bind(parent, place):
        return None
    child = parent.children[place]
    return _with_child(parent, place, let(child, bound(0, term_facts(child).type)))


def may_lift(parent: Term, place: int) -> bool:
    """Whether a child is a ``let`` that can be outside of a node, with as many nodes as before."""
    child = parent.children[place]
    return child.head == "let" and not (
        binds(parent, place) and term_facts(child.children[0]).free & 1
    )


def lift_let(parent: Term, place: int) -> Term | None:
    """Return a node with the ``let`` that a child is outside of it; None without one."""
    if not may_lift(parent, place):
        return None
    value, body = parent.children[place].children
    is_bound = binds(parent, place)
    if is_bound:
        value = shift_indices(value, -1)
        body = substitute(
            body, lambda index, leaf: with_index(leaf, _SWAPPED_INDICES.get(index, index))
        )
    parts = [
        body if at == place else _under_a_let(part, is_bound=binds(parent, at))
        for at, part in enumerate(parent.children)
    ]
    return let(value, term(parent.head, *parts))


_SWAPPED_INDICES = {0: 1, 1: 0}


def _under_a_let(child: Term, *, is_bound: bool) -> Term:
    """Return a child of a node around which a ``let`` was put; its own binder stays nearer."""
    if not is_bound:
        return shift_indices(child, 1)
    return substitute(child, lambda index, leaf: with_index(leaf, index + 1) if index else leaf)


def _with_child(parent: Term, place: int, child: Term) -> Term:
    parts = list(parent.children)
    parts[place] = child
    return term(parent.head, *parts)
