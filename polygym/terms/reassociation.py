"""Arithmetic of a large term, regrouped so that more of it is the same.

What pays in arithmetic often pays only after several steps, of which each costs: a product is
written as a sum, whose parts stand elsewhere, and are computed once. A search by single steps has
to see through these, and through the steps that bind what is the same. Here it does not:

* what is the same counts once, from the beginning (:mod:`polygym.terms.arithmetic_windows`), so
that nothing
  has to be bound to be saved;
* what differs in the order of sums and products is one term (:mod:`polygym.terms.commutativity`);
* a node is rewritten wherever it stands, at once.

A* searches windows, one after the other, each as if there were nothing else to do, with little
effort everywhere first and then with more. What it finds is written as steps of the whole term;
binding what has become the same is left to :mod:`polygym.terms.decomposition`.

The value function is asked of the window as it is written. What it expects beyond what binding
would save there (:func:`~polygym.terms.sharing_value.shared_cost`) is what is expected of the
window.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from polygym.rewrite.term import Term, postorder, term
from polygym.search.planning import PlanningLimits, ValueFunction
from polygym.search.planning.astar import astar
from polygym.search.planning.protocol import Values
from polygym.terms.arithmetic_windows import TermWindow, is_arithmetic, term_windows
from polygym.terms.commutativity import CommutativeRewriter, replace_subterm
from polygym.terms.cost import StaticCost
from polygym.terms.fusion_value import ReuseValue
from polygym.terms.language.nodes import term_facts
from polygym.terms.language.substitution import open_binder
from polygym.terms.language.types import BaseType
from polygym.terms.rewriter import Position, Rewriter, RewriteStep, subterm_at
from polygym.terms.rules.patterns import LetPattern, Metavariable, SubstitutionPattern
from polygym.terms.rules.rule_types import PatternRule, TermRule
from polygym.terms.sharing_value import SharingValue, shared_cost

_FIRST, _MORE = 64, 4
_LARGEST = 400
_LEAST = 1e-9
_STEPS = 10
_BATCH = 16


@dataclass(slots=True)
class ReassociationResult:
    """A term as far as it has come, the steps there, and how many states were looked at."""

    term: Term
    steps: list[RewriteStep] = field(default_factory=list)
    states_visited: int = 0


@dataclass(frozen=True, slots=True)
class _WindowSystem:
    """What windows become when one of their nodes becomes something else wherever it stands."""

    window: TermWindow
    rules: CommutativeRewriter

    def rewrites(self, state: Term) -> Iterator[tuple[Term, Term]]:
        """Yield nodes, and what they can become."""
        for one in postorder([state]):
            if one.children:
                for made in self.rules.results(one):
                    yield one, made

    def successors(self, state: Term) -> Sequence[Term]:
        """Return what a window can become."""
        order = list(postorder([state]))
        return [self._after(order, one, made) for one, made in self.rewrites(state)]

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


class _ValueBeyondSharing:
    """What is expected beyond what binding saves, whatever number of steps is left."""

    def __init__(self, value: ValueFunction[Term]) -> None:
        self._value, self._cost = value, StaticCost()

    def __call__(self, states: Sequence[Term], horizon: int) -> Values:
        expected = self._value(states, _STEPS)[:, -1]
        bound = np.array([self._cost(state) - shared_cost(state) for state in states])
        array = np.zeros((len(states), horizon + 1))
        array[:, 1:] = np.maximum(0.0, expected - bound)[:, None]
        return array


def reassociate(
    root: Term,
    rules: Sequence[TermRule],
    plan: PlanningLimits,
    value: ValueFunction[Term] | None,
    most: int,
) -> ReassociationResult:
    """Return what searches of windows of so many nodes make of the arithmetic in a term."""
    at = ReassociationResult(root)
    search = _WindowSearch(at, rules, plan, value, most)
    search.write_out()
    for place in list(_regions(at.term)):
        search.run(place)
    return at


def _inlines(rule: TermRule) -> bool:
    """Whether a rule puts any value in its places."""
    match rule:
        case PatternRule(
            _,
            LetPattern(name, Metavariable(value, ()), Metavariable(body, _)),
            SubstitutionPattern() as target,
            (),
        ):
            put = target.value
            return (target.name, target.metavariable, put) == (name, body, Metavariable(value, ()))
        case _:
            return False


def _regions(root: Term) -> Iterator[Position]:
    """Yield the places of arithmetic that is not a part of more arithmetic, if not too large."""
    stack: list[tuple[Term, Position]] = [(root, ())]
    while stack:
        one, place = stack.pop()
        if is_arithmetic(one) and term_facts(one).nodes <= _LARGEST:
            yield place
            continue
        for at in range(len(one.children) - 1, -1, -1):
            if one.children[at].children:
                stack.append((one.children[at], (*place, at)))


class _WindowSearch:
    def __init__(
        self,
        at: ReassociationResult,
        rules: Sequence[TermRule],
        plan: PlanningLimits,
        value: ValueFunction[Term] | None,
        most: int,
    ) -> None:
        self._at, self._plan, self._most = at, plan, most
        # What is counted by hand expects nothing of arithmetic beyond binding.
        is_counted = value is None or isinstance(value, ReuseValue | SharingValue)
        self._value = None if value is None or is_counted else _ValueBeyondSharing(value)
        self._rewriter, self._rules = Rewriter(rules), CommutativeRewriter(rules)
        self._failed: dict[tuple[Term, float], int] = {}

    def write_out(self) -> None:
        """Put the values of what numbers are bound into their places, where little comes of it."""
        inline = next(filter(_inlines, self._rewriter.rules), None)
        stack: list[Position] = [()]
        while inline is not None and stack:
            place = stack.pop()
            one = subterm_at(self._at.term, place)
            while one.head == "let" and isinstance(term_facts(one.children[0]).type, BaseType):
                nodes = term_facts(open_binder(one.children[1], one.children[0])).nodes
                if nodes > _LARGEST:
                    break
                self._do(place, [RewriteStep(inline, ())])
                one = subterm_at(self._at.term, place)
            stack += [(*place, at) for at, child in enumerate(one.children) if child.children]

    def run(self, place: Position) -> None:
        """Search the windows of what is at a place, with more and more effort."""
        effort = _FIRST
        while self._at.states_visited < self._plan.max_states:
            while self._improved(place, effort):
                pass
            if effort >= self._plan.max_states:
                break
            effort *= _MORE
        self._do(place, self._rules.unify_order(subterm_at(self._at.term, place))[0])

    def _improved(self, place: Position, effort: int) -> bool:
        """Whether a window was found in which something could be saved, which was done."""
        root = self._rules.canonical_order(subterm_at(self._at.term, place))
        for window in term_windows(root, self._most):
            key = window.term, window.cost(window.term)
            if self._failed.get(key, 0) >= effort:
                continue
            left = self._plan.max_states - self._at.states_visited
            if left <= 0:
                return False
            if self._searched(place, window, min(effort, left)):
                return True
            self._failed[key] = effort
        return False

    def _searched(self, place: Position, window: TermWindow, effort: int) -> bool:
        system = _WindowSystem(window, self._rules)
        plan = replace(self._plan, max_states=effort, batch=_BATCH)
        seen, _ = astar(system, window.term, plan, self._value)
        self._at.states_visited += len(seen.states)
        if seen.costs[seen.best] > seen.costs[0] - _LEAST:
            return False
        result = seen.result()
        moves = [
            list(system.rewrites(state))[number]
            for state, number in zip(result.states, result.steps, strict=False)
        ]
        found_steps = [
            (inner, self._steps(self._cut(part, window), moves))
            for inner, part in self._places(subterm_at(self._at.term, place), window.node)
        ]
        if any(steps is None for _, steps in found_steps):
            return False
        for inner, steps in found_steps:
            self._do((*place, *inner), steps or ())
        return True

    def _places(self, root: Term, node: Term) -> list[tuple[Position, Term]]:
        """Return where something stands, in whatever order."""
        result: list[tuple[Position, Term]] = []
        stack: list[tuple[Term, Position]] = [(root, ())]
        while stack:
            one, place = stack.pop()
            if self._rules.canonical_order(one) is node:
                result.append((place, one))
                continue
            if term_facts(one).nodes > term_facts(node).nodes:
                stack += [(child, (*place, at)) for at, child in enumerate(one.children)]
        return result

    def _cut(self, one: Term, window: TermWindow) -> Term:
        """Return a part as it is written, with the holes of a window."""
        made: dict[Term, Term] = {}
        for part in postorder([one]):
            hole = window.holes.get(self._rules.canonical_order(part))
            if hole is None and part.children:
                hole = term(part.head, *[made[child] for child in part.children])
            made[part] = part if hole is None else hole
        return made[one]

    def _steps(self, one: Term, moves: Sequence[tuple[Term, Term]]) -> list[RewriteStep] | None:
        """Return the steps of moves from a term as it is written, None if there are none."""
        steps = list[RewriteStep]()
        for node, result in moves:
            more, one = self._rules.unify_order(one)
            steps += more
            for place, part in self._places(one, node):
                made = self._rules.steps(part, result)
                if made is None:
                    return None
                steps += [RewriteStep(step.rule, (*place, *step.position)) for step in made[0]]
                one = replace_subterm(one, place, made[1])
        return steps

    def _do(self, place: Position, steps: Sequence[RewriteStep]) -> None:
        for step in steps:
            own = RewriteStep(step.rule, (*place, *step.position))
            self._at.term = self._rewriter.after(self._at.term, own)
            self._at.steps.append(own)
