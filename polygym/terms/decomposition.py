"""Search by parts: of a large term its parts are searched, and what is found is put in its place.

A search that looks at all of a term has as many rewrites to choose from as the term is large, at
every step, and a value function that has learned of small terms knows little of large ones. But
most of what can be saved is saved in one place: so parts (:mod:`polygym.terms.fragments`) are
searched by A* one by one, each as if there were nothing else; a way that saves something is gone in
the whole term, which has other parts then. Parts in which nothing was found are not searched again.

Half of the states are for arithmetic, which is regrouped first
(:mod:`polygym.terms.reassociation`), so that more of it is the same; of what that is worth nothing
is seen before it is bound. Should it come to more in the end than there was, the term is searched
as it was.

Pairs are searched by the rules of binding alone, and what is expected of them is counted
(:mod:`polygym.terms.sharing_value`): there is nothing else to be found. Pieces are searched by all
rules under the value function that is given, which has to know of terms of their size alone.

First little is tried everywhere, then four times as much, and so on until all states are used:
whenever it is stopped, what has been found is the best until then. Pairs have four times as much as
pieces, since of what they promise more comes true.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from polygym.errors import InputError
from polygym.rewrite.term import Term
from polygym.search.planning import PlanningLimits, ValueFunction
from polygym.search.planning.astar import astar
from polygym.search.planning.gc_thresholds import reduced_gc
from polygym.terms.commutativity import replace_subterm
from polygym.terms.cost import StaticCost
from polygym.terms.fragments import FragmentCost, TermFragment, fragments_of
from polygym.terms.language.nodes import term_facts
from polygym.terms.language.types import is_data
from polygym.terms.reassociation import reassociate
from polygym.terms.rewriter import Position, Rewriter, RewriteStep, subterm_at
from polygym.terms.rules.patterns import LetPattern
from polygym.terms.rules.rule_types import BindRule, LiftRule, PatternRule, TermRule
from polygym.terms.sharing_value import SharingValue, shared_cost
from polygym.terms.term_system import TermSystem

_LARGEST = 1_000
_FIRST, _MORE = 64, 4
_BATCH = 8
_LEAST = 1e-9


@dataclass(slots=True)
class DecomposedSearchResult:
    """A term as far as it has come, the steps there, and how many states were looked at."""

    term: Term
    steps: list[RewriteStep] = field(default_factory=list)
    states_visited: int = 0
    searches: int = 0


class _FragmentSearch:
    def __init__(
        self,
        rules: Sequence[TermRule],
        plan: PlanningLimits,
        value: ValueFunction[Term] | None,
        most: int,
    ) -> None:
        self._rewriter = Rewriter(rules)
        self._binding = Rewriter([rule for rule in rules if is_of_binding(rule)])
        self._plan, self._value, self._most = plan, value, most
        self._cost = StaticCost()
        self._failed: dict[tuple[object, ...], int] = {}

    def run(self, root: Term) -> DecomposedSearchResult:
        """Search parts, with more and more effort."""
        at, effort = DecomposedSearchResult(root), _FIRST
        while at.states_visited < self._plan.max_states:
            while self._improved(at, effort):
                pass
            if effort >= self._plan.max_states:
                break
            effort *= _MORE
        return at

    def _improved(self, at: DecomposedSearchResult, effort: int) -> bool:
        """Whether a part was found that something could be saved in, which was done."""
        for part in fragments_of(at.term, self._most):
            key = (part.is_pair, part.term, *part.holes.values())
            most = effort * _MORE if part.is_pair else effort
            if self._failed.get(key, 0) >= most:
                continue
            if at.states_visited >= self._plan.max_states:
                return False
            if self._searched(at, part, most):
                return True
            self._failed[key] = most
        return False

    def _searched(self, at: DecomposedSearchResult, part: TermFragment, effort: int) -> bool:
        cost = FragmentCost(part.holes)
        states = max(1, min(effort, self._plan.max_states - at.states_visited))
        plan, rewriter, value = replace(self._plan, max_states=states), self._rewriter, self._value
        if part.is_pair:
            plan, rewriter, value = replace(plan, batch=_BATCH), self._binding, SharingValue(cost)
        system = TermSystem(cost=cost, rewriter=rewriter)
        seen, _ = astar(system, part.term, plan, value, is_eager=part.is_pair)
        at.states_visited += len(seen.states)
        at.searches += 1
        if seen.costs[seen.best] > seen.costs[0] - _LEAST:
            return False
        result = seen.result()
        steps, root = list[RewriteStep](), at.term
        try:
            for state, number in zip(result.states, result.steps, strict=False):
                own = rewriter.step(state, number)
                steps.append(RewriteStep(own.rule, (*part.position, *own.position)))
                root = rewriter.after(root, steps[-1])
        except InputError:
            return False  # what a hole stands for may be such that a rule of binding leaves it
        if self._cost(root) > self._cost(at.term) - _LEAST:
            return False
        at.term = root
        at.steps += steps
        return True


def is_of_binding(rule: TermRule) -> bool:
    """Whether a rule makes, moves or ends a ``let``, and says nothing else."""
    return isinstance(rule, BindRule | LiftRule) or (
        isinstance(rule, PatternRule) and isinstance(rule.source, LetPattern)
    )


def search_by_fragments(
    root: Term,
    rules: Sequence[TermRule],
    plan: PlanningLimits,
    value: ValueFunction[Term] | None = None,
    most: int = 20,
) -> DecomposedSearchResult:
    """Return what searches of parts of about ``most`` nodes make of a term.

    A way has ``plan.horizon`` steps at most in each part; ``plan.max_states`` are looked at in all.
    Of a very large term the parts of :func:`_divided` are searched, each as if it were the whole,
    and with so many states as its share of the nodes is; those that are the same once.
    """
    at, known = DecomposedSearchResult(root), dict[Term, DecomposedSearchResult]()
    places = list(_divided(root))
    with reduced_gc():
        nodes = sum(
            term_facts(part).nodes for part in {subterm_at(root, place) for place in places}
        )
        for place in places:
            part = subterm_at(root, place)
            if part not in known:
                states = (plan.max_states - at.states_visited) * term_facts(part).nodes // nodes
                nodes -= term_facts(part).nodes
                if states < 1:
                    continue
                known[part] = _searched(part, rules, replace(plan, max_states=states), value, most)
                at.states_visited += known[part].states_visited
                at.searches += known[part].searches
            own = known[part]
            at.steps += [RewriteStep(step.rule, (*place, *step.position)) for step in own.steps]
            at.term = replace_subterm(at.term, place, own.term)
    return at


def _divided(root: Term) -> Iterator[Position]:
    """Yield the places of the largest parts that are no larger than parts may be."""
    stack: list[tuple[Term, Position]] = [(root, ())]
    while stack:
        term, place = stack.pop()
        if not term.children:
            continue
        if term_facts(term).nodes <= _LARGEST and is_data(term_facts(term).type):
            yield place
            continue
        stack += [(child, (*place, at)) for at, child in reversed([*enumerate(term.children)])]


def _searched(
    root: Term,
    rules: Sequence[TermRule],
    plan: PlanningLimits,
    value: ValueFunction[Term] | None,
    most: int,
) -> DecomposedSearchResult:
    """Return what comes of a term, regrouped first if that promises something."""
    cost = StaticCost()
    first = reassociate(
        root, rules, replace(plan, max_states=max(1, plan.max_states // 2)), value, most
    )
    left = plan.max_states - first.states_visited
    if first.steps and shared_cost(first.term) < cost(root) - _LEAST and left > 1:
        own = replace(plan, max_states=max(1, 3 * left // 4))
        at = _FragmentSearch(rules, own, value, most).run(first.term)
        at.states_visited += first.states_visited
        if cost(at.term) < cost(root) - _LEAST:
            at.steps = [*first.steps, *at.steps]
            return at
        left = plan.max_states - at.states_visited
    else:
        at = DecomposedSearchResult(root, states_visited=first.states_visited)
    if left < 1:
        return DecomposedSearchResult(root, states_visited=at.states_visited, searches=at.searches)
    other = _FragmentSearch(rules, replace(plan, max_states=left), value, most).run(root)
    other.states_visited += at.states_visited
    other.searches += at.searches
    return other
