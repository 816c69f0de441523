"""Saturation of whole programs: what it saves, and that it computes the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError, LimitError
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.egraph import EGraph
from polygym.rewrite.term import Term, postorder
from polygym.terms.cost import StaticCost
from polygym.terms.fusion_value import Normalizer
from polygym.terms.language.interpreter import evaluate, evaluate_term
from polygym.terms.language.nodes import check_bound, free_variables
from polygym.terms.language.parser import parse_program
from polygym.terms.language.printer import text_of
from polygym.terms.language.types import FLOAT, INTEGER, TupleType, VectorType
from polygym.terms.language.values import is_close, is_regular
from polygym.terms.library import programs
from polygym.terms.rules.random_terms import random_term, random_value
from polygym.terms.rules.rule_table import parse_rules, rules_named
from polygym.terms.rules.rule_types import PatternRule
from polygym.terms.rules.soundness import find_counterexample
from polygym.terms.whole_programs.binder_matching import ClassType, TypedTerms
from polygym.terms.whole_programs.code_motion import bind_invariants
from polygym.terms.whole_programs.loop_rules import tabulations, tilings
from polygym.terms.whole_programs.one_way import NEARLY, ONE_WAY, split_rules
from polygym.terms.whole_programs.program_checks import find_difference, seems_equal
from polygym.terms.whole_programs.program_record import replay_program, saturate_to_record
from polygym.terms.whole_programs.program_saturation import ProgramLimits, saturate_loops

COST = StaticCost()
SOFTMAX = """(def softmax (Vec n Float) ((v : Vec n Float))
  (build n (lam i (div (exp (index i v)) (sumbuild n (lam j (exp (index j v))))))))"""
PRODUCTS = """(def abx (Vec n Float)
  ((A : Vec n (Vec m Float)) (B : Vec m (Vec l Float)) (x : Vec l Float))
  (build n (lam i (sumbuild l (lam k (mul
    (sumbuild m (lam j (mul (index j (index i A)) (index k (index j B))))) (index k x)))))))"""
OF_PRODUCTS = (
    *("mul-commutes", "mul-of-mul", "factor-into-sumbuild-right", "exchange-sumbuilds"),
    *("sumbuild-of-factor", "sumbuild-of-factor-right"),
)


@pytest.mark.parametrize("name", ["linear-algebra", "gemm", "convolution-train"])
def test_code_motion_computes_the_same_and_costs_no_more(name: str) -> None:
    for program in programs(name):
        moved = bind_invariants(program.body)
        check_bound(moved)
        assert COST(moved) <= COST(program.body)
        assert find_difference(program, moved, tries=20) is None


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_code_motion_of_random_terms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = (FLOAT, INTEGER, VectorType(FLOAT), TupleType((FLOAT, INTEGER)))
    root = random_term(kinds[int(rng.integers(len(kinds)))], (), rng, 4)
    moved = bind_invariants(root)
    check_bound(moved)
    names = free_variables(root) | free_variables(moved)
    values = {name: random_value(kind, rng) for name, kind in names.items()}
    try:
        expected = evaluate_term(root, values, 20_000)
        result = evaluate_term(moved, values, 20_000)
    except LimitError:
        return
    assert is_close(expected, result) or not (is_regular(expected) or is_regular(result))


def test_softmax_has_each_exponential_once() -> None:
    program = parse_program(SOFTMAX)
    made = saturate_loops(program)
    assert (made.initial_cost, made.cost) == (1634.0, 163.2)
    assert sum(part.head == "exp" for part in postorder([made.term])) == 1
    assert text_of(made.term).count("exp") == 1
    for size in range(5):
        values = {"v": np.linspace(-1.0, 1.0, size)}
        assert is_close(evaluate(program, values), evaluate(program.with_body(made.term), values))


def test_a_product_of_three_becomes_quadratic() -> None:
    program = parse_program(PRODUCTS)
    rules = [rule for rule in rules_named("all") if rule.name in OF_PRODUCTS]
    made = saturate_loops(program, rules, ProgramLimits(nodes=900, seconds=20.0))
    assert made.initial_cost > 25_000
    assert made.cost < 3_000
    rng = np.random.default_rng(0)
    for n, m, k in [(3, 4, 2), (1, 1, 1), (2, 3, 0), (2, 0, 3), (0, 2, 2)]:
        a, b, x = rng.normal(size=(n, m)), rng.normal(size=(m, k)), rng.normal(size=k)
        values = {"A": a.tolist(), "B": b.tolist(), "x": x.tolist(), "n": n, "m": m, "l": k}
        result = evaluate_term(made.term, values)
        expected = a @ b @ x
        assert np.allclose(np.array(result, float), expected)


@pytest.mark.parametrize("name", ["rev$matrix_multiply", "rev$conv1d"])
def test_gradients_are_no_dearer_than_by_directed_rules(name: str) -> None:
    files = (*programs("convolution-train"), *programs("convolution"))
    [program] = [program for program in files if program.name == name]
    directed = bind_invariants(Normalizer(rules_named("all"))(program.body)[0])
    made = saturate_loops(program, limits=ProgramLimits(nodes=300, iterations=1))
    assert made.cost <= COST(directed)
    assert find_difference(program, made.term, tries=60, seed=8) is None


def test_exponentials_are_joined_before_the_e_graph() -> None:
    program = parse_program("(mul (exp x) (exp y))")
    assert text_of(saturate_loops(program).term) == "(exp (add x y))"


def test_a_vector_of_a_shorter_loop_is_not_read_in_a_longer_one() -> None:
    program = parse_program(
        """(def two (Tuple (Vec n Float) (Vec m Float)) ((v : Vec m Float) (w : Vec n Float))
             (tuple (build n (lam i (mul (index i w) (exp (index i v)))))
                    (build m (lam i (add (exp (index i v)) (exp (exp (index i v))))))))"""
    )
    made = saturate_loops(program)
    assert find_difference(program, made.term, tries=400, seed=3) is None


def test_what_differs_is_not_taken() -> None:
    program = parse_program(SOFTMAX)
    wrong = parse_rules("wrong: (exp ?a) => ?a")
    made = saturate_loops(program, wrong, ProgramLimits(nodes=200))
    assert find_difference(program, made.term) is None


USED = [
    rule
    for rule in split_rules(rules_named("all"))[0]
    if rule.name not in NEARLY and "commutes" not in rule.name
]


@pytest.mark.parametrize("rule", USED, ids=lambda rule: rule.name)
def test_rules_of_the_e_graph_are_equations(rule: PatternRule) -> None:
    assert find_counterexample(rule, tries=60, seed=2, is_equation=True) is None


def test_one_way_rules_are_those_of_tables() -> None:
    names = {rule.name for rule in rules_named("all")}
    assert names >= ONE_WAY | NEARLY
    both, one = split_rules(
        parse_rules("drop: (mul ?a 0.0) => 0.0 same: (add ?a ?b) => (add ?b ?a)")
    )
    assert [rule.name for rule in both] == ["same"]
    assert [rule.name for rule in one] == ["drop"]


def test_tabulation_asks_for_what_every_turn_needs() -> None:
    def made(body: str) -> list[str]:
        text = f"(def f (Vec n Float) ((v : Vec n Float)) (build n (lam i {body})))"
        return [text_of(each) for each in tabulations(parse_program(text).body)]

    assert len(made("(div 1.0 (exp (index i v)))")) == 1
    assert made("(if (gt i 1) (exp (index i v)) 0.0)") == []


@pytest.mark.parametrize(("size", "count"), [(12, 1), (13, 0), (4, 0), (3, 0)])
@pytest.mark.parametrize("loop", ["build", "sumbuild"])
def test_loops_of_known_sizes_are_tiled(loop: str, size: int, count: int) -> None:
    kind = "Float" if loop == "sumbuild" else f"(Vec {size} Float)"
    program = parse_program(
        f"(def f {kind} ((v : Vec {size} Float)) ({loop} {size} (lam i (index i v))))"
    )
    tiled = [*tilings(program.body, 4)]
    assert len(tiled) == count
    values = {"v": np.arange(float(size))}
    for each in tiled:
        assert evaluate(program.with_body(each), values) == evaluate(program, values)


def test_the_domain_refuses_what_makes_no_sense() -> None:
    graph = EGraph(TypedTerms())
    x: Term = parse_program("(exp x)").body
    graph.add_term(x)
    with pytest.raises(Inadmissible):
        graph.add("exp", [graph.add(3)])
    with pytest.raises(Inadmissible):
        TypedTerms().join(ClassType(INTEGER, 1), ClassType(INTEGER, 2))


def test_a_record_can_be_checked() -> None:
    record = saturate_to_record(parse_program(SOFTMAX), rules_named("all"), 500).to_json()
    assert record["cost"] == 163.2
    assert replay_program(record).to_json() == record
    for name, value, message in (
        ("kind", "another", "expected a record with"),
        ("cost", 1.0, "expected the cost 1.0, found 163.2"),
        ("rules", "wrong: (exp ?a) => ?a", "expected both sides to be equal"),
        ("nodes", None, "expected the members of a record"),
    ):
        with pytest.raises(InputError, match=message):
            replay_program({**record, name: value})
    wrong = {**record, "term": record["term"].replace("div", "mul"), "cost": record["cost"]}
    with pytest.raises(InputError, match="expected the term to compute the same"):
        replay_program(wrong)


LARGE = "(def f Float ((v : Vec 60 Float)) (sumbuild 60 (lam i (sumbuild 60 (lam j {body})))))"


def test_large_fixed_sizes_are_compared_too() -> None:
    right = parse_program(LARGE.format(body="(mul (index i v) (index j v))"))
    wrong = parse_program(LARGE.format(body="(mul (index i v) (index i v))"))
    assert find_difference(right, right.body) is None
    assert find_difference(right, wrong.body) is not None
    assert seems_equal(right, right.body)
    assert not seems_equal(right, wrong.body)


def test_what_cannot_be_compared_is_not_equal() -> None:
    never = parse_program("(def f Float ((x : Float)) (div x 0.0))")
    with pytest.raises(LimitError, match="found none in"):
        find_difference(never, never.body)
    assert not seems_equal(never, never.body)
