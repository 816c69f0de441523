"""Tables of rules: those of the paper, how they are read, and what is refused."""

from __future__ import annotations

import pytest

from polygym.errors import InputError, SourceError
from polygym.terms.language.parser import parse_program
from polygym.terms.language.printer import text_of
from polygym.terms.rewriter import Rewriter
from polygym.terms.rules.rule_table import (
    RULE_SETS,
    merge_rules,
    parse_rules,
    rules_named,
    text_of_rules,
)
from polygym.terms.rules.rule_types import PatternRule, apply_rule


@pytest.mark.parametrize(
    ("name", "count"),
    [("arithmetic", 28), ("binding", 5), ("simple", 33), ("vectors", 11), ("extended", 51)],
)
def test_the_tables_of_the_paper(name: str, count: int) -> None:
    assert len(rules_named(name)) == count


@pytest.mark.parametrize("name", RULE_SETS)
def test_what_is_written_is_read_again(name: str) -> None:
    rules = rules_named(name)
    assert parse_rules(text_of_rules(rules)) == list(rules)


def test_both_ways() -> None:
    forth, back = parse_rules("r: (mul ?a (add ?b ?c)) <=> (add (mul ?a ?b) (mul ?a ?c))")
    assert str(forth) == "r: (mul ?a (add ?b ?c)) => (add (mul ?a ?b) (mul ?a ?c))"
    assert str(back) == "r-back: (add (mul ?a ?b) (mul ?a ?c)) => (mul ?a (add ?b ?c))"


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("r (add ?a ?b) => ?a", 1, "expected the name of a rule and ':'"),
        ("r: (add ?a ?b) -> ?a", 16, "expected '=>' or '<=>', found ->"),
        ("r: (add ?a ?b)", 15, "expected '=>' or '<=>', found the end"),
        ("r: (add ?a) => ?a", 4, "expected (add a b), found (add ?a)"),
        ("r: ?a => (neg ?a)", 4, "expected an operator in a source, found ?a"),
        ("r: (foo ?a) => ?a", 4, "expected an operator, found (foo ?a)"),
        ("r: (add ?a x) => ?a", 12, "expected a metavariable such as ?a"),
        ("r: (neg ?a) => ?b", 16, "expected ?b in the source, found it nowhere"),
        ("r: (let (x ?a) (let (x ?b) ?c)) => ?c", 22, "expected another name, found x bound"),
        ("r: (let (x ?a) (subst x ?a ?b)) => ?b", 16, "expected (subst x a ?b) in a target"),
        ("r: (let (x ?a) ?b) => (subst y ?a ?b)", 30, "expected ?b under y in the source"),
        ("r: (neg ?a) => ?a if (nice ?a)", 22, "expected a condition, one of (absent x ?a)"),
        ("r: (neg ?a) => ?a if (absent x ?a)", 22, "expected the source to bind x"),
        ("r: (neg ?a) => ?a if (float ?b)", 22, "expected ?b in the source"),
        ("r: (neg ?a) => ?a (float ?a)", 19, "expected the end of rule r or the name of one"),
        ("r: (neg " * 70, 4, "expected ')' that closes this"),
    ],
)
def test_errors_say_where(text: str, column: int, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_rules(text, "mine.rules")
    assert message in caught.value.message
    if "neg " * 2 not in text and not text.startswith("r: (neg r:"):
        assert caught.value.location.column == column


def test_names_are_there_once() -> None:
    with pytest.raises(InputError, match="expected one rule named r, found two"):
        parse_rules("r: (neg ?a) => ?a\nr: (neg ?a) => ?a")
    [term_rule] = parse_rules("add-zero: (neg (neg ?a)) => ?a")
    with pytest.raises(InputError, match="expected one rule named add-zero, found two"):
        merge_rules([rules_named("simple"), [term_rule]])


def after(rule: str, source: str) -> str | None:
    """Return what a rule, a name of the tables or a text, makes of a program's root."""
    if ":" in rule:
        [term_rule] = parse_rules(rule)
    else:
        term_rule = next(candidate for candidate in rules_named("all") if candidate.name == rule)
    assert isinstance(term_rule, PatternRule)
    made = apply_rule(term_rule, parse_program(source).body)
    return None if made is None else text_of(made)


V = "(def f Float ((v : Vec n Float) (w : Vec n Float) (x : Float)) {})"


@pytest.mark.parametrize(
    ("rule", "source", "target"),
    [
        ("add-zero", "(add 0.0 x)", "x"),
        ("add-zero", "(add x 0.0)", None),
        ("div-one", "(div x 1)", "x"),
        ("sub-itself", "(sub (mul x y) (mul x y))", "0.0"),
        ("sub-itself", "(sub (add 1 2) (add 1 2))", None),  # 0.0 is no Integer
        ("div-of-div", "(div (div 7 2) 3)", None),
        ("mul-commutes", "(mul x x)", None),  # nothing changes
        ("factor-add", "(add (mul x y) (mul x z))", "(mul x (add y z))"),
        ("factor-add", "(add (mul x y) (mul z y))", None),
        ("inline", "(let (a (add x 1)) (mul a (let (b a) b)))",
         "(mul (add x 1.0) (let (t1 (add x 1.0)) t1))"),
        ("drop-let", "(let (a x) (let (b y) b))", "(let (t1 y) t1)"),
        ("drop-let", "(let (a x) (let (b a) 1.0))", None),
        ("merge-lets", "(let (a (log x)) (let (b (log x)) (sub a b)))",
         "(let (t1 (log x)) (sub t1 t1))"),
        ("merge-lets", "(let (a (log x)) (let (b (log a)) (sub a b)))", None),
        ("index-of-build", "(index 2 (build 3 (lam i (mul x (to_float i)))))",
         "(let (t1 2) (mul x (to_float t1)))"),
        ("sumbuild-of-constant", "(sumbuild 3 (lam i 2.0))", "(mul (to_float 3) 2.0)"),
        ("sumbuild-of-constant", "(sumbuild 3 (lam i x))", None),
        ("sumbuild-of-constant", "(sumbuild 3 (lam i 2))", None),
        ("sumbuild-of-if", "(sumbuild 3 (lam i (if (gt x 0) x y)))",
         "(if (gt x 0.0) (sumbuild 3 (lam (i1 : Integer) x)) (sumbuild 3 (lam (i1 : Integer) y)))"),
        ("sumbuild-of-if", "(sumbuild 3 (lam i (if (gt i 0) x y)))", None),
        ("sumbuild-of-delta", "(sumbuild 3 (lam i (deltaVec 3 i x)))", None),
        ("sumbuild-of-build",
         "(sumbuild 3 (lam i (build 2 (lam j (add i j)))))",
         "(build 2 (lam (i1 : Integer) (sumbuild 3 (lam (i2 : Integer) (add i2 i1)))))"),
        ("sumbuild-of-build", "(sumbuild 3 (lam i (build i (lam j (add i j)))))", None),
        ("apply-lam", "(apply (lam y (mul y y)) (add x 1))", "(let (t1 (add x 1.0)) (mul t1 t1))"),
        ("swap: (let (x ?a) (let (y ?b) ?c)) => (let (y ?b) (let (x ?a) ?c))",
         "(let (a x) (let (b y) (sub a b)))", "(let (t1 y) (let (t2 x) (sub t2 t1)))"),
        ("swap: (let (x ?a) (let (y ?b) ?c)) => (let (y ?b) (let (x ?a) ?c))",
         "(let (a x) (let (b a) (sub a b)))", None),
    ],
)  # fmt: skip
def test_what_rules_do(rule: str, source: str, target: str | None) -> None:
    assert after(rule, source) == target


@pytest.mark.parametrize(
    ("source", "place", "target"),
    [
        ("(add (let (a (mul x x)) (sub a 1)) y)", "0",
         "(let (t1 (mul x x)) (add (sub t1 1.0) y))"),
        # out of a value: the scopes change places
        ("(let (b (let (a (mul x x)) (sub a 1))) (mul b y))", "0",
         "(let (t1 (mul x x)) (let (t2 (sub t1 1.0)) (mul t2 y)))"),
        # out of a body that has both
        ("(let (b (log x)) (let (a (mul x x)) (sub a b)))", "1",
         "(let (t1 (mul x x)) (let (t2 (log x)) (sub t1 t2)))"),
        ("(let (b (log x)) (let (a (mul b x)) (sub a b)))", "1", None),
        ("(build 3 (lam i (let (a (mul x x)) (mul a (to_float i)))))", "1.0",
         "(build 3 (let (t1 (mul x x)) (lam (i2 : Integer) (mul t1 (to_float i2)))))"),
        ("(build 3 (lam i (let (a (to_float i)) (mul a a))))", "1.0", None),
        ("(if (gt x 0) (let (a (log x)) a) y)", "1", "(let (t1 (log x)) (if (gt x 0.0) t1 y))"),
    ],
)  # fmt: skip
def test_lifting(source: str, place: str, target: str | None) -> None:
    rewriter, body = Rewriter(rules_named("binding")), parse_program(source).body
    step = rewriter.step_named(f"lift at {place}")
    if target is None:
        with pytest.raises(InputError, match="it does not"):
            rewriter.after(body, step)
        assert step not in list(rewriter.steps(body))
    else:
        assert text_of(rewriter.after(body, step)) == target
        assert step in list(rewriter.steps(body))


def test_where_nothing_is_bound() -> None:
    rewriter = Rewriter(rules_named("binding"))
    body = parse_program("(let (a (add x 1)) (build 3 (lam i (mul a (let (b 2.0) b)))))").body
    places = [step.position for step in rewriter.steps(body) if step.rule.name == "bind"]
    assert places == [(1,)]  # no value of a let, no leaf, no function, no parent of a let
