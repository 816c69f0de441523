"""Substitution at one place: against the e-graph, and what is shared or refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.rewrite.domain import TrivialDomain, type_table
from polygym.rewrite.egraph import CycleFilter, EGraph, SaturationLimits, saturate
from polygym.rewrite.rule import Rule, parse_rules
from polygym.rewrite.s_expressions import parse_term, term_text
from polygym.rewrite.substitution import RuleMatch, TermIndex, apply_match, find_matches
from polygym.rewrite.term import Term, is_variable, postorder, substitute, term, variable_names
from tests.rewrite.languages import Matrices, attention, matrix, rules
from tests.rewrite.oracles import terms

WORDS = parse_rules("""
commutes: (g ?x ?y) => (g ?y ?x)
same: (h ?x ?x) => (f ?x)
undone: (f (f ?x)) => ?x
ground: (g a ?x) => (h (f b) ?x)
leaf: b => (f c)
both: (g ?x ?v) & (g ?x ?w) => (left (g ?x (h ?v ?w))) & (right (g ?x (h ?v ?w)))
apart: (f ?x) & (h ?x ?y) => (h ?y ?y) & (f ?y)
""")


def tried(root: Term, rule: Rule) -> set[tuple[Term, ...]]:
    """Return what a rule's only source is, by trying each node with each binding."""
    [source] = rule.sources
    result = set()
    for node in postorder([root]):
        for values in _bindings(source, node, {}):
            result.add((node, *(values[name] for name in variable_names([source]))))
    return result


def _bindings(source: Term, node: Term, values: dict[str, Term]) -> list[dict[str, Term]]:
    if is_variable(source):
        name = str(source.head)
        return [values | {name: node}] if values.get(name, node) is node else []
    if source.head != node.head or len(source.children) != len(node.children):
        return []
    result = [values]
    for part, child in zip(source.children, node.children, strict=True):
        result = [after for before in result for after in _bindings(part, child, before)]
    return result


def replaced(root: Term, values: dict[Term, Term]) -> Term:
    """Return a term with nodes replaced everywhere, from the root down."""
    if root in values:
        return values[root]
    return term(root.head, *(replaced(child, values) for child in root.children))


@given(terms(depth=7))
def test_single_matches_are_those_that_trying_finds(root: Term) -> None:
    for rule in WORDS:
        if not rule.is_multiple:
            matches = [
                (*rule_match.nodes, *rule_match.binding)
                for rule_match in find_matches(root, [rule], TrivialDomain())
            ]
            assert len(set(matches)) == len(matches)
            assert set(matches) == tried(root, rule)


@given(terms(depth=7))
def test_one_place_is_replaced_wherever_it_is_used(root: Term) -> None:
    single = [rule for rule in WORDS if not rule.is_multiple]
    for match in find_matches(root, single, TrivialDomain()):
        values = dict(zip(variable_names(match.rule.sources), match.binding, strict=True))
        target = substitute(match.rule.targets[0], values)
        assert apply_match(root, match, TrivialDomain()) is replaced(root, {match.nodes[0]: target})


@settings(max_examples=60, deadline=None)
@given(terms(depth=6))
def test_what_is_found_is_equal_in_the_e_graph(root: Term) -> None:
    graph = EGraph(TrivialDomain())
    name = graph.add_term(root)
    saturate(graph, WORDS, SaturationLimits(nodes=5000, iterations=1), CycleFilter.NONE)
    for match in find_matches(root, WORDS, TrivialDomain()):
        made = apply_match(root, match, TrivialDomain())
        if made is not None:
            # the e-graph has one order of symmetric pairs, perhaps the other one
            names = [graph.lookup(made)]
            if match.rule.name == "both":
                x, v, w = match.binding
                other = apply_match(
                    root, RuleMatch(match.rule, match.nodes[::-1], (x, w, v)), TrivialDomain()
                )
                assert other is not None
                names.append(graph.lookup(other))
            assert graph.find(name) in names, f"{match.rule.name}: {term_text(made)}"


def test_every_substitution_in_matrices_is_equal_in_the_e_graph() -> None:
    table = [rule for rule in rules() if rule.name != "two-products"]
    root = attention(1)
    graph = EGraph(Matrices())
    name = graph.add_term(root)
    saturate(graph, table, SaturationLimits(nodes=20_000, iterations=1), CycleFilter.NONE)
    matches = find_matches(root, table, Matrices())
    assert len(matches) >= 4
    for match in matches:
        made = apply_match(root, match, Matrices())
        assert made is not None
        assert graph.lookup(made) == graph.find(name)


