"""The e-graph against a plain congruence closure, and what it keeps count of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.rewrite.domain import Data, Inadmissible, TrivialDomain
from polygym.rewrite.egraph import EGraph
from polygym.rewrite.s_expressions import parse_term
from polygym.rewrite.term import Head, Term, postorder, term
from tests.rewrite.languages import Matrices, matrix
from tests.rewrite.oracles import congruence_classes, terms

PAIRS = st.lists(st.tuples(terms(), terms()), max_size=5)


def classes_of(graph: EGraph, every: set[Term]) -> set[frozenset[Term]]:
    result: dict[int | None, set[Term]] = {}
    for node in every:
        result.setdefault(graph.lookup(node), set()).add(node)
    assert None not in result
    return {frozenset(members) for members in result.values()}


def check(graph: EGraph) -> None:
    """Check what holds of every e-graph that is rebuilt."""
    keys = {}
    for node in graph.nodes():
        key = (graph.head_of(node), graph.children_of(node))
        assert key not in keys, "two nodes are equal"
        keys[key] = node
        assert graph.children_of(node) == graph.keys[node][1:]
        assert graph.table[graph.keys[node]] == node
        assert node in graph.nodes_of(node)
        for child in graph.children_of(node):
            assert node in graph.uses_of(child)
    assert graph.node_count == len(keys) == sum(len(graph.nodes_of(n)) for n in graph.classes())
    assert graph.class_count == len({graph.find(node) for node in graph.nodes()})
    assert graph.classes() == sorted({graph.find(node) for node in graph.nodes()})


@given(st.lists(terms(), min_size=1, max_size=4), PAIRS, st.integers(0, 5))
def test_unions_are_closed_under_congruence(
    roots: list[Term], equal: list[tuple[Term, Term]], often: int
) -> None:
    graph = EGraph(TrivialDomain())
    for root in roots:
        graph.add_term(root)
    for place, (one, other) in enumerate(equal):
        graph.union(graph.add_term(one), graph.add_term(other))
        if place < often:
            graph.rebuild()
    graph.rebuild()
    every = set(postorder([*roots, *(side for pair in equal for side in pair)]))
    assert classes_of(graph, every) == congruence_classes(roots, equal)
    check(graph)


@given(st.lists(terms(), min_size=1, max_size=3), PAIRS, PAIRS)
def test_a_copy_goes_its_own_way(
    roots: list[Term], equal: list[tuple[Term, Term]], later: list[tuple[Term, Term]]
) -> None:
    graph, alone = EGraph(TrivialDomain()), EGraph(TrivialDomain())
    for each in (graph, alone):
        for root in roots:
            each.add_term(root)
        for one, other in equal:
            each.union(each.add_term(one), each.add_term(other))
    fork = graph.copy()
    for one, other in later:
        fork.union(fork.add_term(one), fork.add_term(other))
    fork.rebuild()
    check(fork)
    for each in (graph, alone):
        each.rebuild()
        check(each)
    assert (graph.keys, graph.parents, graph.members) == (alone.keys, alone.parents, alone.members)


def test_a_node_that_becomes_one_within_its_class_is_no_member_any_more() -> None:
    graph = EGraph(TrivialDomain())
    short, long = (graph.add_term(parse_term(text)) for text in ("(g c c)", "(g c (g a a))"))
    graph.union(short, long)
    graph.rebuild()
    graph.union(graph.add("c"), graph.add_term(parse_term("(g a a)")))
    graph.rebuild()
    check(graph)


def test_nodes_are_numbered_as_they_come_and_the_earlier_stays() -> None:
    graph = EGraph(TrivialDomain())
    for text in ("a", "b", "(f a)", "(f b)"):
        graph.add_term(parse_term(text))
    assert [graph.head_of(node) for node in graph.nodes()] == ["a", "b", "f", "f"]
    graph.union(0, 1)
    graph.rebuild()
    assert list(graph.nodes()) == [0, 1, 2]
    assert graph.nodes_of(1) == [0, 1]


def test_literals_that_python_calls_equal_are_different_nodes() -> None:
    graph = EGraph(TrivialDomain())
    assert len({graph.add(1), graph.add(1.0), graph.add("1")}) == 3


def test_lookup_goes_through_no_blacklisted_node() -> None:
    graph = EGraph(TrivialDomain())
    graph.add_term(parse_term("(f (g a))"))
    graph.blacklist_node(1)
    assert graph.head_of(1) == "g"
    assert graph.lookup(parse_term("(f (g a))")) is None
    assert graph.add("g", [0]) == 1, "a blacklisted node is not added again"
    assert graph.blacklist == [1]
    assert graph.add_term(parse_term("(g a)")) == 1, "an original node is not blacklisted"
    assert graph.blacklist == []


def test_what_makes_no_sense_is_not_added() -> None:
    graph = EGraph(Matrices())
    one, other = graph.add_term(matrix("a", 2, 3)), graph.add_term(matrix("b", 2, 3))
    before = graph.node_count, graph.changes
    with pytest.raises(Inadmissible, match="expected inner extents that are equal"):
        graph.add("matmul", [one, other])
    assert (graph.node_count, graph.changes) == before


def test_what_cannot_be_equal_is_not_united() -> None:
    graph = EGraph(Matrices())
    one, other = graph.add_term(matrix("a", 2, 3)), graph.add_term(matrix("b", 3, 3))
    before = graph.class_count
    with pytest.raises(Inadmissible, match="expected equal shapes"):
        graph.union(one, other)
    graph.rebuild()
    assert graph.class_count == before


def test_a_contradiction_by_congruence_is_an_error() -> None:
    class Parity(TrivialDomain):
        """``f`` of even is odd, ``g`` of anything even; ``twice`` must be given odd."""

        def infer(self, head: Head, children: tuple[Data, ...]) -> Data:
            return {"f": "odd", "g": "even"}.get(str(head), "any")

        def join(self, one: Data, other: Data) -> Data:
            if "any" in (one, other) or one == other:
                return other if one == "any" else one
            raise Inadmissible("expected both even or both odd")

    graph = EGraph(Parity())
    one, other = graph.add_term(parse_term("(h a)")), graph.add_term(parse_term("(h b)"))
    graph.union(one, graph.add_term(parse_term("(f a)")))
    graph.union(other, graph.add_term(parse_term("(g a)")))
    graph.rebuild()
    graph.union(graph.add("a"), graph.add("b"))
    with pytest.raises(Inadmissible, match="both even or both odd"):
        graph.rebuild()


def test_what_is_learned_of_a_class_is_learned_of_what_uses_it() -> None:
    graph = EGraph(Matrices())
    x, y = matrix("x", 2, 3), matrix("y", 2, 4)
    whole = graph.add_term(matrix("z", 2, 7))
    above = graph.add_term(term("relu", matrix("z", 2, 7)))
    top = graph.add_term(term("transpose", term("relu", matrix("z", 2, 7))))
    with pytest.raises(Inadmissible):
        graph.add("split0", [graph.add(1), above])
    graph.union(whole, graph.add_term(term("concat", term(1), x, y)))
    graph.rebuild()
    assert graph.data_of(above) == ("matrix", 2, 7, (), (3,))
    assert graph.data_of(top) == ("matrix", 7, 2, (3,), ())
    assert graph.data_of(graph.add("split0", [graph.add(1), above]))[1:3] == (2, 3)
