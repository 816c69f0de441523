"""The transitive reduction, against brute force."""

from hypothesis import given
from hypothesis import strategies as st

from polygym.pictures.scenes.instances import reduce_pairs

PAIRS = st.sets(
    st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] < pair[1])
)


def closure(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    known = set(pairs)
    while new := {(a, d) for a, b in known for c, d in known if b == c} - known:
        known |= new
    return known


@given(PAIRS)
def test_what_is_left_has_the_same_consequences(pairs: set[tuple[int, int]]) -> None:
    assert closure(set(reduce_pairs(pairs))) == closure(pairs)


@given(PAIRS)
def test_nothing_that_is_left_follows_from_the_rest(pairs: set[tuple[int, int]]) -> None:
    kept = set(reduce_pairs(pairs))
    assert kept <= pairs
    assert all(pair not in closure(kept - {pair}) for pair in kept)


def test_pairs_that_go_backward_stay() -> None:
    assert reduce_pairs([(0, 1), (1, 2), (0, 2), (2, 0), (1, 1)]) == ((0, 1), (1, 2), (2, 0))
