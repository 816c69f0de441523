"""Extraction with code motion: of each class a few terms, and of the whole the cheapest.

What a term costs after code motion is no sum over its nodes: a part may be computed outside of a
loop, or be the same as another part. So classes keep not one term but the ``width`` cheapest,
counted as if the loops around them were there (:class:`ProgramCost`). A node makes terms of the
best of all its children, and of the others of one child at a time. This is repeated until nothing
changes, or ``rounds`` times. It is a heuristic: what it finds is equal, not the cheapest of all.
"""

from collections.abc import Iterator
from time import perf_counter

from polygym.rewrite.egraph import EGraph
from polygym.rewrite.term import Term, term
from polygym.terms.language.nodes import term_facts
from polygym.terms.whole_programs.binder_matching import Examples
from polygym.terms.whole_programs.code_motion import ProgramCost

_LARGEST = 400


def extract_program(
    graph: EGraph,
    root: int,
    examples: Examples,
    *,
    width: int = 3,
    rounds: int = 4,
    seconds: float = 20.0,
) -> Term:
    """Return the cheapest term of a class that was found, without ``let``."""
    return _Extraction(graph, examples, width, perf_counter() + seconds).best(root, rounds)


class _Extraction:
    def __init__(self, graph: EGraph, examples: Examples, width: int, deadline: float) -> None:
        self._graph, self._width, self._deadline = graph, width, deadline
        self._cost = ProgramCost()
        self._held: dict[int, list[Term]] = {}
        for name in graph.classes():
            example = examples.of(name)
            if example is not None:
                self._held[name] = [example]
        self._tried: set[Term] = {terms[0] for terms in self._held.values()}

    def best(self, root: int, rounds: int) -> Term:
        order = sorted(self._held, key=lambda name: term_facts(self._held[name][0]).nodes)
        reached = self._reached(root)
        order = [name for name in order if name in reached]
        for _ in range(rounds):
            changed = False
            for name in order:
                if perf_counter() > self._deadline:
                    return self._held[self._graph.find(root)][0]
                changed = self._improved(name) or changed
            if not changed:
                break
        return self._held[self._graph.find(root)][0]

    def _reached(self, root: int) -> set[int]:
        graph = self._graph
        seen = {graph.find(root)}
        stack = [*seen]
        while stack:
            for node in graph.members[stack.pop()]:
                for child in graph.children_of(node):
                    if child not in seen:
                        seen.add(child)
                        stack.append(child)
        return seen

    def _improved(self, name: int) -> bool:
        """Whether a class got a term that is among its cheapest."""
        new = [made for node in self._graph.members[name] for made in self._of(node)]
        if not new:
            return False
        held = self._held[name]
        ranked = sorted({*held, *new}, key=lambda each: (self._cost(each), term_facts(each).nodes))
        self._held[name] = ranked[: self._width]
        return self._held[name] != held

    def _of(self, node: int) -> Iterator[Term]:
        """Yield terms of a node that were not tried before."""
        choices = [self._held.get(child, []) for child in self._graph.children_of(node)]
        if not choices or not all(choices):
            return
        head = self._graph.head_of(node)
        first = [each[0] for each in choices]
        ways = [first]
        for at, others in enumerate(choices):
            ways += [[*first[:at], other, *first[at + 1 :]] for other in others[1:]]
        for way in ways:
            made = term(head, *way)
            if made not in self._tried and term_facts(made).nodes <= _LARGEST:
                self._tried.add(made)
                yield made
