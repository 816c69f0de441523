"""Large terms are searched by their parts: what a part is, and that what is found holds."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.rewrite.term import Term, term
from polygym.search.planning import PlanningLimits
from polygym.terms.cost import StaticCost
from polygym.terms.decomposition import (
    FragmentCost,
    TermFragment,
    fragments_of,
    search_by_fragments,
)
from polygym.terms.derivation import replay_derivation
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.nodes import free_variables, term_facts, variable
from polygym.terms.language.parser import parse_program
from polygym.terms.language.printer import text_of
from polygym.terms.language.types import FLOAT
from polygym.terms.language.values import is_close
from polygym.terms.optimization import optimize_term
from polygym.terms.rewriter import subterm_at
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.sharing_value import SharingValue, sharing_gains, subterms_by_position

FAR = "(add (mul (exp x) (log y)) (div (sub (exp y) 1.0) (mul 2.0 (log y))))"
TWO_LETS = "(add (let (a x) (mul a (log a))) (let (b y) (mul b (log b))))"


def body(text: str) -> Term:
    return parse_program(text).body


def pairs(root: Term, most: int = 20) -> list[TermFragment]:
    return [fragment for fragment in fragments_of(root, most) if fragment.is_pair]


def random_term(seed: int, count: int) -> Term:
    """A term with parts that stand several times, some of them bound."""
    rng = np.random.default_rng(seed)
    made = [variable("x", FLOAT), variable("y", FLOAT), term(1.0)]
    for _ in range(count):
        one, other = (made[-1 - int(rng.integers(min(len(made), 4)))] for _ in range(2))
        word = ("add", "mul", "sub", "let")[int(rng.integers(4))]
        inner = term("add", term("%0:Float"), term("mul", term("%0:Float"), term(2.0)))
        made.append(term("let", one, inner) if word == "let" else term(word, one, other))
    return made[-1]


def test_a_pair_is_two_places_and_the_ways_to_where_they_meet() -> None:
    (fragment,) = pairs(body(FAR))
    assert fragment.position == ()
    assert text_of(fragment.term) == "(add (mul hole0 (log y)) (div hole1 (mul 2.0 (log y))))"
    assert sorted(fragment.holes.values()) == [4.0, 5.0]


def test_what_binders_make_different_is_no_pair() -> None:
    root = body(TWO_LETS)
    assert root.children[0].children[1] is root.children[1].children[1]
    assert pairs(root) == []
    assert sharing_gains(root, StaticCost()) == []


def test_what_is_under_other_binders_is_a_pair() -> None:
    root = body("(let (a x) (add (log a) (let (b y) (mul (log a) b))))")
    (fragment,) = pairs(root)
    assert fragment.position == (1,)
    assert [saved for saved, _ in sharing_gains(root, StaticCost())] == [pytest.approx(3.9)]


def test_what_is_bound_outside_is_the_same_under_binders() -> None:
    inner = body("(let (a x) (add (log a) (let (b y) (mul (log a) b))))").children[1]
    named = subterms_by_position(inner)
    assert named[0,] is named[1, 1, 0]
    assert [saved for saved, _ in sharing_gains(inner, StaticCost())] == [pytest.approx(3.9)]


def test_names_of_holes_are_new() -> None:
    fragment = pairs(body(FAR.replace(" x)", " hole0)")))[0]
    assert sorted(free_variables(fragment.term)) == ["hole_0", "hole_1", "y"]


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(12))
def test_a_part_costs_what_stands_there(seed: int) -> None:
    root, cost = random_term(seed, 9), StaticCost()
    for fragment in fragments_of(root, 6):
        shown, own = (
            FragmentCost(fragment.holes)(fragment.term),
            cost(subterm_at(root, fragment.position)),
        )
        assert shown == pytest.approx(own) or (fragment.is_pair and shown > own)
        assert (
            term_facts(fragment.term).free == term_facts(subterm_at(root, fragment.position)).free
        )
        assert (
            term_facts(fragment.term).type == term_facts(subterm_at(root, fragment.position)).type
        )


@pytest.mark.parametrize("seed", range(6))
def test_ways_hold_and_states_are_counted(seed: int) -> None:
    root = random_term(seed, 9)
    program = parse_program("(add x y)").with_body(root)
    derivation = optimize_term(
        program, [rules_named("simple")], "parts", PlanningLimits(12, 600, 16)
    )
    assert derivation.costs[-1] <= derivation.costs[0]
    assert replay_derivation(derivation.to_json()).terms[-1] is derivation.terms[-1]
    for x, y in ((0.5, 3.0), (2.0, -1.5)):
        values = [
            evaluate(program.with_body(state), {"x": x, "y": y}) for state in derivation.terms
        ]
        assert all(is_close(value, values[0]) for value in values)
    again = search_by_fragments(root, rules_named("simple"), PlanningLimits(12, 100, 16))
    assert again.states_visited <= 100


def test_what_is_far_away_is_found() -> None:
    links = "".join(f"(sub (exp {name}) " for name in "abcdefgh")
    root = body(f"(add (log y) {links}(log y){')' * 9}")
    result = search_by_fragments(
        root, rules_named("simple"), PlanningLimits(14, 400), SharingValue(), most=24
    )
    assert StaticCost()(root) - StaticCost()(result.term) == pytest.approx(3.9)
    assert len(result.steps) >= 10


def test_terms_without_parts_stay() -> None:
    for text in ("x", "(add x y)"):
        result = search_by_fragments(body(text), rules_named("simple"), PlanningLimits(5, 50))
        assert result.term is body(text)
        assert result.steps == []


def test_places_of_a_deep_term() -> None:
    root = variable("x", FLOAT)
    for _ in range(1500):
        root = term("exp", root)
    assert len(subterms_by_position(root)) == 1501
