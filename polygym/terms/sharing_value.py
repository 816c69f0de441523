"""Value of sharing: the saving by binding, and its steps, estimated from the text alone.

A part P that stands m times in a term, at places with the common beginning q, can be computed once:
each of the m is bound (one step), the ``let``s are lifted up to q (a step for each place between,
since those that meet are merged), with m - 1 merges. That saves (m - 1) c(P), and costs 0.1 for the
``let``. Parts within such parts do not count again, since they go with them; what is bound already
needs no binding.

Example: (x + y) · (x + y) has x + y at 0 and at 1: two bindings, two liftings, one merge save 0.9.

:class:`SharingValue` makes a value function of this: what can be saved with the steps that are
left, the cheapest to reach first, less a little for every step that it takes, so that what is
nearer to it is tried earlier. No rule but those of binding is thought of.

:func:`subterms_by_position` makes parts comparable. A bound variable has the number of binders
between, so one thing is written differently at two places, and two things alike. There, every
variable has the name of its binder's place instead.

    >>> from polygym.terms.language.parser import parse_program
    >>> root = parse_program("(add (let (a x) (log a)) (let (b y) (log b)))").body
    >>> root.children[0].children[1] is root.children[1].children[1]
    True
    >>> named = subterms_by_position(root)
    >>> named[0, 1] is named[1, 1]
    False
"""

from collections.abc import Sequence

import numpy as np

from polygym.rewrite.term import Term, postorder, term
from polygym.search.planning.protocol import Values
from polygym.terms.cost import ASSUMED_VECTOR_SIZE, LET_COST, StaticCost, TermCost, operator_cost
from polygym.terms.language.nodes import binds, index_of, term_facts
from polygym.terms.language.substitution import with_index
from polygym.terms.rewriter import Position

_STEP = 1e-3
_LARGEST = 5_000


def shared_cost(root: Term) -> float:
    """Return what a term costs if each of its parts is computed once, and bound where that pays.

    >>> from polygym.terms.language.parser import parse_program
    >>> shared_cost(parse_program("(mul (add x y) (add x y))").body)
    3.1
    """
    order = list(postorder([root]))
    uses: dict[Term, int] = {}
    times: dict[Term, float] = {root: 1.0}
    for node in reversed(order):
        is_loop = node.head in ("build", "sumbuild")
        for place, child in enumerate(node.children):
            uses[child] = uses.get(child, 0) + 1
            repeats = ASSUMED_VECTOR_SIZE if is_loop and place == 1 else 1
            times[child] = max(times.get(child, 0.0), times[node] * repeats)
    total = 0.0
    for node in order:
        own = operator_cost(node)
        is_shared = bool(node.children) and uses.get(node, 0) > 1 and node.head != "let"
        total += times[node] * (own + (LET_COST if is_shared else 0.0))
    return round(total, 9)


def sharing_gains(root: Term, cost: TermCost) -> list[tuple[float, int]]:
    """Return what could be saved by binding, and in how many steps: for every part one pair."""
    if not root.children or term_facts(root).nodes > _LARGEST:
        return []
    counts: dict[Term, int] = {}
    origin: dict[Term, Term] = {}
    occurrences: dict[Term, list[tuple[tuple[int, ...], bool]]] = {}
    stack: list[tuple[Term, tuple[int, ...], bool]] = [(root, (), False)]
    named = subterms_by_position(root)
    for node in named.values():
        if node.children:
            counts[node] = counts.get(node, 0) + 1
    while stack:
        node, place, is_bound = stack.pop()
        if counts[same := named[place]] > 1 and node.head != "tuple":
            origin[same] = node
            occurrences.setdefault(same, []).append((place, is_bound))
            continue
        for at, child in enumerate(node.children):
            if child.children:
                stack.append((child, (*place, at), node.head == "let" and at == 0))
    answer: list[tuple[float, int]] = []
    for node, places in occurrences.items():
        if len(places) < 2:
            continue
        lets = sum(is_bound for _, is_bound in places)
        saved = (len(places) - 1) * cost(origin[node]) - LET_COST * (1 - lets)
        if saved > 0.0:
            ways = [place[:-1] if is_bound else place for place, is_bound in places]
            top = common_length(min(ways), max(ways))
            lifted = {way[:length] for way in ways for length in range(top + 1, len(way) + 1)}
            lifted -= {(*place[:-1], 1) for place, is_bound in places if is_bound}
            answer.append((saved, len(lifted) + len(places) - lets + len(places) - 1))
    return answer


class SharingValue:
    """Expects what binding can save with the steps that are left."""

    def __init__(self, cost: TermCost | None = None) -> None:
        """Count by the static cost, if nothing else is said."""
        self._cost: TermCost = StaticCost() if cost is None else cost

    def __call__(self, states: Sequence[Term], horizon: int) -> Values:
        """Return what is expected, a row a state, a column for each number of steps."""
        array = np.zeros((len(states), horizon + 1))
        for row, node in zip(array, states, strict=True):
            spent, saved = 0, 0.0
            for gain, steps in sorted(
                sharing_gains(node, self._cost), key=lambda pair: -pair[0] / pair[1]
            ):
                spent += steps
                saved += gain
                row[spent:] = saved - _STEP * spent
                if spent > horizon:
                    break
        return array


def subterms_by_position(root: Term) -> dict[Position, Term]:
    """Return what stands at each place, in the order of the text, with names for what is bound."""
    nodes: list[tuple[Term, Position, tuple[Term, ...]]] = []
    stack: list[tuple[Term, Position, tuple[Term, ...]]] = [(root, (), ())]
    while stack:
        node, place, scope = stack.pop()
        nodes.append((node, place, scope))
        for at in range(len(node.children) - 1, -1, -1):
            inner = (*scope, term(f"binder {place}")) if binds(node, at) else scope
            stack.append((node.children[at], (*place, at), inner))
    named: dict[Position, Term] = {place: node for node, place, _ in nodes}
    for node, place, scope in reversed(nodes):
        if not scope or not term_facts(node).free:
            continue
        if node.children:
            below = [named[*place, at] for at in range(len(node.children))]
            named[place] = term(node.head, *below)
        else:
            index = index_of(node)
            within = index < len(scope)
            named[place] = scope[-1 - index] if within else with_index(node, index - len(scope))
    return named


def common_length(one: Position, other: Position) -> int:
    """Return how far two places have the same way."""
    length, most = 0, min(len(one), len(other))
    while length < most and one[length] == other[length]:
        length += 1
    return length
