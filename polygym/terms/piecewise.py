"""Search by parts: of a large term its parts are searched, and what is found is put in its place.

A search that looks at all of a term has as many rewrites to choose from as the term is large, at
every step, and a value function that has learned of small terms knows little of large ones. But
most of what can be saved is saved in one place: so parts (:mod:`polygym.terms.parts`) are searched
by A* one by one, each as if there were nothing else; a way that saves something is gone in the
whole term, which has other parts then. Parts in which nothing was found are not searched again.

Half of the states are for arithmetic, which is regrouped first (:mod:`polygym.terms.regrouping`),
so that more of it is the same; of what that is worth nothing is seen before it is bound. Should it
come to more in the end than there was, the term is searched as it was.

Pairs are searched by the rules of binding alone, and what is expected of them is counted
(:mod:`polygym.terms.sharing`): there is nothing else to be found. Pieces are searched by all rules
under the value function that is given, which has to know of terms of their size alone.

First little is tried everywhere, then four times as much, and so on until all states are used:
whenever it is stopped, what has been found is the best until then. Pairs have four times as much as
pieces, since of what they promise more comes true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from polygym.errors import InputError
from polygym.rewrite.term import Term
from polygym.search.planning import Plan, ValueFunction
from polygym.search.planning.astar import astar
from polygym.search.planning.memory import collecting_rarely
from polygym.terms.cost import StaticCost
from polygym.terms.language.nodes import facts
from polygym.terms.language.types import is_data
from polygym.terms.parts import Part, PartCost, parts_of
from polygym.terms.regrouping import regrouped
from polygym.terms.rewriter import Place, Rewriter, Step, part_at
from polygym.terms.rules.pattern import Let
from polygym.terms.rules.rule import Binding, Lifting, Rewriting, Rule
from polygym.terms.sharing import Sharing, shared_cost
from polygym.terms.system import TermSystem
from polygym.terms.unordered import with_part

__all__ = ["Piecewise", "by_parts"]

_LARGEST = 1_000
_FIRST, _MORE = 64, 4
_BATCH = 8
_LEAST = 1e-9


@dataclass(slots=True)
class Piecewise:
    """A term as far as it has come, the steps there, and how many states were looked at."""

    term: Term
    steps: list[Step] = field(default_factory=list)
    looked_at: int = 0
    searches: int = 0


class _Search:
    def __init__(
        self, rules: Sequence[Rule], plan: Plan, value: ValueFunction[Term] | None, most: int
    ) -> None:
        self._rewriter = Rewriter(rules)
        self._binding = Rewriter([one for one in rules if is_of_binding(one)])
        self._plan, self._value, self._most = plan, value, most
        self._cost = StaticCost()
        self._failed: dict[tuple[object, ...], int] = {}

    def run(self, root: Term) -> Piecewise:
        """Search parts, with more and more effort."""
        at, effort = Piecewise(root), _FIRST
        while at.looked_at < self._plan.states:
            while self._improved(at, effort):
                pass
            if effort >= self._plan.states:
                break
            effort *= _MORE
        return at

    def _improved(self, at: Piecewise, effort: int) -> bool:
        """Whether a part was found that something could be saved in, which was done."""
        for part in parts_of(at.term, self._most):
            key = (part.is_pair, part.shown, *part.holes.values())
            most = effort * _MORE if part.is_pair else effort
            if self._failed.get(key, 0) >= most:
                continue
            if at.looked_at >= self._plan.states:
                return False
            if self._searched(at, part, most):
                return True
            self._failed[key] = most
        return False

    def _searched(self, at: Piecewise, part: Part, effort: int) -> bool:
        cost = PartCost(part.holes)
        states = max(1, min(effort, self._plan.states - at.looked_at))
        plan, rewriter, value = replace(self._plan, states=states), self._rewriter, self._value
        if part.is_pair:
            plan, rewriter, value = replace(plan, batch=_BATCH), self._binding, Sharing(cost)
        system = TermSystem(cost=cost, rewriter=rewriter)
        seen, _ = astar(system, part.shown, plan, value, is_eager=part.is_pair)
        at.looked_at += len(seen.states)
        at.searches += 1
        if seen.costs[seen.best] > seen.costs[0] - _LEAST:
            return False
        found = seen.found()
        steps, root = list[Step](), at.term
        try:
            for state, number in zip(found.states, found.steps, strict=False):
                own = rewriter.step(state, number)
                steps.append(Step(own.rule, (*part.place, *own.place)))
                root = rewriter.after(root, steps[-1])
        except InputError:
            return False  # what a hole stands for may be such that a rule of binding leaves it
        if self._cost(root) > self._cost(at.term) - _LEAST:
            return False
        at.term = root
        at.steps += steps
        return True


def is_of_binding(rule: Rule) -> bool:
    """Whether a rule makes, moves or ends a ``let``, and says nothing else."""
    return isinstance(rule, Binding | Lifting) or (
        isinstance(rule, Rewriting) and isinstance(rule.source, Let)
    )


def by_parts(
    root: Term,
    rules: Sequence[Rule],
    plan: Plan,
    value: ValueFunction[Term] | None = None,
    most: int = 20,
) -> Piecewise:
    """Return what searches of parts of about ``most`` nodes make of a term.

    A way has ``plan.horizon`` steps at most in each part; ``plan.states`` are looked at in all. Of
    a very large term the parts of :func:`_divided` are searched, each as if it were the whole, and
    with so many states as its share of the nodes is; those that are the same once.
    """
    at, known = Piecewise(root), dict[Term, Piecewise]()
    places = list(_divided(root))
    with collecting_rarely():
        nodes = sum(facts(part).nodes for part in {part_at(root, place) for place in places})
        for place in places:
            part = part_at(root, place)
            if part not in known:
                states = (plan.states - at.looked_at) * facts(part).nodes // nodes
                nodes -= facts(part).nodes
                if states < 1:
                    continue
                known[part] = _searched(part, rules, replace(plan, states=states), value, most)
                at.looked_at += known[part].looked_at
                at.searches += known[part].searches
            own = known[part]
            at.steps += [Step(step.rule, (*place, *step.place)) for step in own.steps]
            at.term = with_part(at.term, place, own.term)
    return at


def _divided(root: Term) -> Iterator[Place]:
    """Yield the places of the largest parts that are no larger than parts may be."""
    stack: list[tuple[Term, Place]] = [(root, ())]
    while stack:
        one, place = stack.pop()
        if not one.children:
            continue
        if facts(one).nodes <= _LARGEST and is_data(facts(one).type):
            yield place
            continue
        stack += [(child, (*place, at)) for at, child in reversed([*enumerate(one.children)])]


def _searched(
    root: Term, rules: Sequence[Rule], plan: Plan, value: ValueFunction[Term] | None, most: int
) -> Piecewise:
    """Return what comes of a term, regrouped first if that promises something."""
    cost = StaticCost()
    first = regrouped(root, rules, replace(plan, states=max(1, plan.states // 2)), value, most)
    left = plan.states - first.looked_at
    if first.steps and shared_cost(first.term) < cost(root) - _LEAST and left > 1:
        own = replace(plan, states=max(1, 3 * left // 4))
        at = _Search(rules, own, value, most).run(first.term)
        at.looked_at += first.looked_at
        if cost(at.term) < cost(root) - _LEAST:
            at.steps = [*first.steps, *at.steps]
            return at
        left = plan.states - at.looked_at
    else:
        at = Piecewise(root, looked_at=first.looked_at)
    if left < 1:
        return Piecewise(root, looked_at=at.looked_at, searches=at.searches)
    other = _Search(rules, replace(plan, states=left), value, most).run(root)
    other.looked_at += at.looked_at
    other.searches += at.searches
    return other
