"""Values of pointers as symbols: equal symbols are equal addresses, whatever the program is given.

A value is a *root*, which names an address that is not known, and what is added to it. Two pointers
with the same root point into the same memory for sure. The *bases* of a value are the roots that it
may come from, each under guards: ``c ? x : y`` comes from x under c, and from y otherwise. Two
values with a common base under guards that may hold together may point into the same memory::

    double *src = odd ? x : y;        bases  x if odd, y if not odd
    double *dst = odd ? y : x;        bases  y if odd, x if not odd        never the same

Of all other pointers, nothing in the function says that they meet.

Pointers that a loop swaps have guards, too: the number of the permutation in which they stand::

    for (…) { h = cur; cur = next; next = h; }      cur   a in state 0, b in state 1
                                                    next  b in state 0, a in state 1
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from math import lcm
from typing import Any, TypeAlias

Guard: TypeAlias = tuple[Hashable, Hashable]

_MAX_BASES = 64
_MAX_STATES = 12


@dataclass(frozen=True, slots=True)
class Base:
    """A root that a value may come from, under guards: pairs of a question and its answer."""

    root: Hashable
    guards: frozenset[Guard] = frozenset()

    def meets(self, other: Base) -> bool:
        """Whether two bases are the same root, under guards that may hold together."""
        answers = dict(self.guards)
        is_same = self.root == other.root or _is_part(self.root, other.root)
        return is_same and all(
            answers.get(question, answer) == answer for question, answer in other.guards
        )

    def under(self, guard: Guard) -> Base:
        """Return the base under one more guard."""
        return Base(self.root, self.guards | {guard})


def _is_part(first: Hashable, second: Hashable) -> bool:
    """Whether one root is that of an array, and the other one of a place in it."""
    match first, second:
        case (("object", array), ("place", other, _)) | (("place", other, _), ("object", array)):
            return bool(array == other)
    return False


@dataclass(frozen=True, slots=True, eq=False)
class PointerTerm:
    """An integer that is added to a pointer: its syntax tree, and the values of its names."""

    node: Any
    reads: tuple[tuple[Hashable, Hashable], ...]
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """An address or an integer: a root, what is added to it, and the bases it may come from."""

    root: Hashable
    terms: tuple[PointerTerm, ...] = ()
    own_bases: frozenset[Base] = frozenset()

    @property
    def bases(self) -> frozenset[Base]:
        """The bases; a value that names none comes from its root."""
        return self.own_bases or frozenset({Base(self.root)})

    @property
    def key(self) -> Hashable:
        """What is equal for equal values."""
        return self.root, tuple((term.text, term.reads) for term in self.terms)

    def meets(self, other: Value) -> bool:
        """Whether two values may point into the same memory, by what the function shows."""
        return any(mine.meets(theirs) for mine in self.bases for theirs in other.bases)

    def plus(self, term: PointerTerm) -> Value:
        """Return the value with a term more."""
        return Value(self.root, (*self.terms, term), self.own_bases)


State: TypeAlias = Mapping[Hashable, Value]


Numbers: TypeAlias = dict[Hashable, int]
"""Numbers of values that are one of two: short names, equal for equal pairs at one place."""


def either(
    numbers: Numbers, key: Hashable, first: Value, second: Value, question: Hashable = None
) -> Value:
    """Return a value that is one of two; with a question, the first where its answer is yes.

    ``key`` is the place where the two come together.
    """
    if first.key == second.key:
        return first
    bases = [(first.bases, True), (second.bases, False)]
    own = frozenset(
        base if question is None else base.under((question, answer))
        for side, answer in bases
        for base in side
    )
    number = numbers.setdefault((key, first.key, second.key), len(numbers))
    return Value(("either", number), (), _few(own))


def changed(key: Hashable, before: Value | None) -> Value:
    """Return a new value in the place of another one, that may be the same as before."""
    root = ("changed", key)
    old = frozenset() if before is None else before.bases
    return Value(root, (), _few(old | {Base(root)}))


def loop_values(loop: Hashable, entry: State, heads: State, back: State) -> dict[Hashable, Value]:
    """Return what variables have where a loop begins an iteration, with their bases.

    ``heads`` are the values that stand for them in the body, ``back`` those after an iteration.
    What comes from an earlier iteration has no guards: they were asked of other values.
    """
    states = _permutation(heads, back)
    bases: dict[Hashable, frozenset[Base]] = {}
    roots = {value.root: key for key, value in heads.items()}
    for key in heads:
        bases[key] = _permuted(key, states, entry, loop) if key in states else entry[key].bases
    for _ in range(len(heads) + 1):
        before = dict(bases)
        for key in heads:
            if key not in states:
                come = back[key].bases if key in back else frozenset()
                expanded = {
                    Base(own.root) for base in come for own in _expanded(base, roots, bases)
                }
                bases[key] = _few(bases[key] | expanded)
        if bases == before:
            break
    return {key: Value(heads[key].root, (), bases[key]) for key in heads}


def _expanded(
    base: Base, roots: Mapping[Hashable, Hashable], bases: Mapping[Hashable, frozenset[Base]]
) -> Iterable[Base]:
    """Return the bases of what a base stands for where that is a value of the loop itself."""
    return bases[roots[base.root]] if base.root in roots else [base]


def _permutation(heads: State, back: State) -> dict[Hashable, Hashable]:
    """Return the variables that an iteration permutes: which of them each one has afterwards."""
    roots: dict[Hashable, list[Hashable]] = {}
    for key, value in heads.items():
        roots.setdefault(value.root, []).append(key)
    moves = {
        key: roots[back[key].root][0]
        for key in heads
        if key in back and len(roots.get(back[key].root, ())) == 1 and not back[key].terms
    }
    while True:
        targets = list(moves.values())
        kept = {
            key: target
            for key, target in moves.items()
            if key in targets and target in moves and targets.count(target) == 1
        }
        if len(kept) == len(moves):
            return moves
        dropped = [key for key in moves if key not in targets]
        moves = {key: moves[key] for key in moves if key not in dropped} if dropped else kept


def _permuted(
    key: Hashable, moves: Mapping[Hashable, Hashable], entry: State, loop: Hashable
) -> frozenset[Base]:
    """Return the bases of a variable of a permutation: one state of it after the other."""
    order = 1
    for start in moves:
        length, current = 1, moves[start]
        while current != start:
            length, current = length + 1, moves[current]
        order = lcm(order, length)
    bases: set[Base] = set()
    current = key
    for state in range(order):
        own = entry[current].bases
        bases |= own if order > _MAX_STATES else {b.under(((loop, "state"), state)) for b in own}
        current = moves[current]
    return _few(frozenset(bases))


def _few(bases: frozenset[Base]) -> frozenset[Base]:
    """Return bases that are not too many: without guards they are fewer."""
    if len(bases) <= _MAX_BASES:
        return bases
    return frozenset(Base(base.root) for base in bases)
