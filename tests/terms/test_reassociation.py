"""Arithmetic is regrouped: order is left open, what is the same counts once, and steps hold."""

from __future__ import annotations

import time

import numpy as np
import pytest

from polygym.rewrite.term import Term, postorder, term
from polygym.search.planning import PlanningLimits
from polygym.terms.commutativity import CommutativeRewriter
from polygym.terms.cost import StaticCost
from polygym.terms.derivation import replay_derivation
from polygym.terms.language.interpreter import evaluate, evaluate_term
from polygym.terms.language.nodes import term_facts, variable
from polygym.terms.language.parser import parse_program
from polygym.terms.language.types import FLOAT
from polygym.terms.language.values import is_close
from polygym.terms.optimization import optimize_term
from polygym.terms.reassociation import reassociate, term_windows
from polygym.terms.rewriter import Position, Rewriter, replace_subterm, subterm_at
from polygym.terms.rules.rule_table import parse_rules, rules_named
from polygym.terms.rules.rule_types import PatternRule
from polygym.terms.sharing_value import shared_cost

ARITHMETIC = rules_named("arithmetic")
X, Y = variable("x", FLOAT), variable("y", FLOAT)
AT = ({"x": 0.75, "y": 3.0}, {"x": -2.5, "y": 1.25})


def body(text: str) -> Term:
    return parse_program(text).body


def random_term(seed: int, count: int) -> Term:
    """Sums, products and quotients of what was made before, so that much stands several times."""
    rng = np.random.default_rng(seed)
    made = [X, Y, term(1.0), term(2.0)]
    for _ in range(count):
        one, other = (made[-1 - int(rng.integers(min(len(made), 5)))] for _ in range(2))
        made.append(term(("add", "mul", "sub", "div", "add", "mul")[rng.integers(6)], one, other))
    return made[-1]


def shuffled(root: Term, rng: np.random.Generator) -> Term:
    """The same with what commutes in any order, at every place for itself."""
    children = [shuffled(child, rng) for child in root.children]
    if root.head in ("add", "mul") and rng.random() < 0.5:
        children.reverse()
    return term(root.head, *children)


def all_orders(root: Term) -> set[Term]:
    """Every term that commuting alone leads to."""
    rewriter = Rewriter(
        [term_rule for term_rule in ARITHMETIC if term_rule.name.endswith("-commutes")]
    )
    terms, waiting = {root}, [root]
    while waiting:
        for other in rewriter.successors(waiting.pop()):
            if other not in terms:
                terms.add(other)
                waiting.append(other)
    return terms


def inner_places(root: Term, place: Position = ()) -> list[Position]:
    below = [
        inner
        for at, child in enumerate(root.children)
        for inner in inner_places(child, (*place, at))
    ]
    return [place, *below] if root.children else below


@pytest.mark.parametrize("seed", range(8))
def test_what_differs_in_order_alone_is_one(seed: int) -> None:
    rng, rules = np.random.default_rng(seed), CommutativeRewriter(ARITHMETIC)
    root = random_term(seed, 7)
    same = {rules.canonical_order(shuffled(root, rng)) for _ in range(6)}
    assert same == {rules.canonical_order(root)}
    assert rules.canonical_order(rules.canonical_order(root)) is rules.canonical_order(root)
    assert all(is_close(evaluate_term(root, at), evaluate_term(same.copy().pop(), at)) for at in AT)
    other = body("(sub (add x y) (div x y))")
    assert rules.canonical_order(other) is not rules.canonical_order(
        body("(sub (add x y) (div y x))")
    )


def test_nothing_is_turned_where_no_rule_says_that_it_may_be() -> None:
    without = [term_rule for term_rule in ARITHMETIC if term_rule.name != "mul-commutes"]
    rules = CommutativeRewriter(without)
    assert rules.canonical_order(body("(mul x y)")) is not rules.canonical_order(body("(mul y x)"))
    assert rules.canonical_order(body("(add x y)")) is rules.canonical_order(body("(add y x)"))
    [conditional] = parse_rules("turn: (max ?a ?b) => (max ?b ?a) if (float ?a)")
    assert CommutativeRewriter([conditional]).canonical_order(body("(max x y)")) is body(
        "(max x y)"
    )
    scaled = parse_program("(def it (Vec n Float) ((v : Vec n Float)) (mul 2.0 v))").body
    assert CommutativeRewriter(ARITHMETIC).canonical_order(scaled) is scaled


