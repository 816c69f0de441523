"""A mapping is a value that prints and parses, and refuses what has no meaning."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.mapping.mapping import (
    DEFAULT_MAPPING,
    SEQUENTIAL_MAPPING,
    Mapping,
    WorkSharing,
    nests_of,
    parse_mapping,
)

SIZES = st.lists(st.integers(1, 1 << 20), max_size=4).map(tuple)
NESTS = st.dictionaries(
    st.sampled_from(["S0", "S1", "S10", "T"]),
    st.fixed_dictionaries(
        {},
        optional={
            "parallel": st.just(WorkSharing.OFF),
            "tile": SIZES,
            "outer_tile": SIZES,
            "sink": st.booleans(),
            "vector_bits": st.sampled_from([0, 128, 512]),
            "unroll_jam": st.integers(1, 16),
        },
    ),
    max_size=3,
).map(nests_of)
MAPPINGS = st.builds(
    Mapping,
    threads=st.integers(1, 1024),
    nests=NESTS,
    parallel=st.sampled_from(WorkSharing),
    tile=st.none() | SIZES,
    outer_tile=SIZES,
    wavefront=st.booleans(),
    diamond=st.booleans(),
    sink=st.booleans(),
    vector_bits=st.sampled_from([None, 0, 128, 256, 512]),
    vector_copies=st.none() | st.integers(1, 16),
    unroll_jam=st.none() | st.integers(1, 16),
    separate=st.booleans(),
    scalar_replacement=st.booleans(),
    pack=st.booleans(),
    reassociate=st.booleans(),
)


@given(MAPPINGS)
def test_the_text_of_a_mapping_is_read_back_to_an_equal_one(mapping: Mapping) -> None:
    text = str(mapping)
    assert parse_mapping(text) == mapping
    assert parse_mapping(text.replace(" ", ",")) == mapping
    assert str(parse_mapping(text)) == text


@given(MAPPINGS, MAPPINGS)
def test_different_mappings_have_different_texts(one: Mapping, other: Mapping) -> None:
    assert (str(one) == str(other)) == (one == other)


@pytest.mark.parametrize(
    ("text", "mapping"),
    [
        ("", DEFAULT_MAPPING),
        ("default", DEFAULT_MAPPING),
        ("  threads=2 ", Mapping(threads=2)),
        ("threads=4 threads=2", Mapping(threads=2)),
        ("sequential", SEQUENTIAL_MAPPING),
        ("unroll_jam=4 sequential", SEQUENTIAL_MAPPING),
        ("sequential default", DEFAULT_MAPPING),
        ("tile=off", Mapping(tile=())),
        ("tile=32x64x1,outer_tile=4", Mapping(tile=(32, 64, 1), outer_tile=(4,))),
        ("vector_bits=off parallel=off", Mapping(vector_bits=0, parallel=WorkSharing.OFF)),
        ("wavefront=off diamond=on", Mapping(wavefront=False)),
        (
            "S1:tile=4x8 S0:unroll_jam=2",
            Mapping(nests=nests_of({"S0": {"unroll_jam": 2}, "S1": {"tile": (4, 8)}})),
        ),
        ("S0:tile=4 default", DEFAULT_MAPPING),
        ("S0:tile=4 S0:tile=off", Mapping(nests=(("S0", (("tile", ()),)),))),
    ],
)
def test_texts_and_what_they_mean(text: str, mapping: Mapping) -> None:
    assert parse_mapping(text) == mapping


@pytest.mark.parametrize(
    ("mapping", "text"),
    [
        (DEFAULT_MAPPING, "default"),
        (SEQUENTIAL_MAPPING, "sequential"),
        (
            Mapping(tile=(32, 64), unroll_jam=4, parallel=WorkSharing.STATIC),
            "parallel=static tile=32x64 unroll_jam=4",
        ),
        (
            Mapping(vector_bits=0, scalar_replacement=False),
            "vector_bits=off scalar_replacement=off",
        ),
    ],
)
def test_what_differs_from_the_default_is_printed(mapping: Mapping, text: str) -> None:
    assert str(mapping) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fast", r"expected default, sequential or one of threads=.*, found 'fast'"),
        ("tiles=4", r"one of threads=.*, tile=.*, found 'tiles=4'"),
        ("threads", r"found 'threads'"),
        ("threads=two", r"expected a number for threads, found 'two'"),
        ("threads=0", r"threads: expected 1 to 1024, found 0"),
        ("threads=-1", r"expected a number for threads, found '-1'"),
        ("threads=\u0662", r"expected a number for threads"),
        ("threads=", r"expected a number for threads, found ''"),
        ("parallel=yes", r"expected dynamic, static or off for parallel, found 'yes'"),
        ("tile=0x4", r"tile: expected 1 to 1048576, found 0"),
        ("tile=4x", r"expected sizes such as 32x64, or off for tile, found '4x'"),
        ("tile=2097152", r"tile: expected 1 to 1048576, found 2097152"),
        ("outer_tile=a", r"expected sizes such as 4x4, or off for outer_tile, found 'a'"),
        ("sink=true", r"expected on or off for sink, found 'true'"),
        ("vector_bits=64", r"vector_bits: expected 128, 256, 512 or 0 for off, found 64"),
        ("vector_copies=17", r"vector_copies: expected 1 to 16, found 17"),
        ("unroll_jam=0", r"unroll_jam: expected 1 to 16, found 0"),
        ("unroll_jam=" + "9" * 5000, r"unroll_jam"),
    ],
)
def test_bad_texts_are_refused_with_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_mapping(text)


@pytest.mark.parametrize("threads", [2.0, True, "2", None])
def test_numbers_are_whole_numbers(threads: object) -> None:
    with pytest.raises(InputError, match="threads: expected 1 to 1024"):
        Mapping(threads=threads)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "values",
    [
        {"parallel": "static"},
        {"tile": [32, 64]},
        {"tile": 32},
        {"outer_tile": None},
        {"vector_bits": True},
        {"vector_bits": "256"},
        {"unroll_jam": 2.0},
        {"wavefront": "off"},
        {"diamond": 1},
        {"sink": None},
        {"scalar_replacement": "on"},
    ],
)
def test_values_from_code_have_their_types(values: dict[str, object]) -> None:
    (name,) = values
    with pytest.raises(InputError, match=rf"{name}: expected .*, found "):
        Mapping(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize("option", ["outer=4", "vector=256", "vectors=2", "jam=8", "hold=off"])
def test_options_by_their_names_of_version_0_1_are_refused(option: str) -> None:
    with pytest.raises(InputError, match=f"one of threads=.*found '{option}'"):
        parse_mapping(option)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("S0:pack=off", "S0:pack=off"),
        ("S0:threads=2", "S0:threads=2"),
        (":tile=4", ":tile=4"),
        ("S0:=4", "S0:=4"),
        ("0S:tile=4", "0S:tile=4"),
        ("S0:S1:tile=4", "S0:S1:tile=4"),
        ("S0:tile=0", "tile: expected 1"),
        ("S0:tile=x", "expected sizes such as 32x64, or off for S0:tile"),
        ("S0:jam=2", "S0:jam=2"),
    ],
)
def test_what_is_said_of_nests_has_a_meaning(text: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        parse_mapping(text)


def test_nests_stand_in_order_and_say_something() -> None:
    for nests in (
        (("S1", (("tile", ()),)), ("S0", (("tile", ()),))),
        (("S0", ()),),
        (("S0", (("unroll_jam", 2), ("tile", ()))),),
        (("S0", (("tile", None),)),),
        (("S0", (("threads", 2),)),),
    ):
        with pytest.raises(InputError):
            Mapping(nests=nests)


def test_a_sequential_mapping_with_a_nest_changes_the_order() -> None:
    assert SEQUENTIAL_MAPPING.keeps_schedule_order
    assert not parse_mapping("sequential S0:tile=4").keeps_schedule_order


def test_a_nest_may_be_shared_out_where_others_are_not() -> None:
    mapping = parse_mapping("threads=2 parallel=off S0:parallel=static S0:tile=4")
    assert mapping.for_nest(["S0"]) == (("parallel", WorkSharing.STATIC), ("tile", (4,)))
    assert mapping.is_parallel
    assert not replace(mapping, threads=1).is_parallel
    assert not replace(mapping, nests=()).is_parallel
