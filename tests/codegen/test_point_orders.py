"""In whatever order the points run, the program computes the same bits."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.codegen.c import print_c
from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.pipeline import lower
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.codegen.mapped_programs import PROGRAMS, REFUSED, disagreement, scop_of
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.threads import every_loop_shared


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(PROGRAMS)), st.integers(0, 2**31))
def test_random_orders_under_random_mappings(name: str, seed: int) -> None:
    with every_loop_shared():
        answer = disagreement(name, seed, is_watched=seed % 4 == 3, with_order=True)
    assert answer in (None, REFUSED)


@pytest.mark.rotates
@pytest.mark.parametrize("words", ["default", "sequential", "tile=4 unroll_jam=3 vector_bits=256"])
@pytest.mark.parametrize("name", ["product", "triangular_product", "lu", "seidel", "contraction"])
def test_all_orders_of_three_loops(name: str, words: str) -> None:
    scop = scop_of(name)
    generator = np.random.default_rng(len(name))
    parameters = {parameter.name: 13 + place for place, parameter in enumerate(scop.parameters)}
    arrays = random_arrays(scop, parameters, generator)
    expected = {key: array.copy() for key, array in arrays.items()}
    run_in_order(scop, parameters, expected)
    for schedule in (original_schedule(scop), isl_schedule(scop)):
        for order in permutations("123"):
            mapping = parse_mapping(f"{words} order={'x'.join(order)}")
            own = {key: array.copy() for key, array in arrays.items()}
            run_natively(scop, schedule, parameters, own, mapping, is_known=True)
            for key, array in own.items():
                assert array.tobytes() == expected[key].tobytes(), (key, order)


@pytest.mark.parametrize("text", ["default", "threads=2 tile=16x24x8"])
def test_no_order_is_the_code_that_there_was(text: str) -> None:
    """Off, loops that are not there, and what the model would do anyway: one text, one code."""
    scop = scop_of("product")
    legal = LegalSchedule(scop, isl_schedule(scop))
    codes = {
        (print_c(program, text), emit_llvm(program))
        for words in ("", "order=off", "order=7x5", "order=3")
        for program in [lower(legal, parse_mapping(f"{text} {words}"))]
    }
    assert len(codes) == 1
