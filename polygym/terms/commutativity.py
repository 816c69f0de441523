"""Rules of arithmetic on terms in which the order of what commutes does not matter.

(add x (mul y z)) can be written in four ways, and a search that tells them apart has four times as
much to look at, for every sum and product again. Here all of them are one, the *ordered* one:
children of what commutes stand in an order of their own
(:meth:`CommutativeRewriter.canonical_order`). A rule is tried with its source turned in every way,
so that it applies to the ordered term where it applies to any of the others.

What commutes is read off the rules: numbers under (op a b) where one says that it is (op b a).

The way back to steps (:meth:`CommutativeRewriter.steps`) turns what a rule needs turned, by those
rules, and then applies it. Example: (add (mul x y) (mul z x)) → (mul x (add y z)) is a turn at 1,
and ``factor-add``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from typing import Any

from polygym.rewrite.term import Term, memoized_value, term
from polygym.terms.language.nodes import term_facts
from polygym.terms.language.types import BaseType
from polygym.terms.rewriter import Position, RewriteStep, replace_subterm, subterm_at
from polygym.terms.rules.compiled_rules import RuleFunction, compile_rule, has_no_binders
from polygym.terms.rules.patterns import Metavariable, OperatorPattern, Pattern
from polygym.terms.rules.rule_types import PatternRule, TermRule

_MAX_COMMUTED = 4
_MOST_KNOWN = 400_000


@dataclass(frozen=True, slots=True)
class _CommutedRule:
    """A rule, where its source is turned, the outermost first, and what it does so and as it is."""

    rule: PatternRule
    places: tuple[Position, ...]
    work: RuleFunction
    plain: RuleFunction


class CommutativeRewriter:
    """What rules make of ordered terms; remembers it for every node."""

    def __init__(self, rules: Sequence[TermRule]) -> None:
        """Take of rules those that bind nothing."""
        plain = [rule for rule in rules if isinstance(rule, PatternRule) and _binds_nothing(rule)]
        self._turning = {rule.head: rule for rule in plain if _is_commutativity_rule(rule)}
        self._by_head: dict[str, list[_CommutedRule]] = {}
        for rule in plain:
            if not _is_commutativity_rule(rule):
                self._by_head.setdefault(rule.head, []).extend(self._every_way(rule))
        self._keys: dict[Term, bytes] = {}
        self._ordered: dict[Term, Term] = {}
        self._results: dict[Term, tuple[Term, ...]] = {}

    def _every_way(self, rule: PatternRule) -> Iterator[_CommutedRule]:
        places = [place for place, head in _nodes(rule.source, ()) if head in self._turning]
        places, plain = places[:_MAX_COMMUTED], compile_rule(rule)
        for chosen in product((False, True), repeat=len(places)):
            own = tuple(place for place, is_own in zip(places, chosen, strict=True) if is_own)
            source = _commute_pattern(rule.source, (), own)
            made = PatternRule(rule.name, source, rule.target, rule.conditions)
            yield _CommutedRule(rule, own, compile_rule(made), plain)

    def canonical_order(self, root: Term) -> Term:
        """Return the one which stands for all terms that differ in order alone."""
        _forget_where_too_many(self._ordered)
        return memoized_value(root, self._ordered, self._order)

    def _order(self, node: Term) -> Term:
        return self.joined(node, [self._ordered[child] for child in node.children])

    def joined(self, node: Term, children: Sequence[Term]) -> Term:
        """Return a node with other children of the same types, which are ordered, as it is too."""
        if self._is_turnable(node):
            left, right = children
            children = (left, right) if self._key(left) <= self._key(right) else (right, left)
        return term(node.head, *children)

    def _is_turnable(self, node: Term) -> bool:
        return (
            node.head in self._turning
            and len(node.children) == 2
            and all(isinstance(term_facts(child).type, BaseType) for child in node.children)
        )

    def _key(self, node: Term) -> bytes:
        """Return what terms are ordered by: the same in every process."""
        _forget_where_too_many(self._keys)
        return memoized_value(node, self._keys, self._digest)

    def _digest(self, node: Term) -> bytes:
        own = f"{type(node.head).__name__} {node.head!r} ".encode()
        below = b"".join(self._keys[child] for child in node.children)
        return blake2b(own + below, digest_size=12).digest()

    def results(self, node: Term) -> tuple[Term, ...]:
        """Return what an ordered node itself can become, ordered, each once."""
        terms = self._results.get(node)
        if terms is None:
            _forget_where_too_many(self._results)
            seen: dict[Term, None] = {}
            for way in self._by_head.get(str(node.head), ()):
                made = way.work(node)
                if made is not None and (other := self.canonical_order(made)) is not node:
                    seen[other] = None
            terms = self._results[node] = tuple(seen)
        return terms

    def unify_order(self, root: Term) -> tuple[list[RewriteStep], Term]:
        """Return a term in which what differs in order alone is written in one way, the first."""
        first: dict[Term, Term] = {}
        steps, made = list[RewriteStep](), list[Term]()
        waiting: list[tuple[Term, Position, bool]] = [(root, (), False)]
        while waiting:
            node, place, is_done = waiting.pop()
            if not node.children:
                made.append(node)
                continue
            if not is_done:
                waiting.append((node, place, True))
                below = [(child, (*place, at), False) for at, child in enumerate(node.children)]
                waiting += reversed(below)
                continue
            count = len(node.children)
            other = term(node.head, *made[-count:])
            del made[-count:]
            same = first.setdefault(self.canonical_order(other), other)
            if same is not other:  # their children are the same: they have been turned already
                steps.append(RewriteStep(self._turning[str(node.head)], place))
            made.append(same)
        return steps, made[0]

    def steps(self, node: Term, result: Term) -> tuple[list[RewriteStep], Term] | None:
        """Return how a node, ordered or not, becomes something that a result stands for.

        What differs in order alone is written in one way first. None if no rule leads there.
        """
        before, node = self.unify_order(node)
        for way in self._by_head.get(str(node.head), ()):
            if way.work(node) is None:
                continue
            at, turns = node, list[RewriteStep]()
            for place in way.places:  # the outermost first
                here = subterm_at(at, place)
                at = replace_subterm(at, place, term(here.head, *reversed(here.children)))
                turns.append(RewriteStep(self._turning[str(here.head)], place))
            made = way.plain(at)
            if made is not None and self.canonical_order(made) is result:
                return [*before, *turns, RewriteStep(way.rule, ())], made
        return None


def _forget_where_too_many(known: dict[Term, Any]) -> None:
    if len(known) > _MOST_KNOWN:
        known.clear()


def _is_commutativity_rule(rule: PatternRule) -> bool:
    match rule.source, rule.target:
        case OperatorPattern(
            head, (Metavariable(one, ()), Metavariable(other, ()))
        ), OperatorPattern(same, (Metavariable(first, ()), Metavariable(last, ()))):
            return (
                head == same
                and (first, last) == (other, one) != (one, other)
                and not rule.conditions
            )
        case _:
            return False


def _binds_nothing(rule: PatternRule) -> bool:
    return isinstance(rule.source, OperatorPattern) and all(
        map(has_no_binders, (rule.source, rule.target))
    )


def _nodes(pattern: Pattern, place: Position) -> Iterator[tuple[Position, str]]:
    """Yield the places of a pattern's operators, from above."""
    if isinstance(pattern, OperatorPattern):
        yield place, pattern.head
        for at, child in enumerate(pattern.children):
            yield from _nodes(child, (*place, at))


def _commute_pattern(pattern: Pattern, place: Position, places: Sequence[Position]) -> Pattern:
    """Return a pattern with what stands at some places turned."""
    if not isinstance(pattern, OperatorPattern):
        return pattern
    below = [
        _commute_pattern(child, (*place, at), places) for at, child in enumerate(pattern.children)
    ]
    return OperatorPattern(pattern.head, tuple(reversed(below) if place in places else below))
