"""What agents learn from is never what they are tested on, and splits are selections."""

from __future__ import annotations

import pytest

from polygym.agents.experiments.splits import selected_kernels, split_names, split_part
from polygym.errors import InputError
from polygym.mdp.problems.loading import program_targets
from polygym.programs import load_program
from polygym.search.corpus.program_choice import TEST_KERNELS, is_held_out


def test_test_kernels_are_those_from_which_nothing_is_learned() -> None:
    assert set(split_part("test")) == set(split_part("usual/test")) == set(TEST_KERNELS)
    for name in split_names():
        if name.endswith("/train"):
            other = split_part(name.replace("/train", "/test"))
            assert other
            assert not set(split_part(name)) & set(other)
    kernels = {
        kernel for kernel in split_part("train") if not kernel.startswith(("tc:", "random:"))
    }
    assert len(kernels) == 20
    assert kernels | set(TEST_KERNELS) == set(program_targets("all"))


def test_nothing_to_learn_from_does_what_a_test_kernel_does() -> None:
    training = split_part("train")
    assert set(program_targets("tc:*")) < set(training)
    generated = [f"random:{number}" for number in range(24)]
    clean = [name for name in generated if not is_held_out(name, load_program(name))]
    assert [name for name in training if name.startswith("random:")] == clean
    assert [name for name in training if is_held_out(name, load_program(name))] == []


def test_the_wide_split_has_all_clean_programs_of_its_ranges() -> None:
    training = split_part("wide/train")
    assert set(split_part("train")) < set(training)
    generated = program_targets("random:0-119, scalars:0-59")
    clean = {name for name in generated if not is_held_out(name, load_program(name))}
    assert {name for name in training if name.startswith(("random:", "scalars:"))} == clean
    assert split_part("wide/test") == split_part("test")


def test_parts_of_splits_are_entries_of_selections() -> None:
    assert selected_kernels("gemm, mvt") == program_targets("gemm, mvt")
    assert selected_kernels("split:test, !lu") == tuple(
        name for name in split_part("test") if name != "lu"
    )
    assert selected_kernels("split:test, gemm") == (*split_part("test"), "gemm")
    with pytest.raises(InputError, match="something to be left"):
        selected_kernels("split:solvers/test, !linear-algebra/solvers")
