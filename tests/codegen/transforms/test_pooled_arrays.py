"""Private arrays that are too large for the stack: a slot for each thread, of memory asked once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from polygym.codegen.analysis import private_memory
from polygym.codegen.analysis.private_memory import pooled_arrays, slot_elements
from polygym.codegen.c import print_c
from polygym.codegen.llvm.emit_module import emit_kernel
from polygym.codegen.llvm.jit import compile_object
from polygym.codegen.loopir.ir import LoopProgram
from polygym.codegen.pipeline import lower
from polygym.codegen.transforms import privatization
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.mapping import parse_mapping
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.plan import parse_storage
from tests.oracles.c_kernels import SANITIZED, WARNINGS, kernel_file
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_loops
from tests.oracles.threads import every_loop_shared

LAYERS = """
void f(int k, int n, double in[k][n + 2], float scale[n], double out[k][n]) {
  double sums[n + 1];
  float parts[n];
  double small[4];
#pragma scop
  for (int t = 0; t < 2; t++)
    for (int l = 0; l < k; l++) {
      for (int i = 0; i <= n; i++)
        sums[i] = in[l][i] + in[l][i + 1];
      for (int i = 0; i < n; i++)
        parts[i] = scale[i] * 0.5f;
      for (int i = 0; i < 4; i++)
        small[i] = sums[i] + i;
      for (int i = 0; i < n; i++)
        out[l][i] = out[l][i] * 0.5 + sums[i + 1] - sums[i] * parts[i] + small[i % 4];
    }
#pragma endscop
}
"""
PLAN = "sums=private:t,l parts=private:t,l small=private:t,l"
SIZES = {"k": 40, "n": 900}
POOLED = ["sums_1", "parts_1"]


@pytest.fixture(autouse=True)
def small_stack() -> Iterator[None]:
    """Let a stack have 64 bytes for private arrays."""
    with patch.object(private_memory, "TUNING", replace(TUNING, max_private_bytes=64)):
        yield


def stored_loops(threads: int, sharing: str = "static") -> tuple[Scop, LoopProgram]:
    scop = parse_text(LAYERS)
    stored = apply_plan(scop, parse_storage(PLAN))
    mapping = parse_mapping(
        f"threads={threads} parallel={sharing} tile=off vector_bits=off unroll_jam=1"
    )
    legal = LegalSchedule(stored, original_schedule(stored))
    return scop, lower(legal, mapping, SIZES)


@pytest.mark.parametrize("sharing", ["static", "dynamic"])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_values_are_those_of_the_source(threads: int, sharing: str) -> None:
    scop, loops = stored_loops(threads, sharing)
    assert list(pooled_arrays(loops)) == POOLED
    assert loops.privatization_failures == ()
    arrays = random_arrays(scop, SIZES, np.random.default_rng(3))
    expected = {name: array.copy() for name, array in arrays.items()}
    run_in_order(scop, SIZES, expected)
    with every_loop_shared() as forks:
        run_loops(loops, SIZES, arrays, is_watched=True)
    assert forks.asked == ([threads] * 2 if threads > 1 else [])
    assert arrays["out"].tobytes() == expected["out"].tobytes()


def test_slots_are_whole_pages() -> None:
    _, loops = stored_loops(2)
    assert [slot_elements(loops, name) for name in POOLED] == [1024, 1024]


def test_too_large_an_array_stays_shared() -> None:
    with patch.object(privatization, "TUNING", replace(TUNING, max_pooled_bytes=7300)):
        _, loops = stored_loops(2)
    reason = "a thread would need 3,600 bytes for it, and 92 are left"
    assert ("parts_1", reason) in loops.privatization_failures


DRIVER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <malloc.h>
#ifdef THREADED
int kernel(double *, float *, double *, long, long, int);
#define CALL(out) kernel(&in[0][0], scale, out, K, N, omp_get_max_threads())
#else
int kernel(double *, float *, double *, long, long);
#define CALL(out) kernel(&in[0][0], scale, out, K, N)
#endif
#include <omp.h>
enum { K = 40, N = 900, CALLERS = 3 };
static double in[K][N + 2], out[CALLERS][K][N], expected[K][N];
static float scale[N];
static void source(void) {
  double sums[N + 1];
  float parts[N];
  for (int t = 0; t < 2; t++)
    for (int l = 0; l < K; l++) {
      for (int i = 0; i <= N; i++) sums[i] = in[l][i] + in[l][i + 1];
      for (int i = 0; i < N; i++) parts[i] = scale[i] * 0.5f;
      for (int i = 0; i < N; i++)
        expected[l][i] = expected[l][i] * 0.5 + sums[i + 1] - sums[i] * parts[i]
                         + (sums[i % 4] + i % 4);
    }
}
int main(int count, char **arguments) {
  (void)arguments;
  for (int l = 0; l < K; l++)
    for (int i = 0; i < N + 2; i++) in[l][i] = (l * 7 + i * 3) % 11;
  for (int i = 0; i < N; i++) scale[i] = i % 5;
  if (count > 1) {
    mallopt(M_TOP_PAD, 0);
    struct rlimit limit = {1, 1};
    setrlimit(RLIMIT_DATA, &limit);
    setrlimit(RLIMIT_AS, &limit);
    while (malloc(64)) {}
    return CALL(&out[0][0][0]) == 1 ? 0 : 3;
  }
  source();
  omp_set_max_active_levels(2);
  int failures = 0;
#pragma omp parallel for num_threads(CALLERS) reduction(+: failures)
  for (int k = 0; k < CALLERS; k++) {
    for (int again = 0; again < 20; again++) {
      memset(out[k], 0, sizeof out[k]);
      failures += CALL(&out[k][0][0]) != 0 || memcmp(out[k], expected, sizeof expected);
    }
  }
  return failures != 0;
}
"""


