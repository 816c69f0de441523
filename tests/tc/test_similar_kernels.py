"""Which kernels of the cache are similar, and what becomes of entries that make no sense."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.frontend.tc import parse_definitions
from polygym.mapping.mapping import parse_mapping
from polygym.poly.scheduling.strategy import ISL, parse_strategy
from polygym.search import Candidate
from polygym.tc.cache import KernelOrigin
from polygym.tc.similar_kernels import canonical_text, similar_candidates

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
TEXT = canonical_text(parse_definitions(MM)[0])
DOUBLE = canonical_text(parse_definitions(MM.replace("float", "double"))[0])
OTHER = canonical_text(parse_definitions(MM.replace("+=!", "max=!"))[0])


def entry(
    jam: int, text: str, *sizes: int, strategy: str = "isl", seconds: float = 1.0
) -> tuple[str, str, float]:
    return KernelOrigin(text, sizes, strategy).text, f"unroll_jam={jam}", seconds


def jams(candidates: list[Candidate]) -> list[int | None]:
    return [candidate.mapping.unroll_jam for candidate in candidates]


def test_the_order() -> None:
    entries = [
        entry(1, OTHER, 100, 100, 100),
        entry(2, DOUBLE, 100, 100, 100),
        entry(3, TEXT, 100, 10, 100),
        entry(4, TEXT, 200, 100, 100),
        entry(5, TEXT, 100, 100, 100, seconds=0.3),
        entry(6, TEXT, 100, 100, 100, seconds=0.2),
        entry(6, TEXT, 1, 1, 1),
        entry(7, TEXT, 100, 100),
    ]
    rng = np.random.default_rng(0)
    for _ in range(5):
        rng.shuffle(entries)
        candidates = similar_candidates(
            [(str(a), str(b), float(c)) for a, b, c in entries], TEXT, (100, 100, 100)
        )
        assert jams(candidates) == [6, 5, 4, 3, 2]


def test_strategies_are_kept_and_those_of_policies_left() -> None:
    entries = [
        entry(1, TEXT, 4, 4, 4, strategy="isl fusion=minimum skew=off"),
        entry(2, TEXT, 4, 4, 5, strategy="bias_coeff_0#12"),
    ]
    candidates = similar_candidates(entries, TEXT, (4, 4, 4))
    assert candidates == [
        Candidate(parse_strategy("isl fusion=minimum skew=off"), parse_mapping("unroll_jam=1")),
        Candidate(ISL, parse_mapping("unroll_jam=2")),
    ]


GARBAGE = st.one_of(
    st.none(), st.integers(), st.floats(), st.binary(max_size=20), st.text(max_size=20)
)


@given(st.lists(st.tuples(GARBAGE, GARBAGE, GARBAGE), max_size=5))
@settings(deadline=None)
def test_garbage_is_passed_over(garbage: list[tuple[object, object, object]]) -> None:
    good = entry(3, TEXT, 4, 4, 4)
    texts = [TEXT, "[]", "{}", '["x", [1, 2, 3], 3]', '["x", 3, "isl"]', "[" * 100_000]
    more = [(text, "unroll_jam=2", 1.0) for text in texts]
    more += [(good[0], "unroll_jam=x", 1.0), (good[0], "unroll_jam=2", None)]  # type: ignore[list-item]
    more += [entry(2, TEXT, 4, 4, 4, strategy="isl skew=perhaps")]
    entries = [*garbage, *more, good]
    assert jams(similar_candidates(entries, TEXT, (4, 4, 4))) == [3]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["", "[]", "[1, 2, 3]", '["a", ["b"], "c"]', "null", '["a", [1], 2]']
)
def test_origins_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|unpack|JSON|Expecting|iterable"):
        KernelOrigin.parse(text)


def test_origins_print_and_parse() -> None:
    origin = KernelOrigin(TEXT, (1, 2, 3), "isl")
    assert KernelOrigin.parse(origin.text) == origin
