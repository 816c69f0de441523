"""Searching for cheaper terms: the figures of the paper, derivations that can be followed again."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.search.planning import ALGORITHMS, PlanningLimits, explore, search
from polygym.terms.cost import StaticCost
from polygym.terms.derivation import derive, replay_derivation
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.parser import parse_program
from polygym.terms.language.printer import text_of
from polygym.terms.language.values import is_close
from polygym.terms.library import expressions, programs
from polygym.terms.optimization import SEARCH_METHODS, optimize_term
from polygym.terms.rewriter import Rewriter, TermSystem
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.sharing_value import SharingValue, shared_cost, sharing_gains


def total(name: str, rules: str, method: str, **more: Any) -> float:
    plan = PlanningLimits(horizon=10, max_states=more.pop("states", 5000))
    return sum(
        optimize_term(program, [rules_named(rules)], method, plan, **more).costs[-1]
        for program in expressions(name)
    )


def test_the_best_of_the_test_set_is_found() -> None:
    assert total("test", "binding", "astar", states=3000) == pytest.approx(125.2)
    assert total("test", "binding", "beam") == pytest.approx(125.2)


def test_rules_of_arithmetic_find_a_little_more() -> None:
    assert total("test", "simple", "beam") == pytest.approx(125.1)


def test_who_does_not_look_ahead_finds_less() -> None:
    assert total("test", "simple", "greedy", states=1500) > 140.0
    assert total("test", "simple", "random", states=1500) > 140.0


@pytest.mark.parametrize("method", sorted(SEARCH_METHODS))
@pytest.mark.parametrize("text", ["(sub x x)", "(div (mul 1.0 x) 1.0)", "(let (a 1.0) a)"])
def test_what_comes_to_nothing_but_a_leaf_is_found(method: str, text: str) -> None:
    derivation = optimize_term(parse_program(text), method=method, plan=PlanningLimits(3, 200))
    assert derivation.costs[-1] == 0.0
    assert not derivation.result.body.children


@pytest.mark.parametrize("method", sorted(ALGORITHMS))
def test_derivations_hold_and_compute_the_same(method: str) -> None:
    program = expressions("test")[0]
    derivation = optimize_term(program, method=method, plan=PlanningLimits(6, 400), seed=3)
    assert derivation.costs[-1] <= derivation.costs[0] == StaticCost()(program.body)
    assert len(derivation.terms) == len(derivation.steps) + 1 <= 7
    for x, y in ((0.5, 3.0), (2.0, -1.5)):
        values = [evaluate(program.with_body(term), {"x": x, "y": y}) for term in derivation.terms]
        assert all(is_close(value, values[0]) for value in values)
    again = replay_derivation(json.loads(json.dumps(derivation.to_json())))
    assert again.terms == derivation.terms
    assert optimize_term(program, method=method, plan=PlanningLimits(6, 400), seed=3) == derivation


def test_loops_are_fused() -> None:
    axpy = next(program for program in programs("linear-algebra") if program.name == "axpy")
    derivation = optimize_term(axpy, [rules_named("extended")], "greedy", PlanningLimits(8, 2000))
    assert (derivation.costs[0], derivation.costs[-1]) == (853.2, 82.0)
    values = {"alpha": 2.0, "vec_x": [1.0, 2.0], "vec_y": [0.5, -1.0]}
    assert evaluate(derivation.result, values) == evaluate(axpy, values) == [2.5, 3.0]


def test_phases_go_on_from_what_was_found() -> None:
    program = next(
        term_program
        for term_program in programs("convolution-train")
        if "transpose" not in term_program.name
    )
    rules = [rules_named("vectors"), rules_named("extended")]
    derivation = optimize_term(program, rules, "greedy", PlanningLimits(6, 500))
    assert derivation.costs[-1] < derivation.costs[0]
    assert replay_derivation(derivation.to_json()).terms == derivation.terms


RECORD = optimize_term(
    parse_program("(add (mul x y) (mul x 3))"), plan=PlanningLimits(5, 300)
).to_json()


def changed(*path: Any, to: Any) -> dict[str, Any]:
    record = copy.deepcopy(RECORD)
    inner: Any = record
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return record


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], 'expected a record with "kind"'),
        (changed("version", to=9), "expected version 2"),
        (changed("program", to="(add (mul x y) (mul z 3))"), "it does not"),
        (changed("program", to="(add"), "that closes this"),
        (changed("rules", to="factor-add: (add ?a ?b) => (add ?b ?a)"), "step 1: expected"),
        (changed("rules", to=""), "step 1: expected one of its rules"),
        (changed("derivation", 0, "position", to=[0]), "it does not"),
        (changed("derivation", 0, "rule", to="add-commutes"), "step 1: expected"),
        (changed("derivation", 0, "term", to="(mul x y)"), "step 1: expected"),
        (changed("derivation", 0, "cost", to=1.0), "expected the cost 1.0, found 3.0"),
        (changed("cost", to=2.0), "expected the cost 2.0, found 3.0"),
        (changed("initial_cost", to=2.0), "expected the cost 2.0, found 5.0"),
        (changed("term", to="x"), "expected the last term"),
        (changed("derivation", 0, to={}), "expected the members of a record"),
    ],
)
def test_records_that_were_changed_are_found_out(record: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replay_derivation(record)


def test_the_record_itself_holds() -> None:
    assert text_of(replay_derivation(RECORD).terms[-1]) == RECORD["term"] == "(mul x (add y 3.0))"


def test_a_derivation_of_steps_that_do_not_apply() -> None:
    program = parse_program("(add x y)")
    rewriter = Rewriter(rules_named("simple"))
    with pytest.raises(InputError, match="it does not"):
        derive(program, rewriter.rules, [rewriter.step_named("mul-commutes at root")])


def test_sharing_counts_the_steps_that_binding_takes() -> None:
    """Of every expression of the sets: with so many steps, and no fewer, a search gets there."""
    body = parse_program("(mul (add x y) (add x y))").body
    assert sharing_gains(body, StaticCost()) == [(0.9, 5)]
    system = TermSystem(rules_named("binding"))
    assert search("breadth", system, body, PlanningLimits(5, 10_000)).cost == 3.1
    seen, is_complete = explore("breadth", system, body, PlanningLimits(4, 10_000))
    assert is_complete
    assert min(seen.costs) == 4.0
    values = SharingValue()([body], 6)
    np.testing.assert_allclose(values, [[0, 0, 0, 0, 0, 0.895, 0.895]])


def test_what_is_shared_already_saves_nothing() -> None:
    body = parse_program("(let (a (add x y)) (mul a a))").body
    assert sharing_gains(body, StaticCost()) == []
    assert shared_cost(body) == StaticCost()(body)


def test_searches_that_there_are_not() -> None:
    with pytest.raises(InputError, match="a search: expected one of astar"):
        optimize_term(parse_program("x"), method="best")


def test_a_term_of_ten_thousand_nodes() -> None:
    count = 5_000
    program = parse_program("(add 0.0 (add x " * count + "y" + "))" * count)
    derivation = optimize_term(
        program, [rules_named("arithmetic")], "greedy", PlanningLimits(4, 5000)
    )
    assert derivation.costs[-1] < derivation.costs[0] == 2.0 * count
    assert is_close(evaluate(derivation.result, {"x": 1.0, "y": 2.0}), count + 2.0)


def test_a_record_with_a_wrong_rule_is_refused() -> None:
    """A record may contain rules; those that do not come with polygym are tried."""
    record = optimize_term(parse_program("(sub x x)"), plan=PlanningLimits(2, 20)).to_json()
    assert replay_derivation(record).costs[-1] == 0.0
    wrong = {
        **record,
        "program": "(sub x (add y z))",
        "rules": "sub-itself: (sub ?a ?b) => 0.0 if (float ?a)",
        "initial_cost": 2.0,
    }
    with pytest.raises(InputError, match="rules: rule sub-itself: expected both sides to be equal"):
        replay_derivation(wrong)
    right = {**wrong, "program": "(sub x x)", "initial_cost": 1.0}
    right["rules"] = "sub-itself: (sub ?b ?b) => 0.0 if (float ?b)"
    assert replay_derivation(right).costs[-1] == 0.0
