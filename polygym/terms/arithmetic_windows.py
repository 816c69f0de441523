"""Windows on a term of arithmetic: some of its nodes, and what they cost beside all the others.

Here a term is ordered (:mod:`polygym.terms.commutativity`), and what is the same in it is one node.
A
*window* has a node and what is below it, level by level; what is further down is a *hole*, a
variable, and the same one for what is the same. It costs what is computed for it alone
(:class:`WindowCost`): each of its nodes once, and nothing for what there is outside of it anyway.
So a search of the window sees what it does to sharing in all of the term.

Example: in (add (div z (add x y)) (mul 2.0 (add x y))) the window at the quotient costs 2.1, though
there is a sum in it: this is needed for the product as well, and has only to be bound, for 0.1.

    >>> from polygym.terms.language.parser import parse_program
    >>> root = parse_program("(add (div z (add x y)) (mul 2.0 (add x y)))").body
    >>> [window.cost(window.term) for window in term_windows(root, 8) if window.node.head == "div"]
    [2.1]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polygym.rewrite.term import Term, postorder, term
from polygym.terms.cost import LET_COST, OPERATOR_COSTS, StaticCost
from polygym.terms.language.nodes import free_variables, term_facts, variable
from polygym.terms.language.types import BaseType

_OPERATORS = frozenset(
    "add sub mul div neg abs max min exp log sqrt sin cos tanh pow to_float".split()
)


def is_arithmetic(one: Term) -> bool:
    """Whether a node is an operator of numbers on numbers."""
    return (
        one.head in _OPERATORS
        and bool(one.children)
        and all(isinstance(term_facts(part).type, BaseType) for part in (one, *one.children))
    )


@dataclass(frozen=True, slots=True, eq=False)
class TermWindow:
    """The node that it is of, what it shows, holes by what they stand for, and its cost."""

    node: Term
    term: Term
    holes: Mapping[Term, Term]
    cost: WindowCost

    def with_holes(self, one: Term) -> Term:
        """Return any part of the term with the holes in it."""
        return _named(one, self.holes)


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
            one = stack.pop()
            if one in self._outside:
                continue
            total += OPERATOR_COSTS[str(one.head)] if one.children else self._holes.get(one, 0.0)
            for child in one.children:
                if not child.children and child not in self._holes:
                    continue
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
                    uses[child] = 0
                uses[child] += 1
        bound = 0
        for one, count in uses.items():
            before = self._outside.get(one, 0)
            is_free = not one.children and one not in self._holes
            bound += not is_free and before <= 1 < before + count
        return round(total + LET_COST * bound, 9)


def term_windows(root: Term, most: int) -> Iterator[TermWindow]:
    """Yield the windows of an ordered term, of so many nodes at most, from below."""
    cost, prefix = StaticCost(), "part"
    while any(name.startswith(prefix) for name in free_variables(root)):
        prefix += "_"
    for one in list(_shown_below(root)):
        yield _window(root, one, most, cost, prefix)


def _shown_below(root: Term) -> Iterator[Term]:
    """Yield the nodes of arithmetic that are reached through such alone, from below."""
    for one in postorder([root]):
        if is_arithmetic(one):
            yield one


def _window(root: Term, node: Term, most: int, cost: StaticCost, prefix: str) -> TermWindow:
    kept, below = set[Term](), list[Term]()
    waiting = deque([node])
    while waiting:
        one = waiting.popleft()
        if one in kept or one in below:
            continue
        if len(kept) < most and is_arithmetic(one):
            kept.add(one)
            waiting.extend(child for child in one.children if child.children)
        else:
            below.append(one)
    holes = {one: variable(f"{prefix}{at}", term_facts(one).type) for at, one in enumerate(below)}
    outside, uses = _uses_outside(root, node)
    elsewhere = dict(outside)
    for one in below:
        if one not in elsewhere:
            _note_uses(one, node, elsewhere)
    named = dict[Term, Term]()
    known = {_named(one, holes, named): count for one, count in elsewhere.items()}
    costs = {hole: 0.0 if one in outside else cost(one) for one, hole in holes.items()}
    return TermWindow(node, _named(node, holes, named), holes, WindowCost(uses, known, costs))


def _uses_outside(root: Term, node: Term) -> tuple[dict[Term, int], int]:
    """Return how often nodes are used by others than one node, and how often that is.

    What is there for this node alone is left out.
    """
    if root is node:
        return {}, 1
    result = {root: 1}
    _note_uses(root, node, result)
    uses = sum(child is node for one in result for child in one.children)
    return result, uses


def _note_uses(root: Term, node: Term, found: dict[Term, int]) -> None:
    stack = [root]
    while stack:
        one = stack.pop()
        for child in one.children:
            if child is node or not child.children:
                continue
            if child not in found:
                found[child] = 0
                stack.append(child)
            found[child] += 1


def _named(one: Term, holes: Mapping[Term, Term], made: dict[Term, Term] | None = None) -> Term:
    """Return a part with holes where they are."""
    made = {} if made is None else made
    for part in postorder([one]):
        if part in made:
            continue
        if part in holes:
            made[part] = holes[part]
        else:
            made[part] = (
                term(part.head, *[made[child] for child in part.children])
                if part.children
                else part
            )
    return made[one]
