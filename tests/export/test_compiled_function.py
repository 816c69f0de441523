"""C functions as callables on NumPy arrays."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import polygym
from polygym.errors import InputError, OutOfRangeError
from polygym.export.c_compiler import user_compiler
from polygym.export.exporting import ExportOptions, prepare_export
from polygym.export.python_module import python_module
from polygym.export.writing import ExportKind, write_export
from polygym.mapping.mapping import SEQUENTIAL_MAPPING
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import load_program

_PRODUCT = """
void mm(int n, int m, double C[n][m], double A[n][n], double B[n][m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      C[i][j] = 0;
      for (int k = 0; k < n; k++)
        C[i][j] += A[i][k] * B[k][j];
    }
#pragma endscop
}"""


def _file(folder: Path, text: str) -> str:
    path = folder / "program.c"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("schedule", ["original", "isl", "auto"])
def test_it_works_in_place_for_each_size(schedule: str, tmp_path: Path) -> None:
    function = polygym.compile(_file(tmp_path, _PRODUCT), schedule=schedule, threads=2)
    assert function.arguments == ("n", "m", "C", "A", "B")
    random = np.random.default_rng(0)
    for n, m in ((20, 30), (7, 5), (20, 30)):
        a, b, c = random.random((n, n)), random.random((n, m)), np.zeros((n, m))
        function(n, m, c, a, B=b)
        np.testing.assert_allclose(c, a @ b)


def test_constants_of_the_file_are_no_arguments(tmp_path: Path) -> None:
    text = """
static double scale = 0.5;
static const double weights[3] = {1, 2, 4};
double given = 1;
void f(int n, double x[n]) {
#pragma scop
  for (int i = 0; i < n; i++) x[i] = x[i] * scale * given + weights[i % 3];
#pragma endscop
}"""
    function = polygym.compile(_file(tmp_path, text), schedule="original")
    assert function.arguments == ("n", "x", "given")
    x = np.arange(7.0)
    expected = x * 0.5 * 3 + np.array([1, 2, 4])[np.arange(7) % 3]
    function(7, x, given=3.0)
    np.testing.assert_array_equal(x, expected)
    with pytest.raises(InputError, match="found scale, which is none"):
        function(7, x, scale=2.0, given=3.0)


def test_arguments_are_checked(tmp_path: Path) -> None:
    function = polygym.compile(_file(tmp_path, _PRODUCT), schedule="isl")
    a, b, c = np.ones((4, 4)), np.ones((4, 6)), np.zeros((4, 6))
    with pytest.raises(InputError, match="expected a value of B"):
        function(4, 6, c, a)
    with pytest.raises(InputError, match="found D, which is none"):
        function(4, 6, c, a, D=b)
    with pytest.raises(InputError, match="found C, twice"):
        function(4, 6, c, a, b, C=c)
    with pytest.raises(InputError, match="n: expected an integer, found float"):
        function(4.0, 6, c, a, b)
    with pytest.raises(InputError, match="A: expected an array of float64, found float32"):
        function(4, 6, c, a.astype(np.float32), b)
    with pytest.raises(InputError, match=r"B: expected the shape \(4, 6\), found \(6, 4\)"):
        function(4, 6, c, a, np.ones((6, 4)))
    with pytest.raises(InputError, match="A: expected an array in one piece"):
        function(4, 6, c, np.ones((8, 8))[::2, ::2], b)
    with pytest.raises(InputError, match="C and B: expected arrays that do not overlap"):
        function(4, 6, c, a, c)
    c.flags.writeable = False
    with pytest.raises(InputError, match="C: expected an array that can be written to"):
        function(4, 6, c, a, b)


def test_a_subscript_out_of_range_is_an_error(tmp_path: Path) -> None:
    text = """
