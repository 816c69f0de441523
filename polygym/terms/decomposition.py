"""Search by parts: of a large term its parts are searched, and what is found is put in its place.

A search that looks at all of a term has as many rewrites to choose from as the term is large, at
every step, and a value function that has learned of small terms knows little of large ones. But
most of what can be saved is saved in one place: so parts (:mod:`polygym.terms.decomposition`) are
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

Parts of a term, cut out so that a search may look at them alone.

A part is a place and some of the nodes below it; what is below these is a *hole*, for which a free
variable stands, the same one for what is the same. Rules hold whatever a variable stands for, so
what a search does to a part can be done to the whole term, at the place: nothing is proved anew.
What a hole costs its variable costs (:class:`FragmentCost`), or copying it would seem free. A hole
has no variable that the part binds: what has is shown.

Two kinds of parts come of a term (:func:`fragments_of`):

*Pieces*: what is below a node, as far as ``most`` nodes go, level by level. There things are side
by side that rules of arithmetic may join.

*Pairs*: a part that stands at two places, with the ways up to where these meet, and nothing beside
these. However far away it is, what has to be done to compute it once is all there.

Example: (add (mul (exp a) (log b)) (exp (log b))) has (log b) at 0.1 and at 1.0. The pair is
(add (mul h (log b)) (exp (log b))) where h is (exp a) and costs 4.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from polygym.errors import InputError
from polygym.rewrite.term import Term, term
from polygym.search.planning import PlanningLimits, ValueFunction
from polygym.search.planning.astar import astar
from polygym.search.planning.gc_thresholds import reduced_gc
from polygym.terms.cost import StaticCost
from polygym.terms.language.nodes import binds, free_variables, index_of, term_facts, variable
from polygym.terms.language.substitution import shift_indices
from polygym.terms.language.types import FLOAT, is_data
from polygym.terms.reassociation import RewriteProgress, reassociate
from polygym.terms.rewriter import (
    Position,
    Rewriter,
    RewriteStep,
    TermSystem,
    replace_subterm,
    subterm_at,
    topmost,
)
from polygym.terms.rules.patterns import LetPattern
from polygym.terms.rules.rule_types import BindRule, LiftRule, PatternRule, TermRule
from polygym.terms.sharing_value import (
    SharingValue,
    common_length,
    shared_cost,
    subterms_by_position,
)

_MOST_NODES = 5_000
_USES = 3


@dataclass(frozen=True, slots=True, eq=False)
class TermFragment:
    """A place, the part as it is shown, and what its holes cost, by the variables there."""

    position: Position
    term: Term
    holes: Mapping[Term, float]
    is_pair: bool


class FragmentCost(StaticCost):
    """The static cost, with what holes cost."""

    def __init__(self, holes: Mapping[Term, float]) -> None:
        """Know what the variables of holes cost."""
        super().__init__()
        self._holes = holes

    def _of(self, node: Term) -> float:
        if not node.children:
            return self._holes.get(node, 0.0)
        return super()._of(node)


def fragments_of(root: Term, most: int) -> Iterator[TermFragment]:
    """Yield parts of a term, of not much more than so many nodes: pairs, then pieces.

    Pairs that meet lowest come first, pieces from the left and from below.
    """
    if term_facts(root).nodes > _MOST_NODES:
        return
    cost, prefix = StaticCost(), _unused(root)
    pairs = _pairs(root, most)
    for number, (place, kept) in enumerate((*pairs, *_pieces(root, most))):
        is_pair = number < len(pairs)
        cutting = _FragmentBuilder(cost, prefix, kept, 2 * most, is_pair=is_pair)
        shown = cutting.shown(subterm_at(root, place), place, 0)
        if shown is not None:
            yield TermFragment(place, shown, cutting.holes(), is_pair)


def _unused(root: Term) -> str:
    """Return what no free variable of a term begins with."""
    prefix = "hole"
    while any(name.startswith(prefix) for name in free_variables(root)):
        prefix += "_"
    return prefix


class _FragmentBuilder:
    """Cuts one part out: shows the nodes at ``kept``, whole places, and puts holes elsewhere."""

    def __init__(
        self, cost: StaticCost, prefix: str, kept: frozenset[Position], most: int, *, is_pair: bool
    ) -> None:
        self._cost, self._prefix, self._kept, self._most = cost, prefix, kept, most
        self._is_pair = is_pair
        self._names: dict[Term, Term] = {}
        self._costs: dict[Term, float] = {}
        self._count = 0

    def _hole(self, node: Term, binders: int) -> Term | None:
        """Return what stands for a node that is not shown, None if it has to be.

        What has variables that the part binds is a variable to which these are added, as often as
        they are there: rules of binding ask for no more than that.
        """
        own = term_facts(node)
        inner = own.free & ((1 << binders) - 1)
        if not is_data(own.type) or (inner and not self._is_pair):
            return None
        leaves = [] if not inner else _leaves(node, binders)
        if any(term_facts(leaf).type is not FLOAT for leaf in (node, *leaves) if leaves):
            return None
        key = node if leaves else shift_indices(node, -binders)
        if key not in self._names:
            self._names[key] = variable(f"{self._prefix}{len(self._names)}", own.type)
            self._costs[self._names[key]] = max(0.0, self._cost(key) - len(leaves))
        made = self._names[key]
        for leaf in leaves:
            made = term("add", made, leaf)
        return made

    def holes(self) -> dict[Term, float]:
        """Return what the holes cost, by their variables."""
        return self._costs

    def shown(self, node: Term, place: Position, binders: int) -> Term | None:
        """Return a node as it is shown, under so many binders of the part.

        None if too many nodes have to be shown.
        """
        if not node.children:
            return node
        if place not in self._kept and (hole := self._hole(node, binders)) is not None:
            return hole
        self._count += 1
        if self._count > self._most:
            return None
        children = []
        for at, child in enumerate(node.children):
            made = self.shown(child, (*place, at), binders + binds(node, at))
            if made is None:
                return None
            children.append(made)
        return term(node.head, *children)


def _leaves(node: Term, binders: int) -> list[Term]:
    """Return the variables in a node that so many binders around it bind.

    Each as often as it is there, but three times at most.
    """
    terms: list[Term] = []
    stack = [(node, 0)]
    while stack:
        at, depth = stack.pop()
        if not term_facts(at).free >> depth & ((1 << binders) - 1):
            continue
        if not at.children:
            leaf = shift_indices(at, -depth)
            if terms.count(leaf) < _USES:
                terms.append(leaf)
        stack += [(child, depth + binds(at, place)) for place, child in enumerate(at.children)]
    return sorted(terms, key=lambda leaf: index_of(leaf))


def _pieces(root: Term, most: int) -> Iterator[tuple[Position, frozenset[Position]]]:
    """Yield places, and what is shown below them: all there is, or the upper levels of more.

    What is shown with what is above it is not shown by itself.
    """
    stack: list[tuple[Term, Position, bool]] = [(root, (), False)]
    while stack:
        node, place, is_done = stack.pop()
        if is_done or term_facts(node).nodes <= most:
            yield place, _levels(node, place, most)
            continue
        stack.append((node, place, True))
        below = [(child, (*place, at), False) for at, child in enumerate(node.children)]
        stack.extend(reversed([each for each in below if each[0].children]))


def _levels(node: Term, place: Position, most: int) -> frozenset[Position]:
    kept: list[Position] = []
    waiting = deque([(node, place)])
    nodes = 1
    while waiting and nodes < most:
        at, where = waiting.popleft()
        kept.append(where)
        nodes += len(at.children)
        waiting.extend(
            (child, (*where, number)) for number, child in enumerate(at.children) if child.children
        )
    return frozenset(kept)


def _pairs(root: Term, most: int) -> list[tuple[Position, frozenset[Position]]]:
    """Return where two places of one part meet, and the ways from there; the lowest first.

    Of more than two places those that follow each other in the text are paired: of these are the
    two that meet lowest.
    """
    result: list[tuple[Position, frozenset[Position]]] = []
    for places in _repeated(root).values():
        for position, other in pairwise(places):
            meet = common_length(position, other)
            ways = {
                way[:length] for way in (position, other) for length in range(meet, len(way) + 1)
            }
            if len(ways) <= most:
                result.append((position[:meet], frozenset(ways)))
    return sorted(result, key=lambda pair: (-len(pair[0]), len(pair[1]), pair[0]))


def _repeated(root: Term) -> dict[Term, list[Position]]:
    """Return the places of what stands more than once, in the order of the text.

    Variables are compared by their binders, however many others are between. What is below such a
    part is not looked at again, but for the first time that it stands there.
    """
    positions: dict[Term, list[Position]] = {}
    named = subterms_by_position(root)
    for place, node in named.items():
        if (
            not node.children
            or node.head == "let"
            or not is_data(term_facts(subterm_at(root, place)).type)
        ):
            continue
        if place and _is_again(positions, named, place[:-1]):
            continue
        positions.setdefault(node, []).append(place)
    return {node: places for node, places in positions.items() if len(places) > 1}


def _is_again(
    positions: dict[Term, list[Position]], named: dict[Position, Term], parent: Position
) -> bool:
    """Whether the node above stood elsewhere before, or is in such a one."""
    places = positions.get(named[parent])
    return named[parent].head != "let" and (places is None or places[0] != parent)


_LARGEST = 1_000
_FIRST, _MORE = 64, 4
_BATCH = 8
_LEAST = 1e-9


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

    def run(self, root: Term) -> RewriteProgress:
        """Search parts, with more and more effort."""
        at, effort = RewriteProgress(root), _FIRST
        while at.states_visited < self._plan.max_states:
            while self._improved(at, effort):
                pass
            if effort >= self._plan.max_states:
                break
            effort *= _MORE
        return at

    def _improved(self, at: RewriteProgress, effort: int) -> bool:
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

    def _searched(self, at: RewriteProgress, part: TermFragment, effort: int) -> bool:
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
) -> RewriteProgress:
    """Return what searches of parts of about ``most`` nodes make of a term.

    A way has ``plan.horizon`` steps at most in each part; ``plan.max_states`` are looked at in all.
    Of a very large term the parts of :func:`_is_small` are searched, each as if it were the whole,
    and with so many states as its share of the nodes is; those that are the same once.
    """
    at, known = RewriteProgress(root), dict[Term, RewriteProgress]()
    places = list(topmost(root, _is_small))
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


def _is_small(part: Term) -> bool:
    """Whether a part is no larger than parts may be."""
    facts = term_facts(part)
    return bool(part.children) and facts.nodes <= _LARGEST and is_data(facts.type)


def _searched(
    root: Term,
    rules: Sequence[TermRule],
    plan: PlanningLimits,
    value: ValueFunction[Term] | None,
    most: int,
) -> RewriteProgress:
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
        at = RewriteProgress(root, states_visited=first.states_visited)
    if left < 1:
        return RewriteProgress(root, states_visited=at.states_visited, searches=at.searches)
    other = _FragmentSearch(rules, replace(plan, max_states=left), value, most).run(root)
    other.states_visited += at.states_visited
    other.searches += at.searches
    return other
