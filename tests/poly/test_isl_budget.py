"""Work on integer sets is bounded, and the bound is lifted again."""

import islpy as isl
import pytest

from polygym.errors import InternalError, LimitError
from polygym.poly.isl_budget import attempt_bounded, bounded_operations

HARD = "[n] -> { [i, j, k] : (j + k) mod 3 = 0 and (7j - k) mod 5 = 0 and 0 <= k <= i <= n }"


def test_past_the_bound_the_purpose_is_named() -> None:
    with (
        pytest.raises(LimitError, match="counting sheep took"),
        bounded_operations("counting sheep", 50),
    ):
        isl.Set(HARD).complement().coalesce()
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0
    assert not isl.Set(HARD).complement().is_empty()


def test_an_inner_bound_does_not_lift_the_outer_one() -> None:
    def work() -> None:
        with bounded_operations("outer", 2000):
            for _ in range(1000):
                with bounded_operations("inner", 10**9):
                    isl.Set(HARD).complement()

    with pytest.raises(LimitError, match="more than"):
        work()
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0


def test_other_failures_are_ours() -> None:
    with pytest.raises(InternalError, match="reading"), bounded_operations("reading"):
        isl.Set("{ [i] : nonsense")


def test_an_attempt_that_fails_leaves_the_bound_around_it() -> None:
    with bounded_operations("outer", 100_000):
        with pytest.raises(isl.Error), attempt_bounded(50):
            isl.Set(HARD).complement().coalesce()
        assert isl.DEFAULT_CONTEXT.get_max_operations() == 100_000
        assert not isl.Set(HARD).complement().is_empty()


def test_a_smaller_bound_around_an_attempt_holds() -> None:
    with (
        pytest.raises(LimitError, match="outer"),
        bounded_operations("outer", 50),
        attempt_bounded(10**9),
    ):
        isl.Set(HARD).complement().coalesce()
