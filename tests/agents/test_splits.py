"""What agents learn from is never what they are tested on, and splits are selections."""

from __future__ import annotations

import pytest

from agents.splits import chosen, names, part
from polygym.episodes.kernels import targets
from polygym.errors import InputError
from polygym.programs import load_program
from polygym.search.corpus.held_out import TEST_KERNELS, is_held_out


def test_test_kernels_are_those_from_which_nothing_is_learned() -> None:
    assert set(part("test")) == set(part("usual/test")) == set(TEST_KERNELS)
    for name in names():
        if name.endswith("/train"):
            other = part(name.replace("/train", "/test"))
            assert other
            assert not set(part(name)) & set(other)
    kernels = {one for one in part("train") if not one.startswith(("tc:", "random:"))}
    assert len(kernels) == 20
    assert kernels | set(TEST_KERNELS) == set(targets("all"))


def test_nothing_to_learn_from_does_what_a_test_kernel_does() -> None:
    found = part("train")
    assert set(targets("tc:*")) < set(found)
    generated = [f"random:{number}" for number in range(24)]
    clean = [one for one in generated if not is_held_out(one, load_program(one))]
    assert [one for one in found if one.startswith("random:")] == clean
    assert [one for one in found if is_held_out(one, load_program(one))] == []


def test_parts_of_splits_are_entries_of_selections() -> None:
    assert chosen("gemm, mvt") == targets("gemm, mvt")
    assert chosen("split:test, !lu") == tuple(one for one in part("test") if one != "lu")
    assert chosen("split:test, gemm") == (*part("test"), "gemm")
    with pytest.raises(InputError, match="something to be left"):
        chosen("split:solvers/test, !linear-algebra/solvers")
