"""Splittings as values: texts, JSON, normal forms, and what is refused."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.poly.transform.splitting.conditions import (
    NO_SPLITTING,
    SplitCondition,
    SplitRelation,
    Splitting,
    parse_splitting,
    split_condition,
)

NAMES = ("i", "j", "k", "n")
FORMS = st.dictionaries(st.sampled_from(NAMES), st.integers(-6, 6)).filter(
    lambda terms: any(terms.values())
)
CUTS = st.builds(split_condition, FORMS, st.integers(-20, 20), st.sampled_from(SplitRelation))
SPLITTINGS = st.dictionaries(
    st.sampled_from(["S0", "S1", "acc"]), st.lists(CUTS, min_size=1, max_size=3, unique=True)
).map(
    lambda conditions: Splitting(
        tuple((name, tuple(cuts)) for name, cuts in sorted(conditions.items()))
    )
)


@given(SPLITTINGS)
@settings(deadline=None)
def test_they_print_and_parse(splitting: Splitting) -> None:
    assert parse_splitting(str(splitting)) == splitting
    assert pickle.loads(pickle.dumps(splitting)) == splitting


@given(FORMS, st.integers(-20, 20), st.sampled_from(SplitRelation))
@settings(deadline=None)
def test_the_normal_form_cuts_the_same(
    terms: dict[str, int], constant: int, relation: SplitRelation
) -> None:
    """At every point the form and its normal form are on the same side."""
    normal = split_condition(terms, constant, relation)
    for point in range(4**4):
        at = {name: point // 4**place % 4 - 1 for place, name in enumerate(NAMES)}

        def side(factors: dict[str, int], number: int, at: dict[str, int] = at) -> int:
            form = sum(factor * at[name] for name, factor in factors.items()) + number
            return form < 0 if relation is SplitRelation.BELOW else (form > 0) - (form < 0)

        assert side(terms, constant) == side(dict(normal.terms), normal.constant)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("S0:i=k", "S0: i = k"),
        ("S0: i == k, j = k", "S0: i = k, j = k"),
        ("b: 2*i < n; a: n > i", "a: i < n; b: 2*i < n"),
        ("S: 2i <= n", "S: 2*i <= n"),
        ("S: 4*i + 2 < 2*n", "S: 2*i < n - 1"),
        ("S: k >= i", "S: i <= k"),
        ("S: 0 < i - 1", "S: 1 < i"),
        ("S: i = k, i = k", "S: i = k"),
        ("S: i*2 + 1 = 3", "S: i = 1"),
        ("S: i + j - i = 3", "S: j = 3"),
        ("", ""),
        (" ; ", ""),
    ],
)
def test_texts(text: str, printed: str) -> None:
    assert str(parse_splitting(text)) == printed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("S0", "a statement, a colon and cuts"),
        ("S 0: i = k", "a statement, a colon and cuts"),
        (": i = k", "a statement, a colon and cuts"),
        ("S:", "a comparison"),
        ("S: i", "a comparison"),
        ("S: i < j < k", "a comparison"),
        ("S: i = k,", "a comparison"),
        ("S: i = ", "sums of iterators"),
        ("S: i * j = k", "sums of iterators"),
        ("S: i + = k", "sums of iterators"),
        ("S: 2 * = k", "sums of iterators"),
        ("S: i j = k", "expected + or -"),
        ("S: i % 2 = 0", "names, numbers"),
        ("S: (i) = 0", "names, numbers"),
        ("S: i = i", "that both sides do not have alike"),
        ("S: 1 < 2", "that both sides do not have alike"),
        ("S: i < 99999999999", "numbers up to"),
        ("S: i < " + "9" * 200, "names, numbers"),
        ("S: i = k; S: j = k", "once"),
        ("S: " + ", ".join(f"i = {number}" for number in range(9)), "1 to 8 different cuts"),
        ("S: i = k" + " " * 10_000, "at most 10,000 characters"),
        ("S: ë = k", "names, numbers"),
    ],
)
def test_refused_texts(text: str, said: str) -> None:
    with pytest.raises(InputError, match="expected") as caught:
        parse_splitting(text)
    assert said in str(caught.value)


def test_values_that_no_text_stands_for() -> None:
    with pytest.raises(InputError, match="normal form"):
        SplitCondition((("i", 2),), 0, SplitRelation.EQUAL)
    with pytest.raises(InputError, match="normal form"):
        SplitCondition((("k", -1), ("i", 1)), 0, SplitRelation.EQUAL)
    with pytest.raises(InputError, match="in order"):
        Splitting((("b", ()), ("a", ())))
    with pytest.raises(InputError, match="found none"):
        Splitting((("a", ()),))


def test_cuts_are_added_once() -> None:
    first, second = (
        parse_splitting("S: i = k").conditions("S")[0],
        parse_splitting("S: j < k").conditions("S")[0],
    )
    splitting = NO_SPLITTING.with_conditions("S", [first]).with_conditions("S", [second, first])
    assert str(splitting) == "S: i = k, j < k"
    assert splitting.conditions("T") == ()
