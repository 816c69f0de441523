"""Plans of storage: their text, what they refuse, what counts for a group of values."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.poly.transform.storage.plan import (
    SOURCE_STORAGE,
    ExpansionLoop,
    StorageEntry,
    StoragePlan,
    parse_storage,
    plan_of,
)

NAMES = st.sampled_from(["w", "temp2", "y_1", "A"])
LOOPS = st.tuples(st.sampled_from(["i", "j", "k"]), st.sampled_from([0, 1, 2, 17]))
ENTRIES = st.builds(
    lambda array, loops, statement: StorageEntry(
        array, None if loops is None else tuple(ExpansionLoop(*loop) for loop in loops), statement
    ),
    NAMES,
    st.none() | st.lists(LOOPS, max_size=3),
    st.sampled_from(["", "S0", "S3"]),
) | st.builds(
    lambda array, loops, statement: StorageEntry(
        array,
        None if loops is None else tuple(map(ExpansionLoop, loops)),
        statement,
        is_privatized=True,
    ),
    NAMES,
    st.none() | st.lists(st.sampled_from(["i", "j", "k"]), min_size=1, max_size=3),
    st.sampled_from(["", "S0", "S3"]),
)
PLANS = st.builds(
    lambda entries, contracts, dead: plan_of(
        entries, has_contraction=contracts and bool(entries or dead), dead=dead
    ),
    st.lists(ENTRIES, max_size=5),
    st.booleans(),
    st.sets(NAMES, max_size=2),
)


@given(PLANS)
def test_text_and_back(plan: StoragePlan) -> None:
    assert parse_storage(str(plan)) == plan
    assert pickle.loads(pickle.dumps(plan)) == plan


def test_texts() -> None:
    assert str(SOURCE_STORAGE) == "keep"
    assert parse_storage("w=expand:i keep") == SOURCE_STORAGE
    assert parse_storage("contract") == SOURCE_STORAGE
    assert parse_storage("w=rename w=expand") == parse_storage("w=expand")
    plan = parse_storage("S3:w=expand:i%2,j w=rename contract")
    assert str(plan) == "w=rename S3:w=expand:i%2,j contract"
    assert str(parse_storage("S0:w=private y=private:i,j")) == "S0:w=private y=private:i,j"
    assert parse_storage("w=expand:i w=private:i") == parse_storage("w=private:i")
    assert str(parse_storage("q=dead contract p=dead")) == "p=dead q=dead contract"
    assert parse_storage("p=dead keep") == SOURCE_STORAGE


@pytest.mark.parametrize(
    "text",
    [
        "w",
        "w=",
        "w=grow",
        "=expand",
        "w=expand:",
        "w=expand:i,",
        "w=expand:i%0",
        "w=expand:i%x",
        "w=expand:i%-1",
        "w=expand:i%999999999999",
        ":w=expand",
        "S0:=expand",
        "1:w=expand",
        "w=rename:i",
        "w=private:",
        "w=private:i%2",
        "w=private:i,",
        "auto",
        "w=expand;i",
    ],
)
def test_what_is_no_plan(text: str) -> None:
    with pytest.raises(InputError, match=r"^storage: expected"):
        parse_storage(text)


def test_what_is_said_of_a_statement_counts_before_what_is_said_of_the_array() -> None:
    plan = parse_storage("w=rename S3:w=expand")
    assert plan.entry_for("w", frozenset({"S0", "S1"})) == StorageEntry("w", ())
    assert plan.entry_for("w", frozenset({"S2", "S3"})) == StorageEntry("w", None, "S3")
    assert plan.entry_for("v", frozenset({"S3"})) is None


def test_entries_out_of_order_are_refused() -> None:
    with pytest.raises(InputError, match="in the order of arrays"):
        StoragePlan((StorageEntry("w"), StorageEntry("a")))
    with pytest.raises(InputError, match="loops whose iterations each have an element"):
        StoragePlan((StorageEntry("w", (), is_privatized=True),))
    with pytest.raises(InputError, match="window of 1 to"):
        StoragePlan((StorageEntry("w", (ExpansionLoop("i", -1),)),))
