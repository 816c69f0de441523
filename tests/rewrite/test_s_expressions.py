"""Terms as text: what is printed is read back, and errors say where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.errors import SourceError
from polygym.rewrite.s_expressions import parse_term, term_text
from polygym.rewrite.term import Term, term

HEADS = st.one_of(
    st.text(min_size=1, alphabet=st.characters(blacklist_categories=("Cs", "Cc"))),
    st.integers(),
    st.floats(allow_nan=False),
)
ANY_TERM = st.recursive(
    st.builds(term, HEADS),
    lambda inner: st.builds(
        lambda head, children: term(head, *children), HEADS, st.lists(inner, max_size=3)
    ),
    max_leaves=8,
)


@given(ANY_TERM)
def test_text_is_read_back(root: Term) -> None:
    assert parse_term(term_text(root)) is root


def test_numbers_and_words() -> None:
    root = parse_term('(f 1 1.0 1e-5 -2 "1" "two words" 1-0 ?x)')
    heads = [child.head for child in root.children]
    assert heads == [1, 1.0, 1e-5, -2, "1", "two words", "1-0", "?x"]
    assert [type(head) for head in heads[:3]] == [int, float, float]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("(f x", 1, 5, "expected a word, found the end"),
        ("", 1, 1, "expected a word"),
        ("(f x) y", 1, 7, "expected the end after the term, found 'y'"),
        ("(f\n  ())", 2, 4, "expected a word after '(', found ')'"),
        (")", 1, 1, "expected a word or '(', found ')'"),
        ('(f "x', 1, 4, "expected the end of a quoted word"),
        ("((f) x)", 1, 2, "expected a word after '(', found '('"),
    ],
)
def test_errors_say_where(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(SourceError, match="error") as caught:
        parse_term(text, "some.rules")
    assert (caught.value.location.line, caught.value.location.column) == (line, column)
    assert words in caught.value.message
    assert caught.value.location.file == "some.rules"


def test_depth_is_limited_by_memory_alone() -> None:
    text = "(f " * 20_000 + "x" + ")" * 20_000
    assert parse_term(text).head == "f"
