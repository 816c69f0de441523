"""Oracles of the tests: slow and plain, without code of the tested modules."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from hypothesis import strategies as st

from polygym.rewrite.egraph import EGraph
from polygym.rewrite.term import Head, Term, is_variable, postorder, term

LEAVES = ("a", "b", "c")


def terms(variables: Sequence[str] = (), depth: int = 4) -> st.SearchStrategy[Term]:
    """Return a strategy of terms over f/1, g/2 and h/2 and a few leaves."""
    leaves = st.sampled_from([term(name) for name in (*LEAVES, *variables)])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda child: term("f", child), inner),
            st.builds(
                lambda head, one, other: term(head, one, other),
                st.sampled_from(["g", "h"]),
                inner,
                inner,
            ),
        ),
        max_leaves=depth,
    )


def congruence_classes(
    roots: Sequence[Term], equal: Sequence[tuple[Term, Term]]
) -> set[frozenset[Term]]:
    """Return the classes of all subterms: pairs are compared until nothing changes any more."""
    every = list(postorder([*roots, *(side for pair in equal for side in pair)]))
    names = {subterm: place for place, subterm in enumerate(every)}

    def unite(one: Term, other: Term) -> bool:
        old, new = names[one], names[other]
        for each in every:
            if names[each] == old:
                names[each] = new
        return old != new

    for node, other in equal:
        unite(node, other)
    changed = True
    while changed:
        changed = False
        for node, other in itertools.combinations(every, 2):
            same = node.head == other.head and len(node.children) == len(other.children)
            if same and all(
                names[left] == names[right]
                for left, right in zip(node.children, other.children, strict=True)
            ):
                changed |= unite(node, other)
    classes: dict[int, set[Term]] = {}
    for node in every:
        classes.setdefault(names[node], set()).add(node)
    return {frozenset(class_) for class_ in classes.values()}


def matches_in(graph: EGraph, pattern: Term) -> set[tuple[int, tuple[tuple[str, int], ...]]]:
    """Return the classes in which a pattern stands and what its variables are, by trying all."""

    def inside(subpattern: Term, name: int, known: dict[str, int]) -> Iterator[dict[str, int]]:
        if is_variable(subpattern):
            if known.setdefault(str(subpattern.head), name) == name:
                yield known
            return
        for node in graph.usable_nodes_of(name):
            children = graph.children_of(node)
            if graph.head_of(node) == subpattern.head and len(children) == len(subpattern.children):
                bindings = [dict(known)]
                for part, child in zip(subpattern.children, children, strict=True):
                    bindings = [
                        after for before in bindings for after in inside(part, child, dict(before))
                    ]
                yield from bindings

    return {
        (name, tuple(sorted(binding.items())))
        for name in graph.classes()
        for binding in inside(pattern, name, {})
    }


def has_cycle(graph: EGraph) -> bool:
    """Whether a class needs itself: classes are taken away that need none of those left."""
    needs = {
        name: {child for node in graph.usable_nodes_of(name) for child in graph.children_of(node)}
        for name in graph.classes()
    }
    while True:
        free = {name for name, children in needs.items() if not children}
        if not free:
            return bool(needs)
        needs = {name: children - free for name, children in needs.items() if name not in free}


def cheapest(graph: EGraph, root: int, cost: Callable[[Head], float]) -> float:
    """Return the least cost over all choices of a node for each class that have no cycle."""
    names = graph.classes()
    best = math.inf
    for nodes in itertools.product(*(graph.usable_nodes_of(name) for name in names)):
        needed: set[int] = set()
        if _is_fine(graph, graph.find(root), dict(zip(names, nodes, strict=True)), set(), needed):
            used = (node for node in nodes if graph.find(node) in needed)
            best = min(best, sum(cost(graph.head_of(node)) for node in used))
    return best


def _is_fine(
    graph: EGraph, name: int, chosen: dict[int, int], path: set[int], needed: set[int]
) -> bool:
    """Whether nothing below a class needs itself; notes what is needed."""
    if name in path:
        return False
    if name not in needed:
        path.add(name)
        children = graph.children_of(chosen[name])
        if not all(_is_fine(graph, child, chosen, path, needed) for child in children):
            return False
        path.discard(name)
        needed.add(name)
    return True
