"""The e-graph against egglog: after every iteration as many nodes and classes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from polygym.rewrite.domain import TrivialDomain
from polygym.rewrite.egraph import CycleFilter, EGraph, SaturationLimits, run_iteration, saturate
from polygym.rewrite.rule import Rule, parse_rules
from polygym.rewrite.s_expressions import parse_term
from polygym.rewrite.term import Term, postorder
from tests.rewrite.oracles import terms

bindings = pytest.importorskip("egglog.bindings")

ARITHMETIC = """
add-commutes: (g ?x ?y) => (g ?y ?x)
add-associates: (g ?x (g ?y ?z)) <=> (g (g ?x ?y) ?z)
mul-commutes: (h ?x ?y) => (h ?y ?x)
distributes: (h ?x (g ?y ?z)) <=> (g (h ?x ?y) (h ?x ?z))
negated-twice: (f (f ?x)) => ?x
negated-sum: (f (g ?x ?y)) <=> (g (f ?x) (f ?y))
nothing: (g ?x (f ?x)) => c
neutral: (g ?x c) => ?x
absorbs: (h ?x c) => c
"""


def _text(node: Term) -> str:
    if not node.children:
        head = str(node.head)
        return f"any-{head[1:]}" if head.startswith("?") else f"({head})"
    return f"({node.head} {' '.join(map(_text, node.children))})"


class Other:
    """egglog with the same rules; those with several sources stand in a set of their own."""

    def __init__(self, rules: list[Rule], root: Term) -> None:
        self.graph = bindings.EGraph()
        heads = sorted(
            {
                (str(node.head), len(node.children))
                for node in postorder(
                    [root, *(part for rule in rules for part in (*rule.sources, *rule.targets))]
                )
                if not str(node.head).startswith("?")
            }
        )
        variants = " ".join(f"({head}{' M' * arity})" for head, arity in heads)
        lines = [f"(datatype M {variants})", "(ruleset single)", "(ruleset multiple)"]
        for rule in rules:
            pairs = list(zip(rule.sources, rule.targets, strict=True))
            body = " ".join(f"(= root{at} {_text(source)})" for at, (source, _) in enumerate(pairs))
            if rule.is_multiple:
                body += " (!= root0 root1)"
            head = " ".join(
                f"(union root{at} {_text(target)})" for at, (_, target) in enumerate(pairs)
            )
            group = "multiple" if rule.is_multiple else "single"
            lines.append(f"(rule ({body}) ({head}) :ruleset {group})")
        self.run("\n".join(lines))
        names: dict[Term, str] = {}
        for place, term in enumerate(postorder([root])):
            names[term] = f"$node{place}"
            inner = "".join(f" {names[child]}" for child in term.children)
            self.run(f"(let {names[term]} ({term.head}{inner}))")

    def run(self, text: str) -> None:
        self.graph.run_program(*self.graph.parse_program(text))

    def counts(self) -> tuple[int, int]:
        data = json.loads(self.graph.serialize([]).to_json())
        nodes = [entry for entry in data["nodes"].values() if not entry["op"].startswith("$")]
        return len(nodes), len({node["eclass"] for node in nodes})


def compare(
    rules: list[Rule],
    root: Term,
    iterations: int,
    k_multi: int = 0,
    others: list[Rule] | None = None,
) -> None:
    graph, other = EGraph(TrivialDomain()), Other(others or rules, root)
    graph.add_term(root)
    single = [rule for rule in rules if not rule.is_multiple]
    for iteration in range(iterations):
        if iteration < k_multi:
            other.run("(run multiple 1)")
        other.run("(run single 1)")
        group = rules if iteration < k_multi else single
        run_iteration(graph, group, 100_000, CycleFilter.NONE)
        assert (graph.node_count, graph.class_count) == other.counts()


@settings(max_examples=40, deadline=None)
@given(terms(depth=6))
def test_arithmetic(root: Term) -> None:
    compare(parse_rules(ARITHMETIC), root, 4)


@pytest.mark.parametrize(
    "text", ["(h (g a (g b c)) (g a b))", "(g a (g b (g c (g d e))))", "(f (h (g a b) (g c d)))"]
)
def test_more_of_it(text: str) -> None:
    compare(parse_rules(ARITHMETIC), parse_term(text), 6)


SEVERAL = """
both: (g ?x ?v) & (g ?x ?w) => (left (g ?x (h ?v ?w))) & (right (g ?x (h ?v ?w)))
crossed: (f ?x) & (h ?x ?y) => (f (h ?y ?y)) & (h (f ?x) ?y)
associates: (h ?x (h ?y ?z)) <=> (h (h ?x ?y) ?z)
"""


def test_several_sources_at_once() -> None:
    """Of symmetric pairs egglog takes both orders, and here a second rule stands for the other."""
    rules = parse_rules(SEVERAL)
    turned = parse_rules(
        "turned: (g ?x ?v) & (g ?x ?w) => (right (g ?x (h ?w ?v))) & (left (g ?x (h ?w ?v)))"
    )
    root = parse_term("(top (g x a) (g x b) (g x c) (f a) (h a b))")
    compare([*rules, *turned], root, 3, k_multi=2, others=rules)


def test_saturation_ends_where_egglogs_does() -> None:
    rules = parse_rules(ARITHMETIC.split("distributes")[0])
    root = parse_term("(g a (g b (g c (g d (h e a)))))")
    graph, other = EGraph(TrivialDomain()), Other(rules, root)
    graph.add_term(root)
    report = saturate(graph, rules, SaturationLimits(iterations=50), CycleFilter.NONE)
    other.run("(run-schedule (saturate single))")
    assert report.stop.value == "saturated"
    assert (report.nodes, report.classes) == other.counts()