def run_everywhere(folder: Path, *inputs: str, flags: tuple[str, ...]) -> None:
    """Run the kernel in 1 to 4 threads for each of three callers at once, and without memory."""
    (folder / "driver.c").write_text(DRIVER)
    command = ["gcc", *WARNINGS, *flags, "-fopenmp", "-ffp-contract=off", "driver.c", *inputs]
    subprocess.run([*command, "-o", "program", "-lm"], cwd=folder, check=True, timeout=60)
    is_sanitized = any("sanitize" in flag for flag in flags)
    for number in (1, 2, 3, 4):
        environment = {**os.environ, "OMP_NUM_THREADS": str(number), "OMP_WAIT_POLICY": "passive"}
        environment |= {"OMP_DYNAMIC": "false", "ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run([folder / "program"], env=environment, timeout=60)
        assert done.returncode == 0, number
        if not is_sanitized:
            done = subprocess.run([folder / "program", "poor"], env=environment, timeout=60)
            assert done.returncode == 0, number


def shared_loops() -> LoopProgram:
    return stored_loops(2)[1]


@pytest.mark.parametrize("flags", [SANITIZED, ("-O2",)])
def test_printed_kernels(tmp_path: Path, flags: tuple[str, ...]) -> None:
    with every_loop_shared():
        (tmp_path / "kernel.c").write_text(kernel_file(shared_loops()))
    run_everywhere(tmp_path, "kernel.c", flags=flags)


def test_machine_code(tmp_path: Path) -> None:
    with every_loop_shared():
        text = emit_kernel(shared_loops(), "kernel").replace("polygym_fork", "GOMP_parallel")
    (tmp_path / "kernel.o").write_bytes(compile_object(text, 2))
    run_everywhere(tmp_path, "kernel.o", flags=("-DTHREADED", "-O1"))


def test_the_c_function_has_slots_too(tmp_path: Path) -> None:
    text = print_c(shared_loops())
    assert "double (*sums_1_slots)[901]" in text
    caller = "int kernel(double *a, float *b, double *c, long k, long n)\n"
    (tmp_path / "kernel.c").write_text(
        f"{text}\n{caller}{{ f(k, n, (void *)a, b, (void *)c); return 0; }}\n"
    )
    (tmp_path / "driver.c").write_text(DRIVER)
    command = ["gcc", "-w", *SANITIZED, "-ffp-contract=off", "driver.c", "kernel.c"]
    subprocess.run([*command, "-o", "program"], cwd=tmp_path, check=True, timeout=60)
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    assert subprocess.run([tmp_path / "program"], env=environment, timeout=60).returncode == 0