@pytest.mark.parametrize("seed", range(10))
def test_a_node_becomes_what_any_of_its_orders_can_become(seed: int) -> None:
    rules = CommutativeRewriter(ARITHMETIC)
    root = rules.canonical_order(random_term(seed, 4))
    if not root.children or term_facts(root).nodes > 15:
        root = rules.canonical_order(body("(add (mul x (add y 2.0)) (mul (add 2.0 y) (sub x y)))"))
    one_step = Rewriter(
        [term_rule for term_rule in ARITHMETIC if not term_rule.name.endswith("-commutes")]
    )
    expected = {
        rules.canonical_order(one_step.after(other, step))
        for other in all_orders(root)
        for step in one_step.steps(other)
        if step.position == ()
    }
    assert set(rules.results(root)) == expected - {root}


@pytest.mark.parametrize("seed", range(10))
def test_steps_lead_from_any_order_to_each_result(seed: int) -> None:
    rng, rules = np.random.default_rng(seed), CommutativeRewriter(ARITHMETIC)
    rewriter = Rewriter(ARITHMETIC)
    root = shuffled(random_term(seed, 6), rng)
    for result in rules.results(rules.canonical_order(root)):
        way = rules.steps(root, result)
        assert way is not None
        at = root
        for step in way[0]:
            at = rewriter.after(at, step)
        assert at is way[1]
        assert rules.canonical_order(at) is result
    assert rules.steps(root, variable("elsewhere", FLOAT)) is None


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(12))
def test_a_window_costs_what_all_costs_with_it(seed: int) -> None:
    rules = CommutativeRewriter(ARITHMETIC)
    root = rules.canonical_order(random_term(seed, 9))
    for window in term_windows(root, 30):
        assert not window.holes
        before = shared_cost(root)
        for result in rules.results(window.node):
            made: dict[Term, Term] = {window.node: result}
            for part in postorder([root]):
                if part is not window.node:
                    made[part] = term(part.head, *[made[child] for child in part.children])
            saved = window.cost(window.term) - window.cost(result)
            assert saved == pytest.approx(before - shared_cost(made[root]))


def test_the_window_of_all_costs_what_sharing_leaves() -> None:
    for seed in range(8):
        root = CommutativeRewriter(ARITHMETIC).canonical_order(random_term(seed, 9))
        if root.children:
            *_, last = term_windows(root, 50)
            assert last.cost(last.term) == pytest.approx(shared_cost(root))


def test_holes_stand_for_what_is_not_shown() -> None:
    root = body("(add (mul (exp (add x y)) (log y)) (exp (add x y)))")
    *_, last = term_windows(root, 2)
    assert last.node is root
    assert sorted(map(str, (hole.head for hole in last.holes))) == ["exp", "log"]
    assert last.term is last.with_holes(root)
    assert last.cost(last.term) == pytest.approx(1 + 2 + 5 + 4 + 0.1)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_regrouped_is_the_same_and_shares_more(seed: int) -> None:
    root = shuffled(random_term(seed, 9), np.random.default_rng(seed))
    rules, rewriter = rules_named("simple"), Rewriter(rules_named("simple"))
    result = reassociate(root, rules, PlanningLimits(8, 400), None, 20)
    at = root
    for step in result.steps:
        at = rewriter.after(at, step)
    assert at is result.term
    assert result.states_visited <= 400
    assert (
        shared_cost(result.term)
        <= shared_cost(CommutativeRewriter(rules).canonical_order(root)) + 1e-9
    )
    for values in AT:
        expected, own = evaluate_term(root, values), evaluate_term(result.term, values)
        assert is_close(expected, own) or not np.isfinite(expected)


