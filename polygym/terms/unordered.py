"""Rules of arithmetic on terms in which the order of what commutes does not matter.

(add x (mul y z)) can be written in four ways, and a search that tells them apart has four times as
much to look at, for every sum and product again. Here all of them are one, the *ordered* one:
children of what commutes stand in an order of their own (:meth:`Unordered.ordered`). A rule is
tried with its source turned in every way, so that it applies to the ordered term where it applies
to any of the others.

What commutes is read off the rules: numbers under (op a b) where one says that it is (op b a).

The way back to steps (:meth:`Unordered.steps`) turns what a rule needs turned, by those rules, and
then applies it. Example: (add (mul x y) (mul z x)) → (mul x (add y z)) is a turn at 1, and
``factor-add``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from typing import Any

from polygym.rewrite.term import Term, remembered, term
from polygym.terms.language.nodes import facts
from polygym.terms.language.types import Base
from polygym.terms.rewriter import Place, Step, part_at
from polygym.terms.rules.compiled import Work, compiled, is_plain
from polygym.terms.rules.pattern import Meta, Node, Pattern
from polygym.terms.rules.rule import Rewriting, Rule

__all__ = ["Unordered", "with_part"]

_MOST_TURNED = 4
_MOST_KNOWN = 400_000


@dataclass(frozen=True, slots=True)
class _Turned:
    """A rule, where its source is turned, the outermost first, and what it does so and as it is."""

    rule: Rewriting
    places: tuple[Place, ...]
    work: Work
    plain: Work


class Unordered:
    """What rules make of ordered terms; remembers it for every node."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        """Take of rules those that bind nothing."""
        plain = [one for one in rules if isinstance(one, Rewriting) and _binds_nothing(one)]
        self._turning = {one.head: one for one in plain if _says_that_it_commutes(one)}
        self._by_head: dict[str, list[_Turned]] = {}
        for rule in plain:
            if not _says_that_it_commutes(rule):
                self._by_head.setdefault(rule.head, []).extend(self._every_way(rule))
        self._keys: dict[Term, bytes] = {}
        self._ordered: dict[Term, Term] = {}
        self._results: dict[Term, tuple[Term, ...]] = {}

    def _every_way(self, rule: Rewriting) -> Iterator[_Turned]:
        places = [place for place, head in _nodes(rule.source, ()) if head in self._turning]
        places, plain = places[:_MOST_TURNED], compiled(rule)
        for chosen in product((False, True), repeat=len(places)):
            own = tuple(place for place, is_own in zip(places, chosen, strict=True) if is_own)
            source = _turned(rule.source, (), own)
            made = Rewriting(rule.name, source, rule.target, rule.conditions)
            yield _Turned(rule, own, compiled(made), plain)

    def ordered(self, root: Term) -> Term:
        """Return the one which stands for all terms that differ in order alone."""
        _forget_where_too_many(self._ordered)
        return remembered(root, self._ordered, self._order)

    def _order(self, one: Term) -> Term:
        return self.joined(one, [self._ordered[child] for child in one.children])

    def joined(self, one: Term, children: Sequence[Term]) -> Term:
        """Return a node with other children of the same types, which are ordered, as it is too."""
        if self._is_turnable(one):
            left, right = children
            children = (left, right) if self._key(left) <= self._key(right) else (right, left)
        return term(one.head, *children)

    def _is_turnable(self, one: Term) -> bool:
        return (
            one.head in self._turning
            and len(one.children) == 2
            and all(isinstance(facts(child).type, Base) for child in one.children)
        )

    def _key(self, one: Term) -> bytes:
        """Return what terms are ordered by: the same in every process."""
        _forget_where_too_many(self._keys)
        return remembered(one, self._keys, self._digest)

    def _digest(self, one: Term) -> bytes:
        own = f"{type(one.head).__name__} {one.head!r} ".encode()
        below = b"".join(self._keys[child] for child in one.children)
        return blake2b(own + below, digest_size=12).digest()

    def results(self, one: Term) -> tuple[Term, ...]:
        """Return what an ordered node itself can become, ordered, each once."""
        found = self._results.get(one)
        if found is None:
            _forget_where_too_many(self._results)
            seen: dict[Term, None] = {}
            for way in self._by_head.get(str(one.head), ()):
                made = way.work(one)
                if made is not None and (other := self.ordered(made)) is not one:
                    seen[other] = None
            found = self._results[one] = tuple(seen)
        return found

    def agreed(self, root: Term) -> tuple[list[Step], Term]:
        """Return a term in which what differs in order alone is written in one way, the first."""
        first: dict[Term, Term] = {}
        steps, made = list[Step](), list[Term]()
        waiting: list[tuple[Term, Place, bool]] = [(root, (), False)]
        while waiting:
            one, place, is_done = waiting.pop()
            if not one.children:
                made.append(one)
                continue
            if not is_done:
                waiting.append((one, place, True))
                below = [(child, (*place, at), False) for at, child in enumerate(one.children)]
                waiting += reversed(below)
                continue
            count = len(one.children)
            other = term(one.head, *made[-count:])
            del made[-count:]
            same = first.setdefault(self.ordered(other), other)
            if same is not other:  # their children are the same: they have been turned already
                steps.append(Step(self._turning[str(one.head)], place))
            made.append(same)
        return steps, made[0]

    def steps(self, one: Term, result: Term) -> tuple[list[Step], Term] | None:
        """Return how a node, ordered or not, becomes something that a result stands for.

        What differs in order alone is written in one way first. None if no rule leads there.
        """
        before, one = self.agreed(one)
        for way in self._by_head.get(str(one.head), ()):
            if way.work(one) is None:
                continue
            at, turns = one, list[Step]()
            for place in way.places:  # the outermost first
                here = part_at(at, place)
                at = with_part(at, place, term(here.head, *reversed(here.children)))
                turns.append(Step(self._turning[str(here.head)], place))
            made = way.plain(at)
            if made is not None and self.ordered(made) is result:
                return [*before, *turns, Step(way.rule, ())], made
        return None


def with_part(root: Term, place: Place, part: Term) -> Term:
    """Return a term with another part at a place."""
    path = [root]
    for at in place:
        path.append(path[-1].children[at])
    for at, parent in zip(reversed(place), reversed(path[:-1]), strict=True):
        part = term(parent.head, *parent.children[:at], part, *parent.children[at + 1 :])
    return part


def _forget_where_too_many(known: dict[Term, Any]) -> None:
    if len(known) > _MOST_KNOWN:
        known.clear()


def _says_that_it_commutes(rule: Rewriting) -> bool:
    match rule.source, rule.target:
        case Node(head, (Meta(one, ()), Meta(other, ()))), Node(
            same, (Meta(first, ()), Meta(last, ()))
        ):
            return (
                head == same
                and (first, last) == (other, one) != (one, other)
                and not rule.conditions
            )
        case _:
            return False


def _binds_nothing(rule: Rewriting) -> bool:
    return isinstance(rule.source, Node) and all(map(is_plain, (rule.source, rule.target)))


def _nodes(pattern: Pattern, place: Place) -> Iterator[tuple[Place, str]]:
    """Yield the places of a pattern's operators, from above."""
    if isinstance(pattern, Node):
        yield place, pattern.head
        for at, child in enumerate(pattern.children):
            yield from _nodes(child, (*place, at))


def _turned(pattern: Pattern, place: Place, places: Sequence[Place]) -> Pattern:
    """Return a pattern with what stands at some places turned."""
    if not isinstance(pattern, Node):
        return pattern
    below = [_turned(child, (*place, at), places) for at, child in enumerate(pattern.children)]
    return Node(pattern.head, tuple(reversed(below) if place in places else below))
