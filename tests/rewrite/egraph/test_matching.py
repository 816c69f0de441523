"""Matching against trying everything, joins against the Cartesian product."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.rewrite.applicability import canonical_pattern, rule_join
from polygym.rewrite.domain import TrivialDomain
from polygym.rewrite.egraph import EGraph
from polygym.rewrite.egraph.matching import EGraphPattern, OperatorIndex
from polygym.rewrite.rule import parse_rules
from polygym.rewrite.s_expressions import parse_term
from polygym.rewrite.term import Term, is_variable, variable_names
from tests.rewrite.oracles import matches_in, terms

PATTERNS = terms(("?x", "?y"), depth=4).filter(lambda term: not is_variable(term))
PAIRS = st.lists(st.tuples(terms(), terms()), max_size=4)


def graph_of(roots: list[Term], equal: list[tuple[Term, Term]]) -> EGraph:
    graph = EGraph(TrivialDomain())
    for root in roots:
        graph.add_term(root)
    for term, other in equal:
        graph.union(graph.add_term(term), graph.add_term(other))
    graph.rebuild()
    return graph


def found_by(graph: EGraph, pattern: Term, since: int = 0) -> list[tuple[int, ...]]:
    return EGraphPattern(pattern, graph.types).matches(OperatorIndex(graph), since)


def tried(graph: EGraph, pattern: Term) -> set[tuple[int, ...]]:
    names = variable_names([pattern])
    result = matches_in(graph, pattern)
    return {(root, *(dict(binding)[name] for name in names)) for root, binding in result}


@given(st.lists(terms(depth=6), min_size=1, max_size=4), PAIRS, PATTERNS, st.data())
def test_all_matches_are_found_and_each_once(
    roots: list[Term], equal: list[tuple[Term, Term]], pattern: Term, data: st.DataObject
) -> None:
    graph = graph_of(roots, equal)
    for node in data.draw(st.lists(st.sampled_from(list(graph.nodes())), max_size=2)):
        graph.blacklist_node(node)
    matches = found_by(graph, pattern)
    assert len(set(matches)) == len(matches)
    assert set(matches) == tried(graph, pattern)


@given(st.lists(terms(depth=6), min_size=1, max_size=4), PAIRS, PAIRS, PATTERNS)
def test_what_changed_has_all_new_matches(
    roots: list[Term],
    equal: list[tuple[Term, Term]],
    later: list[tuple[Term, Term]],
    pattern: Term,
) -> None:
    graph = graph_of(roots, equal)
    before = tried(graph, pattern)
    since, graph.tick = graph.tick, graph.tick + 1
    for term, other in later:
        graph.union(graph.add_term(term), graph.add_term(other))
    graph.rebuild()
    now = tried(graph, pattern)
    known = {tuple(map(graph.find, match)) for match in before}
    assert now - known <= set(found_by(graph, pattern, since)) <= now


def test_nothing_is_looked_at_again_where_nothing_changed() -> None:
    graph = graph_of([parse_term("(g (f a) (f b))")], [])
    since, graph.tick = graph.tick, graph.tick + 1
    graph.add_term(parse_term("(f c)"))
    assert len(found_by(graph, parse_term("(f ?x)"))) == 3
    assert len(found_by(graph, parse_term("(f ?x)"), since)) == 1


def test_patterns_that_differ_in_names_are_one() -> None:
    term, other = parse_term("(f ?b (g ?a) ?b)"), parse_term("(f ?x (g ?y) ?x)")
    assert canonical_pattern(term)[0] is canonical_pattern(other)[0]
    assert canonical_pattern(term)[0] is not canonical_pattern(parse_term("(f ?x (g ?x) ?x)"))[0]


ROWS = st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=6, unique=True)


@settings(max_examples=50)
@given(ROWS, ROWS)
def test_a_join_is_what_the_product_has(
    left: list[tuple[int, int, int]], right: list[tuple[int, int, int]]
) -> None:
    [rule] = parse_rules("r: (g ?x ?y) & (h ?z ?x) => ?x & ?x")
    expected = [
        (a, b, x, y, z)
        for (a, x, y), (b, z, w) in itertools.product(left, right)
        if x == w and a != b
    ]
    assert sorted(rule_join(rule).rows([left, right])) == sorted(expected)


@settings(max_examples=50)
@given(ROWS)
def test_of_symmetric_pairs_one_order_is_enough(rows: list[tuple[int, int, int]]) -> None:
    [rule] = parse_rules("r: (g ?x ?v) & (g ?x ?w) => (p ?v ?w) & (q ?v ?w)")
    matches = list(rule_join(rule).rows([rows, rows]))
    both = {
        (a, b, x, v, w)
        for (a, x, v), (b, y, w) in itertools.product(rows, rows)
        if x == y and a != b
    }
    assert len(matches) * 2 == len(both)
    assert set(matches) | {(b, a, x, w, v) for a, b, x, v, w in matches} == both


def test_what_can_change_places() -> None:
    def halves(text: str) -> tuple[tuple[int, int], ...]:
        return rule_join(*parse_rules(text)).halves

    assert halves("r: (g ?x ?v) & (g ?x ?w) => ?v & ?w") == ((0, 1),)
    assert halves("r: (g ?x ?v) & (g ?w ?x) => ?v & ?w") == ()
    assert halves("r: (g ?x ?v) & (h ?x ?w) => ?v & ?w") == ()
    assert halves("r: (g ?x ?v) & (g ?x ?w) => ?v & ?w if (square ?v)") == ()
    assert halves("r: (g ?x ?v) & (g ?x ?w) => ?v & ?w if (square ?v) & (square ?w)") == ((0, 1),)
    assert halves("r: (g ?x ?v) & (g ?v ?x) => ?v & ?x") == ((0, 1),)
    three = "r: (g ?x ?u) & (g ?x ?v) & (g ?x ?w) => ?u & ?v & ?w"
    assert halves(three) == ((0, 1), (0, 2), (1, 2))
    rows = [(place, 9, place) for place in range(5)]
    assert len(list(rule_join(*parse_rules(three)).rows([rows] * 3))) == 10