def test_what_pays_after_several_steps_is_found_and_replayed() -> None:
    # x / (x + 1) - 1 / (x + 1), and the quotient is there already: three steps, the first two dear.
    text = "(add (mul (log y) (div (add x y) 3.0)) (sub (div x 3.0) (div (sub 0.0 y) 3.0)))"
    program = parse_program(text)
    derivation = optimize_term(program, [rules_named("simple")], "parts", PlanningLimits(16, 2000))
    whole = optimize_term(program, [rules_named("simple")], "astar", PlanningLimits(16, 2000))
    assert derivation.costs[-1] < derivation.costs[0]
    assert derivation.costs[-1] <= whole.costs[-1]
    assert replay_derivation(derivation.to_json()).terms[-1] is derivation.terms[-1]
    for at in AT:
        assert is_close(evaluate(program, at), evaluate(derivation.result, at))


def test_what_is_bound_is_written_out_first() -> None:
    text = "(let (a (add x y)) (let (b (mul 2.0 a)) (add (mul b (log y)) (mul b (log x)))))"
    derivation = optimize_term(
        parse_program(text), [rules_named("simple")], "parts", PlanningLimits(16, 1500)
    )
    assert derivation.costs[-1] < derivation.costs[0] - 1.5  # one product instead of two
    assert any(step.rule.name == "inline" for step in derivation.steps)
    assert replay_derivation(derivation.to_json()).terms[-1] is derivation.terms[-1]


def test_loops_and_conditions_are_around_arithmetic_or_below_it() -> None:
    text = """(def it Float ((n : Integer) (v : Vec n Float) (x : Float))
      (sumbuild n (lam i (if (gt i 2)
        (add (mul x (index i v)) (mul (index i v) (sum (mul x v))))
        (let (t (mul x x)) (add t t))))))"""
    program = parse_program(text)
    derivation = optimize_term(program, [rules_named("simple")], "parts", PlanningLimits(12, 1500))
    assert derivation.costs[-1] < derivation.costs[0]
    assert replay_derivation(derivation.to_json()).terms[-1] is derivation.terms[-1]
    values = {"n": 5, "v": [1.0, -2.0, 0.5, 4.0, 2.25], "x": 1.5}
    assert is_close(evaluate(program, values), evaluate(derivation.result, values))


def test_rules_of_ones_own_are_used() -> None:
    rules = (*rules_named("simple"), *parse_rules("halves: (sub (mul 2.0 ?a) ?a) => ?a"))
    root = body("(add (sub (mul (exp x) 2.0) (exp x)) y)")
    result = reassociate(root, rules, PlanningLimits(8, 400), None, 20)
    assert [step.rule.name for step in result.steps] == ["mul-commutes", "halves"]
    assert isinstance(result.steps[-1].rule, PatternRule)


@pytest.mark.timing
def test_ten_thousand_nodes_go_through() -> None:
    parts = [random_term(seed, 6) for seed in range(40)]
    rng = np.random.default_rng(0)
    level = [term("exp", parts[int(rng.integers(len(parts)))]) for _ in range(1024)]
    while len(level) > 1:
        words = [("add", "mul", "sub")[int(rng.integers(3))] for _ in level[::2]]
        level = [term(*three) for three in zip(words, level[::2], level[1::2], strict=True)]
    [root] = level
    assert term_facts(root).nodes > 10_000
    began = time.process_time()
    derivation = optimize_term(
        parse_program("(add x y)").with_body(root), (), "parts", PlanningLimits(16, 4000)
    )
    assert time.process_time() - began < 120
    assert derivation.costs[-1] < derivation.costs[0]
    assert StaticCost()(derivation.terms[-1]) == derivation.costs[-1]


def test_a_chain_is_not_limited_by_the_stack() -> None:
    root = X
    for number in range(3000):
        root = term("add", root, (X, Y)[number % 2])
    derivation = optimize_term(
        parse_program("(add x y)").with_body(root), (), "parts", PlanningLimits(8, 200)
    )
    assert derivation.costs[-1] <= derivation.costs[0]
    inside = inner_places(random_term(0, 5))
    assert replace_subterm(root, (0,) * 2000, Y) is not root
    assert subterm_at(replace_subterm(root, (0,) * 2000, Y), (0,) * 2000) is Y
    assert inside[0] == ()
