"""A mapping is a value that prints and parses, and refuses what has no meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.compiler.codegen.mapping import DEFAULT, SEQUENTIAL, Mapping, Sharing, parse_mapping
from polygym.errors import InputError

SIZES = st.lists(st.integers(1, 1 << 20), max_size=4).map(tuple)
MAPPINGS = st.builds(
    Mapping,
    threads=st.integers(1, 1024),
    parallel=st.sampled_from(Sharing),
    tile=st.none() | SIZES,
    outer=SIZES,
    wavefront=st.booleans(),
    diamond=st.booleans(),
    sink=st.booleans(),
    vector=st.sampled_from([None, 0, 128, 256, 512]),
    vectors=st.none() | st.integers(1, 16),
    jam=st.none() | st.integers(1, 16),
    separate=st.booleans(),
    hold=st.booleans(),
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
        ("", DEFAULT),
        ("default", DEFAULT),
        ("  threads=2 ", Mapping(threads=2)),
        ("threads=4 threads=2", Mapping(threads=2)),
        ("sequential", SEQUENTIAL),
        ("jam=4 sequential", SEQUENTIAL),
        ("sequential default", DEFAULT),
        ("tile=off", Mapping(tile=())),
        ("tile=32x64x1,outer=4", Mapping(tile=(32, 64, 1), outer=(4,))),
        ("vector=off parallel=off", Mapping(vector=0, parallel=Sharing.OFF)),
        ("wavefront=off diamond=on", Mapping(wavefront=False)),
    ],
)
def test_texts_and_what_they_mean(text: str, mapping: Mapping) -> None:
    assert parse_mapping(text) == mapping


@pytest.mark.parametrize(
    ("mapping", "text"),
    [
        (DEFAULT, "default"),
        (SEQUENTIAL, "sequential"),
        (
            Mapping(tile=(32, 64), jam=4, parallel=Sharing.STATIC),
            "parallel=static tile=32x64 jam=4",
        ),
        (Mapping(vector=0, hold=False), "vector=off hold=off"),
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
        ("outer=a", r"expected sizes such as 4x4, or off for outer, found 'a'"),
        ("sink=true", r"expected on or off for sink, found 'true'"),
        ("vector=64", r"vector: expected 128, 256, 512 or 0 for off, found 64"),
        ("vectors=17", r"vectors: expected 1 to 16, found 17"),
        ("jam=0", r"jam: expected 1 to 16, found 0"),
        ("jam=" + "9" * 5000, r"jam"),
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
        {"outer": None},
        {"vector": True},
        {"vector": "256"},
        {"jam": 2.0},
        {"wavefront": "off"},
        {"diamond": 1},
        {"sink": None},
        {"hold": "on"},
    ],
)
def test_values_from_code_have_their_types(values: dict[str, object]) -> None:
    (name,) = values
    with pytest.raises(InputError, match=rf"{name}: expected .*, found "):
        Mapping(**values)  # type: ignore[arg-type]
