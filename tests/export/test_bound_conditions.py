"""Exports of programs whose arrays bound their parameters: the same result inside and outside."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from polygym.errors import SourceError
from polygym.export.exporting import ExportOptions, prepare_export
from polygym.export.writing import ExportKind, write_export
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program
from tests.export.against_source import GCC, check_like_source

_CONSTANT_SIZES = """
double A[64], B[40][50];
void f(int n, int m, int k, double s) {
#pragma scop
  for (int i = 0; i < n; i++)
    A[i + k] *= s;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      B[i][j] += A[i] * j;
#pragma endscop
}
"""


def test_sizes_within_the_arrays(tmp_path: Path) -> None:
    sizes = [(40, 50, 24), (7, 50, 0), (1, 1, 63)]
    export = check_like_source(
        tmp_path, _CONSTANT_SIZES, *({"n": n, "m": m, "k": k} for n, m, k in sizes)
    )
    assert export.embedding is not None


_OUTSIDE = """
void f(int n, int m, double a[n], double b[][8]) {
#pragma scop
  for (int i = 0; i < m; i++)
    a[i] = 2 * a[i] + i;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      b[i][j] += a[i] + j;
#pragma endscop
}
"""

_DRIVER = """
#include <stdio.h>
void f(int n, int m, double *a, double (*b)[8]);
int main(int count, char **arguments)
{
  static double a[64], b[64][8];
  int n, m;
  sscanf(arguments[1], "%d", &n), sscanf(arguments[2], "%d", &m);
  for (int i = 0; i < 64; i++) a[i] = i % 5;
  f(n, m, a, b);
  for (int i = 0; i < 64; i++) printf("%a %a\\n", a[i], b[i % 64][i % 8]);
  return 0;
}
"""


@pytest.mark.parametrize(("n", "m"), [(20, 8), (8, 8), (30, 3), (5, 20), (3, 9), (0, 4), (4, 0)])
def test_values_outside_the_conditions_run_the_source(tmp_path: Path, n: int, m: int) -> None:
    """The caller's arrays may be larger than their declarations: then C runs, and so do we."""
    source, driver = tmp_path / "program.c", tmp_path / "driver.c"
    source.write_text(_OUTSIDE)
    driver.write_text(_DRIVER)
    program = load_program(str(source))
    assert set(program.scop.conditions) == {"n >= m", "m <= 8"}
    options = ExportOptions(sizes=(program.parameters,))
    export = prepare_export(program, isl_schedule(program.scop), DEFAULT_MAPPING, options)
    made = write_export(export, ExportKind.OBJECT, tmp_path / "out", GCC).files
    results = []
    for code in (source, next(path for path in made if path.suffix == ".o")):
        command = ["gcc", "-w", "-ffp-contract=off", "-o", "run", str(driver), str(code)]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
        run = subprocess.run([tmp_path / "run", str(n), str(m)], capture_output=True, timeout=60)
        assert run.returncode == 0
        results.append(run.stdout)
    assert results[0] == results[1]


_HISTOGRAM = """
void f(int n, int m, const int *bin, double *hist, const double *w) {
#pragma scop
  for (int i = 0; i < m; i++)
    hist[i] = 0;
  for (int i = 0; i < n; i++)
    hist[bin[i]] += w[i];
#pragma endscop
}
"""


def test_computed_subscripts_need_a_size_that_is_known(tmp_path: Path) -> None:
    """The check of hist[bin[i]] against m would stop a program whose array has more elements."""
    file = tmp_path / "f.c"
    file.write_text(_HISTOGRAM)
    program = load_program(str(file), parameters={"n": 9, "m": 4})
    legal, options = isl_schedule(program.scop), ExportOptions(sizes=(program.parameters,))
    with pytest.raises(SourceError, match="hist has computed subscripts") as caught:
        prepare_export(program, legal, DEFAULT_MAPPING, options)
    assert "--extent hist=SIZE" in str(caught.value)
    given = load_program(str(file), parameters={"n": 9, "m": 4}, extents=["hist=256"])
    export = prepare_export(given, isl_schedule(given.scop), DEFAULT_MAPPING, options)
    assert export.embedding is not None
