"""Both filters leave no cycle, and nothing of the original is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.rewrite.domain import TrivialDomain
from polygym.rewrite.egraph import (
    CycleFilter,
    EGraph,
    IterationReport,
    SaturationLimits,
    run_iteration,
    saturate,
)
from polygym.rewrite.egraph.cycles import break_cycles
from polygym.rewrite.extraction import extract_greedily, extract_optimally
from polygym.rewrite.rule import parse_rules
from polygym.rewrite.s_expressions import parse_term
from polygym.rewrite.term import Term, postorder, term
from tests.rewrite.languages import Matrices, attention, matrix, price, rules
from tests.rewrite.oracles import has_cycle, terms

FILTERS = (CycleFilter.VANILLA, CycleFilter.EFFICIENT)
UNDOING = parse_rules("""
undone: (f (f ?x)) => ?x
doubled: (g ?x ?y) => (f (g ?y ?x))
absorbed: (h ?x (g ?x ?y)) => ?x
merged: (g ?x ?v) & (g ?x ?w) => (first (g ?x (h ?v ?w))) & (second (g ?x (h ?v ?w)))
""")


def fed_by_another() -> Term:
    """Return two products one of which feeds the other, beside one that does not."""
    x, v, w = matrix("x", 4, 4), matrix("v", 4, 4), matrix("w", 4, 4)
    first = term("matmul", x, v)
    return term("tuple", term("matmul", x, term("relu", first)), term("matmul", x, w))


def check_that_all_can_be_made(graph: EGraph) -> None:
    made: set[int] = set()
    count = -1
    while count < len(made):
        count = len(made)
        for name in graph.classes():
            if any(
                made.issuperset(graph.children_of(node)) for node in graph.usable_nodes_of(name)
            ):
                made.add(name)
    assert made == set(graph.classes())


def _check(graph: EGraph, done: IterationReport) -> None:
    assert not has_cycle(graph)


def test_without_a_filter_there_are_cycles() -> None:
    graph = EGraph(Matrices())
    graph.add_term(fed_by_another())
    saturate(graph, rules(), SaturationLimits(nodes=2000, iterations=2), CycleFilter.NONE)
    assert has_cycle(graph)
    assert break_cycles(graph) > 0
    assert not has_cycle(graph)


@pytest.mark.parametrize("cycles", FILTERS)
@pytest.mark.parametrize("k_multi", [1, 2])
def test_filters_leave_none(cycles: CycleFilter, k_multi: int) -> None:
    for root in (fed_by_another(), attention(1)):
        graph = EGraph(Matrices())
        name = graph.add_term(root)
        limits = SaturationLimits(nodes=1500, iterations=4, k_multi=k_multi)
        saturate(graph, rules(), limits, cycles, _check)
        assert not has_cycle(graph)
        assert graph.lookup(root) == graph.find(name), "the original is still there"
        for node in graph.blacklist:
            assert not graph.is_original(node)


@settings(max_examples=60, deadline=None)
@given(terms(depth=7), st.sampled_from(FILTERS), st.integers(1, 4))
def test_rules_that_undo_things(root: Term, cycles: CycleFilter, iterations: int) -> None:
    graph = EGraph(TrivialDomain())
    name = graph.add_term(root)
    limits = SaturationLimits(nodes=300, iterations=iterations, k_multi=2)
    saturate(graph, UNDOING, limits, cycles)
    assert not has_cycle(graph)
    check_that_all_can_be_made(graph)
    extraction = extract_greedily(graph, name, lambda head, children, data: 1.0)
    assert extraction.cost <= len(set(postorder([root])))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(terms(depth=6), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=4),
)
def test_cutting_after_any_unions(roots: list[Term], equal: list[tuple[int, int]]) -> None:
    graph = EGraph(TrivialDomain())
    for root in roots:
        graph.add_term(root)
    nodes = list(graph.nodes())
    for one, other in equal:
        graph.union(nodes[one % len(nodes)], nodes[other % len(nodes)])
    graph.rebuild()
    had = has_cycle(graph)
    cut = break_cycles(graph)
    assert (cut > 0) == had
    assert not has_cycle(graph)
    check_that_all_can_be_made(graph)


def test_what_undoes_itself_is_still_made_use_of() -> None:
    graph = EGraph(TrivialDomain())
    root = graph.add_term(parse_term("(top (f (g x)))"))
    report = saturate(graph, parse_rules("undone: (f (g ?x)) => ?x"))
    assert (report.stop.value, report.blacklisted) == ("saturated", 1)
    assert extract_greedily(graph, root, lambda *_: 1.0).term is parse_term("(top x)")


def test_the_latest_node_of_a_cycle_goes() -> None:
    graph = EGraph(TrivialDomain())
    graph.add_term(parse_term("(f (g (h x)))"))
    late = graph.add("k", [graph.lookup(parse_term("(f (g (h x)))")) or 0])
    graph.union(late, graph.lookup(parse_term("(h x)")) or 0)
    graph.rebuild()
    assert break_cycles(graph) == 1
    assert [graph.head_of(node) for node in graph.blacklist] == ["k"]


def test_products_that_become_one_stay_beside_a_concatenation_of_themselves() -> None:
    """The whole is made of its parts, which are split from the whole: the parts' splits stay."""
    graph = EGraph(Matrices())
    x, v, w = matrix("x", 4, 4), matrix("v", 4, 4), matrix("w", 4, 4)
    name = graph.add_term(term("tuple", term("matmul", x, v), term("matmul", x, w)))
    table = [rule for rule in rules() if rule.name in ("two-products", "concat-right")]
    saturate(graph, table)
    assert [graph.head_of(node) for node in graph.blacklist] == ["concat"]
    assert extract_optimally(graph, name, price).cost < extract_greedily(graph, name, price).cost


def test_terms_that_are_added_later_are_original_too() -> None:
    graph = EGraph(TrivialDomain())
    saturate(graph, UNDOING)
    inner = graph.add("a")
    loop = graph.union(graph.add("f", [inner]), inner)
    graph.add_term(parse_term("(g (k (f a)) b)"))
    graph.union(graph.lookup(parse_term("(k (f a))")) or 0, loop)
    graph.rebuild()
    break_cycles(graph)
    assert not has_cycle(graph)
    check_that_all_can_be_made(graph)


def test_a_filter_begins_where_none_was_before() -> None:
    graph = EGraph(Matrices())
    graph.add_term(fed_by_another())
    run_iteration(graph, rules(), 2000, CycleFilter.NONE)
    assert has_cycle(graph)
    run_iteration(graph, rules(), 2000, CycleFilter.EFFICIENT)
    assert not has_cycle(graph)


def test_both_filters_extract_the_same_cost() -> None:
    costs = []
    for cycles in FILTERS:
        graph = EGraph(Matrices())
        name = graph.add_term(fed_by_another())
        saturate(graph, rules(), SaturationLimits(nodes=1000, iterations=3), cycles)
        costs.append(extract_greedily(graph, name, price).cost)
    assert costs[0] == pytest.approx(costs[1])