void f(int n, int m, double y[m], int at[n]) {
#pragma scop
  for (int i = 0; i < n; i++) y[at[i]] += 1;
#pragma endscop
}"""
    function = polygym.compile(_file(tmp_path, text), schedule="isl")
    y, at = np.zeros(3), np.array([0, 2, 2], np.int32)
    function(3, 3, y, at)
    np.testing.assert_array_equal(y, [1, 0, 2])
    with pytest.raises(OutOfRangeError, match="y"):
        function(3, 3, y, np.array([0, 3, 2], np.int32))


def test_threads_of_python_call_at_the_same_time(tmp_path: Path) -> None:
    function = polygym.compile(_file(tmp_path, _PRODUCT), schedule="isl")
    a, b = np.random.default_rng(1).random((2, 16, 16))
    results = [np.zeros((16, 16)) for _ in range(8)]
    threads = [Thread(target=function, args=(16, 16, result, a, b)) for result in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_allclose(result, a @ b)


def test_bad_requests(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="threads"):
        polygym.compile(_file(tmp_path, _PRODUCT), threads=0)
    with pytest.raises(InputError, match="cannot be read"):
        polygym.compile(str(tmp_path / "none.c"))


_COMPLEX = """#include <complex.h>
void f(int n, double complex w, double complex *a, double complex *b) {
  for (int i = 0; i < n; i++) a[i] = a[i] * b[i] + w;
}"""


def test_complex_numbers_are_those_of_numpy(tmp_path: Path) -> None:
    function = polygym.compile(_file(tmp_path, _COMPLEX), schedule="isl")
    a, b = np.random.default_rng(2).random((2, 6, 2)).view(np.complex128)[..., 0]
    expected = a * b + (1 + 2j)
    function(6, 1 + 2j, a, b)
    np.testing.assert_allclose(a, expected)
    with pytest.raises(InputError, match="a: expected an array in one piece"):
        function(3, 1j, a[::2], b)
    with pytest.raises(InputError, match="a: expected an array of float64, found complex64"):
        function(6, 1j, a.astype(np.complex64), b)


def test_a_module_takes_complex_numbers(tmp_path: Path) -> None:
    compiler = user_compiler()
    if compiler is None:
        pytest.skip("no compiler")
    program = load_program(_file(tmp_path, _COMPLEX), parameters={"n": 6})
    schedule = original_schedule(program.scop)
    export = prepare_export(program, schedule, SEQUENTIAL_MAPPING, ExportOptions(name="g"))
    write_export(export, ExportKind.PYTHON, tmp_path / "out", compiler)
    code = """
import numpy as np, g
a, b = np.arange(6) + 1j, np.arange(6) * 1j + 2
expected = a * b + (1 + 2j)
g.g(6, 1 + 2j, a, b)
assert np.allclose(a, expected)
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "out", check=True)


def test_nothing_runs_without_iterations(tmp_path: Path) -> None:
    function = polygym.compile(_file(tmp_path, _PRODUCT), schedule="isl")
    function(0, 3, np.ones((0, 3)), np.ones((0, 0)), np.ones((0, 3)))
    with pytest.raises(InputError, match="C: expected an array of float64"):
        function(0, 3, np.ones((0, 3), np.float32), np.ones((0, 0)), np.ones((0, 3)))
    text = "void f(int n, double *s, double *a) { *s = 0; for (int i = 0; i < n; i++) *s += a[i]; }"
    function = polygym.compile(_file(tmp_path, text), schedule="isl")
    with pytest.raises(InputError, match="is not defined for n = 0"):
        function(0, np.ones(1), np.ones(0))


def test_a_function_can_be_pickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _file(tmp_path, _PRODUCT)
    monkeypatch.chdir(tmp_path)
    function = polygym.compile("program.c", schedule="isl", mapping="tile=8")
    data = pickle.dumps(function)
    monkeypatch.chdir("/")
    copy = pickle.loads(data)
    assert repr(copy) == repr(function)
    c = np.zeros((4, 6))
    copy(4, 6, c, np.ones((4, 4)), np.ones((4, 6)))
    np.testing.assert_array_equal(c, 4)


def test_a_number_that_return_gives_back_is_returned(tmp_path: Path) -> None:
    text = """
double f(int n, double *a, double s) {
  for (int i = 0; i < n; i++) s += a[i];
  return s;
}
double g(int n, double *a) {
  double sum = 5;
#pragma scop
  for (int i = 0; i < n; i++) sum += a[i];
#pragma endscop
  return sum / n;
}"""
    path = _file(tmp_path, text)
    f = polygym.compile(path, schedule="isl", function="f")
    assert f(4, np.arange(4.0), 0.5) == 6.5
    with pytest.raises(InputError, match=r"expected results in arrays.*other code uses sum"):
        polygym.compile(path, function="g")
    program = load_program(path, function="g", parameters={"n": 4})
    options = (original_schedule(program.scop), SEQUENTIAL_MAPPING, ExportOptions(name="k"))
    with pytest.raises(InputError, match="expected outputs in arrays, found that sum is"):
        python_module(prepare_export(program, *options))
    path = _file(tmp_path, text.replace("sum / n", "sum"))
    g = polygym.compile(path, schedule="original", function="g")
    assert g(4, np.arange(4.0)) == 11


def test_sizes_macros_and_headers_are_given_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "own.h").write_text("typedef unsigned char byte;\n")
    text = """#include <own.h>
void f(int n, byte *x, int *h) { for (int i = 0; i < n; i++) h[x[i]] += STEP; }"""
    path = _file(tmp_path, text)
    f = polygym.compile(
        path,
        schedule="isl",
        extents=["h=256"],
        include_directories=[tmp_path / "include"],
        macros=["STEP=3"],
    )
    h = np.zeros(256, np.int32)
    f(4, np.array([1, 2, 2, 255], np.uint8), h)
    assert (h[1], h[2], h[255], h.sum()) == (3, 6, 3, 12)
