"""Texts of steps: every kind is read back, and what is none is refused with its form."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.mapping.knob_domains import WorkSharing
from polygym.transformations.parsing import parse_step
from polygym.transformations.steps import (
    KEYWORDS,
    LARGEST_AMOUNT,
    LARGEST_TILE,
    STEP_TYPES,
    Contract,
    Distribute,
    Fuse,
    Interchange,
    Parallelize,
    Reorder,
    Reverse,
    SetMapping,
    SetSchedule,
    Shift,
    Skew,
    SplitIndexSet,
    Step,
    Stop,
    Store,
    Tile,
    Undo,
    UnrollJam,
    Vectorize,
)

loops = st.integers(1, 999).map(lambda number: f"L{number}")
# Labels are any names, also those that steps have words for.
statements = st.one_of(
    st.integers(0, 99).map(lambda number: f"S{number}"),
    st.sampled_from(["depth", "shift", "before", "off", "tile", "static", "undo", "_", "S0_1"]),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True),
)
nodes = loops | statements
amounts = st.integers(-LARGEST_AMOUNT, LARGEST_AMOUNT)
terms = st.dictionaries(nodes, amounts.filter(bool), max_size=4).map(lambda own: (*own.items(),))
words = st.lists(
    st.text(st.characters(codec="ascii", exclude_characters=" ", categories=("L", "N", "P", "S")),
            min_size=1, max_size=12),
    min_size=1, max_size=6,
).map(" ".join)  # fmt: skip
tiles = st.integers(1, 5).flatmap(
    lambda count: st.builds(
        Tile,
        st.tuples(*[loops] * count),
        st.tuples(*[st.integers(1, LARGEST_TILE)] * count),
    )
)
STRATEGIES: dict[type[Step], st.SearchStrategy[Step]] = {
    Stop: st.just(Stop()),
    Undo: st.just(Undo()),
    Contract: st.just(Contract()),
    Interchange: st.builds(Interchange, loops, loops),
    Fuse: st.builds(Fuse, nodes, nodes, st.integers(1, 64), amounts, terms, st.just("") | nodes),
    Distribute: st.builds(Distribute, loops, nodes),
    Reorder: st.builds(Reorder, nodes, nodes),
    Skew: st.builds(Skew, loops, loops, amounts),
    Reverse: st.builds(Reverse, loops),
    Shift: st.builds(Shift, nodes, loops, amounts),
    Tile: tiles,
    UnrollJam: st.builds(UnrollJam, loops, st.integers(1, 16)),
    Vectorize: st.builds(Vectorize, loops, st.sampled_from([None, 0, 128, 256, 512])),
    Parallelize: st.builds(Parallelize, loops, st.sampled_from(WorkSharing)),
    SplitIndexSet: st.builds(SplitIndexSet, words),
    Store: st.builds(Store, words),
    SetMapping: st.builds(SetMapping, words),
    SetSchedule: st.builds(SetSchedule, words),
}
WITHOUT_OPERANDS = (Stop, Undo, Contract)
OF_ANY_TEXT = (SplitIndexSet, Store, SetMapping, SetSchedule)


def test_every_kind_has_a_strategy() -> None:
    assert set(STRATEGIES) == set(STEP_TYPES)
    assert tuple(KEYWORDS.values()) == STEP_TYPES


@pytest.mark.parametrize("kind", STEP_TYPES, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_steps_are_read_back(kind: type[Step], data: st.DataObject) -> None:
    step = data.draw(STRATEGIES[kind])
    text = str(step)
    assert parse_step(text) == step
    assert type(parse_step(text)) is kind
    assert text.split()[0] == kind.syntax.split()[0]
    assert parse_step(f"  {text}\n") == step
    assert parse_step(text.replace(" ", " \t ")) == step


@pytest.mark.parametrize("kind", STEP_TYPES, ids=lambda kind: kind.__name__)
def test_examples_are_steps_of_the_kind(kind: type[Step]) -> None:
    step = parse_step(kind.example)
    assert type(step) is kind
    assert str(step) == kind.example


@pytest.mark.parametrize("kind", STEP_TYPES, ids=lambda kind: kind.__name__)
def test_docstrings_show_the_effect_and_the_condition(kind: type[Step]) -> None:
    text = inspect.getdoc(kind)
    assert text is not None
    if kind not in (Undo, Stop, SetMapping, SetSchedule):
        assert "→" in text
    if kind is not Stop:
        assert "Side condition" in text or "Legal" in text or "Always legal" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("interchange L1", "expected the name of a loop, found nothing"),
        ("interchange L1 2", "expected the name of a loop, found '2'"),
        ("interchange L1 L2 L3", "expected nothing more, found 'L3'"),
        ("fuse L1 L2 depth 0", "expected an integer from 1 to 64, found '0'"),
        (
            "fuse L1 L2 shift",
            "expected an integer from -1024 to 1024, or an amount such as n-1, found nothing",
        ),
        ("fuse L1 L2 by 1", "expected depth or shift or sink, found 'by'"),
        ("fuse L1", "expected a loop or statement, found nothing"),
        ("distribute L1 S1", "expected before, found 'S1'"),
        ("distribute L1 before", "expected a loop or statement, found nothing"),
        ("reorder S0", "expected a loop or statement, found nothing"),
        ("skew L1 L2", "expected an integer from -1024 to 1024, found nothing"),
        ("fuse L1 L2 shift 5*", "expected an integer from -1024 to 1024, or an amount"),
        ("fuse L1 L2 shift n m", "expected depth or shift or sink, found 'm'"),
        ("fuse L1 L2 shift n+", "expected an integer from -1024 to 1024, or an amount"),
        ("fuse L1 L2 shift n*2", "expected an integer from -1024 to 1024, or an amount"),
        ("fuse L1 L2 shift 2000*n", "expected an integer from -1024 to 1024, or an amount"),
        ("fuse L1 L2 shift 1024+1", "expected an integer from -1024 to 1024, or an amount"),
        ("fuse L1 L2 shift n-m-n*", "expected an integer from -1024 to 1024, or an amount"),
        ("fuse L1 L2 sink", "expected a loop or statement, found nothing"),
        ("skew L1 L2 1025", "expected an integer from -1024 to 1024, found '1025'"),
        ("reverse", "expected the name of a loop, found nothing"),
        ("shift S1 L1 1.5", "expected an integer from -1024 to 1024, found '1.5'"),
        ("tile L1 L2 8", "expected an integer from 1 to 65536, found nothing"),
        ("tile 8", "expected the name of a loop, found '8'"),
        ("tile L1 0", "expected an integer from 1 to 65536, found '0'"),
        ("tile L1 8 8", "expected nothing more, found '8'"),
        ("tile L1 L2", "expected an integer from 1 to 65536, found nothing"),
        ("unroll_jam L1 17", "expected an integer from 1 to 16, found '17'"),
        ("unroll_jam L1 ٣", "expected an integer from 1 to 16"),
        ("vectorize L1 64", "expected off or 128 or 256 or 512, found '64'"),
        ("parallel L1 guided", "expected dynamic or static or off, found 'guided'"),
        ("stop now", "expected nothing more, found 'now'"),
        ("undo 2", "expected nothing more, found '2'"),
        ("contract w", "expected nothing more, found 'w'"),
        ("split", "expected something behind it"),
        ("store  ", "expected something behind it"),
        ("mapping", "expected something behind it"),
        ("schedule", "expected something behind it"),
        ("skew L1 L2 9999999", "expected an integer from -1024 to 1024"),
        (f"reverse {'L' * 200}", "expected the name of a loop, found 'LLL"),
    ],
)
def test_errors_name_the_form_and_an_example(text: str, expected: str) -> None:
    kind = KEYWORDS[text.split()[0]]
    with pytest.raises(InputError) as caught:
        parse_step(text)
    message = str(caught.value)
    assert message.startswith(f"{text.split()[0]}: {expected}")
    assert f"the form is: {kind.syntax}, for example: {kind.example}" in message
    assert len(message) < 400


@pytest.mark.parametrize("text", ["", "   ", "frobnicate L1", "TILE L1 8", "L1", "tile,L1,8", "\0"])
def test_unknown_keywords_list_the_known_ones(text: str) -> None:
    with pytest.raises(InputError, match="a step: expected one of stop, undo, interchange, fuse"):
        parse_step(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("fuse L1 L2 shift 2 depth 3", "fuse L1 L2 depth 3 shift 2"),
        ("fuse L1 L2 depth 1 shift 0", "fuse L1 L2"),
        ("fuse L1 L2 shift +1", "fuse L1 L2 shift 1"),
        ("fuse L1 L2 sink L2 shift 2n-1+n-L3", "fuse L1 L2 shift 3*n-L3-1 sink L2"),
        ("fuse L1 L2 shift n-n", "fuse L1 L2"),
        ("fuse L1 L2 shift -1*n", "fuse L1 L2 shift -n"),
        ("fuse depth shift depth 2", "fuse depth shift depth 2"),
        ("parallel L1", "parallel L1 dynamic"),
        ("tile\tL1  L2\n008 16", "tile L1 L2 8 16"),
        ("vectorize L1", "vectorize L1"),
        ("split  S0:  i = k ", "split S0: i = k"),
    ],
)
def test_what_may_be_left_out(text: str, same: str) -> None:
    assert str(parse_step(text)) == same


def test_a_name_before_a_number_ends_the_loops_of_a_tile() -> None:
    assert parse_step("tile L1 L2 L3 1 32 4") == Tile(("L1", "L2", "L3"), (1, 32, 4))


def read(text: str) -> None:
    """Read a text, which is a step with a text or no step, and nothing else."""
    try:
        step = parse_step(text)
    except InputError:
        return
    assert parse_step(str(step)) == step


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_garbage(text: str) -> None:
    read(text)


@given(
    st.sampled_from(sorted(KEYWORDS)),
    st.lists(
        st.sampled_from(
            ["L1", "L2", "S0", "1", "-1", "0", "8", "depth", "shift", "before", "off", "static",
             "128", "99999999999999999999", "n-1", "2*", "sink", "²", "\uff11", "+", "-",
             "{", "\0", "é", "L1:"]
        )
        | st.text(max_size=5),
        max_size=6,
    ),
    st.sampled_from([" ", "  ", "\t", "\n", "\u00a0", "\u3000"]),
)  # fmt: skip
@settings(max_examples=600, deadline=None)
def test_garbage_behind_a_keyword(keyword: str, rest: list[str], space: str) -> None:
    read(space.join([keyword, *rest]))


def test_huge_texts_are_refused_in_few_words() -> None:
    for text in ("x" * 1_000_000, "tile " + "L1 " * 200_000, "skew L1 L2 " + "9" * 1_000_000):
        with pytest.raises(InputError) as caught:
            parse_step(text)
        assert len(str(caught.value)) < 400
