"""Machine code against the interpreter: original order, random legal schedules, isl's schedule."""

import numpy as np
import pytest

import polybench
from polygym.codegen.pipeline import compile_program, lower
from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop, StorageClass
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.c_programs import SMALL_PROGRAMS, kernel_scop, small_parameters
from tests.oracles.compiled_runs import random_arrays, run_code, run_natively
from tests.oracles.interpreter import interpret
from tests.oracles.random_schedules import random_legal_schedule

SCOPS = {name: parse_text(text) for name, text in SMALL_PROGRAMS.items()}
KERNELS = [kernel.name for kernel in polybench.KERNELS]
SCHEDULES = 6


def observable(scop: Scop) -> list[str]:
    """Return the arrays whose contents count: not the private scalars."""
    return [
        array.name
        for array in scop.arrays
        if array.live_out or array.storage_class in (StorageClass.ARGUMENT, StorageClass.GLOBAL)
    ]


def schedules(scop: Scop, count: int) -> list[Schedule]:
    return [
        original_schedule(scop),
        isl_schedule(scop),
        *(random_legal_schedule(scop, np.random.default_rng(seed)) for seed in range(count)),
    ]


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_small_programs_compute_what_the_interpreter_does(name: str) -> None:
    scop = SCOPS[name]
    runs = []
    for size in (3, 6):
        parameters = {
            p.name: size + k % 2 * (name != "time_tiled") for k, p in enumerate(scop.parameters)
        }
        start = random_arrays(scop, parameters, np.random.default_rng(size))
        expected = {key: value.copy() for key, value in start.items()}
        interpret(scop, parameters, expected, None)
        runs.append((parameters, start, expected))
    for schedule in schedules(scop, SCHEDULES):
        program = lower(LegalSchedule(scop, schedule))
        code = compile_program(program)
        for parameters, start, expected in runs:
            arrays = {key: value.copy() for key, value in start.items()}
            assert run_code(code, program, parameters, arrays) == 0
            for array in observable(scop):
                # The interpreter rounds the product of a*b+c, the machine may not.
                np.testing.assert_allclose(
                    arrays[array], expected[array], rtol=1e-6, err_msg=f"{array}: {schedule}"
                )


@pytest.mark.rotates
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_compute_the_same_bits_under_every_schedule(name: str) -> None:
    scop = kernel_scop(name)
    parameters = {key: value + 4 for key, value in small_parameters(scop).items()}
    start = random_arrays(scop, parameters, np.random.default_rng(1))
    reference: dict[str, np.ndarray] | None = None
    for schedule in schedules(scop, 3):
        arrays = {key: value.copy() for key, value in start.items()}
        run_natively(scop, schedule, parameters, arrays, is_for_users=True)
        if reference is None:
            reference = arrays
            expected = {key: value.copy() for key, value in start.items()}
            interpret(scop, parameters, expected, None)
            for array in observable(scop):
                np.testing.assert_allclose(arrays[array], expected[array], rtol=1e-6, atol=1e-12)
        for array in observable(scop):
            assert arrays[array].tobytes() == reference[array].tobytes(), (array, str(schedule))


TIME_TILED = """
#define min(a,b) ((a)<(b)?(a):(b))
#define max(a,b) ((a)>(b)?(a):(b))
#define floord(n,d) (((n)<0) ? -((-(n)+(d)-1)/(d)) : (n)/(d))
#define ceild(n,d) (((n)<0) ? -((-(n))/(d)) : ((n)+(d)-1)/(d))
void f(int T, int n, double A[2][n+2]) {
#pragma scop
int tt,ii,t,i;
for(tt=0;tt<=floord(T-1,4);tt++)
 for(ii=max(0,ceild(4*tt-3,4));ii<=min(floord(T+n-1,4),floord(4*tt+n+3,4));ii++)
  for(t=max(max(0,4*tt),4*ii-n);t<=min(min(T-1,4*tt+3),4*ii+2);t++)
   for(i=max(4*ii,t+1);i<=min(4*ii+3,t+n);i++)
    A[(t+1)%2][i-t]=(A[t%2][i-t-1]+A[t%2][i-t]+A[t%2][i-t+1])*0.33;
#pragma endscop
}
"""


@pytest.mark.parametrize(
    "text",
    [
        "[T, n] -> { S0[tt, ii, t, i] -> [-tt + t + 1, tt + t - T - 1, 0, tt, ii, t, i] }",
        "[T, n] -> { S0[tt, ii, t, i] -> [t, i] }",
        "[T, n] -> { S0[tt, ii, t, i] -> [tt, ii, t, -i] }",
    ],
)
def test_time_tiled_code_under_other_schedules(text: str) -> None:
    scop = parse_text(TIME_TILED)
    for parameters in ({"T": 3, "n": 3}, {"T": 11, "n": 9}, {"T": 1, "n": 1}):
        start = random_arrays(scop, parameters, np.random.default_rng(0))
        expected = {key: value.copy() for key, value in start.items()}
        interpret(scop, parameters, expected, None)
        arrays = {key: value.copy() for key, value in start.items()}
        run_natively(scop, parse_schedule(text, scop), parameters, arrays)
        np.testing.assert_allclose(arrays["A"], expected["A"], rtol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "{ S[i] -> [2147483648i, 0]; T[i, j] -> [2147483648i + 2147483647j, 1] }",
        "[n] -> { S[i] -> [1000000i, 0]; T[i, j] -> [1000000i + 999999j, 1000000n + 999983i + 1] }",
    ],
)
def test_numbers_that_would_overflow_are_refused(text: str) -> None:
    scop = SCOPS["y_ax"]
    legal = LegalSchedule(scop, parse_schedule(text, scop))
    with pytest.raises(InputError, match="64 bits"):
        lower(legal)
