"""What emitted kernels compute, with the threads of a block as threads of this process."""

import numpy as np
import pytest

from polygym.frontend.tc import library
from polygym.gpu.mapping.device_mapping import parse_device_mapping
from polygym.gpu.mapping.pipeline import map_to_device
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from tests.gpu.comprehension_programs import comprehension_scop, small_arrays, small_sizes
from tests.gpu.device_programs import (
    HISTOGRAM,
    PRODUCT,
    STEPS,
    device_program,
    loops_of,
    tiled_product,
)
from tests.gpu.ptx.host_execution import run_on_host
from tests.oracles.compiled_runs import run_in_order

TILED = "device=cuda block=4x2 tile=8x4x4"


def test_a_product_with_edges() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((7, 5), np.float32), rng.random((5, 19), np.float32)
    c = np.full((7, 19), np.nan, np.float32)
    program = device_program(loops_of(PRODUCT), 2)
    run_on_host(program, {"n": 7, "m": 19, "p": 5}, {"A": a, "B": b, "C": c})
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_tiles_in_shared_memory() -> None:
    rng = np.random.default_rng(1)
    sizes = {"n": 32, "m": 16, "p": 48}
    a, b = rng.random((32, 48), np.float32), rng.random((48, 16), np.float32)
    c = np.zeros((32, 16), np.float32)
    run_on_host(tiled_product(sizes), sizes, {"A": a, "B": b, "C": c})
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_steps_of_a_time_loop() -> None:
    a, b = np.arange(20.0) ** 2, np.zeros(20)
    expected = a.copy()
    for _ in range(3):
        expected[1:-1] = (expected[:-2] + expected[1:-1] + expected[2:]) / 3.0
    run_on_host(device_program(loops_of(STEPS), 1), {"n": 20, "steps": 3}, {"a": a, "b": b})
    np.testing.assert_array_equal(a, expected)


def test_atomic_sums_and_a_subscript_out_of_range() -> None:
    places = np.arange(40, dtype=np.int32) % 3
    weights, sums = np.ones(40, np.float32), np.zeros(3, np.float32)
    program = device_program(loops_of(HISTOGRAM), 1, atomic=True)
    arrays = {"k": places, "w": weights, "sums": sums}
    assert run_on_host(program, {"n": 40, "m": 3}, arrays) == 0
    np.testing.assert_array_equal(sums, [14, 13, 13])
    places[7] = 3
    sums[:] = 0
    assert run_on_host(program, {"n": 40, "m": 3}, arrays) > 0
    np.testing.assert_array_equal(sums, [14, 12, 13])


@pytest.mark.parametrize("statement", ["s[0] *= x[i];", "s[0] = x[i] > s[0] ? x[i] : s[0];"])
def test_updates_that_are_exchanged(statement: str) -> None:
    source = f"""
void f(int n, double s[1], double x[n]) {{
#pragma scop
  for (int i = 0; i < n; i++)
    {statement}
#pragma endscop
}}
"""
    x, s = 1.0 + np.arange(12.0) / 16, np.ones(1)
    run_on_host(device_program(loops_of(source), 1, atomic=True), {"n": 12}, {"s": s, "x": x})
    np.testing.assert_allclose(s[0], x.prod() if "*=" in statement else x.max())


@pytest.mark.parametrize("name", ["matmul", "mlp1", "2LUT"])
def test_comprehensions(name: str) -> None:
    check_comprehension(name, TILED)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(library.definitions()))
@pytest.mark.parametrize("mapping", ["device=cuda block=4x2", TILED])
def test_all_comprehensions(name: str, mapping: str) -> None:
    check_comprehension(name, mapping)


def check_comprehension(name: str, mapping: str) -> None:
    """Compare a comprehension under a mapping with the CPU's code."""
    scop = comprehension_scop(name)
    sizes = small_sizes(scop)
    arrays = small_arrays(scop, sizes, 3)
    expected = {own: value.copy() for own, value in arrays.items()}
    legal = LegalSchedule(scop, isl_schedule(scop))
    run_in_order(scop, sizes, expected)
    program = map_to_device(legal, parse_device_mapping(mapping), sizes)
    run_on_host(program, sizes, arrays)
    for array in scop.arrays:
        if array.live_out:
            np.testing.assert_allclose(arrays[array.name], expected[array.name], rtol=1e-5)
