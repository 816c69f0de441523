"""Random programs with scalars and small arrays of their own: as valid as those without."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Array, Scop
from polygym.poly.evaluation import context_holds
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program
from polygym.programs.generate import (
    GENERATED_KINDS,
    PREFIX,
    SCALARS_PREFIX,
    buffers,
    generate_source,
    is_generated,
    is_wildcard,
    prefix_of,
    sample_name,
    scalars,
    source_of_name,
)
from polygym.programs.generate.program_draft import ProgramDraft
from polygym.programs.selection import select_programs
from polygym.search.corpus.program_choice import equivalent_kernels
from polygym.search.corpus.rows import CorpusCase
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.interpreter import interpret

SEEDS = st.integers(0, 10**9)
_UNFILLED = 10**6


def own(scop: Scop) -> list[Array]:
    """Return what nobody sees but the function."""
    written = {statement.write.array for statement in scop.statements}
    return [array for array in scop.arrays if array.name in written and not array.live_out]


def small(scop: Scop) -> dict[str, int]:
    return {parameter.name: 5 + place for place, parameter in enumerate(scop.parameters)}


@settings(max_examples=40, deadline=None)
@given(SEEDS)
@example(68)  # a sum over a whole nest, and another scalar of its name
def test_every_seed_is_a_program(seed: int) -> None:
    """It is read, has the sizes that it declares, and every one from five on will do."""
    text = generate_source(seed, SCALARS_PREFIX)
    assert text == generate_source(seed, SCALARS_PREFIX)
    assert text != generate_source(seed)
    scop = parse_text(text)
    declared = re.findall(r"int (\w+)[,)]", text.partition("\n")[0])
    assert {parameter.name for parameter in scop.parameters} <= set(declared)
    assert 1 <= len(scop.statements) <= 40
    assert 1 <= scop.depth <= 5
    assert own(scop), text
    region = text.partition("#pragma scop")[2]
    assert not re.findall(r"^  (?:double|float|int) ", region, re.M), "it might be so twice"
    assert any(array.live_out for array in scop.arrays)
    for size in (5, 6, 9, 100):
        assert context_holds(scop.context, {p.name: size for p in scop.parameters}), text


FAMILIES = {family.__name__: family for family, _ in (*scalars.FAMILIES, *buffers.FAMILIES)}


@pytest.mark.rotates
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=12, deadline=None)
@given(SEEDS)
def test_what_is_its_own_is_filled_before_it_is_read(family: str, seed: int) -> None:
    """What would be in memory before comes to no light: no number, or one that is no index."""
    draft = ProgramDraft(np.random.default_rng(seed), "double")
    FAMILIES[family](draft)
    scop = parse_text(draft.text("f"))
    sizes = small(scop)
    arrays = random_arrays(scop, sizes, np.random.default_rng(seed))
    for array in own(scop):
        arrays[array.name][...] = _UNFILLED if array.type.is_integer else np.nan
    interpret(scop, sizes, arrays, None)
    for array in scop.arrays:
        if array.live_out:
            values = arrays[array.name]
            assert np.isfinite(values).all(), array.name
            assert not array.type.is_integer or (values < _UNFILLED).all()


@pytest.mark.parametrize("seed", range(10))
def test_what_it_computes(seed: int) -> None:
    """Finite numbers, the same as the interpreter's, in isl's order too."""
    scop = parse_text(generate_source(seed, SCALARS_PREFIX))
    sizes = small(scop)
    start = random_arrays(scop, sizes, np.random.default_rng(seed))
    expected, arrays, ordered = (
        {name: value.copy() for name, value in start.items()} for _ in range(3)
    )
    interpret(scop, sizes, expected, None)
    run_in_order(scop, sizes, arrays)
    run_natively(scop, isl_schedule(scop), sizes, ordered)
    for array in scop.arrays:
        if array.live_out:
            values = arrays[array.name]
            assert np.isfinite(values).all()
            np.testing.assert_allclose(values, expected[array.name], rtol=1e-4, atol=1e-6)
            assert values.tobytes() == ordered[array.name].tobytes()


def test_goldens_the_text_of_a_seed_never_changes(golden: Callable[[str, str], None]) -> None:
    """Stored measurements are of them."""
    golden(
        "generated/three_scalars.c",
        "\n".join(generate_source(seed, SCALARS_PREFIX) for seed in (1, 4, 30)),
    )
    every = "\n".join(generate_source(seed, SCALARS_PREFIX) for seed in range(300)).encode()
    golden("generated/three_hundred_scalars.sha256", hashlib.sha256(every).hexdigest() + "\n")


def test_they_are_not_all_alike() -> None:
    """What people's programs have, each in more than a few of them."""
    texts = [generate_source(seed, SCALARS_PREFIX) for seed in range(300)]
    seen: Counter[str] = Counter()
    for text in texts:
        region = text.partition("#pragma")[2]
        seen["declared before"] += bool(re.search(r"^  (double|float) [s-z]\d*;", text, re.M))
        seen["declared in place"] += bool(re.search(r"^ +(double|float) [s-z]\d* =", region, re.M))
        seen["a row"] += bool(re.search(r"(double|float) [a-h]\[[nmpq]\];", text))
        seen["a window"] += bool(re.search(r"(double|float) [a-h]\[\d\];", text))
        seen["a scalar sum"] += bool(re.search(r"^ +[s-z]\d* \+=", text, re.M))
        seen["a condition"] += "if (" in text
        seen["an index"] += " I[" in text
        seen["a root"] += "sqrt" in text
        seen["a triangle"] += bool(re.search(r"(< i;|= i \+ 1;|= i;|< i \+ 1;)", text))
        seen["steps in time"] += "steps" in text
        seen["single precision"] += "float" in text
        seen["several nests"] += text.count("\n  for") > 1
    assert min(seen.values()) >= 6, seen
    assert len({text.partition("\n")[2] for text in texts}) > 280


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(20))
def test_none_does_what_a_test_kernel_does(seed: int) -> None:
    name = f"{SCALARS_PREFIX}{seed}"
    assert equivalent_kernels(name, load_program(name, parameters={})) == ()


def test_a_name_stands_for_one() -> None:
    program = load_program("scalars:4", parameters={"n": 9})
    assert program.name == "scalars:4"
    assert program.scop == parse_text(generate_source(4, SCALARS_PREFIX), file="scalars:4")
    assert program.value("n") == 9
    assert select_programs(("scalars:4, random:4",)) == ("scalars:4", "random:4")
    case = CorpusCase("scalars:4", (("n", 9),), "", "S0:s=private:i contract")
    assert CorpusCase.from_name(case.name, case.parameters) == case


def test_kinds_have_names_of_their_own() -> None:
    assert set(GENERATED_KINDS) == {PREFIX, SCALARS_PREFIX}
    rng = np.random.default_rng(0)
    for prefix in GENERATED_KINDS:
        name = sample_name(f"{prefix}*", lambda below: int(rng.integers(below)))
        assert prefix_of(name) == prefix
        assert is_generated(name)
        assert not is_wildcard(name)
        assert source_of_name(name) == generate_source(int(name.removeprefix(prefix)), prefix)
    assert prefix_of("gemm") == ""


@pytest.mark.parametrize("name", ["scalars:", "scalars:x", "scalars:-1", "scalars:*", "random:*"])
def test_names_that_stand_for_none(name: str) -> None:
    prefix = name.partition(":")[0]
    with pytest.raises(InputError, match=f"expected {prefix}: and a number from 0 on"):
        load_program(name)
