"""Legal schedules whose code crashed: isl's divisions were taken to be exact where they are not.

All of them are beyond what isl makes usual loops of; the loops here are not split where what runs
in them changes. Each runs in a process of its own, which may take longer than there is time, but
must not crash.
"""

import os
import signal
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from polygym.codegen.generation.loop_generation import generate_loops
from polygym.codegen.loopir.ir import LoopProgram
from polygym.codegen.pipeline import compile_program
from polygym.codegen.tree.build import build_tree
from polygym.codegen.validate.bounds import unproved_accesses
from polygym.ir.scop import Scop
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.c_programs import kernel_scop
from tests.oracles.compiled_runs import random_arrays, run_code, run_natively

SCHEDULES = {
    "3mm": (
        "[ni, nj, nk, nl, nm] -> { "
        "S0[i, j] -> [-4i + j - 2nj - 5nk - 4nl - nm + 9, "
        "2i - j - 4ni + 2nj - 3nk + nl - 2nm + 9, 2j - 3ni - 4nj - nl + nm + 11, "
        "-6i - 2j + 2ni - 4nj - 2nk - 4nl - nm + 5, 0]; "
        "S1[i, j, k] -> [-2i + 3j + 3k - 2nj - 4nk - 3nl + 6, "
        "2i + k - 2ni + 2nj - 2nk + nl - nm + 6, -i - 2k - ni - 2nj + 2nk + nm + 4, "
        "-4i - j - 2k + 2ni - 3nj - 2nl - nm + 1, 1]; "
        "S2[i, j] -> [i - 2j - 2ni - 2nj - 2nk - 3nl - 5nm + 10, "
        "-j - 2ni + nj - 3nk - 3nm + 11, i - j - 3ni - 3nj - 2nk - nl + 10, "
        "i - 5nj - 3nk - 2nl - 2nm + 7, 2]; "
        "S3[i, j, k] -> [3i - j + 2k - 2nj - 2nl - 4nm + 5, j + k + nj - nk - 2nm + 7, "
        "3i - k - ni - 3nj - nk + 2nm + 5, 2i + k - 4nj - 3nk - 2nl - 2nm + 8, 3]; "
        "S4[i, j] -> [-i - 2j - 2nj - 2nk - 2nl + 1, 3j - 2ni - nk + 6, -i - ni - 4nj + 8, "
        "-3i - 2j + ni - 3nj - 3nk - 2nl - 2nm + 6, 4]; "
        "S5[i, j, k] -> [-i - 2j + 2k + ni - nj - nl - 2, 2j + k + 2nj + nl + nm + 1, "
        "-2i + j + 2k + ni - 2nj + nl + 2nm + 2, -2i - 2j + 2ni - 2nj - nk + 1, 5] }"
    ),
    "cholesky": (
        "[n] -> { "
        "S0[i, j, k] -> [2i + 15j + 16k + n + 14, 4i + 8j + 13k - n + 7, "
        "28i + 87j + 109k - 7n + 56, 3j + 5k - n + 3, 0]; "
        "S1[i, j] -> [2i + 31j + n + 12, 4i + 21j - n + 5, 28i + 196j - 7n + 42, 8j - n + 2, "
        "1]; "
        "S2[i, k] -> [20i + 13k + n + 4, 12i + 13k - n + 5, 137i + 87k - 7n - 4, "
        "7i + 2k - 3n + 3, 2]; "
        "S3[i] -> [33i + n + 1, 25i - n, 224i - 7n - 14, 7i - n, 3] }"
    ),
    "gemver": (
        "[n] -> { "
        "S0[i, j] -> [2i - j - 6n + 2, i + 3j - 5n + 1, i + j - 4n + 2, 2i + 3j - 12n + 4, "
        "0]; "
        "S1[i, j] -> [-i + 2j - 5n + 1, 2i - 2n, 2i + j - 3n + 1, 3i + 3j - 9n + 3, 1]; "
        "S2[i] -> [-i - 2n, 2i - 2n, 3i - 2n + 2, 3i - 4n, 2]; "
        "S3[i, j] -> [-2i + j, 2i - 1, -2i + 2j + n - 1, 2j - n - 1, 3] }"
    ),
    "gesummv": (
        "[n] -> { "
        "S0[i] -> [-2n + 3, -2i - 2n + 2, -i - 2n + 2, 2i - 1]; "
        "S1[i] -> [-2i - n + 2, -3i - n, -2i - n + 1, -2]; "
        "S2[i, j] -> [-2i + 1, 2j - 2n + 2, -2i + 2j - n + 2, -2i + j - n - 2]; "
        "S3[i, j] -> [-3i + 1, -2i + j - n, -2i + 2j - n + 1, -1]; "
        "S4[i] -> [-2i + 1, 0, -2i + n, 0] }"
    ),
    "gramschmidt": (
        "[m, n] -> { "
        "S0[k] -> [30k - 8, 6k - 4, 13k - 9, k - 2m - 2, 0, 0]; "
        "S1[k, i] -> [30k - 6, 6k - 2, 13k - 6, -k + i + m - 2n, 0, 1]; "
        "S2[k] -> [30k - 5, 6k, 13k - 4, -2, 0, 2]; "
        "S3[k, i] -> [30k - 3, 6k, 13k - 3, 2i + m - n + 2, 0, 3]; "
        "S4[k, j] -> [23k + 7j - 15, 4j - 2, 10k + 3j - m - 3, 0, 0, 4]; "
        "S5[k, j, i] -> [18k + 12j - 10, 2k + 4j - 2, 10k + 3j - 3, 2j + i - m - n, i, 5]; "
        "S6[k, j, i] -> [18k + 12j, 2k + 4j, 10k + 3j, n, i, 6] }"
    ),
    "lu": (
        "[n] -> { "
        "S0[i, j, k] -> [3i + 15j + 8k - n - 1, 3i + 9j + 6k - n - 1, "
        "5i + 18j + 12k - 2n - 7, 20i + 63j + 42k - 5n + 5, 0]; "
        "S1[i, j] -> [3i + 23j - n + 2, 3i + 15j - n - 5, 5i + 30j - 2n - 2, "
        "20i + 105j - 5n + 3, 1]; "
        "S2[i, j, k] -> [10i + 7j + 9k - n, 6i + 4j + 8k - n - 1, 16i + 6j + 13k - 2n, "
        "63i + 25j + 37k - 5n - 5, 2] }"
    ),
}
SECONDS = 1
LARGE = 200


