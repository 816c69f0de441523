"""Memory that code asks for, on a program that makes a large array for itself."""

from __future__ import annotations

import mmap
import platform
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import numpy as np
import pytest

from polygym.codegen.common.packing_candidates import CACHE_LINE
from polygym.codegen.llvm.core import memory_allocation as heap
from polygym.foreign.calls import time_cell
from polygym.mapping.mapping import SEQUENTIAL_MAPPING
from polygym.poly.schedule import parse_schedule
from polygym.poly.transform.storage.plan import parse_storage
from polygym.programs import load_program
from polygym.programs.stored_program import with_storage_plan
from polygym.runtime.evaluation.compilation import compile_schedule
from polygym.runtime.loader import load_object
from polygym.runtime.worker.problem import CompiledProgram

TWICE = """
void twice(int n, int m, float x[n][m], float y[n][m]) {
  float w;
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      w = x[i][j] * 2 + 1;
      y[i][j] = w * w;
    }
#pragma endscop
}
"""


def compiled(folder: Path, n: int, m: int) -> CompiledProgram:
    """Return code of two passes, between which all values are in an array of n by m floats."""
    file = folder / "twice.c"
    file.write_text(TWICE)
    program = load_program(str(file), parameters={"n": n, "m": m})
    program = with_storage_plan(program, parse_storage("w=expand:i,j"), 1 << 30)
    schedule = parse_schedule("{ S0[i, j] -> [0, i, j]; S1[i, j] -> [1, i, j] }", program.scop)
    return compile_schedule(program, schedule, SEQUENTIAL_MAPPING)


def faults_of(code: CompiledProgram, n: int, m: int) -> int:
    """Run it twice, check what it computes, and return how many pages the second run began."""
    x, y = np.arange(n * m, dtype=np.float32).reshape(n, m) % 97, np.zeros((n, m), np.float32)
    program, time = load_object(code.object_code), time_cell()
    sizes = [np.array(size) for size in (n, m)]
    arguments = [x.ctypes.data, y.ctypes.data, *(size.ctypes.data for size in sizes)]
    assert program.call(arguments, time) == 0
    before = getrusage(RUSAGE_SELF).ru_minflt
    assert program.call(arguments, time) == 0
    result = getrusage(RUSAGE_SELF).ru_minflt - before
    program.close()
    np.testing.assert_array_equal(y, (x * 2 + 1) ** 2)
    return result


def test_a_large_array_comes_in_huge_pages(tmp_path: Path) -> None:
    choice = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not choice.exists() or "[never]" in choice.read_text():
        pytest.skip("this system has no huge pages for who wishes for them")
    n, m = 3000, 3000  # 36 MB, 8789 pages of 4 KB
    assert faults_of(compiled(tmp_path, n, m), n, m) < 4000


def test_no_huge_pages_are_no_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "MAX_REUSED_BYTES", 1 << 12)
    monkeypatch.setattr(mmap, "MADV_HUGEPAGE", 12345)  # a wish that nobody knows
    for n, m in ((1, 1), (3, 500), (700, 900)):
        faults_of(compiled(tmp_path, n, m), n, m)


THREE = """
void three(int n, float x[n], float y[n]) {
  float u, v, w;
#pragma scop
  for (int i = 0; i < n; i++) {
    u = x[i] + 1;
    v = u * u;
    w = v - u;
    y[i] = w * v;
  }
#pragma endscop
}
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_several_arrays_have_the_pages_of_the_run_before(tmp_path: Path) -> None:
    file = tmp_path / "three.c"
    file.write_text(THREE)
    n = 1_000_000  # three arrays of 4 MB, 2930 pages
    program = load_program(str(file), parameters={"n": n})
    program = with_storage_plan(program, parse_storage("u=expand:i v=expand:i w=expand:i"), 1 << 30)
    rows = "{ S0[i] -> [0, i]; S1[i] -> [1, i]; S2[i] -> [2, i]; S3[i] -> [3, i] }"
    code = compile_schedule(program, parse_schedule(rows, program.scop), SEQUENTIAL_MAPPING)
    x, y, size = np.arange(n, dtype=np.float32) % 97, np.zeros(n, np.float32), np.array(n)
    loaded, time = load_object(code.object_code), time_cell()
    arguments = [x.ctypes.data, y.ctypes.data, size.ctypes.data]
    for _ in range(3):
        before = getrusage(RUSAGE_SELF).ru_minflt
        assert loaded.call(arguments, time) == 0
    assert getrusage(RUSAGE_SELF).ru_minflt - before < 300
    loaded.close()
    u = x + 1
    np.testing.assert_array_equal(y, (u * u - u) * (u * u))


def test_arrays_begin_apart() -> None:
    for count in range(1, 33):
        places = [heap.staggered_offset(place, count) for place in range(count)]
        assert len(set(places)) == count
        assert all(place % CACHE_LINE == 0 and 0 <= place < 4096 for place in places)
