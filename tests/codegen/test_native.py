"""Machine code against the interpreter: original order, random legal schedules, isl's schedule."""

import numpy as np
import pytest

import polybench
from polygym.frontend import parse_text
from polygym.ir.scop import Scop, Storage
from polygym.poly.baselines import isl_schedule, original
from polygym.poly.schedule import Schedule
from tests.oracles.interpreter import interpret
from tests.oracles.native import random_arrays, run_natively
from tests.oracles.random_schedules import random_legal_schedule
from tests.sources import SMALL_PROGRAMS, kernel_scop, small_parameters

SCOPS = {name: parse_text(text) for name, text in SMALL_PROGRAMS.items()}
KERNELS = [kernel.name for kernel in polybench.KERNELS]
SCHEDULES = 6


def observable(scop: Scop) -> list[str]:
    """Return the arrays whose contents count: not the private scalars."""
    return [
        array.name
        for array in scop.arrays
        if array.live_out or array.storage in (Storage.ARGUMENT, Storage.GLOBAL)
    ]


def schedules(scop: Scop, count: int) -> list[Schedule]:
    return [
        original(scop),
        isl_schedule(scop),
        *(random_legal_schedule(scop, np.random.default_rng(seed)) for seed in range(count)),
    ]


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_small_programs_compute_what_the_interpreter_does(name: str) -> None:
    scop = SCOPS[name]
    for size in (3, 6):
        parameters = {
            p.name: size + k % 2 * (name != "time_tiled") for k, p in enumerate(scop.parameters)
        }
        start = random_arrays(scop, parameters, np.random.default_rng(size))
        expected = {key: value.copy() for key, value in start.items()}
        interpret(scop, parameters, expected, None)
        for schedule in schedules(scop, SCHEDULES):
            found = {key: value.copy() for key, value in start.items()}
            run_natively(scop, schedule, parameters, found)
            for array in observable(scop):
                # The interpreter rounds the product of a*b+c, the machine may not.
                np.testing.assert_allclose(
                    found[array], expected[array], rtol=1e-6, err_msg=f"{array}: {schedule}"
                )


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_compute_the_same_bits_under_every_schedule(name: str) -> None:
    scop = kernel_scop(name)
    parameters = {key: value + 4 for key, value in small_parameters(scop).items()}
    start = random_arrays(scop, parameters, np.random.default_rng(1))
    reference: dict[str, np.ndarray] | None = None
    for schedule in schedules(scop, 3):
        found = {key: value.copy() for key, value in start.items()}
        run_natively(scop, schedule, parameters, found)
        if reference is None:
            reference = found
            expected = {key: value.copy() for key, value in start.items()}
            interpret(scop, parameters, expected, None)
            for array in observable(scop):
                np.testing.assert_allclose(found[array], expected[array], rtol=1e-6, atol=1e-12)
        for array in observable(scop):
            assert found[array].tobytes() == reference[array].tobytes(), (array, str(schedule))
