"""Arithmetic of a large term, regrouped so that more of it is the same.

What pays in arithmetic often pays only after several steps, of which each costs: a product is
written as a sum, whose parts stand elsewhere, and are computed once. A search by single steps has
to see through these, and through the steps that bind what is the same. Here it does not:

* what is the same counts once, from the beginning (:mod:`polygym.terms.windows`), so that nothing
  has to be bound to be saved;
* what differs in the order of sums and products is one term (:mod:`polygym.terms.unordered`);
* a node is rewritten wherever it stands, at once.

A* searches windows, one after the other, each as if there were nothing else to do, with little
effort everywhere first and then with more. What it finds is written as steps of the whole term;
binding what has become the same is left to :mod:`polygym.terms.piecewise`.

The value function is asked of the window as it is written. What it expects beyond what binding
would save there (:func:`~polygym.terms.sharing.shared_cost`) is what is expected of the window.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from polygym.rewrite.term import Term, postorder, term
from polygym.search.planning import Plan, ValueFunction
from polygym.search.planning.astar import astar
from polygym.search.planning.protocol import Values
from polygym.terms.cost import StaticCost
from polygym.terms.fusion import Expecting
from polygym.terms.language.nodes import facts
from polygym.terms.language.substitution import opened
from polygym.terms.language.types import Base
from polygym.terms.rewriter import Place, Rewriter, Step, part_at
from polygym.terms.rules.pattern import Let, Meta, Substituted
from polygym.terms.rules.rule import Rewriting, Rule
from polygym.terms.sharing import Sharing, shared_cost
from polygym.terms.unordered import Unordered, with_part
from polygym.terms.windows import Window, is_arithmetic, windows_of

__all__ = ["Regrouped", "regrouped"]

_FIRST, _MORE = 64, 4
_LARGEST = 400
_LEAST = 1e-9
_STEPS = 10
_BATCH = 16


@dataclass(slots=True)
class Regrouped:
    """A term as far as it has come, the steps there, and how many states were looked at."""

    term: Term
    steps: list[Step] = field(default_factory=list)
    looked_at: int = 0


@dataclass(frozen=True, slots=True)
class _System:
    """What windows become when one of their nodes becomes something else wherever it stands."""

    window: Window
    rules: Unordered

    def moves(self, state: Term) -> Iterator[tuple[Term, Term]]:
        """Yield nodes, and what they can become."""
        for one in postorder([state]):
            if one.children:
                for made in self.rules.results(one):
                    yield one, made

    def successors(self, state: Term) -> Sequence[Term]:
        """Return what a window can become."""
        order = list(postorder([state]))
        return [self._after(order, one, made) for one, made in self.moves(state)]

    def _after(self, order: Sequence[Term], one: Term, result: Term) -> Term:
        made = {one: result}
        for part in order:
            if part is one or not part.children:
                continue
            if any(child in made for child in part.children):
                made[part] = self.rules.joined(part, [made.get(at, at) for at in part.children])
        return made[order[-1]]

    def cost(self, state: Term) -> float:
        """Return what a window costs."""
        return self.window.cost(state)

    def key(self, state: Term) -> Hashable:
        """Return the term."""
        return state

    def features(self, state: Term) -> Term:
        """Return the term."""
        return state


class _Beyond:
    """What is expected beyond what binding saves, whatever number of steps is left."""

    def __init__(self, value: ValueFunction[Term]) -> None:
        self._value, self._cost = value, StaticCost()

    def __call__(self, states: Sequence[Term], horizon: int) -> Values:
        expected = self._value(states, _STEPS)[:, -1]
        bound = np.array([self._cost(one) - shared_cost(one) for one in states])
        found = np.zeros((len(states), horizon + 1))
        found[:, 1:] = np.maximum(0.0, expected - bound)[:, None]
        return found


def regrouped(
    root: Term, rules: Sequence[Rule], plan: Plan, value: ValueFunction[Term] | None, most: int
) -> Regrouped:
    """Return what searches of windows of so many nodes make of the arithmetic in a term."""
    at = Regrouped(root)
    search = _Search(at, rules, plan, value, most)
    search.write_out()
    for place in list(_regions(at.term)):
        search.run(place)
    return at


def _inlines(rule: Rule) -> bool:
    """Whether a rule puts any value in its places."""
    match rule:
        case Rewriting(_, Let(name, Meta(value, ()), Meta(body, _)), Substituted() as target, ()):
            put = target.value
            return (target.name, target.meta, put) == (name, body, Meta(value, ()))
        case _:
            return False


def _regions(root: Term) -> Iterator[Place]:
    """Yield the places of arithmetic that is not a part of more arithmetic, if not too large."""
    stack: list[tuple[Term, Place]] = [(root, ())]
    while stack:
        one, place = stack.pop()
        if is_arithmetic(one) and facts(one).nodes <= _LARGEST:
            yield place
            continue
        for at in range(len(one.children) - 1, -1, -1):
            if one.children[at].children:
                stack.append((one.children[at], (*place, at)))


class _Search:
    def __init__(
        self,
        at: Regrouped,
        rules: Sequence[Rule],
        plan: Plan,
        value: ValueFunction[Term] | None,
        most: int,
    ) -> None:
        self._at, self._plan, self._most = at, plan, most
        # What is counted by hand expects nothing of arithmetic beyond binding.
        is_counted = value is None or isinstance(value, Expecting | Sharing)
        self._value = None if value is None or is_counted else _Beyond(value)
        self._rewriter, self._rules = Rewriter(rules), Unordered(rules)
        self._failed: dict[tuple[Term, float], int] = {}

    def write_out(self) -> None:
        """Put the values of what numbers are bound into their places, where little comes of it."""
        inline = next(filter(_inlines, self._rewriter.rules), None)
        stack: list[Place] = [()]
        while inline is not None and stack:
            place = stack.pop()
            one = part_at(self._at.term, place)
            while one.head == "let" and isinstance(facts(one.children[0]).type, Base):
                nodes = facts(opened(one.children[1], one.children[0])).nodes
                if nodes > _LARGEST:
                    break
                self._do(place, [Step(inline, ())])
                one = part_at(self._at.term, place)
            stack += [(*place, at) for at, child in enumerate(one.children) if child.children]

    def run(self, place: Place) -> None:
        """Search the windows of what is at a place, with more and more effort."""
        effort = _FIRST
        while self._at.looked_at < self._plan.states:
            while self._improved(place, effort):
                pass
            if effort >= self._plan.states:
                break
            effort *= _MORE
        self._do(place, self._rules.agreed(part_at(self._at.term, place))[0])

    def _improved(self, place: Place, effort: int) -> bool:
        """Whether a window was found in which something could be saved, which was done."""
        root = self._rules.ordered(part_at(self._at.term, place))
        for window in windows_of(root, self._most):
            key = window.shown, window.cost(window.shown)
            if self._failed.get(key, 0) >= effort:
                continue
            left = self._plan.states - self._at.looked_at
            if left <= 0:
                return False
            if self._searched(place, window, min(effort, left)):
                return True
            self._failed[key] = effort
        return False

    def _searched(self, place: Place, window: Window, effort: int) -> bool:
        system = _System(window, self._rules)
        plan = replace(self._plan, states=effort, batch=_BATCH)
        seen, _ = astar(system, window.shown, plan, self._value)
        self._at.looked_at += len(seen.states)
        if seen.costs[seen.best] > seen.costs[0] - _LEAST:
            return False
        found = seen.found()
        moves = [
            list(system.moves(state))[number]
            for state, number in zip(found.states, found.steps, strict=False)
        ]
        found_steps = [
            (inner, self._steps(self._cut(part, window), moves))
            for inner, part in self._places(part_at(self._at.term, place), window.node)
        ]
        if any(steps is None for _, steps in found_steps):
            return False
        for inner, steps in found_steps:
            self._do((*place, *inner), steps or ())
        return True

    def _places(self, root: Term, node: Term) -> list[tuple[Place, Term]]:
        """Return where something stands, in whatever order."""
        found: list[tuple[Place, Term]] = []
        stack: list[tuple[Term, Place]] = [(root, ())]
        while stack:
            one, place = stack.pop()
            if self._rules.ordered(one) is node:
                found.append((place, one))
                continue
            if facts(one).nodes > facts(node).nodes:
                stack += [(child, (*place, at)) for at, child in enumerate(one.children)]
        return found

    def _cut(self, one: Term, window: Window) -> Term:
        """Return a part as it is written, with the holes of a window."""
        made: dict[Term, Term] = {}
        for part in postorder([one]):
            hole = window.holes.get(self._rules.ordered(part))
            if hole is None and part.children:
                hole = term(part.head, *[made[child] for child in part.children])
            made[part] = part if hole is None else hole
        return made[one]

    def _steps(self, one: Term, moves: Sequence[tuple[Term, Term]]) -> list[Step] | None:
        """Return the steps of moves from a term as it is written, None if there are none."""
        steps = list[Step]()
        for node, result in moves:
            more, one = self._rules.agreed(one)
            steps += more
            for place, part in self._places(one, node):
                made = self._rules.steps(part, result)
                if made is None:
                    return None
                steps += [Step(step.rule, (*place, *step.place)) for step in made[0]]
                one = with_part(one, place, made[1])
        return steps

    def _do(self, place: Place, steps: Sequence[Step]) -> None:
        for step in steps:
            own = Step(step.rule, (*place, *step.place))
            self._at.term = self._rewriter.after(self._at.term, own)
            self._at.steps.append(own)
