"""Tables of rules: what is printed is read back, and what is no rule is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError, SourceError
from polygym.rewrite.rule import Rule, check_rule_terms, parse_rules, rules_text
from polygym.rewrite.s_expressions import term_text
from polygym.rewrite.term import Term, is_variable, substitute, term, variable_names
from tests.rewrite.languages import Matrices, rules
from tests.rewrite.oracles import terms

SOURCES = terms(("?x", "?y")).filter(lambda pattern: not is_variable(pattern))


@st.composite
def some_rules(draw: st.DrawFn) -> list[Rule]:
    made = []
    for place in range(draw(st.integers(1, 3))):
        count = draw(st.integers(1, 2))
        sources = tuple(draw(SOURCES) for _ in range(count))
        bound = variable_names(sources)
        values = {name: term(bound[0] if bound else "a") for name in ("?x", "?y")}
        values |= {name: term(name) for name in bound}
        targets = tuple(substitute(draw(terms(("?x", "?y"))), values) for _ in range(count))
        conditions: tuple[Term, ...] = ()
        if bound and draw(st.booleans()):
            conditions = (term("square", term(bound[0])),)
        made.append(Rule(f"rule {place}".replace(" ", "-"), sources, targets, conditions))
    return made


@settings(max_examples=40, deadline=None)
@given(some_rules())
def test_tables_are_read_back(made: list[Rule]) -> None:
    assert parse_rules(rules_text(made)) == made


def test_both_ways_are_two_rules() -> None:
    forth, back = parse_rules("r: (f ?x) <=> (g ?x ?x) if (square ?x)")
    assert (forth.name, back.name) == ("r", "r-back")
    assert (forth.sources, forth.targets) == (back.targets, back.sources)
    assert forth.conditions == back.conditions


def test_named_parts_are_written_once() -> None:
    [rule] = parse_rules("r: (f ?x) & (g ?x) => (p =m) & (q =m) let n = (h ?x) let m = (k =n =n)")
    assert [term_text(target) for target in rule.targets] == [
        "(p (k (h ?x) (h ?x)))",
        "(q (k (h ?x) (h ?x)))",
    ]
    assert rule.targets[0].children[0] is rule.targets[1].children[0]


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("r: (f ?x) => ?y", InputError, "expected ?y in a source"),
        ("r: (f ?x) => ?x if (square ?z)", InputError, "expected ?z in a source"),
        ("r: ?x => (f ?x)", InputError, "more than a variable"),
        ("r: (f ?x) & (g ?x) => ?x", InputError, "as many targets as sources, found 2 and 1"),
        ("r: (f (=k ?x)) => ?x", InputError, "found it in a source"),
        ("r: (f ?x) => ?x\nr: (g ?x) => ?x", InputError, "one rule named r, found two"),
        ("r (f ?x) => ?x", SourceError, "name of a rule and ':'"),
        ("r: (f ?x) -> ?x", SourceError, "expected '=>' or '<=>', found '->'"),
        ("r: (f ?x) => ?x and", SourceError, "the end of rule r"),
        ("r: (f ?x) =>", SourceError, "found the end"),
    ],
)
def test_what_is_no_rule_is_refused(text: str, kind: type[InputError], words: str) -> None:
    with pytest.raises(kind) as caught:
        parse_rules(text)
    assert words in str(caught.value)


def test_words_of_the_domain_are_checked() -> None:
    check_rule_terms(rules(), Matrices())
    with pytest.raises(InputError, match="expected a condition, one of square; found round"):
        check_rule_terms(parse_rules("r: (f ?x) => ?x if (round ?x)"), Matrices())
    with pytest.raises(InputError, match="expected a function, one of =other; found =same"):
        check_rule_terms(parse_rules("r: (f ?x) => (g (=same ?x))"), Matrices())
