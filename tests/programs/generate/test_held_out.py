"""Families for tests alone: valid programs, the same for ever, drawn by nothing that learns."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.poly.evaluation import context_holds
from polygym.programs import load_program
from polygym.programs.generate import (
    GENERATED_KINDS,
    HELD_OUT_KINDS,
    generate_source,
    is_generated,
    is_held_out_family,
    is_wildcard,
)
from polygym.programs.generate.held_out import HELD_OUT_FAMILIES
from polygym.search.corpus.program_choice import ProgramChoice, is_held_out
from tests.oracles.interpreter import allocate, interpret

SEEDS = st.integers(0, 10**9)
FAMILIES = pytest.mark.parametrize("prefix", HELD_OUT_KINDS)


@FAMILIES
@settings(max_examples=8, deadline=None)
@given(SEEDS)
def test_every_seed_is_a_program(prefix: str, seed: int) -> None:
    """It is read, and every size from five on will do: no access leaves its array."""
    text = generate_source(seed, prefix)
    assert text == generate_source(seed, prefix)
    scop = parse_text(text)
    assert 1 <= len(scop.statements) <= 30
    assert any(array.live_out for array in scop.arrays)
    for size in (5, 6, 9, 100):
        assert context_holds(scop.context, {p.name: size for p in scop.parameters}), text


@FAMILIES
@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(3))
def test_what_it_computes_is_finite(prefix: str, seed: int) -> None:
    """From the initial data that the commands use; indices of elements are valid in these."""
    name = f"{prefix}{seed}"
    sizes = {p.name: 5 for p in load_program(name).scop.parameters}
    program = load_program(name, parameters=sizes)
    arrays = {array.name: allocate(program.scop, array, sizes) for array in program.scop.arrays}
    interpret(program.initial_data, sizes, arrays, None)
    before = {name: values.copy() for name, values in arrays.items()}
    interpret(program.scop, sizes, arrays, None)
    assert any((values != before[name]).any() for name, values in arrays.items())
    assert all(np.isfinite(values).all() for values in arrays.values())


@FAMILIES
def test_a_compiler_takes_it_without_a_warning(prefix: str, tmp_path: Path) -> None:
    text = "\n".join(generate_source(seed, prefix) for seed in range(8))
    header = "struct record { double x, y, z, w; };\n"
    file = tmp_path / "programs.c"
    once = text.replace(header, "")
    file.write_text("#include <math.h>\n" + header + once)
    options = ("-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-fsyntax-only")
    subprocess.run(["gcc", "-std=c11", *options, file], check=True)


def test_goldens_the_text_of_a_seed_never_changes(golden: Callable[[str, str], None]) -> None:
    texts = [generate_source(seed, prefix) for prefix in HELD_OUT_KINDS for seed in range(40)]
    assert len({text.partition("\n")[2] for text in texts}) > 200
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    golden("generated/held_out_families.sha256", digest + "\n")


def test_they_are_twelve_and_apart_from_those_that_are_drawn() -> None:
    assert len(HELD_OUT_FAMILIES) == len(HELD_OUT_KINDS) == 12
    assert not set(HELD_OUT_KINDS) & set(GENERATED_KINDS)
    for prefix in HELD_OUT_KINDS:
        assert is_generated(f"{prefix}3")
        assert is_held_out_family(f"{prefix}3")
        assert not is_wildcard(f"{prefix}*")
        with pytest.raises(InputError, match="and a number from 0 on"):
            load_program(f"{prefix}*")


def test_an_unknown_family_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"expected a family among byte-windows, .*found 'bits'"):
        load_program("held-out:bits:3")


def test_no_corpus_takes_them() -> None:
    name = f"{next(iter(HELD_OUT_KINDS))}3"
    assert is_held_out(name, load_program(name))
    for pattern in (name, f"random:*, {name}"):
        with pytest.raises(InputError, match="one of the held-out split"):
            ProgramChoice.of([pattern])
