"""Rules as functions of a node, once for each rule; those without binders as closures.

Where neither side of a rule binds anything, a metavariable stands for one term wherever it is
written: to match is to compare, to build is to look up. That is what most rules of arithmetic are,
and a third of what a rewriter does. Those that end a ``let`` are one call. All other rules are
:func:`polygym.terms.rules.rule_types.apply_rule`.

Example: (add (mul ?a ?b) (mul ?a ?c)) compares heads, takes a, b and c from their places, and asks
whether the third place has a again.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from polygym.rewrite.term import Term, term
from polygym.terms.language.nodes import term_facts
from polygym.terms.language.operators import IllTypedError
from polygym.terms.language.substitution import open_binder, shift_indices
from polygym.terms.rules import patterns
from polygym.terms.rules.rule_types import PatternRule, SelectRule, apply_rule

RuleFunction: TypeAlias = Callable[[Term], Term | None]

_Known: TypeAlias = dict[str, Term]
_Matcher: TypeAlias = Callable[[Term, _Known], bool]
_Builder: TypeAlias = Callable[[_Known], Term]


def compile_rule(rule: PatternRule | SelectRule) -> RuleFunction:
    """Return the result of a rule at a node, as ``rule_types.apply_rule`` does."""
    if not isinstance(rule, PatternRule):
        return partial(apply_rule, rule)
    if not (has_no_binders(rule.source) and has_no_binders(rule.target)):
        return _ending_a_let(rule) or partial(apply_rule, rule)
    matches, build = _matcher(rule.source, set()), _builder(rule.target)
    conditions = rule.conditions

    def work(node: Term) -> Term | None:
        known: _Known = {}
        if not matches(node, known):
            return None
        if conditions:
            match = patterns.PatternMatch({name: (part, ()) for name, part in known.items()})
            if not all(condition.holds(match) for condition in conditions):
                return None
        made = build(known)
        if made is node:
            return None
        try:
            return made if term_facts(made).type == term_facts(node).type else None
        except IllTypedError:
            return None

    return work


def _ending_a_let(rule: PatternRule) -> RuleFunction | None:
    """Return what a rule does that ends any ``let``: puts the value in its places, or drops it."""
    match rule.source:
        case patterns.LetPattern(
            name, patterns.Metavariable(value, ()), patterns.Metavariable(body, scope)
        ) if scope == (name,) and value != body:
            pass
        case _:
            return None
    if rule.conditions:
        return None
    match rule.target:
        case patterns.SubstitutionPattern(other, patterns.Metavariable(put, ()), into, ()) if (
            other,
            put,
            into,
        ) == (name, value, body):
            return _opened
        case patterns.Metavariable(kept, ()) if kept == body:
            return _dropped
        case _:
            return None


def _opened(node: Term) -> Term | None:
    return open_binder(node.children[1], node.children[0]) if node.head == "let" else None


def _dropped(node: Term) -> Term | None:
    if node.head != "let":
        return None
    body = node.children[1]
    return shift_indices(body, -1) if not term_facts(body).free & 1 else None


def has_no_binders(pattern: patterns.Pattern) -> bool:
    """Whether a pattern binds nothing."""
    return all(
        not part.scope
        if isinstance(part, patterns.Metavariable)
        else isinstance(part, patterns.LiteralPattern | patterns.OperatorPattern)
        for part in patterns.subpatterns(pattern)
    )


def _matcher(pattern: patterns.Pattern, seen: set[str]) -> _Matcher:
    """Return whether a term is an instance; ``seen`` are the metavariables on the left of it."""
    match pattern:
        case patterns.Metavariable(name, _):
            if name in seen:
                return lambda subject, known: known[name] is subject
            seen.add(name)
            return lambda subject, known: known.setdefault(name, subject) is subject
        case patterns.LiteralPattern(literal):
            return lambda subject, known: subject is literal
        case patterns.OperatorPattern(head, children):
            parts = tuple(_matcher(child, seen) for child in children)
            count = len(parts)

            def node(subject: Term, known: _Known) -> bool:
                if subject.head != head or len(subject.children) != count:
                    return False
                for part, child in zip(parts, subject.children, strict=True):
                    if not part(child, known):
                        return False
                return True

            return node
        case _:
            raise AssertionError("a pattern that binds nothing")


def _builder(pattern: patterns.Pattern) -> _Builder:
    match pattern:
        case patterns.Metavariable(name, _):
            return lambda known: known[name]
        case patterns.LiteralPattern(literal):
            return lambda known: literal
        case patterns.OperatorPattern(head, children):
            parts = tuple(map(_builder, children))
            if len(parts) == 2:
                left, right = parts
                return lambda known: term(head, left(known), right(known))
            return lambda known: term(head, *[part(known) for part in parts])
        case _:
            raise AssertionError("a pattern that binds nothing")
