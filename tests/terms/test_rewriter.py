"""All rewrites of a term: the same in every way they can be asked for, and never too deep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError, LimitError
from polygym.rewrite.term import term
from polygym.terms.language.nodes import term_facts
from polygym.terms.language.parser import parse_program
from polygym.terms.language.types import FLOAT, VectorType
from polygym.terms.library import expressions, programs
from polygym.terms.rewriter import Rewriter, subterm_at
from polygym.terms.rules.random_terms import random_term
from polygym.terms.rules.rule_table import rules_named

PROGRAMS = [*expressions("test")[:4], *programs("linear-algebra")[:3], *programs("gemm")]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.body))
def test_every_way_to_ask_has_one_answer(program: object) -> None:
    from polygym.terms.language.program import TermProgram

    assert isinstance(program, TermProgram)
    rewriter, fresh = Rewriter(rules_named("extended")), Rewriter(rules_named("extended"))
    steps, results = list(rewriter.steps(program.body)), rewriter.successors(program.body)
    assert len(steps) == len(results) > 0
    for number, (step, result) in enumerate(zip(steps, results, strict=True)):
        assert fresh.after(program.body, step) is result
        assert rewriter.step(program.body, number) == step
        assert rewriter.step_named(str(step)) == step
        subterm_at(program.body, step.position)
    with pytest.raises(InputError, match="expected one of those that there are"):
        rewriter.step(program.body, len(steps))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_is_remembered_is_what_would_be_found(seed: int) -> None:
    """One rewriter sees many terms, another one each alone."""
    rng = np.random.default_rng(seed)
    for _ in range(3):
        root = random_term((FLOAT, VectorType(FLOAT))[int(rng.integers(2))], (), rng, 4)
        terms = SHARED.successors(root)
        assert terms == Rewriter(rules_named("all")).successors(root)
        for step, made in zip(SHARED.steps(root), terms, strict=True):
            assert SHARED.after(root, step) is made


SHARED = Rewriter(rules_named("all"))


def test_numbers_that_are_equal_are_not_confused() -> None:
    """1.0 is neutral, 1 is another constant, and both are equal for Python."""
    rewriter = Rewriter(rules_named("arithmetic"))
    for kind, text, count in (("Integer", "(mul 1 (size v))", 1), ("Float", "(mul 1.0 x)", 2)):
        program = parse_program(f"(def f {kind} ((v : Vec n Float) (x : Float)) {text})")
        assert len(rewriter.successors(program.body)) == count


def test_deep_terms_are_rewritten_at_any_place() -> None:
    count = 10_000
    body = parse_program("(add 0.0 " * count + "x" + ")" * count).body
    rewriter = Rewriter(rules_named("simple"))
    steps = [step for step in rewriter.steps(body) if step.rule.name == "add-zero"]
    assert len(steps) == count
    assert len(steps[-1].position) == count - 1
    rewritten = rewriter.after(body, steps[-1])
    assert term_facts(rewritten).nodes == term_facts(body).nodes - 2


def test_large_terms_are_rewritten_lazily() -> None:
    count = 10_000
    body = parse_program("(add 0.0 " * count + "x" + ")" * count).body
    rewriter = Rewriter(rules_named("simple"))
    terms = rewriter.successors(body)
    assert len(terms) == rewriter.count(body) >= 2 * count
    for number in (0, 1, 17, len(terms) // 2, len(terms) - 1):
        assert terms[number] is rewriter.after(body, rewriter.step(body, number))
    with pytest.raises(IndexError):
        terms[len(terms)]
    small = parse_program("(add (mul x 1.0) (let (a (log x)) (mul a 0.0)))").body
    assert rewriter.count(small) == len(rewriter.successors(small))


def test_terms_that_are_far_too_large_are_refused() -> None:
    root = parse_program("(add x y)").body
    for _ in range(30):
        root = term("add", root, root)
    with pytest.raises(LimitError, match="at most 200000 nodes"):
        len(Rewriter(rules_named("simple")).successors(root))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing at 0", "expected a rule of the set, found 'nothing'"),
        ("inline at left", "expected a place such as root or 0.1"),
        ("inline", "expected a place such as root or 0.1"),
        ("inline at 0.7", "expected a place of the term, found none there"),
        ("inline at root", "expected inline: .* to apply there; it does not"),
        ("bind at root", "expected a part of the term, found all of it"),
    ],
)
def test_steps_that_cannot_be_taken(text: str, message: str) -> None:
    rewriter = Rewriter(rules_named("simple"))
    with pytest.raises(InputError, match=message):
        rewriter.after(parse_program("(add x (mul y z))").body, rewriter.step_named(text))
