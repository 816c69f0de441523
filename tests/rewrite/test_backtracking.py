"""The search by backtracking: against the e-graph, what it counts, and what ends it."""

from __future__ import annotations

import time

import pytest

from polygym.errors import InputError
from polygym.rewrite.backtracking import BacktrackingProgress, SearchEnd, Valuation, backtrack
from polygym.rewrite.domain import Data, TrivialDomain, type_table
from polygym.rewrite.egraph import EGraph, StopReason, saturate
from polygym.rewrite.extraction import extract_optimally
from polygym.rewrite.rule import parse_rules
from polygym.rewrite.s_expressions import parse_term
from polygym.rewrite.term import Head, postorder, term
from tests.rewrite.languages import Matrices, attention, price, rules


def weight(head: Head, children: tuple[Data, ...], data: Data) -> float:
    return {"dear": 5.0, "hill": 5.5}.get(str(head), 1.0)


def test_a_hill_is_passed_by_a_larger_alpha_alone() -> None:
    table = parse_rules("up: (dear ?x) => (hill ?x)  down: (hill ?x) => ?x")
    root = parse_term("(f (dear a))")
    plain = TrivialDomain()
    assert backtrack(root, table, plain, weight, alpha=1.0).cost == 7.0
    result = backtrack(root, table, plain, weight, alpha=1.1)
    assert (result.term, result.cost, result.initial_cost) == (parse_term("(f a)"), 2.0, 7.0)
    assert result.steps == (("up", 7.5), ("down", 2.0))
    assert result.stop is SearchEnd.EXHAUSTED


def test_what_was_seen_is_not_visited_again() -> None:
    table = parse_rules("commutes: (g ?x ?y) => (g ?y ?x)")
    root = parse_term("(g (g a b) (g c (g d e)))")
    result = backtrack(root, table, TrivialDomain(), weight, iterations=1000)
    assert (result.visited, result.iterations, result.stop) == (16, 16, SearchEnd.EXHAUSTED)
    assert result.term is root
    assert result.steps == ()


def test_where_everything_is_visited_it_finds_what_the_e_graph_finds() -> None:
    table = parse_rules("""
    associates: (g ?x (g ?y ?z)) <=> (g (g ?x ?y) ?z)
    distributes: (g ?x (h ?y ?z)) <=> (h (g ?x ?y) (g ?x ?z))
    commutes: (h ?x ?y) => (h ?y ?x)
    """)
    for text in ("(h (g a (g b c)) (g a d))", "(h (g (g a b) c) (g a (g b d)))"):
        root = parse_term(text)
        result = backtrack(root, table, TrivialDomain(), weight, alpha=3.0, iterations=5000)
        assert result.stop is SearchEnd.EXHAUSTED
        graph = EGraph(TrivialDomain())
        name = graph.add_term(root)
        assert saturate(graph, table).stop is StopReason.SATURATED
        assert result.cost == extract_optimally(graph, name, weight).cost
        assert result.cost < result.initial_cost


def test_iterations_and_time_end_it() -> None:
    root, table = attention(3), rules()
    few = backtrack(root, table, Matrices(), price, iterations=3)
    assert (few.iterations, few.stop) == (3, SearchEnd.ITERATIONS)
    begin = time.perf_counter()
    short = backtrack(root, table, Matrices(), price, iterations=10**6, seconds=0.3)
    assert short.stop is SearchEnd.TIME
    assert time.perf_counter() - begin < 3
    assert 0 <= short.seconds_to_best <= short.seconds
    none = backtrack(root, table, Matrices(), price, iterations=0)
    assert (none.term, none.iterations) == (root, 0)


def test_progress_is_told_and_two_runs_are_identical() -> None:
    told: list[BacktrackingProgress] = []
    runs = [
        backtrack(attention(2), rules(), Matrices(), price, iterations=10, progress=told.append)
        for _ in range(2)
    ]
    assert [backtracking_progress.iterations for backtracking_progress in told] == [
        *range(1, 11)
    ] * 2
    assert [report.best for report in told[:10]] == [report.best for report in told[10:]]
    best = [progress.best for progress in told[:10]]
    assert best == sorted(best, reverse=True)
    assert runs[0].term is runs[1].term
    assert (runs[0].steps, runs[0].visited) == (runs[1].steps, runs[1].visited)


def test_alpha_below_one_is_refused() -> None:
    with pytest.raises(InputError, match=r"alpha: expected 1 or more, found 0\.9"):
        backtrack(term("a"), [], TrivialDomain(), weight, alpha=0.9)


def test_the_cost_is_that_of_different_nodes_and_fingerprints_tell_graphs_apart() -> None:
    value = Valuation(type_table(TrivialDomain()), weight)
    texts = [
        "(g a b)",
        "(g b a)",
        "(g a a)",
        "(h a b)",
        "(g (f a) (f a))",
        "(g (f a) a)",
        "(g 1 a)",
    ]
    texts += ["(g 1.0 a)", "(g a (f b))", "(g (f a) b)"]
    prints = set()
    for text in texts:
        parsed = parse_term(text)
        assert value.of(parsed) == len(list(postorder([parsed])))
        prints.add(value.fingerprint)
    assert len(prints) == len(texts)
