"""Programs whose loops have bounds that are read from memory, and data for them."""

from collections.abc import Iterator

import numpy as np

from polygym.ir.scop import Scop
from tests.oracles.compiled_runs import random_arrays

_ARGUMENTS = "int n, int m, int z, int ptr[n + 1], int col[z], double val[z]"


def _function(arguments: str, body: str) -> str:
    return f"void f({arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


SPARSE_PROGRAMS = {
    "rows": _function(
        f"{_ARGUMENTS}, double x[m], double y[n]",
        """
  for (int i = 0; i < n; i++) {
    y[i] = 0;
    for (int k = ptr[i]; k < ptr[i + 1]; k++)
      y[i] += val[k] * x[col[k]];
  }""",
    ),
    "local_sum": _function(
        f"{_ARGUMENTS}, double x[m], double y[n]",
        """
  for (int t = 0; t < 3; t++)
    for (int i = 0; i < n; i++) {
      double sum = 0, most = 0;
      const int begin = ptr[i], end = ptr[i + 1];
      for (int k = begin; k < end; k++) {
        double term = val[k] * x[col[k]];
        sum += term;
        most = term > most ? term : most;
      }
      y[i] += sum + most;
    }""",
    ),
    "dense_columns": _function(
        f"{_ARGUMENTS}, double b[m][7], double c[n][7]",
        """
  for (int i = 0; i < n; i++)
    for (int k = ptr[i]; k < ptr[i + 1]; k++)
      for (int j = 0; j < 7; j++)
        c[i][j] += val[k] * b[col[k]][j];""",
    ),
    "dense_columns_of_a_temporary": _function(
        f"{_ARGUMENTS}, double b[m][7], double c[n][7]",
        """
  for (int i = 0; i < n; i++)
    for (int k = ptr[i]; k < ptr[i + 1]; k++) {
      double v = val[k];
      for (int j = 0; j < 7; j++)
        c[i][j] += v * b[col[k]][j];
    }""",
    ),
    "integers": _function(
        "int n, int z, int ptr[n + 1], int val[z], int y[n]",
        """
  for (int i = 0; i < n; i++)
    for (int k = ptr[i]; k < ptr[i + 1]; k++)
      y[i] += 7 * val[k];""",
    ),
    "scatter": _function(
        f"{_ARGUMENTS}, double x[n], double y[m]",
        """
  for (int i = 0; i < n; i++)
    for (int k = ptr[i]; k < ptr[i + 1]; k++)
      y[col[k]] += val[k] * x[i];""",
    ),
    "elementwise_backwards": _function(
        f"{_ARGUMENTS}, double d[n]",
        """
  for (int i = 0; i < n; i++)
    for (int k = ptr[i + 1] - 1; k >= ptr[i]; k--)
      val[k] = val[k] * d[i] + 1;""",
    ),
    "unsigned_and_long": _function(
        "int n, int z, unsigned from[n], long to[n], double val[z], double y[n]",
        """
  for (int i = 0; i < n; i++)
    for (int k = 0; k < z; k++)
      if (k >= from[i] && to[i] >= k && val[k] > 0.5)
        y[i] += val[k];""",
    ),
    "neighbours": _function(
        f"{_ARGUMENTS}, int queue[n], int level[m], int next[m]",
        """
  for (int q = 0; q < n; q++)
    for (int k = ptr[queue[q]]; k < ptr[queue[q] + 1]; k++)
      if (level[col[k]] < 0)
        next[col[k]] = q;""",
    ),
    "rows_of_rows": _function(
        f"{_ARGUMENTS}, int bptr[m + 1], int bcol[z], double b[z], double c[n][m]",
        """
  for (int i = 0; i < n; i++)
    for (int k = ptr[i]; k < ptr[i + 1]; k++)
      for (int l = bptr[col[k]]; l < bptr[col[k] + 1]; l++)
        c[i][bcol[l]] += val[k] * b[l];""",
    ),
    "lengths": _function(
        "int n, int w, int len[n + 1], double val[n][w], double y[n]",
        """
  for (int i = 0; i < n; i++)
    for (int j = 0; j < w && j <= len[i + 1]; j++)
      y[i] += val[i][j];""",
    ),
    "changing_bound": _function(
        "int n, int z, int ptr[n + 1], double val[z]",
        """
  for (int i = 0; i < n; i++)
    for (int k = 0; k < z; k++)
      if (k >= ptr[i] && k < ptr[i + 1]) {
        val[k] += 1;
        ptr[i + 1] = ptr[i + 1] - (k % 3 == 0);
      }""",
    ),
}
"""In ``changing_bound`` a bound is not the same in all iterations."""

SHORTENED = {
    "rows": 1,
    "local_sum": 1,
    "dense_columns": 1,
    "dense_columns_of_a_temporary": 1,
    "integers": 1,
    "scatter": 1,
    "elementwise_backwards": 1,
    "unsigned_and_long": 1,
    "neighbours": 1,
    "rows_of_rows": 2,
    "lengths": 1,
    "changing_bound": 0,
}
"""How many loops of each program run in bounds from memory, in the order of the text."""

SIZES = {"n": 6, "m": 5, "z": 11, "w": 4}


def sizes_of(scop: Scop) -> dict[str, int]:
    """Return the sizes of a program."""
    return {parameter.name: SIZES[parameter.name] for parameter in scop.parameters}


def sparse_data(
    scop: Scop, generator: np.random.Generator, *, in_order: bool
) -> dict[str, np.ndarray]:
    """Return data; the rows follow each other, or begin and end anywhere, outside too."""
    arrays = random_arrays(scop, sizes_of(scop), generator)
    for name, values in _indices(generator, in_order):
        if name in arrays:
            arrays[name][:] = np.resize(values, arrays[name].shape)
    return arrays


def _indices(generator: np.random.Generator, in_order: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Yield values of the arrays of indices, whatever their sizes."""
    for name in ("col", "bcol", "queue"):
        yield name, generator.integers(0, SIZES["m"], 20)
    for name in ("ptr", "bptr", "len", "from", "to"):
        if in_order:
            inner = np.sort(generator.integers(0, SIZES["z"] + 1, SIZES["n"] + 1))
            yield name, np.array([0, *inner[1:-1], SIZES["z"]])
        else:
            ends = [-(2**31), -3, -1, 0, 2, 5, 10, 11, 12, 2**31 - 1]
            signed = [value % 2**31 for value in ends] if name == "from" else ends
            yield name, generator.choice(signed, SIZES["n"] + 1)
    yield "level", generator.integers(-1, 1, 20)