def loops_of(scop: Scop, text: str, sizes: Mapping[str, int]) -> LoopProgram:
    """Return the loops that are the last resort, with what their code has to check."""
    legal = LegalSchedule(scop, parse_schedule(text, scop))
    loops = generate_loops(build_tree(legal), legal, sizes, whole=True)
    return replace(loops, unproved_accesses=unproved_accesses(loops, sizes))


def sizes_of(scop: Scop, size: int) -> dict[str, int]:
    return {parameter.name: size + 2 * place for place, parameter in enumerate(scop.parameters)}


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_code_does_not_crash(name: str) -> None:
    scop = kernel_scop(name)
    sizes = sizes_of(scop, LARGE)
    loops = loops_of(scop, SCHEDULES[name], sizes)
    code = compile_program(loops)
    arrays = random_arrays(scop, sizes, np.random.default_rng(0))
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        try:
            os._exit(run_code(code, loops, sizes, arrays) != 0)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGALRM)


@pytest.mark.parametrize("name", ["gemver", "gesummv", "gramschmidt"])
def test_it_computes_what_the_original_order_does(name: str) -> None:
    scop = kernel_scop(name)
    sizes = sizes_of(scop, 40)
    loops = loops_of(scop, SCHEDULES[name], sizes)
    expected = random_arrays(scop, sizes, np.random.default_rng(0))
    arrays = {key: array.copy() for key, array in expected.items()}
    watched = {key: array.copy() for key, array in expected.items()}
    run_natively(scop, original_schedule(scop), sizes, expected)
    assert run_code(compile_program(loops), loops, sizes, arrays) == 0
    assert run_code(compile_program(loops, is_watched=True), loops, sizes, watched) == 0
    for array in scop.arrays:
        if array.live_out:
            assert arrays[array.name].tobytes() == expected[array.name].tobytes()
            assert watched[array.name].tobytes() == expected[array.name].tobytes()
