"""Random programs: valid by construction, finite, the same for ever, and not all alike."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.poly.evaluation import context_holds
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program
from polygym.programs.generate import generate_source
from polygym.programs.selection import select_programs
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.interpreter import interpret


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_every_seed_is_a_program(seed: int) -> None:
    """It is read, and every size from five on will do: no access leaves its array."""
    text = generate_source(seed)
    assert text == generate_source(seed)
    scop = parse_text(text)
    assert 1 <= len(scop.statements) <= 14
    assert 1 <= scop.depth <= 4
    assert any(array.live_out for array in scop.arrays)
    for size in (5, 6, 9, 100):
        assert context_holds(scop.context, {p.name: size for p in scop.parameters}), text


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(12))
def test_what_it_computes(seed: int) -> None:
    """Finite numbers, the same as the interpreter's, in isl's order too."""
    scop = parse_text(generate_source(seed))
    sizes = {p.name: 6 + place for place, p in enumerate(scop.parameters)}
    start = random_arrays(scop, sizes, np.random.default_rng(seed))
    expected, arrays, ordered = (
        {name: value.copy() for name, value in start.items()} for _ in range(3)
    )
    interpret(scop, sizes, expected, None)
    run_in_order(scop, sizes, arrays)
    run_natively(scop, isl_schedule(scop), sizes, ordered)
    for name, values in arrays.items():
        assert np.isfinite(values).all()
        np.testing.assert_allclose(values, expected[name], rtol=1e-4)
        assert values.tobytes() == ordered[name].tobytes()


def test_goldens_the_text_of_a_seed_never_changes(golden: Callable[[str, str], None]) -> None:
    """Stored measurements are of them."""
    golden("generated/three.c", "\n".join(generate_source(seed) for seed in (1, 2, 3)))
    every = "\n".join(generate_source(seed) for seed in range(300)).encode()
    golden("generated/three_hundred.sha256", hashlib.sha256(every).hexdigest() + "\n")


def test_they_are_not_all_alike() -> None:
    """The parts of programs that a model has to know, each in more than a few of them."""
    texts = [generate_source(seed) for seed in range(300)]
    seen: Counter[str] = Counter()
    for text in texts:
        lines = text.splitlines()
        seen["steps in time"] += "steps" in text
        seen["a triangle"] += " + 1; " in text or "< i" in text
        seen["single precision"] += "float" in text
        seen["several sizes"] += "int m" in text
        seen["several nests"] += sum(line.startswith("  for") for line in lines) > 1
        seen["a choice"] += "?" in text
        seen["a window"] += " + m]" in text or " + n]" in text
        seen["downwards"] += "--" in text
        seen["a sum"] += "+=" in text
    assert min(seen.values()) >= 6, seen
    assert len({text.partition("\n")[2] for text in texts}) > 250
    depths = Counter(parse_text(text).depth for text in texts[:100])
    assert set(depths) == {1, 2, 3, 4}


def test_a_name_stands_for_one() -> None:
    program = load_program("random:17", parameters={"n": 9})
    assert program.name == "random:17"
    assert program.scop == parse_text(generate_source(17), file="random:17")
    assert program.value("n") == 9


@pytest.mark.parametrize("name", ["random:", "random:x", "random:-1", "random:1.5", "random:1:2"])
def test_names_that_stand_for_none(name: str) -> None:
    with pytest.raises(InputError, match="expected random: and a number from 0 on"):
        load_program(name)


@pytest.mark.parametrize("name", ["random:007", "random:00", "random:01"])
def test_a_program_has_one_name(name: str) -> None:
    expected = f"expected a number without zeros before it, such as random:{int(name[7:])}"
    with pytest.raises(InputError, match=expected):
        load_program(name)
    with pytest.raises(InputError, match=expected):
        select_programs((name,))
