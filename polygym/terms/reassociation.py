"""Arithmetic of a large term, regrouped so that more of it is the same.

What pays in arithmetic often pays only after several steps, of which each costs: a product is
written as a sum, whose parts stand elsewhere, and are computed once. A search by single steps has
to see through these, and through the steps that bind what is the same. Here it does not:

* what is the same counts once, from the beginning (:mod:`polygym.terms.reassociation`), so
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

Windows on a term of arithmetic: some of its nodes, and what they cost beside all the others.

Here a term is ordered (:mod:`polygym.terms.commutativity`), and what is the same in it is one node.
A
*window* has a node and what is below it, level by level; what is further down is a *hole*, a
variable, and the same one for what is the same. It costs what is computed for it alone
(:class:`WindowCost`): each of its nodes once, and nothing for what there is outside of it anyway.
So a search of the window sees what it does to sharing in all of the term.

Example: in (add (div z (add x y)) (mul 2.0 (add x y))) the window at the quotient costs 2.1, though
there is a sum in it: this is needed for the product as well, and has only to be bound, for 0.1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from polygym.rewrite.term import Term, memoized_value, postorder, rebuild, term
from polygym.search.planning import PlanningLimits, ValueFunction
from polygym.search.planning.astar import astar
from polygym.search.planning.protocol import Values
from polygym.terms import rewriter
from polygym.terms.commutativity import CommutativeRewriter
from polygym.terms.cost import LET_COST, OPERATOR_COSTS, StaticCost
from polygym.terms.fusion_value import ReuseValue
from polygym.terms.language.nodes import free_variables, term_facts, variable
from polygym.terms.language.substitution import open_binder
from polygym.terms.language.types import BaseType
from polygym.terms.rules.patterns import LetPattern, Metavariable, SubstitutionPattern
from polygym.terms.rules.rule_types import PatternRule, TermRule
from polygym.terms.sharing_value import SharingValue, shared_cost

_FIRST, _MORE = 64, 4
_LARGEST = 400
_LEAST = 1e-9
_STEPS = 10
_BATCH = 16


@dataclass(slots=True)
class RewriteProgress:
    """A term as far as it has come, the steps there, and how many states were looked at."""

    term: Term
    steps: list[rewriter.RewriteStep] = field(default_factory=list)
    states_visited: int = 0
    searches: int = 0


@dataclass(frozen=True, slots=True)
class _WindowSystem:
    """What windows become when one of their nodes becomes something else wherever it stands."""

    window: TermWindow
    rules: CommutativeRewriter

    def rewrites(self, state: Term) -> Iterator[tuple[Term, Term]]:
        """Yield nodes, and what they can become."""
        for node in postorder([state]):
            if node.children:
                for made in self.rules.results(node):
                    yield node, made

    def successors(self, state: Term) -> Sequence[Term]:
        """Return what a window can become."""
        order = list(postorder([state]))
        return [self._after(order, node, made) for node, made in self.rewrites(state)]

    def _after(self, order: Sequence[Term], node: Term, result: Term) -> Term:
        made = {node: result}
        for part in order:
            if part is node or not part.children:
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
) -> RewriteProgress:
    """Return what searches of windows of so many nodes make of the arithmetic in a term."""
    at = RewriteProgress(root)
    search = _WindowSearch(at, rules, plan, value, most)
    search.write_out()
    for place in list(rewriter.topmost(at.term, _is_region)):
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


def _is_region(part: Term) -> bool:
    """Whether a part is arithmetic that is not too large."""
    return is_arithmetic(part) and term_facts(part).nodes <= _LARGEST


class _WindowSearch:
    def __init__(
        self,
        at: RewriteProgress,
        rules: Sequence[TermRule],
        plan: PlanningLimits,
        value: ValueFunction[Term] | None,
        most: int,
    ) -> None:
        self._at, self._plan, self._most = at, plan, most
        # What is counted by hand expects nothing of arithmetic beyond binding.
        is_counted = value is None or isinstance(value, ReuseValue | SharingValue)
        self._value = None if value is None or is_counted else _ValueBeyondSharing(value)
        self._rewriter, self._rules = rewriter.Rewriter(rules), CommutativeRewriter(rules)
        self._failed: dict[tuple[Term, float], int] = {}

    def write_out(self) -> None:
        """Put the values of what numbers are bound into their places, where little comes of it."""
        inline = next(filter(_inlines, self._rewriter.rules), None)
        stack: list[rewriter.Position] = [()]
        while inline is not None and stack:
            place = stack.pop()
            part = rewriter.subterm_at(self._at.term, place)
            while part.head == "let" and isinstance(term_facts(part.children[0]).type, BaseType):
                nodes = term_facts(open_binder(part.children[1], part.children[0])).nodes
                if nodes > _LARGEST:
                    break
                self._do(place, [rewriter.RewriteStep(inline, ())])
                part = rewriter.subterm_at(self._at.term, place)
            stack += [(*place, at) for at, child in enumerate(part.children) if child.children]

    def run(self, place: rewriter.Position) -> None:
        """Search the windows of what is at a place, with more and more effort."""
        effort = _FIRST
        while self._at.states_visited < self._plan.max_states:
            while self._improved(place, effort):
                pass
            if effort >= self._plan.max_states:
                break
            effort *= _MORE
        self._do(place, self._rules.unify_order(rewriter.subterm_at(self._at.term, place))[0])

    def _improved(self, place: rewriter.Position, effort: int) -> bool:
        """Whether a window was found in which something could be saved, which was done."""
        root = self._rules.canonical_order(rewriter.subterm_at(self._at.term, place))
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

    def _searched(self, place: rewriter.Position, window: TermWindow, effort: int) -> bool:
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
            for inner, part in self._places(rewriter.subterm_at(self._at.term, place), window.node)
        ]
        if any(steps is None for _, steps in found_steps):
            return False
        for inner, steps in found_steps:
            self._do((*place, *inner), steps or ())
        return True

    def _places(self, root: Term, node: Term) -> list[tuple[rewriter.Position, Term]]:
        """Return where something stands, in whatever order."""
        result: list[tuple[rewriter.Position, Term]] = []
        stack: list[tuple[Term, rewriter.Position]] = [(root, ())]
        while stack:
            part, place = stack.pop()
            if self._rules.canonical_order(part) is node:
                result.append((place, part))
                continue
            if term_facts(part).nodes > term_facts(node).nodes:
                stack += [(child, (*place, at)) for at, child in enumerate(part.children)]
        return result

    def _cut(self, node: Term, window: TermWindow) -> Term:
        """Return a part as it is written, with the holes of a window."""
        order = self._rules.canonical_order

        def change(part: Term, children: tuple[Term, ...]) -> Term:
            return window.holes.get(order(part)) or term(part.head, *children)

        return rebuild(node, change)

    def _steps(
        self, root: Term, moves: Sequence[tuple[Term, Term]]
    ) -> list[rewriter.RewriteStep] | None:
        """Return the steps of moves from a term as it is written, None if there are none."""
        steps = list[rewriter.RewriteStep]()
        for node, result in moves:
            more, root = self._rules.unify_order(root)
            steps += more
            for place, part in self._places(root, node):
                made = self._rules.steps(part, result)
                if made is None:
                    return None
                steps += [
                    rewriter.RewriteStep(step.rule, (*place, *step.position)) for step in made[0]
                ]
                root = rewriter.replace_subterm(root, place, made[1])
        return steps

    def _do(self, place: rewriter.Position, steps: Sequence[rewriter.RewriteStep]) -> None:
        for step in steps:
            own = rewriter.RewriteStep(step.rule, (*place, *step.position))
            self._at.term = self._rewriter.after(self._at.term, own)
            self._at.steps.append(own)


_OPERATORS = frozenset(
    "add sub mul div neg abs max min exp log sqrt sin cos tanh pow to_float".split()
)


def is_arithmetic(node: Term) -> bool:
    """Whether a node is an operator of numbers on numbers."""
    return (
        node.head in _OPERATORS
        and bool(node.children)
        and all(isinstance(term_facts(part).type, BaseType) for part in (node, *node.children))
    )


@dataclass(frozen=True, slots=True, eq=False)
class TermWindow:
    """The node that it is of, what it shows, holes by what they stand for, and its cost."""

    node: Term
    term: Term
    holes: Mapping[Term, Term]
    cost: WindowCost

    def with_holes(self, part: Term) -> Term:
        """Return any part of the term with the holes in it."""
        return _named(part, self.holes)


class WindowCost:
    """What a window costs, its own nodes once and those outside of it nothing."""

    def __init__(self, uses: int, outside: Mapping[Term, int], holes: Mapping[Term, float]) -> None:
        """Know how often it is used, how often what is needed anyway is, and what holes cost."""
        self._uses, self._outside, self._holes = uses, outside, holes

    def __call__(self, root: Term) -> float:
        """Return the cost."""
        total, uses = 0.0, {root: self._uses}
        stack, seen = [root], {root}
        while stack:
            node = stack.pop()
            if node in self._outside:
                continue
            total += OPERATOR_COSTS[str(node.head)] if node.children else self._holes.get(node, 0.0)
            for child in node.children:
                if not child.children and child not in self._holes:
                    continue
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
                    uses[child] = 0
                uses[child] += 1
        bound = 0
        for node, count in uses.items():
            before = self._outside.get(node, 0)
            is_free = not node.children and node not in self._holes
            bound += not is_free and before <= 1 < before + count
        return round(total + LET_COST * bound, 9)


def term_windows(root: Term, most: int) -> Iterator[TermWindow]:
    """Yield the windows of an ordered term, of so many nodes at most, from below."""
    cost, prefix = StaticCost(), "part"
    while any(name.startswith(prefix) for name in free_variables(root)):
        prefix += "_"
    for node in [node for node in postorder([root]) if is_arithmetic(node)]:
        yield _window(root, node, most, cost, prefix)


def _window(root: Term, node: Term, most: int, cost: StaticCost, prefix: str) -> TermWindow:
    kept, below = set[Term](), list[Term]()
    waiting = deque([node])
    while waiting:
        part = waiting.popleft()
        if part in kept or part in below:
            continue
        if len(kept) < most and is_arithmetic(part):
            kept.add(part)
            waiting.extend(child for child in part.children if child.children)
        else:
            below.append(part)
    holes = {
        part: variable(f"{prefix}{at}", term_facts(part).type) for at, part in enumerate(below)
    }
    outside, uses = _uses_outside(root, node)
    elsewhere = dict(outside)
    for part in below:
        if part not in elsewhere:
            _note_uses(part, node, elsewhere)
    named = dict[Term, Term]()
    known = {_named(part, holes, named): count for part, count in elsewhere.items()}
    costs = {hole: 0.0 if part in outside else cost(part) for part, hole in holes.items()}
    return TermWindow(node, _named(node, holes, named), holes, WindowCost(uses, known, costs))


def _uses_outside(root: Term, node: Term) -> tuple[dict[Term, int], int]:
    """Return how often nodes are used by others than one node, and how often that is.

    What is there for this node alone is left out.
    """
    if root is node:
        return {}, 1
    result = {root: 1}
    _note_uses(root, node, result)
    uses = sum(child is node for parent in result for child in parent.children)
    return result, uses


def _note_uses(root: Term, node: Term, uses: dict[Term, int]) -> None:
    stack = [root]
    while stack:
        part = stack.pop()
        for child in part.children:
            if child is node or not child.children:
                continue
            if child not in uses:
                uses[child] = 0
                stack.append(child)
            uses[child] += 1


def _named(node: Term, holes: Mapping[Term, Term], made: dict[Term, Term] | None = None) -> Term:
    """Return a part with holes where they are."""
    known = {} if made is None else made
    return memoized_value(
        node,
        known,
        lambda part: holes.get(part) or term(part.head, *[known[child] for child in part.children]),
    )
