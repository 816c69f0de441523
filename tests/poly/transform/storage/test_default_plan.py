"""What stands in the way of loops, and which plan a program gets without a search."""

import os

import pytest

from polygym.ir.scop import Scop
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.default_plan import default_plan
from polygym.poly.transform.storage.inhibitors import loop_inhibitors, source_loops
from polygym.poly.transform.storage.memory_cost import new_array_bytes
from polygym.poly.transform.storage.plan import SOURCE_STORAGE
from polygym.poly.transform.storage.variants import storage_choices
from tests.c_programs import kernel_scop
from tests.poly.transform.storage.random_plans import scop_of

SIZES = {"m": 100, "n": 120}


def in_the_way(scop: Scop) -> dict[str, tuple[str, str]]:
    """Return the arrays in the way of each loop, by its name: by flow, by memory."""
    loops = source_loops(scop)
    inhibitors = loop_inhibitors(scop, loops)
    return {
        loop.name: (" ".join(sorted(inhibitors.loops[loop.key][0])), " ".join(sorted(ways[1])))
        for loop in loops
        for ways in (inhibitors.loops[loop.key],)
    }


def test_what_stands_in_the_way_of_loops() -> None:
    assert in_the_way(scop_of("symmetric")) == {"i": ("C", "C t"), "j": ("", "t"), "k": ("t", "t")}


def test_the_plan_frees_loops_and_no_more() -> None:
    scop = scop_of("symmetric")
    plan = default_plan(scop, SIZES)
    assert str(plan) == "S0:t=expand:i,j contract"
    loops = source_loops(scop)
    before, after = loop_inhibitors(scop, loops), loop_inhibitors(apply_plan(scop, plan), loops)
    free = {loop.name for loop in loops if loop.key in before.freed_loops(after)}
    assert free == {"i", "j", "k"}
    assert [loop.name for loop in loops if after.is_uninhibited(loop.key)] == ["j"]


def test_each_nest_is_expanded_along_its_own_loops() -> None:
    plan = str(default_plan(scop_of("two_recurrences"), SIZES))
    assert plan == "S0:a=expand:i S5:a=expand:j S1:b=expand:i S6:c=expand:j contract"


@pytest.mark.parametrize("name", ["lu", "recurrence", "y_ax", "transposed"])
def test_where_no_loop_is_the_better_for_it_nothing_changes(name: str) -> None:
    assert default_plan(scop_of(name), {"n": 100}) == SOURCE_STORAGE


def test_what_is_beyond_the_limit_is_left_out() -> None:
    scop = scop_of("symmetric")
    for limit, expected in (
        (100 * 120 * 8, "S0:t=expand:i,j contract"),
        (100 * 120 * 8 - 1, "S0:t=expand:j contract"),
        (8, "keep"),
    ):
        plan = default_plan(scop, SIZES, limit)
        assert str(plan) == expected
        assert new_array_bytes(apply_plan(scop, plan), SIZES) <= limit


def test_kernels() -> None:
    plans = {
        name: str(default_plan(kernel_scop(name), sizes))
        for name, sizes in (
            ("ludcmp", {"n": 40}),
            ("doitgen", {"nq": 20, "nr": 25, "np": 30}),
            ("gemm", {"ni": 20, "nj": 25, "nk": 30}),
        )
    }
    assert plans == {
        "ludcmp": "S0:w=expand:i,j S3:w=expand:i,j S6:w=expand:i S9:w=expand:i contract",
        "doitgen": "S0:sum=expand:r,q contract",  # an argument, but what is copied out is small
        "gemm": "keep",
    }


@pytest.mark.parametrize(
    ("sizes", "is_expanded"),
    [({"nq": 20, "nr": 25, "np": 30}, True), ({"nq": 4, "nr": 4, "np": 30}, False), (None, False)],
)
def test_what_is_copied_out_has_to_be_next_to_nothing(
    sizes: dict[str, int] | None, is_expanded: bool
) -> None:
    """A row of 30 numbers beside 15,930 others, beside 1,410, and beside nobody knows how many."""
    assert (default_plan(kernel_scop("doitgen"), sizes) != SOURCE_STORAGE) == is_expanded


def test_choices_with_their_prices() -> None:
    t, c = storage_choices(scop_of("symmetric"), SIZES)
    copies = os.cpu_count() or 1
    assert (t.array, t.enclosing_loops, t.inhibited_loops) == ("t", ("i", "j"), ("i", "j"))
    assert [(str(choice.entry), choice.bytes) for choice in t.choices] == [
        ("S0:t=rename", 8),
        ("S0:t=expand:i", 800),
        ("S0:t=expand:i,j", 96_000),
        ("S0:t=expand", 9_600_000),
        ("S0:t=private:i,j", copies * 8),
    ]
    assert (t.is_live_out, c.is_live_out) == (False, True)