def test_order_is_by_rule_then_from_the_leaves_up() -> None:
    root = parse_term("(g (g a c) (g c (g a c)))")
    matches = find_matches(root, WORDS[:4], TrivialDomain())
    said = [(rule_match.rule.name, term_text(rule_match.nodes[0])) for rule_match in matches]
    assert said == [
        ("commutes", "(g a c)"),
        ("commutes", "(g c (g a c))"),
        ("commutes", "(g (g a c) (g c (g a c)))"),
        ("ground", "(g a c)"),
    ]


def test_what_is_not_above_the_place_is_the_same_object() -> None:
    root = parse_term("(g (h (f (f a)) c) (h d e))")
    [match] = find_matches(root, [WORDS[2]], TrivialDomain())
    made = apply_match(root, match, TrivialDomain())
    assert made is parse_term("(g (h a c) (h d e))")
    assert made.children[1] is root.children[1]


def both_of(text: str) -> tuple[Term, list[RuleMatch]]:
    root = parse_term(text)
    return root, [
        rule_match
        for rule_match in find_matches(root, WORDS, TrivialDomain())
        if rule_match.rule.name == "both"
    ]


def test_two_places_at_once() -> None:
    root, [match] = both_of("(t (g x a) (k (g x b)))")
    made = apply_match(root, match, TrivialDomain())
    assert made is parse_term("(t (left (g x (h a b))) (k (right (g x (h a b)))))")


def test_one_output_that_feeds_the_other_would_need_itself() -> None:
    root, [match] = both_of("(t (g x a) (g x (f (g x a))))")
    assert apply_match(root, match, TrivialDomain()) is None


def test_a_part_taken_over_has_the_substitute() -> None:
    [rule] = parse_rules("r: (p ?x) & (q ?y) => (pp ?x) & (qq ?y)")
    root = parse_term("(t (p a) (q (k (p a))))")
    [match] = find_matches(root, [rule], TrivialDomain())
    assert apply_match(root, match, TrivialDomain()) is parse_term("(t (pp a) (qq (k (pp a))))")
    crossed = parse_rules("r: (p ?x) & (q ?y) => (pp ?y) & (qq ?x)")
    [match] = find_matches(root, crossed, TrivialDomain())
    assert apply_match(root, match, TrivialDomain()) is None, (
        "(pp (k (p a))) contains what it replaces"
    )


def test_conditions_computed_literals_and_shapes() -> None:
    table = parse_rules("""
    turned: (transpose (concat ?a ?x ?y)) => (concat (=other ?a) (transpose ?x) (transpose ?y))
    square: (relu ?x) => (tanh ?x) if (square ?x)
    unequal: (relu ?x) => (transpose ?x)
    senseless: (relu ?x) => (matmul ?x ?x)
    """)
    a, b = matrix("a", 2, 3), matrix("b", 1, 3)
    root = term("tuple", term("transpose", term("concat", term(0), a, b)), term("relu", a))
    matches = find_matches(root, table, Matrices())
    assert [rule_match.rule.name for rule_match in matches] == ["turned"]
    assert apply_match(root, matches[0], Matrices()) is term(
        "tuple",
        term("concat", term(1), term("transpose", a), term("transpose", b)),
        term("relu", a),
    )


def test_a_node_above_that_makes_no_sense_any_more() -> None:
    root = term(
        "split0",
        term(1),
        term("relu", term("concat", term(1), matrix("a", 2, 3), matrix("b", 2, 1))),
    )
    forgetting = parse_rules("forgets: (concat ?a ?x ?y) => (matmul (tanh ?x) (whole))")

    class Forgetting(Matrices):
        """Has matrices that no rule can split."""

        def infer(self, head: object, children: Sequence[object]) -> object:
            if head == "whole":
                return ("matrix", 3, 4, (), ())
            return super().infer(head, tuple(children))  # type: ignore[arg-type]

    domain = Forgetting()
    [match] = find_matches(root, forgetting, domain)
    assert apply_match(root, match, domain) is None


def test_types_say_why() -> None:
    types = type_table(Matrices())
    assert types.of(matrix("a", 2, 3))[1:3] == (2, 3)
    with pytest.raises(Exception, match="expected inner extents that are equal"):
        types.of(term("relu", term("matmul", matrix("a", 2, 3), matrix("a", 2, 3))))


@given(st.integers(1, 3))
def test_a_place_of_a_graph_with_many_paths_takes_no_time(layers: int) -> None:
    root = parse_term("(f (f x))")
    for _ in range(60 * layers):
        root = term("k", root, root)
    places = TermIndex(root, type_table(TrivialDomain()))
    [match] = places.matches([WORDS[2]])
    made = places.apply(match)
    assert made is not None
    assert len(list(postorder([made]))) == 60 * layers + 1
