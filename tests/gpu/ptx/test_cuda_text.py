"""CUDA C++ of device programs: read by a compiler of C++, with stand-ins for CUDA's own words."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from polygym.gpu.mapping.device_mapping import parse_device_mapping
from polygym.gpu.mapping.pipeline import map_to_device
from polygym.gpu.ptx.cuda_text import cuda_text
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.c_programs import kernel_scop, small_parameters
from tests.gpu.comprehension_programs import comprehension_scop, small_sizes
from tests.gpu.device_programs import HISTOGRAM, device_program, loops_of, tiled_product

_WORDS = """
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(n)
struct Place { unsigned x, y, z; };
static Place blockIdx, threadIdx;
static void __syncthreads() {}
static void __trap() {}
#define __CUDACC__
struct dim3 { dim3(long, long, long) {} };
typedef int *cudaStream_t;
static void configure(dim3, dim3, int, cudaStream_t) {}
"""


def in_plain_cpp(text: str) -> str:
    """Return a text with a launch as two calls, of its configuration and of the kernel."""
    return _WORDS + re.sub(r"(\w+)<<<(.*)>>>\(", r"configure(\2), \1(", text)


def test_a_product_in_tiles() -> None:
    text = cuda_text(tiled_product({"n": 32, "m": 16, "p": 48}), "a product")
    assert text.startswith("/* a product */\n")
    for line in (
        "constexpr long n = 32;",
        "__launch_bounds__(128)\ntiled(float (*A)[p], float (*B)[m], float (*C)[m])",
        "  __shared__ float As[16][16];",
        "  float sums[2];",
        "  for (long k0 = 0; k0 < polygym_floord(p, 16); k0 += 1) {",
        "(m, 16), polygym_floord(n, 16), 1), dim3(16, 8, 1), 0, stream>>>(A, B, C);",
    ):
        assert line in text
    assert text.count("__syncthreads();") == 2


def test_atomic_updates_are_marked() -> None:
    text = cuda_text(device_program(loops_of(HISTOGRAM), 1, atomic=True))
    assert "/* atomic updates: S0 */" in text


@pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler of C++ here")
@pytest.mark.parametrize("name", ["tc:matmul", "tc:softmax", "tc:2LUT", "gemm", "jacobi-2d", "lu"])
def test_a_compiler_reads_it(name: str, tmp_path: Path) -> None:
    if name.startswith("tc:"):
        scop = comprehension_scop(name.removeprefix("tc:"))
        sizes = small_sizes(scop)
    else:
        scop = kernel_scop(name)
        sizes = small_parameters(scop)
    for number, schedule in enumerate((original_schedule(scop), isl_schedule(scop))):
        mapping = parse_device_mapping("device=cuda block=8x4" if number else "device=cuda")
        program = map_to_device(LegalSchedule(scop, schedule), mapping, sizes)
        source = tmp_path / f"{number}.cpp"
        text = cuda_text(program)
        assert "fprintf" not in text
        source.write_text(in_plain_cpp(text))
        command = ["g++", "-fsyntax-only", "-std=c++17", "-Wall", "-Wno-unused", str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
